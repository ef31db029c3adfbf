"""A headless Chromium, for all tests of this folder."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from chromium import ABSENT, Chromium, find_chromium

from vocabless.conversion.space_export.graph_json import BROWSER
from vocabless.conversion.space_export.script import join_modules


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    if find_chromium() is None:
        pytest.skip(ABSENT)
    with Chromium() as started:
        yield started


@pytest.fixture(scope="module")
def call(chromium, tmp_path_factory) -> Callable[..., Any]:
    """Calls a JavaScript function in a page where classifier.js and the modules below it are `modules["file.js"]`."""
    page, script = tmp_path_factory.mktemp("browser") / "modules.html", join_modules(BROWSER, "classifier.js")
    page.write_text(f'<!doctype html><meta charset="utf-8"><script>{script}</script>', encoding="utf-8")
    chromium.open(page.as_uri())
    return chromium.call_function

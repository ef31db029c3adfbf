"""A headless Chromium, for all tests of this folder."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from benchmarks.browser import open_modules
from benchmarks.chromium import ABSENT, Chromium, find_chromium


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    if find_chromium() is None:
        pytest.skip(ABSENT)
    with Chromium() as started:
        yield started


@pytest.fixture(scope="module")
def call(request, chromium, tmp_path_factory) -> Callable[..., Any]:
    """Calls a JavaScript function in a page where `ENTRY` and the modules below it are `modules["file.js"]`."""
    open_modules(chromium, tmp_path_factory.mktemp("browser"), getattr(request.module, "ENTRY", "classifier.js"))
    return chromium.call_function

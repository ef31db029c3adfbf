"""A headless Chromium with the page's modules, for all tests of this folder."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.chromium import Chromium, find_chromium
from vocabless.conversion.space_export.graph_json import BROWSER
from vocabless.conversion.space_export.script import join_modules


@pytest.fixture(scope="session")
def tab(tmp_path_factory) -> Iterator[Chromium]:
    """A tab in which the modules of `browser/` are `modules["file.js"]`."""
    program = find_chromium()
    if program is None:
        pytest.skip("there is no Chromium; install it (Debian: apt-get install chromium), or set CHROMIUM to its path")
    page: Path = tmp_path_factory.mktemp("browser") / "modules.html"
    script = join_modules(BROWSER, "classifier.js")
    page.write_text(f'<!doctype html><meta charset="utf-8"><script>{script}</script>', encoding="utf-8")
    with Chromium(program) as chromium:
        chromium.open(page.as_uri())
        yield chromium


@pytest.fixture(scope="session")
def call(tab) -> Callable[..., Any]:
    """Calls a JavaScript function, given as text, with JSON arguments; bytes become an ArrayBuffer."""

    def as_javascript(argument: Any) -> str:
        if not isinstance(argument, bytes):
            return json.dumps(argument)  # in ASCII: a lone surrogate is an escape
        encoded = base64.b64encode(argument).decode()
        return f"Uint8Array.from(atob({json.dumps(encoded)}), (letter) => letter.charCodeAt(0)).buffer"

    def call(function: str, *arguments: Any) -> Any:
        return tab.evaluate(f"({function})({', '.join(map(as_javascript, arguments))})")

    return call

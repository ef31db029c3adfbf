"""Fills the page: styles, script, manifest and weights in one HTML file."""

import base64
import gzip
import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vocabless.conversion.space_export.graph_json import BROWSER
from vocabless.conversion.space_export.script import join_modules

PAGE, WEIGHTS_SCRIPT = "index.html", "weights.js"
MAX_PAGE_BYTES = 5_000_000  # of one file; a larger page has its weights beside it
MAX_WEIGHT_BYTES = 30_000_000
ENTRY = "page.js"


def write_page(folder: Path, manifest: dict[str, Any], weights: bytes) -> None:
    """Writes index.html, and weights.js if the page would be too large with its weights.

    Args:
        folder: an existing folder.
        manifest: what `browser/classifier.js` calls `Manifest`.
        weights: the binary of the weights.

    Raises:
        ValueError: the weights are too large for a page.
    """
    if len(weights) > MAX_WEIGHT_BYTES:
        raise ValueError(
            f"the weights take {len(weights) / 1e6:.0f} MB and a page may have {MAX_WEIGHT_BYTES // 10**6} MB, because "
            "everyone who opens it downloads them; give a smaller model, or int8 weights instead of --fp32."
        )
    encoded = base64.b64encode(weights).decode("ascii")
    text = fill(manifest, encoded)
    if len(text.encode("utf-8")) > MAX_PAGE_BYTES:
        script = f'globalThis.vocablessWeights = "{encoded}";\n'
        (folder / WEIGHTS_SCRIPT).write_text(script, encoding="ascii")
        text = fill(manifest, "")
    (folder / PAGE).write_text(text, encoding="utf-8")


def fill(manifest: dict[str, Any], weights: str) -> str:
    """Returns the text of the page.

    Args:
        manifest: see `write_page`. Its title is also the title of the page.
        weights: base64, or "" if they lie beside the page.
    """
    style = BROWSER / "page.css"
    parts = {
        "title": html.escape(manifest["title"]),
        "style": style.read_text(encoding="utf-8").strip() if style.is_file() else "",
        "script": join_modules(BROWSER, ENTRY),
        "manifest": json_for_html(manifest),
        "weights": weights,
    }
    return substitute((BROWSER / "page.html").read_text(encoding="utf-8"), parts)


def substitute(template: str, parts: Mapping[str, str]) -> str:
    """Returns a template with each `{{name}}` replaced by its part; what a part holds is never replaced.

    >>> substitute("{{title}} by {{model}}", {"title": "{{model}}", "model": "me"})
    '{{model}} by me'
    """
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def json_for_html(value: Any) -> str:
    r"""Returns JSON that can stand in a script element: no `<` ends the element or begins a comment.

    >>> json_for_html({"labels": ["</script>"]})
    '{"labels":["\\u003c/script>"]}'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def size_report(folder: Path) -> str:
    """Returns the sizes of the files that a browser loads, as they are and compressed."""
    files = [file for file in sorted(folder.rglob("*")) if file.is_file() and file.suffix != ".md"]
    sizes = [(file.relative_to(folder).as_posix(), file.stat().st_size, _gzipped(file)) for file in files]
    return "\n".join(f"{name}: {size / 1e3:.0f} kB, {gzipped / 1e3:.0f} kB gzipped" for name, size, gzipped in sizes)


def _gzipped(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), 9))

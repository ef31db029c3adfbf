"""Fills the page: styles, script, manifest and weights in one HTML file; and the README.md of its Space."""

import base64
import gzip
import html
import json
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from huggingface_hub import SpaceCardData, constants

from vocabless.conversion.space_export.graph_json import BROWSER
from vocabless.conversion.space_export.script import join_modules

PAGE, WEIGHTS_SCRIPT = "index.html", "weights.js"
MAX_PAGE_BYTES = 10_000_000  # of one file; a larger page has its weights in a second file
MAX_WEIGHT_BYTES = 30_000_000
TAGS = {"tags": "token-classification", "search": "sentence-similarity"}  # task of a page → the Hub's name of it
IN_BASE64 = {"weights", "vectors"}
USUAL_TAG = "text-classification"


def add_page_arguments(parser: ArgumentParser, pairs: bool = True) -> None:
    """Declares `--fp32` and `--model_id`, and `--pairs` of a model that may read pairs of texts.

    `bits` of the arguments is 32, or 8 without a flag.
    """
    if pairs:
        usual = "default: what the record of its run says"
        parser.add_argument("--pairs", action="store_true", help=f"the model reads pairs of texts; {usual}")
    large = "32 bits for weights, and in a search for vectors: nothing is lost, and they are four times as large"
    parser.add_argument("--fp32", dest="bits", action="store_const", const=32, default=8, help=large)
    usual = "default: the model that is read, if it is one"
    parser.add_argument("--model_id", help=f"Hub id of the model, for the link to its card; {usual}")


def model_id_of(arguments: Namespace) -> str | None:
    """Returns the Hub id of the model; None if it has none."""
    return arguments.model_id or (None if Path(arguments.source).exists() else arguments.source)


def heading(arguments: Namespace, usual_title: str) -> dict[str, str | None]:
    """Returns the part of a manifest that a page shows at its top: its title, and the address of the model's card."""
    model_id = model_id_of(arguments)
    address = f"{constants.ENDPOINT}/{model_id}" if model_id else None
    return {"title": arguments.title or usual_title, "model_card": address}


def write_page(folder: Path, manifest: dict[str, Any], weights: bytes) -> None:
    """Writes the page of a classifier: index.html, and weights.js if it would be too large with its weights.

    The manifest is what `browser/classifier.js` calls `Manifest`. Raises ValueError if the weights are too large.
    """
    check_size(weights, "int8 weights instead of --fp32")
    encoded = base64.b64encode(weights).decode("ascii")
    text = join_page("page", manifest, {"weights": encoded})
    if len(text.encode("utf-8")) > MAX_PAGE_BYTES:
        script = f'globalThis.vocablessWeights = "{encoded}";\n'
        (folder / WEIGHTS_SCRIPT).write_text(script, encoding="ascii")
        text = join_page("page", manifest, {"weights": ""})
    (folder / PAGE).write_text(text, encoding="utf-8")


def check_size(weights: bytes, remedy: str) -> None:
    """Raises ValueError if weights are too large for a page; `remedy` is another one than a smaller model."""
    if len(weights) > MAX_WEIGHT_BYTES:
        raise ValueError(
            f"the weights take {len(weights) / 1e6:.0f} MB and a page may have {MAX_WEIGHT_BYTES // 10**6} MB, because "
            f"everyone who opens it downloads them; give a smaller model, or {remedy}."
        )


def join_page(name: str, manifest: dict[str, Any], data: Mapping[str, str]) -> str:
    """Returns the text of a page: frame.html with its body, styles, program, title and data.

    In `browser/`, its body is `name`.html, its program `name`.js or `name`_page.js, and it may have styles besides
    page.css. The manifest holds the title. `data` is the content of the other script elements by name, safe in HTML.
    """
    elements = {"manifest": json_for_html(manifest), **data}
    program = f"{name}.js" if (BROWSER / f"{name}.js").is_file() else f"{name}_page.js"
    style = "\n".join(map(_file, dict.fromkeys(("page.css", f"{name}.css"))))
    places = "\n".join(map(_element, elements))
    frame = _file("frame.html").replace("{{body}}", _file(f"{name}.html")).replace("{{data}}", places)
    parts = {"title": html.escape(manifest["title"]), "style": style, "script": join_modules(BROWSER, program)}
    return substitute(frame, {**parts, **elements})


def _file(name: str) -> str:
    return (BROWSER / name).read_text(encoding="utf-8").strip()


def _element(name: str) -> str:
    kind = "octet-stream" if name in IN_BASE64 else "json"
    return f'<script type="application/{kind}" id="{name}">{{{{{name}}}}}</script>'


def write_readme(
    folder: Path, title: str, model_id: str | None, license_name: str | None, task: str, name: str = "space"
) -> None:
    """Writes README.md into the folder of a page, by the template `name`_readme.md in `browser/`.

    `license_name` is that of the weights, by the Hub's name, or None if it is not known. `task` is one of
    `manifest.task_of`, or `search`.
    """
    data = SpaceCardData(
        title=title,
        emoji="🔤",
        colorFrom="blue",
        colorTo="green",
        sdk="static",
        app_file=PAGE,
        pinned=False,
        license=license_name,
        tags=["vocabless", TAGS.get(task, USUAL_TAG)],
        models=[model_id] if model_id else None,
    )
    origin = f"[{model_id}](https://huggingface.co/{model_id})" if model_id else "a vocabless model"
    parts = {"title": " ".join(title.splitlines()), "model": origin}  # a heading has one line
    text = substitute((BROWSER / f"{name}_readme.md").read_text(encoding="utf-8"), parts)
    (folder / "README.md").write_text(f"---\n{data.to_yaml()}\n---\n\n{text}", encoding="utf-8")


def substitute(template: str, parts: Mapping[str, str]) -> str:
    """Returns a template with each `{{name}}` replaced by its part; what a part holds is never replaced.

    >>> substitute("{{title}} by {{model}}", {"title": "{{model}}", "model": "me"})
    '{{model}} by me'
    """
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def json_for_html(value: Any) -> str:
    r"""Returns JSON for a script element: no `<` ends the element or begins a comment.

    >>> json_for_html({"labels": ["</script>"]})
    '{"labels":["\\u003c/script>"]}'
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def size_report(folder: Path, names: Sequence[str] = (PAGE, WEIGHTS_SCRIPT)) -> str:
    """Returns the sizes of the files that a browser loads, as they are and compressed."""
    contents = {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}
    sizes = {name: (len(content) / 1e3, len(gzip.compress(content, 9)) / 1e3) for name, content in contents.items()}
    return "\n".join(f"{name}: {size:.0f} kB, {gzipped:.0f} kB gzipped" for name, (size, gzipped) in sizes.items())

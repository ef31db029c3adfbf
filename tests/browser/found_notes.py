"""What the search page finds in twenty notes, in Chromium: clean and misspelt queries, and words that are being typed.

    python tests/browser/found_notes.py [ENCODER …]

The notes and the queries of `notes.json` were written before the page forgave anything. For each encoder and kind of
query the table has the share of queries, in percent, whose note is first, and those whose note is not, with its place.
"""
# ruff: noqa: T201 (a command prints its output)

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from chromium import Chromium

from vocabless.conversion.__main__ import main
from vocabless.loading import default_encoder
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table

DATA: dict[str, Any] = json.loads(Path(__file__).with_name("notes.json").read_text(encoding="utf-8"))
KINDS = ("clean", "misspelt", "prefixes")


def make_page(encoder: str, folder: Path) -> str:
    """Writes the page of the notes into `folder`/page; returns its address."""
    (folder / "notes.jsonl").write_text("\n".join(map(json.dumps, DATA["notes"])), encoding="utf-8")
    main(["search", str(folder / "notes.jsonl"), str(folder / "page"), "--model", encoder])
    return (folder / "page" / "index.html").as_uri()


def ask(chromium: Chromium, query: str) -> list[dict[str, Any]]:
    """Writes a query into the open page; returns the results."""
    chromium.evaluate("delete document.documentElement.dataset.results; undefined")
    chromium.call_function(
        """(query) => {
          document.getElementById("query").value = query;
          document.getElementById("query").dispatchEvent(new Event("input"));
        }""",
        query,
    )
    chromium.wait("document.documentElement.dataset.results !== undefined")
    found: list[dict[str, Any]] = json.loads(chromium.evaluate("document.documentElement.dataset.results"))
    return found


def places(chromium: Chromium, address: str, kind: str) -> Iterator[tuple[str, int]]:
    """Yields the queries of a kind, and the place of the right note among the results, from 1."""
    chromium.open(f"{address}#q=warm")
    chromium.wait("document.documentElement.dataset.query === 'warm'", seconds=60)
    for query, title in DATA[kind]:
        titles = [each["document"] for each in ask(chromium, query)]
        yield query, titles.index(title) + 1


def print_table(encoders: list[str]) -> None:
    """Prints a row for each encoder."""
    rows = []
    with Chromium() as chromium, tempfile.TemporaryDirectory() as temporary:
        for number, encoder in enumerate(encoders):
            folder = Path(temporary) / str(number)
            folder.mkdir()
            address, cells = make_page(encoder, folder), []
            for kind in KINDS:
                found = list(places(chromium, address, kind))
                missed = ", ".join(f"{query} ({place})" for query, place in found if place > 1)
                cells.append(
                    f"{100 * sum(place == 1 for _, place in found) / len(found):g}" + f": {missed}" * bool(missed)
                )
            rows.append([without_path(encoder), *cells])
    print(markdown_table(["", *KINDS], rows))


if __name__ == "__main__":
    print_table(sys.argv[1:] or [default_encoder()])

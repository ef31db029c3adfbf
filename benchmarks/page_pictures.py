"""Takes the pictures of a classifier's page and of a search page, light and dark, in a real Chromium.

    python -m vocabless.conversion space checkpoints/hashgram-nano-sst2 page/ --title "Is it a good film?"
    python -m benchmarks.page_pictures page/index.html docs/pictures --text "A borring mess, far too long."
    python -m benchmarks.page_pictures search/index.html docs/pictures --query "wait until another thread is ready"

It writes page-light.png and page-dark.png, or search-light.png and search-dark.png, in 256 colours. The fonts are those
of the machine.
"""

import argparse
import sys
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.chromium import Chromium
from benchmarks.measure import parser

IS_READY = "document.querySelector('.map .towards, .map .away, .map .tag, .map .odd') !== null"
MAP_IS_DONE = "document.querySelector('#map').ariaBusy === 'false'"
MARGIN = 24  # CSS pixels around the page's column
BOX = "document.querySelector('main').getBoundingClientRect().toJSON()"
RESULTS_ARE_MARKED = "document.querySelector('mark.near') !== null"
SHOWN_RESULTS = 4
END_OF_RESULTS = f"document.querySelectorAll('.result')[{SHOWN_RESULTS - 1}].getBoundingClientRect().bottom"


def picture(browser: Chromium, arguments: argparse.Namespace, dark: bool) -> bytes:
    """Returns a PNG of the page's column with the answer for the texts or the query of the arguments."""
    width = arguments.width
    browser.look(width, 900, 1, dark)
    (write_texts if arguments.query is None else write_query)(browser, arguments)
    browser.evaluate("document.activeElement.blur()")
    browser.wait("document.getAnimations().length === 0")
    box = browser.evaluate(BOX)
    height = box["height"] if arguments.query is None else browser.evaluate(END_OF_RESULTS) - box["y"]
    left = max(0, box["x"] - MARGIN)
    clip = {"x": left, "y": box["y"], "width": min(width, box["width"] + 2 * MARGIN), "height": height}
    return browser.picture({**clip, "scale": arguments.scale})


def write_query(browser: Chromium, arguments: argparse.Namespace) -> None:
    """Opens a search page with the query."""
    browser.open(f"{arguments.page.resolve().as_uri()}#{urlencode({'q': arguments.query})}")
    browser.wait(RESULTS_ARE_MARKED, seconds=60)


def write_texts(browser: Chromium, arguments: argparse.Namespace) -> None:
    """Opens a classifier's page and writes the texts."""
    browser.open(arguments.page.resolve().as_uri())
    browser.wait(IS_READY)
    if arguments.pair is not None:
        browser.write("#pair", arguments.pair)
    for end in range(len(arguments.text)):  # letter by letter, so that the time in the picture is the usual one
        browser.write("#text", arguments.text[: end + 1])
        browser.wait(MAP_IS_DONE)


def main() -> None:
    """Writes both pictures."""
    command_line = parser(__doc__)
    command_line.add_argument("page", type=Path, help="index.html that the verb space or search wrote")
    command_line.add_argument("folder", type=Path, help="folder for the pictures")
    written = command_line.add_mutually_exclusive_group(required=True)
    written.add_argument("--text", help="the text in a classifier's page")
    written.add_argument("--query", help=f"the query in a search page, whose first {SHOWN_RESULTS} results are shown")
    command_line.add_argument("--pair", help="the second text, for a model of pairs; default: none")
    command_line.add_argument(
        "--width", type=int, default=900, help="of the window, in CSS pixels; default %(default)s"
    )
    command_line.add_argument("--scale", type=float, default=1.6, help="pixels for each CSS pixel; default %(default)s")
    arguments = command_line.parse_args()
    try:
        from PIL import Image
    except ImportError:
        sys.exit("the pictures need the package pillow; run pip install pillow.")
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with Chromium() as browser:
        for name, dark in (("light", False), ("dark", True)):
            taken = Image.open(BytesIO(picture(browser, arguments, dark))).convert("RGB")
            file = arguments.folder / f"{'page' if arguments.query is None else 'search'}-{name}.png"
            taken.quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
            print(f"{file}: {file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()

"""Takes the pictures of a classifier's page, light and dark, in a real Chromium.

    python -m vocabless.conversion space checkpoints/hashgram-nano-sst2 page/ --title "Is it a good film?"
    python -m benchmarks.page_pictures page/index.html docs/pictures --text "A borring mess, far too long."

It writes page-light.png and page-dark.png, in 256 colours. The fonts are those of the machine.
"""

import argparse
import sys
from io import BytesIO
from pathlib import Path

from benchmarks.chromium import Chromium
from benchmarks.measure import parser

IS_READY = "document.querySelector('.map .towards, .map .away, .map .tag, .map .odd') !== null"
MAP_IS_DONE = "document.querySelector('#map').ariaBusy === 'false'"
MARGIN = 24  # CSS pixels around the page's column
BOX = "document.querySelector('main').getBoundingClientRect().toJSON()"


def picture(browser: Chromium, arguments: argparse.Namespace, dark: bool) -> bytes:
    """Returns a PNG of the page's column with the answer for the texts of the arguments."""
    width = arguments.width
    browser.look(width, 900, 1, dark)
    browser.open(arguments.page.resolve().as_uri())
    browser.wait(IS_READY)
    if arguments.pair is not None:
        browser.write("#pair", arguments.pair)
    for end in range(len(arguments.text)):  # letter by letter, so that the time in the picture is the usual one
        browser.write("#text", arguments.text[: end + 1])
        browser.wait(MAP_IS_DONE)
    browser.evaluate("document.activeElement.blur()")
    browser.wait("document.getAnimations().length === 0")
    box = browser.evaluate(BOX)
    left = max(0, box["x"] - MARGIN)
    clip = {"x": left, "y": box["y"], "width": min(width, box["width"] + 2 * MARGIN), "height": box["height"]}
    return browser.picture({**clip, "scale": arguments.scale})


def main() -> None:
    """Writes both pictures."""
    command_line = parser(__doc__)
    command_line.add_argument("page", type=Path, help="index.html that `python -m vocabless.conversion space` wrote")
    command_line.add_argument("folder", type=Path, help="folder for the pictures")
    command_line.add_argument("--text", required=True, help="the text in the page")
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
            file = arguments.folder / f"page-{name}.png"
            taken.quantize(256, dither=Image.Dither.NONE).save(file, optimize=True)
            print(f"{file}: {file.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()

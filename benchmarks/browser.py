"""Measures pages of the verb `space` in headless Chromium: sizes, time to the first label, latencies.

    python -m benchmarks.browser
    python -m benchmarks.browser --models checkpoints/hashgram-tiny-sst2 --texts sentences.txt

Each model is a checkpoint, or a variant, which gets random weights. With --texts, the labels and probabilities of the
page are compared with those of torch, in 32-bit and in 8-bit weights.

- The size is that of all files that a browser loads; gzipped, as a server sends them.
- The first label is the time from opening the page, whose address holds a sentence, to its label.
- A sentence has 20 words. Its word map is 20 copies with a word left out, in one batch.
"""
# mypy: allow-untyped-calls

import argparse
import base64
import contextlib
import gzip
import json
import re
import statistics
import tempfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import torch

from benchmarks.chromium import Chromium, find_chromium
from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.conversion.__main__ import main as convert
from vocabless.conversion.space_export.graph_json import BROWSER
from vocabless.conversion.space_export.script import join_modules
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.variants import VARIANTS

MODELS = ("hashgram-uno", "hashgram-tiny", "hashformer-lsh-proj-tiny")
# It has 20 words.
SENTENCE = "The old cinema near the river shows a quiet film about two friends who mend broken clocks in the winter"
RECORD_FIRST_LABEL = """
new MutationObserver(() => {
  if (document.documentElement?.dataset.label !== undefined) globalThis.firstLabel ??= performance.now();
}).observe(document, { attributes: true, childList: true, subtree: true });
"""
MEASURE = """async (rounds) => {
  const milliseconds = async (call) => {
    const times = [];
    for (let round = -3; round < rounds; round++) {
      const start = performance.now();
      await call();
      if (round >= 0) times.push(performance.now() - start);
    }
    return times;
  };
  const input = { text: SENTENCE };
  return [
    await milliseconds(() => classifier.classify([input])),
    await milliseconds(() => classifier.withoutEachUnit(input)),
  ];
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Prints nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serves a folder on the loopback; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def checkpoint_of(name: str, folder: Path) -> str:
    """Returns the folder or id of a checkpoint; a variant gets random weights, in `folder`."""
    if name not in VARIANTS:
        return name
    torch.manual_seed(0)
    VocablessForSequenceClassification(load_config(name, num_labels=2)).save_pretrained(folder)
    load_tokenizer(name).save_pretrained(folder)
    return str(folder)


def make_page(checkpoint: str, folder: Path, *options: str) -> None:
    """Writes the page, and modules.html, in which `classifier` can be called."""
    with contextlib.redirect_stdout(None):
        convert(["space", checkpoint, str(folder), *options])
    text = (folder / "index.html").read_text(encoding="utf-8")
    manifest = json.loads(re.search(r'id="manifest">(.*?)</script>', text, re.S)[1])  # type: ignore[index]
    weights = re.search(r'id="weights">(.*?)</script>', text, re.S)[1].strip()  # type: ignore[index]
    if not weights:
        weights = (folder / "weights.js").read_text(encoding="ascii").split('"')[1]
    (folder / "weights.bin").write_bytes(base64.b64decode(weights))
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    script = join_modules(BROWSER, "classifier.js")
    start = """
    const load = async () => {
      const manifest = await (await fetch("manifest.json")).json();
      const weights = await (await fetch("weights.bin")).arrayBuffer();
      globalThis.classifier = await modules["classifier.js"].loadClassifier(manifest, weights);
    };
    """
    page = f'<!doctype html><meta charset="utf-8"><script>{script}{start}</script>'
    (folder / "modules.html").write_text(page, encoding="utf-8")


def sizes(folder: Path) -> tuple[int, int]:
    """Returns the bytes of the files that a browser loads, as they are and gzipped."""
    files = [folder / "index.html", folder / "weights.js"]
    contents = [file.read_bytes() for file in files if file.is_file()]
    return sum(map(len, contents)), sum(len(gzip.compress(content, 9)) for content in contents)


def measure(tab: Chromium, address: str, rounds: int) -> tuple[float, float, float]:
    """Returns medians in milliseconds: to the first label, of a sentence, of its word map."""
    firsts = []
    for _ in range(rounds):
        tab.open(f"{address}/index.html#text={SENTENCE.replace(' ', '%20')}")
        tab.wait("globalThis.firstLabel !== undefined", seconds=60)
        firsts.append(tab.evaluate("globalThis.firstLabel"))
    tab.open(f"{address}/modules.html")
    tab.evaluate("load()")
    sentence, word_map = tab.evaluate(f"({MEASURE.replace('SENTENCE', json.dumps(SENTENCE))})({5 * rounds})")
    return statistics.median(firsts), statistics.median(sentence), statistics.median(word_map)


def compare(tab: Chromium, address: str, checkpoint: str, texts: list[str]) -> str:
    """Returns how many labels of the page are those of torch, and the largest difference of a probability."""
    model, tokenizer = load_checkpoint(checkpoint)
    with torch.no_grad():
        limits = {"truncation": True, "max_length": model.base_model.max_tokens, "return_tensors": "pt"}
        expected = torch.stack([model.float()(**tokenizer(text, **limits)).logits[0].softmax(-1) for text in texts])
    tab.open(f"{address}/modules.html")
    tab.evaluate("load()")
    inputs = json.dumps([{"text": text} for text in texts])
    found = tab.evaluate(f"classifier.classify({inputs}).then((all) => all.map((one) => one.probabilities))")
    probabilities = torch.tensor(found)
    same = int((probabilities.argmax(-1) == expected.argmax(-1)).sum())
    largest = float((probabilities - expected).abs().max())
    return f"{same} of {len(texts)} labels are the same; largest difference of a probability {largest:.1e}"


def main(argv: list[str] | None = None) -> None:
    """Prints the table."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.browser", description=__doc__, formatter_class=as_written
    )
    parser.add_argument("--models", nargs="+", default=MODELS, help="checkpoints or variants; default: %(default)s")
    parser.add_argument("--rounds", type=int, default=9, help="times that a page is opened; default %(default)s")
    parser.add_argument("--texts", help="file with a text in each line, for the comparison with torch")
    arguments = parser.parse_args(argv)
    program = find_chromium()
    if program is None:
        parser.error("there is no Chromium; install it, or set CHROMIUM to its path.")
    texts: list[Any] = Path(arguments.texts).read_text(encoding="utf-8").splitlines() if arguments.texts else []
    print("| model | size | gzipped | first label, ms | sentence, ms | word map, ms |")
    print("|---|--:|--:|--:|--:|--:|")
    notes = []
    with tempfile.TemporaryDirectory() as temporary, Chromium(program) as tab:
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=RECORD_FIRST_LABEL)
        for name in arguments.models:
            root = Path(temporary) / Path(name).name
            checkpoint = checkpoint_of(name, root / "checkpoint")
            make_page(checkpoint, root / "int8")
            with served(root / "int8") as address:
                cells = [f"{size / 1e3:.0f} kB" for size in sizes(root / "int8")]
                cells += [f"{milliseconds:.1f}" for milliseconds in measure(tab, address, arguments.rounds)]
                print(f"| {Path(name).name} | {' | '.join(cells)} |", flush=True)
                if texts:
                    notes.append(f"{name}, 8-bit: {compare(tab, address, checkpoint, texts)}.")
            if texts:
                make_page(checkpoint, root / "fp32", "--fp32")
                with served(root / "fp32") as address:
                    notes.append(f"{name}, 32-bit: {compare(tab, address, checkpoint, texts)}.")
    print("\n".join(["", *notes]))


if __name__ == "__main__":
    main()

"""Measures pages of the verb `space` in headless Chromium: sizes, time to the first label, latencies.

    python -m benchmarks.browser
    python -m benchmarks.browser --models checkpoints/hashgram-uno-sst2 --texts sentences.txt

Each model is a checkpoint, or a variant, which gets random weights. With --texts, the labels and probabilities of the
page are compared with those of torch, in 32-bit and in 8-bit weights.

- The size is that of all files that a browser loads; gzipped, as a server sends them.
- The first label is the time from opening the page, whose address holds a sentence, to its label.
- A sentence has 20 words. Its word map is 20 copies with a word left out, in one batch.
"""

import base64
import json
import re
import statistics
import tempfile
from pathlib import Path

import torch

from benchmarks.measure import convert, parser, sizes
from tests.chromium import Chromium, record_first
from vocabless import VocablessForSequenceClassification, load_config, load_tokenizer
from vocabless.conversion.space_export.graph_json import BROWSER
from vocabless.conversion.space_export.script import join_modules
from vocabless.saving.checkpoint import load_checkpoint
from vocabless.saving.tables import markdown_table
from vocabless.variants import VARIANTS

MODELS = ("hashgram-uno", "hashgram-tiny", "hashformer-lsh-proj-tiny")
# It has 20 words.
SENTENCE = "The old cinema near the river shows a quiet film about two friends who mend broken clocks in the winter"
LOAD = """async (manifest, weights) => {
  globalThis.classifier = await modules["classifier.js"].loadClassifier(manifest, weights);
}"""
CLASSIFY = "async (inputs) => (await classifier.classify(inputs)).map(({ probabilities }) => probabilities)"
MEASURE = """async (text, rounds) => {
  const milliseconds = async (call) => {
    const times = [];
    for (let round = -3; round < rounds; round++) {
      const start = performance.now();
      await call();
      if (round >= 0) times.push(performance.now() - start);
    }
    return times;
  };
  return [
    await milliseconds(() => classifier.classify([{ text }])),
    await milliseconds(() => classifier.withoutEachUnit({ text })),
  ];
}"""


def checkpoint_of(name: str, folder: Path) -> str:
    """Returns the folder or id of a checkpoint; a variant gets random weights, in `folder`."""
    if name not in VARIANTS:
        return name
    torch.manual_seed(0)
    VocablessForSequenceClassification(load_config(name, num_labels=2)).save_pretrained(folder)
    load_tokenizer(name).save_pretrained(folder)
    return str(folder)


def open_modules(tab: Chromium, folder: Path, entry: str = "classifier.js") -> None:
    """Opens a page, written into `folder`, in which `entry` and the modules below it are `modules["file.js"]`."""
    page, script = folder / "modules.html", join_modules(BROWSER, entry)
    page.write_text(f'<!doctype html><meta charset="utf-8"><script>{script}</script>', encoding="utf-8")
    tab.open(page.as_uri())


def open_classifier(tab: Chromium, folder: Path) -> None:
    """Loads the classifier of the page in `folder` as `classifier`; the page itself permits no call."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    manifest, weights = (re.findall(rf'id="{name}">(.*?)</script>', text, re.S)[0] for name in ("manifest", "weights"))
    if not weights.strip():
        weights = (folder / "weights.js").read_text(encoding="ascii").split('"')[1]
    open_modules(tab, folder)
    tab.call_function(LOAD, json.loads(manifest), base64.b64decode(weights))


def measure(tab: Chromium, folder: Path, rounds: int) -> tuple[float, float, float]:
    """Returns medians in milliseconds: to the first label, of a sentence, of its word map."""
    firsts = []
    for _ in range(rounds):
        tab.open(f"{(folder / 'index.html').as_uri()}#text={SENTENCE.replace(' ', '%20')}")
        tab.wait("globalThis.first !== undefined", seconds=60)
        firsts.append(tab.evaluate("globalThis.first"))
    open_classifier(tab, folder)
    sentence, word_map = tab.call_function(MEASURE, SENTENCE, 5 * rounds)
    return statistics.median(firsts), statistics.median(sentence), statistics.median(word_map)


def compare(tab: Chromium, folder: Path, checkpoint: str, texts: list[str]) -> str:
    """Returns how many labels of the page are those of torch, and the largest difference of a probability."""
    model, tokenizer = load_checkpoint(checkpoint)
    with torch.no_grad():
        limits = {"truncation": True, "max_length": model.base_model.max_tokens, "return_tensors": "pt"}
        expected = torch.stack([model.float()(**tokenizer(text, **limits)).logits[0].softmax(-1) for text in texts])
    open_classifier(tab, folder)
    found = torch.tensor(tab.call_function(CLASSIFY, [{"text": text} for text in texts]))
    same = int((found.argmax(-1) == expected.argmax(-1)).sum())
    largest = float((found - expected).abs().max())
    return f"{same} of {len(texts)} labels are the same; largest difference of a probability {largest:.1e}"


def main(argv: list[str] | None = None) -> None:
    """Prints the table."""
    command_line = parser(__doc__)
    command_line.add_argument(
        "--models", nargs="+", default=MODELS, help="checkpoints or variants; default: %(default)s"
    )
    command_line.add_argument("--rounds", type=int, default=9, help="times that a page is opened; default %(default)s")
    command_line.add_argument("--texts", help="file with a text in each line, for the comparison with torch")
    arguments = command_line.parse_args(argv)
    texts = Path(arguments.texts).read_text(encoding="utf-8").splitlines() if arguments.texts else []
    rows, notes = [], []
    with tempfile.TemporaryDirectory() as temporary, Chromium() as tab:
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=record_first("label"))
        for name in arguments.models:
            root = Path(temporary) / Path(name).name
            checkpoint = checkpoint_of(name, root / "checkpoint")
            convert("space", checkpoint, root / "int8")
            cells = sizes([file.read_bytes() for file in (root / "int8").iterdir() if file.name != "README.md"])
            cells += [f"{milliseconds:.1f}" for milliseconds in measure(tab, root / "int8", arguments.rounds)]
            rows.append([root.name, *cells])
            if texts:
                convert("space", checkpoint, root / "fp32", "--fp32")
                for folder, bits in (("int8", 8), ("fp32", 32)):
                    notes.append(f"{name}, {bits}-bit: {compare(tab, root / folder, checkpoint, texts)}.")
    header = ["model", "size", "gzipped", "first label, ms", "sentence, ms", "word map, ms"]
    print("\n".join([markdown_table(header, rows), "", *notes]))


if __name__ == "__main__":
    main()

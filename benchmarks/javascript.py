"""Measures packages of the verb `javascript` in Node: size, time to load, time of a sentence, sentences in a second.

    python -m benchmarks.javascript
    python -m benchmarks.javascript --models checkpoints/hashgram-multi-sentence

- The size is that of vocabless.js and model.bin; gzipped, as a server sends them.
- Times are those of the processor, so that other work on the machine counts little.
- A sentence has 20 words. In a second, sentences of 5 to 35 words are encoded, 500 at a time.
"""

import json
import subprocess
import tempfile
from pathlib import Path

from benchmarks.measure import convert, parser, sizes
from vocabless.conversion.javascript import MODEL, MODULE
from vocabless.saving.tables import markdown_table

MODELS = tuple(f"checkpoints/hashgram-{size}-sentence" for size in ("nano", "tiny", "multi"))
PROGRAM = """
import { Encoder } from "./vocabless.js";

const seconds = () => (process.cpuUsage().user + process.cpuUsage().system) / 1e6;
async function timed(work) {
  const start = seconds();
  const result = await work();
  return [seconds() - start, result];
}
const letters = "etaoinshrdlucmfwypvbgkjqxz";
let state = 1;
const random = (below) => (state = (state * 48271) % 2147483647) % below;
const word = () => Array.from({ length: 2 + random(8) }, () => letters[random(letters.length)]).join("");
const sentence = (words) => Array.from({ length: words }, word).join(" ");

const [load, encoder] = await timed(() => Encoder.load());
const times = [];
for (let round = 0; round < 60; round++) times.push((await timed(() => encoder.encode([sentence(20)])))[0]);
const texts = Array.from({ length: 500 }, () => sentence(5 + random(31)));
const [all] = await timed(() => encoder.encode(texts));
console.log(JSON.stringify([load, times.slice(20).sort((one, other) => one - other)[20], texts.length / all]));
"""


def measure(checkpoint: str, folder: Path) -> list[str]:
    """Returns a row of the table: name, sizes, times."""
    convert("javascript", checkpoint, folder)
    cells = sizes([(folder / name).read_bytes() for name in (MODULE, MODEL)])
    (folder / "measure.mjs").write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run(["node", "measure.mjs"], cwd=folder, capture_output=True, text=True, check=True)
    load, sentence, rate = json.loads(done.stdout)
    return [Path(checkpoint).name, *cells, f"{1e3 * load:.0f}", f"{1e3 * sentence:.1f}", f"{rate:.0f}"]


def main(argv: list[str] | None = None) -> None:
    """Prints the table."""
    command_line = parser(__doc__)
    command_line.add_argument("--models", nargs="+", default=MODELS, help="sentence encoders; default: %(default)s")
    models = command_line.parse_args(argv).models
    with tempfile.TemporaryDirectory() as temporary:
        rows = [measure(model, Path(temporary) / str(index)) for index, model in enumerate(models)]
    print(markdown_table(["model", "size", "gzipped", "load, ms", "sentence, ms", "sentences/s"], rows))


if __name__ == "__main__":
    main()

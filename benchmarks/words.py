"""Bytes of the words of each language, and the share that a block of K bytes cuts.

    python -m benchmarks.words words.parquet
    python -m benchmarks.words texts.parquet --column text --splitter word

The file has a row for each word or text, with its language in a column `lang`. Each distinct unit counts once.
"""

from collections import defaultdict

import numpy as np

from benchmarks.measure import parser, write_record
from vocabless.saving.tables import markdown_table
from vocabless.tokenization.splitters import SPLITTERS, Splitter, Unit, to_bytes
from vocabless.training.texts.local_files import load_files

SIZES = (16, 32, 48, 64, 96)


def lengths_of(splitter: Splitter, langs: list[str], texts: list[str]) -> dict[str, list[int]]:
    """Returns the bytes of each distinct unit, normalised, by language.

    >>> lengths_of(SPLITTERS["word"](lowercase=True), ["de", "ru", "de"], ["Äpfel", "да", "äpfel"])
    {'de': [6], 'ru': [4]}
    """
    units: dict[str, set[Unit]] = defaultdict(set)
    for lang, text in zip(langs, texts, strict=True):
        units[lang].update(splitter.normalize_all(splitter.units(text)))
    return {lang: [len(to_bytes(unit)) for unit in found] for lang, found in units.items()}


def main() -> None:
    """Runs the benchmark."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("file", help="parquet, csv or jsonl with the columns `lang` and `word`")
    command_line.add_argument("--column", default="word", help="the column of words or texts")
    command_line.add_argument("--splitter", default="scripts", help="a splitter, with lower case")
    arguments = command_line.parse_args()
    rows = load_files([arguments.file], "the file of words")
    splitter = SPLITTERS[arguments.splitter](lowercase=True)
    lengths = lengths_of(splitter, list(rows["lang"]), list(rows[arguments.column]))
    table = [
        {"lang": lang, "units": len(sizes), "median": int(np.median(sizes)), "p99.9": int(np.quantile(sizes, 0.999))}
        | {"longest": max(sizes)}
        | {f"cut at {size}, %": round(100 * float(np.mean(np.array(sizes) > size)), 3) for size in SIZES}
        for lang, sizes in lengths.items()
        if sizes
    ]
    print(markdown_table(list(table[0]), [list(map(str, row.values())) for row in table]))
    write_record(arguments.output, "words", table)


if __name__ == "__main__":
    main()

"""Accuracy of text classifiers on clean and on misspelt texts, in percent: a row for each classifier.

    python -m benchmarks.misspelt checkpoints/hashgram-uno-sst2 PEER sst2.csv --share 0.1 0.3

A classifier is a folder or a Hub id, of ours or a stock one, that transformers' `pipeline` loads. FILE is csv, jsonl or
parquet; its column `label` has numbers or names of the model's labels. All read the same misspelt texts.
"""

import random
from typing import Any

import numpy as np
from transformers import pipeline

from benchmarks.measure import Models, parser, write_record
from vocabless.public_names import without_path
from vocabless.saving.tables import markdown_table
from vocabless.texts.misspellings import misspell
from vocabless.texts.tables import read_files

SEED = 0  # of the misspellings


def accuracy(classify: Any, columns: list[list[str]], labels: list[Any]) -> float:
    """Returns the share of right labels, 0–1; `columns` has the texts, and for pairs also the second texts."""
    names = classify.model.config.label2id
    number_of = {form: number for name, number in names.items() for form in (name, number, str(number))}
    unknown = {*labels} - {*number_of}
    if unknown:
        raise SystemExit(f"benchmarks.misspelt: the labels {unknown} are none of the model's, {[*names]}.")
    inputs = [dict(zip(("text", "text_pair"), row, strict=False)) for row in zip(*columns, strict=True)]
    found = [number_of[each["label"]] for each in classify(inputs, batch_size=32, truncation=True)]
    return float(np.mean(np.array(found) == [number_of[label] for label in labels]))


def main(argv: list[str] | None = None) -> None:
    """Prints a table with a column for the clean texts and one for each share."""
    command_line = parser(__doc__, "output")
    command_line.add_argument("checkpoints", action=Models, nargs="+", metavar="CHECKPOINT", help="classifiers of text")
    command_line.add_argument("file", metavar="FILE", help="labelled texts")
    command_line.add_argument("--columns", nargs="+", help="text, or both texts of a pair; default: text or sentence")
    command_line.add_argument("--share", type=float, nargs="+", default=[0.1], help="of misspelt words, 0 to 1")
    command_line.add_argument("--trust_remote_code", action="store_true", help="run the code of the checkpoints")
    arguments = command_line.parse_args(argv)
    data, table = read_files([arguments.file]), {}
    names = arguments.columns or [name for name in ("text", "sentence") if name in data.column_names][:1]
    for checkpoint in arguments.checkpoints:
        options: dict[str, Any] = {"trust_remote_code": arguments.trust_remote_code, "device": "cpu"}
        classify, scores = pipeline("text-classification", model=checkpoint, **options), {}
        for share in (0.0, *arguments.share):
            rng, title = random.Random(SEED), f"{100 * share:g} % misspelt" if share else "clean"
            columns = [[misspell(text, share, rng) for text in data[name]] for name in names]
            scores[title] = accuracy(classify, columns, data["label"])
        table[without_path(checkpoint)] = scores
    rows = [[name, *(f"{100 * score:.1f}" for score in scores.values())] for name, scores in table.items()]
    print(markdown_table(["", *scores], rows))
    write_record(arguments.output, "misspelt", table)


if __name__ == "__main__":
    main()

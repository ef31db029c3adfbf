"""Gives each row of a file its label and probability, by a model of `vocabless finetune` or `VocablessClassifier`.

    vocabless predict runs/tickets new.csv
    vocabless predict runs/tickets new.csv --output labelled.jsonl --probabilities
    cut -f 2 log.tsv | vocabless predict you/my-tickets - --lines > labelled.csv

Rows keep their columns and their order, and get `label` and `probability`, or `predicted_label` and
`predicted_probability` if the file has one of these. Of several labels both are lists; a model of numbers gives
`value`. A row without a text has an empty label. A file may be larger than the memory; if it has labels, the score is
told. Where MODEL has the graph that `vocabless onnx MODEL MODEL/onnx` writes, onnxruntime reads it without torch.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import vocabless.command_environment  # noqa: F401 (before torch)
from vocabless.conversion.onnx_program.onnx_model import READS_VOCABULARY, OnnxClassifier, Text
from vocabless.conversion.onnx_program.onnx_settings import SETTINGS, read_settings
from vocabless.exit_with_message import exit_with_message
from vocabless.public_names import has_path_shape, model_of_run
from vocabless.saving.run_folder import RESULTS, read_json
from vocabless.texts.text_format import TextFormat
from vocabless.training.finetuning.tasks.columns import LABEL_COLUMNS, TEXT_COLUMNS, find_columns, named, text_columns
from vocabless.training.prediction.row_files import FORMATS, Row, flat, output_format, read_rows, row_writer
from vocabless.training.prediction.row_scores import RowScores

PROGRAM = "vocabless predict"
CHUNK = 4096  # rows in memory; those of similar length are read together
SHOWN_AFTER = 2  # seconds, the progress bar
CONFIG_NAME, WEIGHTS_ID = "config.json", "weights_id"  # their modules import torch


def main(argv: list[str] | None = None) -> None:
    """Runs the command on its arguments; a user's mistake ends it with one sentence."""
    with exit_with_message(PROGRAM, argv, continues=False), warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: tqdm.write(f"{message}", sys.stderr)
        try:
            predict(_parser().parse_args(argv))
        except BrokenPipeError:  # what reads our output has enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog=PROGRAM, description=__doc__, formatter_class=as_written)
    parser.add_argument(
        "model", metavar="MODEL", help="folder of a classifier, of a run with one model, or of a graph; or a Hub id"
    )
    parser.add_argument(
        "rows", metavar="ROWS", help="csv, tsv, jsonl, json, parquet, txt or fastText file; - is standard input"
    )
    parser.add_argument("--output", metavar="FILE", help="new file, .csv, .tsv or .jsonl; default: standard output")
    parser.add_argument("--format", choices=FORMATS, help="default: by the name of --output, else csv")
    parser.add_argument("--probabilities", action="store_true", help="give the probability of each label, too")
    parser.add_argument("--lines", action="store_true", help="each line of ROWS is a text, as in a txt file")
    parser.add_argument(
        "--text_column",
        nargs="+",
        metavar="NAME",
        help="column of the text, or the two of a pair; default: those of the training, or as `vocabless finetune`",
    )
    parser.add_argument("--label_column", metavar="NAME", help="column of the labels; default: label, labels or tags")
    parser.add_argument("--encoding", default="utf-8", help="of text files; of Excel on Windows cp1252")
    parser.add_argument("--delimiter", help="of csv and tsv, such as ';' or tab; default: a comma, in tsv a tab")
    return parser


def predict(arguments: argparse.Namespace) -> None:
    """Reads, predicts and writes the rows, a chunk after the other.

    Raises:
        ValueError: the file or the model cannot be read, a column is missing, or the output exists.
    """
    written, source = output_format(arguments.output, arguments.format), model_of_run(arguments.model)
    rows = read_rows(arguments.rows, TextFormat(arguments.encoding, arguments.delimiter), arguments.lines, CHUNK)
    folder, first = _folder(source), [*islice(rows, CHUNK)]
    columns = [*dict.fromkeys(name for row in first for name in flat(row))]
    record: Row = read_json(folder / RESULTS, "save the model again") if (folder / RESULTS).is_file() else {}
    texts, labels = _columns(arguments, columns, record)
    classifier, empty = _load(source, folder), 0
    names = _names(classifier, columns, arguments.probabilities)
    scores = RowScores(classifier, record.get("arguments", {}).get("label_separator"))
    nothing = dict.fromkeys(names)
    with (
        row_writer(arguments.output, written, [*columns, *names]) as write,
        tqdm(unit=" rows", delay=SHOWN_AFTER) as bar,
    ):
        for chunk in chain([first], iter(lambda: [*islice(rows, CHUNK)], [])):
            cells = [*map(flat, chunk)]
            if taken := next((name for row in cells for name in names if name in row), None):
                raise ValueError(f"a row has the column {taken!r}, which the first rows lack; put such a row first.")
            read = {place: text for place, row in enumerate(cells) if (text := _text(row, texts)) is not None}
            values = classifier.probabilities([*read.values()]) if read else np.zeros((0, len(classifier.labels)))
            answers = dict(zip(read, _answers(classifier, values, names), strict=True))
            write([row | answers.get(place, nothing) for place, row in enumerate(chunk)])
            if labels:
                of_rows = [{name: cells[place].get(name) for name in labels} for place in read]
                scores.add(of_rows if len(labels) > 1 else [row[labels[0]] for row in of_rows], values)
            empty += len(chunk) - len(read)
            bar.update(len(chunk))
    notes = [f"Rows without a text, which get no label: {empty:,}." if empty else "", str(scores)]
    sys.stderr.write("".join(f"{note}\n" for note in notes if note))


def _folder(source: str) -> Path:
    """Returns the folder of a model; of one on the Hub, that of its record and its graphs, if it has them."""
    if os.path.isdir(source):
        return Path(source)
    if "/" not in source or has_path_shape(source):
        raise ValueError(f"the model {source!r} does not exist; give a folder, or a Hub id, owner/name.")
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(source, allow_patterns=[RESULTS, CONFIG_NAME, "onnx/*"]))


def _columns(arguments: argparse.Namespace, columns: Sequence[str], record: Row) -> tuple[list[str], list[str]]:
    """Returns the columns of the texts and, if there are some, of the labels: as given, as in training, or by name."""
    trained = [name for name in record.get("text_columns") or () if named(columns, name)]
    labels = [*(record.get("label_columns") or ())]
    texts = arguments.text_column or trained or text_columns(columns, None) or columns[: len(columns) == 1]
    given = labels if all(named(columns, name) for name in labels) else []
    given = [arguments.label_column] if arguments.label_column else given
    has_labels = given or any(named(columns, name) for name in LABEL_COLUMNS)
    wanted = [(texts, TEXT_COLUMNS, "--text_column"), (given, LABEL_COLUMNS, "--label_column")]
    texts, *found = find_columns(columns, repr(arguments.rows), *wanted[: 2 if has_labels else 1])
    if len(texts) != (needed := 1 + record.get("is_pair", len(texts) == 2)):
        raise ValueError(f"the model reads {needed} texts, and the text columns are {', '.join(texts)}; give {needed}.")
    return texts, found[0] if found else []


def _text(row: Row, columns: Sequence[str]) -> Text | None:
    """Returns the text of a row, or both of a pair; None if one is empty. Raises ValueError if it is no text."""
    parts = [row.get(name) for name in columns]
    if wrong := [part for part in parts if not isinstance(part, str | None)]:
        raise ValueError(
            f"the column {' or '.join(columns)} has {wrong[0]!r}, which is no text; name another by --text_column."
        )
    texts = [part for part in parts if part and part.strip()]
    return None if len(texts) < len(parts) else texts[0] if len(texts) == 1 else (texts[0], texts[1])


def _load(source: str, folder: Path) -> OnnxClassifier:
    """Returns the graph in a folder, if onnxruntime can read it; or else the model, by torch.

    Raises:
        ValueError: the graph is of weights that the folder had before.
    """
    config = read_json(folder / CONFIG_NAME, "save the model again") if (folder / CONFIG_NAME).is_file() else {}
    for place in (folder / "onnx", folder):
        if (place / SETTINGS).is_file():
            _, settings = read_settings(place)
            if len({config.get(WEIGHTS_ID), settings.get(WEIGHTS_ID)} - {None}) > 1:
                raise ValueError(f"the graph in {str(place)!r} is of older weights; remove it, or export it again.")
            if find_spec("onnxruntime") and not {settings.get("splitter"), settings.get("coder")} & {*READS_VOCABULARY}:
                return OnnxClassifier(place, int(os.environ.get("OMP_NUM_THREADS", 0)))
    return _TorchClassifier(source)


class _TorchClassifier(OnnxClassifier):
    """A model that torch reads."""

    def __init__(self, source: str) -> None:
        self._code = import_module("vocabless.training.finetuning.scikit.estimator_fit")  # the libraries of training
        (self._model, self._tokenizer, problem, *_), _ = self._code.load(source, pairs=True)
        names = self._model.config.id2label  # those of the problem, and that of texts that are turned away
        self.labels = [names[number] for number in range(len(names))] if problem.labels else ["value"]
        self.threshold = problem.threshold
        self.is_multi_label = problem.name == "multi_label_classification"

    def logits(self, texts: Any) -> NDArray[np.float32]:
        """See `OnnxClassifier.logits`."""
        columns = [texts] if isinstance(texts[0], str) else map(list, zip(*texts, strict=True))
        return np.asarray(self._code.read_texts(self._model, self._tokenizer, *columns))


def _names(classifier: OnnxClassifier, taken: Sequence[str], with_all: bool) -> list[str]:
    """Returns the columns of an answer; if the file has one of them, each begins with `predicted_`."""
    names = ["value"] if classifier.is_number else ["label", "probability"]
    names += [f"probability_{label}" for label in classifier.labels] if with_all and not classifier.is_number else []
    prefix = ""
    while any(prefix + name in taken for name in names):
        prefix += "predicted_"
    return [prefix + name for name in names]


def _answers(classifier: OnnxClassifier, values: NDArray[np.float64], names: Sequence[str]) -> Iterator[Row]:
    """Yields the columns of the answers: label, probability and those of all labels; of several labels lists."""
    for row in values:
        rounded: list[Any]
        if classifier.is_number:
            rounded = [float(f"{row[0]:.7g}")]  # as many digits as float32 has
        else:
            rounded = np.round(row, 6).tolist()
            shown = dict(zip(classifier.labels, rounded, strict=True))
            label = classifier.label_of(dict(zip(classifier.labels, row, strict=True)))
            rounded = [label, [*map(shown.get, label)] if isinstance(label, list) else shown[label], *rounded]
        yield dict(zip(names, rounded, strict=False))

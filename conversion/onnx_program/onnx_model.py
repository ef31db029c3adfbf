"""Classifies or embeds texts with an exported model on onnxruntime, numpy and regex: text → units → blocks → numbers.

    python onnx/onnx_model.py onnx/ "It is worth the money." "Two hours that felt like five!"

The verb `onnx` writes this file beside the graph of a classifier of texts or of a sentence encoder, joined with the
tokenizer's splitters and coders. So it needs no other file and no torch: copy it beside your program. It knows all
splitters and coders but those that read a vocabulary, `READS_VOCABULARY`.
"""
# ruff: noqa: T201 (a command prints its output)

import json
import reprlib
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...modeling.sentences import read_with_sentences, softmax
from ...tokenization.block_coders import CLS, CODERS, MASK, SEP, BlockCoder, special_blocks
from ...tokenization.options import build
from ...tokenization.splitters import MASK_UNIT, SPLITTERS, MaskSplitter, Splitter, Unit
from ...tokenization.truncation import truncated_ranges
from .onnx_settings import SETTINGS, check_settings, damaged, read_json, read_settings

Text = str | tuple[str, str]  # a text, or a pair of texts
Texts = str | Iterable[Text]  # a list, also a column of numpy, pandas, Polars or Arrow, or what yields texts
ARCHITECTURE = "VocablessForSequenceClassification"
GRAPH_ID = "graph_id"  # what the settings and the graphs of a folder have in common
VECTORS = "sentence_embedding"  # output of a sentence encoder's graph
READS_VOCABULARY = ("subword", "lsh-pieces", "lsh-index-pieces")
THRESHOLD = 0.5  # of several labels, where the settings have none
BATCH = 64  # texts that are read at once
LARGEST_INT8 = 127


class OnnxModel:
    """A model in the folder that `vocabless onnx` has written; base of the two below.

    Args:
        path: one of the .onnx files, or their folder, of which the first of `MODEL_FILES` is read.
        threads: of onnxruntime; 0 is one for each core. Where several processes share a machine, give 1.

    Raises:
        ValueError: the model is of another kind, its tokenizer is one that this file does not know, or a file is
            damaged or does not belong to the other.
        OSError: a file is missing.
    """

    def __init__(self, path: str | Path, threads: int = 0) -> None:
        self._made_of = (Path(path).absolute(), threads)
        file, self.settings = read_settings(path)
        self.check(file, self.settings)
        check_settings(file, self.settings, self.needed)
        self.blocks = Blocks(self.settings, file.parent)
        self._session = open_session(file, threads)
        if (read := self._session.get_inputs()[0].shape[-1]) != (written := self.blocks([""]).shape[-1]):
            raise damaged(file.with_name(SETTINGS), f"its blocks have {written} elements, the graph's {read}")
        if self._session.get_modelmeta().custom_metadata_map.get(GRAPH_ID, "") not in ("", self.settings.get(GRAPH_ID)):
            raise ValueError(
                f"{str(file)!r} does not belong to the {SETTINGS} beside it: a process is writing the folder, or was "
                "stopped while it did; load it again, or export the model once more."
            )

    needed: tuple[str, ...] = ("splitter", "splitter_options", "coder", "coder_options", "max_tokens")

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy, and what was pickled, loads its folder again."""
        return type(self), self._made_of

    @staticmethod
    def check(file: Path, settings: dict[str, Any]) -> None:
        """Raises ValueError if the settings are not those of this kind of model."""

    def run(self, texts: Texts, output: str) -> NDArray[np.float32]:
        """Returns an output of the graph for each text, (n, its width). Texts of similar length are read together."""
        texts = listed(texts)
        order = sorted(range(len(texts)), key=lambda index: len("".join(texts[index])))
        values = np.zeros((len(texts), self.width(output)), np.float32)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            values[batch] = self.run_blocks(self.blocks([texts[index] for index in batch]), output)
        return values

    def run_blocks(self, blocks: NDArray[np.int64], output: str) -> NDArray[np.float32]:
        """Returns an output of the graph for the blocks of texts, (B, S, K)."""
        values: NDArray[np.float32] = self._session.run([output], {"input_ids": blocks})[0]
        return values

    def width(self, output: str) -> int:
        """Returns the size of the last dimension of an output of the graph."""
        return next((int(found.shape[-1]) for found in self._session.get_outputs() if found.name == output), 0)


class OnnxClassifier(OnnxModel):
    """A classifier of texts or of pairs of texts. See `OnnxModel` for the arguments and the errors.

    Attributes:
        labels: in the order of the logits.
        threshold: probability from which on one of several labels for a text is given.
    """

    needed = (*OnnxModel.needed, "labels", "problem_type")

    def __init__(self, path: str | Path, threads: int = 0) -> None:
        super().__init__(path, threads)
        self.labels: list[str] = self.settings["labels"]
        self.is_multi_label = self.settings["problem_type"] == "multi_label_classification"
        width = self.width("logits")
        if not len({*map(str, self.labels)}) == len(self.labels) == width:
            problem = f"its labels, {self.labels}, are not {width} different names, one for each output of the graph"
            raise damaged(read_settings(path)[0].with_name(SETTINGS), problem)
        self.threshold: float = self.settings.get("threshold", THRESHOLD)

    @staticmethod
    def check(file: Path, settings: dict[str, Any]) -> None:
        """Raises ValueError if the model is no classifier of texts."""
        check_settings(file, settings, ("architecture",))
        if settings["architecture"] != ARCHITECTURE:
            raise ValueError(f"{str(file)!r} is a {settings['architecture']}; give a {ARCHITECTURE}.")

    def logits(self, texts: Texts) -> NDArray[np.float32]:
        """Returns the logits of all texts, (n, labels); a string is one text. See `run` for the batches."""
        return self.run(texts, "logits")

    def run_blocks(self, blocks: NDArray[np.int64], output: str) -> NDArray[np.float32]:
        """Returns the logits of texts; a model that reads sentences, too, reads those of texts with several."""
        logits = super().run_blocks(blocks, output)
        rule = self.settings.get("reads_sentences")
        if not rule:
            return logits
        run, rejects = super().run_blocks, self.settings.get("rejects", False)
        return read_with_sentences(blocks, logits, lambda sentences: run(sentences, output), rule, rejects)

    def __call__(self, texts: Texts) -> list[dict[str, float]]:
        """Returns label → probability for each text or pair of texts, a string is one; for a regression, its number."""
        return [dict(zip(self.labels, row, strict=True)) for row in self.probabilities(texts).tolist()]

    def probabilities(self, texts: Texts) -> NDArray[np.float64]:
        """Returns the probabilities of all texts, (n, labels); for a regression, the numbers, (n, 1)."""
        values = self.logits(texts).astype(np.float64)
        if self.is_multi_label:
            return 1 / (1 + np.exp(-values))
        return values if self.is_number else softmax(values)

    @property
    def is_number(self) -> bool:
        """Whether the model gives a number and no label."""
        return len(self.labels) == 1 and not self.is_multi_label

    def label_of(self, probabilities: dict[str, float]) -> str | list[str]:
        """Returns the label of a text by an answer of `__call__`; of several labels, those that reach the limit."""
        if self.is_multi_label:
            return [label for label, probability in probabilities.items() if probability >= self.threshold]
        return max(probabilities, key=probabilities.__getitem__)


def listed(texts: Any) -> list[Text]:
    """Returns texts, or pairs of them, as a list; a string is one text. Raises ValueError for anything else."""
    if isinstance(texts, str):
        return [texts]
    is_column = isinstance(texts, Iterable) and not isinstance(texts, bytes | bytearray | Mapping | set | frozenset)
    if not is_column or hasattr(texts, "columns") or getattr(texts, "ndim", 1) == 0:
        raise ValueError(f"texts are a list of strings, but here is one {type(texts).__name__}; give a list.")
    rows = texts.to_pylist() if hasattr(texts, "to_pylist") else [*texts]  # of Arrow
    for row in rows:
        parts = row if isinstance(row, tuple | list | np.ndarray) else [row]
        if not all(isinstance(part, str) for part in parts):
            raise ValueError(
                f"texts are strings, or pairs of two, but here is {reprlib.repr(row)}; give a list of them."
            )
    return rows


class OnnxEncoder(OnnxModel):
    """A sentence encoder: texts → the vectors that sentence-transformers gives. See `OnnxModel` for the arguments.

    Attributes:
        dimensions: D, the numbers of a vector.
    """

    def __init__(self, path: str | Path, threads: int = 0) -> None:
        super().__init__(path, threads)
        self.dimensions = self.width(VECTORS)

    @staticmethod
    def check(file: Path, settings: dict[str, Any]) -> None:
        """Raises ValueError if the graph gives no vectors of texts."""
        if VECTORS not in (outputs := settings.get("outputs", ())):
            raise ValueError(
                f"{str(file)!r} gives {', '.join(outputs)} and no {VECTORS}; export a sentence encoder, a "
                "checkpoint with a modules.json."
            )

    def encode(
        self, texts: Texts, dimensions: int | None = None, int8: bool = False
    ) -> NDArray[np.float32] | NDArray[np.int8]:
        """Returns the vector of each text or pair of texts, (n, D) float32; a string is one text.

        Args:
            texts: any number of texts. They are read in batches of similar length.
            dimensions: keeps the first numbers of each vector, and divides them by their length; None keeps all.
            int8: whether each vector is multiplied so that its largest number is ±127, and rounded: (n, D) int8. The
                factors differ, so compare such vectors by their cosine.

        Raises:
            ValueError: `dimensions` is below 1 or above D, or a pair has not two texts.
        """
        if dimensions is not None and not 1 <= dimensions <= self.dimensions:
            raise ValueError(f"dimensions={dimensions} is not within 1 and {self.dimensions}; give a number between.")
        vectors = self.run(texts, VECTORS)
        if dimensions is not None:
            vectors = vectors[:, :dimensions]
            vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return as_int8(vectors) if int8 else vectors


def as_int8(vectors: NDArray[np.float32]) -> NDArray[np.int8]:
    """Returns vectors as int8 numbers, each multiplied so that its largest number is ±127.

    >>> as_int8(np.array([[0.5, -1.0], [0.0, 0.0]], dtype=np.float32)).tolist()
    [[64, -127], [0, 0]]
    """
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0)
    return np.rint(vectors * (LARGEST_INT8 / np.where(largest > 0, largest, 1))).astype(np.int8)


def open_session(file: Path, threads: int) -> Any:
    """Returns an onnxruntime session of a graph. Raises ValueError if the file is damaged."""
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    errors = tuple(each for each in vars(state).values() if isinstance(each, type) and issubclass(each, Exception))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    try:
        return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    except errors as error:
        raise damaged(file, str(error).rpartition(":")[2].rstrip(".")) from error


class Blocks:
    """Writes texts as the `input_ids` of a model, by its inference.json and, if its folder has one, its ngrams.json.

    Warns once if it cuts a text. Raises ValueError for a splitter, a coder or an option that this file does not know.
    """

    def __init__(self, settings: dict[str, Any], folder: Path) -> None:
        coder_options, ngrams = settings["coder_options"], folder / "ngrams.json"
        if ngrams.is_file():
            coder_options = {**coder_options, "ngrams": read_json(ngrams)}
        for kind in ("splitter", "coder"):
            if settings[kind] in READS_VOCABULARY:
                raise ValueError(
                    f"the {kind} {settings[kind]!r} needs the package vocabless; use its tokenizer, or another model."
                )
        self._coder: BlockCoder = build("coder", CODERS, settings["coder"], coder_options)
        self._splitter: Splitter = build("splitter", SPLITTERS, settings["splitter"], settings["splitter_options"])
        if settings.get("mask_token"):
            self._splitter = MaskSplitter(self._splitter, settings["mask_token"])
        self._max_tokens = int(settings["max_tokens"])
        self._has_warned = False
        self._side = settings.get("truncation_side", "right")

    def __call__(self, texts: str | Sequence[Text]) -> NDArray[np.int64]:
        """Returns [CLS], then the units of each text and [SEP], padded with 0, (B, S, K)."""
        rows = [self._parts(text) for text in ([texts] if isinstance(texts, str) else texts)]
        units = list({unit for row in rows for part in row for unit in part} - {MASK_UNIT})
        elements = self._coder.elements(self._splitter.normalize_all(units))
        special = special_blocks(self._coder.block_size)
        block_of = dict(zip(units, elements, strict=True)) | {MASK_UNIT: special[MASK], None: special[SEP]}
        lines = [[unit for part in row for unit in (*part, None)] for row in rows]
        blocks = np.zeros((len(lines), 1 + max(map(len, lines), default=1), self._coder.block_size), np.int64)
        blocks[:, 0] = special[CLS]
        for block_row, line in zip(blocks, lines, strict=True):
            block_row[1 : len(line) + 1] = [block_of[unit] for unit in line]
        return blocks

    def _parts(self, text: Text) -> list[Sequence[Unit]]:
        """Returns the units of a text, or of both texts of a pair, that fit a row; the longer text is cut first."""
        parts = [self._splitter.units(part) for part in ((text,) if isinstance(text, str) else text)]
        if not 1 <= len(parts) <= 2:
            raise ValueError(f"a pair has {len(parts)} texts; give a string, or two strings.")
        limit = self._max_tokens - 1 - len(parts)
        if sum(map(len, parts)) > limit and not self._has_warned:
            self._has_warned = True
            warnings.warn(f"a text has more than {self._max_tokens} tokens; only so many are read.", stacklevel=2)
        (ranges,) = truncated_ranges([*map(len, parts)], limit, "longest_first", self._side)
        return [units[start:stop] for units, (start, stop) in zip(parts, ranges, strict=True)]


def main(argv: list[str] | None = None) -> None:
    """Prints the answer for each text, FOLDER TEXT …, or for each pair, --pairs FOLDER FIRST SECOND …

    It is the label and all probabilities, or of a sentence encoder the vector, a JSON list in a line.
    """
    arguments = sys.argv[1:] if argv is None else argv
    is_pair = "--pairs" in arguments[:1]
    path, *words = arguments[is_pair:] or [""]
    if not words or (is_pair and len(words) % 2):
        sys.exit(
            "Give the folder or the file of an exported model, and one text or more; with --pairs, two for each pair."
        )
    texts: list[Text] = list(zip(words[::2], words[1::2], strict=True)) if is_pair else list(words)
    try:
        _, settings = read_settings(path)
        model = OnnxEncoder(path) if VECTORS in settings.get("outputs", ()) else OnnxClassifier(path)
    except (ValueError, OSError) as error:
        sys.exit(f"{error}")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a label can have characters that the terminal lacks
    for text in texts:
        if isinstance(model, OnnxEncoder):
            print(json.dumps(model.encode([text])[0].tolist()))
            continue
        (probabilities,) = model([text])
        print(model.label_of(probabilities), {label: round(value, 4) for label, value in probabilities.items()})


if __name__ == "__main__":
    main()

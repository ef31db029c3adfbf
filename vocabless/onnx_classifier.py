"""Classifies texts with an exported model, onnxruntime and numpy alone: text → units → blocks → probabilities.

    python vocabless/onnx_classifier.py onnx/ "It is worth the money." "Two hours that felt like five!"

This file needs no other file of the package and no torch: copy it beside your program. It writes the same blocks as the
tokenizer of the checkpoint, for every coder and for all splitters but `subword`; a test compares the two. An exception:
your Python may not know characters of a newer Unicode version.
"""
# ruff: noqa: T201 (a command prints its output)

import hashlib
import hmac
import json
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from itertools import groupby
from pathlib import Path
from typing import Any
from unicodedata import category, combining, normalize

import numpy as np
from numpy.typing import NDArray

Unit = str | bytes
Text = str | tuple[str, str]  # a text, or a pair of texts
CLS, SEP, MASK, NUM_SPECIAL = 2, 3, 4, 5  # byte value b is element b + 5; 0 is padding
ARCHITECTURE = "VocablessForSequenceClassification"
MASK_UNIT = b"\xff"  # the unit of a mask token; no UTF-8 text holds this byte
MAX_NGRAM = 4
MAX_MARKS = 30  # in a run, in any natural text: the limit of Unicode's Stream-Safe Text Format (UAX 15)
MODEL_FILES = ("model.onnx", "model_int8.onnx")  # of a folder, the first that it holds is read


class OnnxClassifier:
    """A classifier in the folder that `python -m vocabless.conversion onnx` has written.

    Args:
        path: the folder, or one of its .onnx files; of a folder model.onnx is read, or else model_int8.onnx.

    Raises:
        ValueError: the model is no text classifier, or its tokenizer is one that this file does not know.
        OSError: a file is missing.
    """

    def __init__(self, path: str | Path) -> None:
        import onnxruntime

        files = [Path(path) / name for name in MODEL_FILES] if Path(path).is_dir() else [Path(path)]
        file = next(filter(Path.is_file, files), None)
        if file is None:
            problem = f"holds no {' and no '.join(MODEL_FILES)}" if Path(path).is_dir() else "does not exist"
            raise ValueError(f"{str(path)!r} {problem}; give the folder or a file of an exported model.")
        settings = json.loads(file.with_name("inference.json").read_text(encoding="utf-8"))
        if settings["architecture"] != ARCHITECTURE:
            raise ValueError(f"{str(file)!r} is a {settings['architecture']}; give a {ARCHITECTURE}.")
        self.labels: list[str] = settings["labels"]
        self.is_multi_label = settings["problem_type"] == "multi_label_classification"
        self.blocks = Blocks(settings, file.parent)
        self._session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])

    def logits(self, texts: str | Sequence[Text]) -> NDArray[np.float32]:
        """Returns the logits of all texts, (B, labels); a string is one text."""
        logits: NDArray[np.float32] = self._session.run(None, {"input_ids": self.blocks(texts)})[0]
        return logits

    def __call__(self, texts: str | Sequence[Text]) -> list[dict[str, float]]:
        """Returns label → probability for each text or pair of texts; for a regression, label → number.

        A string is one text, and the list that is returned has one element.
        """
        values = self.logits(texts).astype(np.float64)
        if self.is_multi_label:
            values = 1 / (1 + np.exp(-values))
        elif len(self.labels) > 1:
            values = np.exp(values - values.max(axis=1, keepdims=True))
            values /= values.sum(axis=1, keepdims=True)
        return [dict(zip(self.labels, row, strict=True)) for row in values.tolist()]


class Blocks:
    """Writes texts as the `input_ids` of a model.

    Args:
        settings: content of inference.json.
        folder: its folder; it may hold ngrams.json.

    Raises:
        ValueError: a splitter, a coder or an option that this file does not know.
    """

    def __init__(self, settings: dict[str, Any], folder: Path) -> None:
        coder_options, ngrams = settings["coder_options"], folder / "ngrams.json"
        if ngrams.is_file():
            coder_options = {**coder_options, "ngrams": json.loads(ngrams.read_text(encoding="utf-8"))}
        self._split: Callable[[str], list[Unit]] = _make("splitter", SPLITTERS, settings, settings["splitter_options"])
        self._code: Callable[[Unit], list[int]] = _make("coder", CODERS, settings, coder_options)
        self._mask: str | None = settings.get("mask_token")
        self._block_size, self._max_tokens = int(settings["block_size"]), int(settings["max_tokens"])
        self._cuts_left = settings.get("truncation_side") == "left"

    def __call__(self, texts: str | Sequence[Text]) -> NDArray[np.int64]:
        """Returns [CLS], then the units of each text and [SEP], padded with 0, (B, S, K)."""
        rows = [self._parts(text) for text in ([texts] if isinstance(texts, str) else texts)]
        units = {unit for row in rows for part in row for unit in part} - {MASK_UNIT}
        code = {unit: self._code(unit) for unit in units} | {MASK_UNIT: [MASK], None: [SEP]}
        lines = [[unit for part in row for unit in (*part, None)] for row in rows]
        blocks = np.zeros((len(lines), 1 + max(map(len, lines), default=1), self._block_size), np.int64)
        blocks[:, 0, 0] = CLS
        for block_row, line in zip(blocks, lines, strict=True):
            for block, unit in zip(block_row[1:], line, strict=False):
                block[: len(code[unit])] = code[unit]
        return blocks

    def _parts(self, text: Text) -> list[list[Unit]]:
        """Returns the units of a text, or of both texts of a pair, that fit a row; the longer text is cut first."""
        parts = [self._units(part) for part in ((text,) if isinstance(text, str) else text)]
        if not 1 <= len(parts) <= 2:
            raise ValueError(f"a pair has {len(parts)} texts; give a string, or two strings.")
        limit = self._max_tokens - 1 - len(parts)
        if sum(map(len, parts)) <= limit:
            return parts
        kept = [limit]
        if len(parts) == 2:
            shorter = min(*map(len, parts), limit // 2)
            is_first_longer = len(parts[0]) > len(parts[1])
            kept = [limit - shorter, shorter] if is_first_longer else [shorter, limit - shorter]
        starts = [(len(units) - length) * self._cuts_left for units, length in zip(parts, kept, strict=True)]
        return [units[start : start + length] for units, start, length in zip(parts, starts, kept, strict=True)]

    def _units(self, text: str) -> list[Unit]:
        """Returns the units of a text; a mask token is a unit, and cuts the text."""
        first, *others = text.split(self._mask) if self._mask else [text]
        return [*self._split(first), *(unit for other in others for unit in (MASK_UNIT, *self._split(other)))]


def words(text: str) -> list[str]:
    """Returns the runs of letters, digits, marks and `_`, and the runs of other characters except spaces."""
    runs, kind, start = [], "space", 0
    for at, character in enumerate(text + " "):  # the space ends the last run
        group = category(character)[0]
        if kind == "space" or (group != "M" and character not in "\u200c\u200d"):  # marks and joiners continue a run
            previous, kind = kind, "word" if group in "LNM" or character == "_" else "other"
            kind = "space" if _is_space(character) else kind
            if kind != previous:
                runs += [text[start:at]] if previous != "space" else []
                start = at
    return runs


def words_at_spaces(text: str) -> list[str]:
    """Returns the runs of characters that are not spaces."""
    return "".join(" " if _is_space(character) else character for character in text).split(" ")


def word_splitter(lowercase: bool = False) -> Callable[[str], list[Unit]]:
    """Returns the splitter `word`."""
    return lambda text: _normalized(words(text), lowercase)


def whitespace_splitter(lowercase: bool = False) -> Callable[[str], list[Unit]]:
    """Returns the splitter `whitespace`."""
    return lambda text: _normalized(words_at_spaces(text), lowercase)


def characters_splitter(window: int = 4, lowercase: bool = False) -> Callable[[str], list[Unit]]:
    """Returns the splitter `characters`."""
    return lambda text: _normalized(
        [run[at : at + window] for run in words_at_spaces(text) for at in range(0, len(run), window)], lowercase
    )


def bytes_splitter(window: int = 16, lowercase: bool = False) -> Callable[[str], list[Unit]]:
    """Returns the splitter `bytes`, which never lower-cases."""

    def split(text: str) -> list[Unit]:
        data = _to_bytes(text)
        return [data[at : at + window] for at in range(0, len(data), window)]

    return split


def utf8_coder(block_size: int = 16) -> Callable[[Unit], list[int]]:
    """Returns the coder `utf8`."""
    return lambda unit: [byte + NUM_SPECIAL for byte in _to_bytes(unit)[:block_size]]


def md5_coder(key: str = "en") -> Callable[[Unit], list[int]]:
    """Returns the coder `md5`."""
    return lambda unit: _elements(hmac.new(key.encode(), _to_bytes(unit), _md5).digest())


def lsh_coder(
    num_bits: int = 128, num_features: int = 50_000, ngrams: Sequence[str] | None = None, seed: int = 42
) -> Callable[[Unit], list[int]]:
    """Returns the coder `lsh`."""
    products = _hyperplanes(num_bits, num_features, ngrams, seed)
    return lambda unit: _elements(np.packbits(products(unit) >= 0).tobytes())


def lsh_index_coder(
    num_hyperplanes: int = 50_260, num_features: int = 50_260, ngrams: Sequence[str] | None = None, seed: int = 42
) -> Callable[[Unit], list[int]]:
    """Returns the coder `lsh-index`."""
    products = _hyperplanes(num_hyperplanes, num_features, ngrams, seed)
    size = max(1, -(-(num_hyperplanes - 1).bit_length() // 8))
    return lambda unit: _elements(int(products(unit).argmax()).to_bytes(size, "big"))


def _hyperplanes(
    count: int, num_features: int, ngrams: Sequence[str] | None, seed: int
) -> Callable[[Unit], NDArray[np.int64]]:
    """Returns a function that returns x·r_i of a unit for i = 0…count−1, see `LshCoder` of the package."""
    states = np.arange(1, num_features + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    random = _mix(states + np.uint64(seed & (1 << 64) - 1))
    fields = random[:, None] >> np.array([0, 16, 32, 48], np.uint64) & np.uint64(0xFFFF)
    eta = fields.sum(axis=1).astype(np.int64) - 2 * 0xFFFF
    repeated = np.resize(eta, num_features + count - 1)
    ranks = None if ngrams is None else {ngram: rank for rank, ngram in enumerate(ngrams)}

    def products(unit: Unit) -> NDArray[np.int64]:
        text = unit.decode("latin-1") if isinstance(unit, bytes) else unit
        total = np.zeros(count, np.int64)
        for feature in _hashed(text, num_features) if ranks is None else _ranked(text, ranks):
            total += repeated[feature : feature + count]
        return total

    return products


def _hashed(text: str, num_features: int) -> list[int]:
    """Returns the feature of each n-gram of a text: its hash modulo `num_features`."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    state, features = np.zeros(len(codes), np.uint64), []
    for n in range(1, min(MAX_NGRAM, len(codes)) + 1):
        state = _mix(state[: len(codes) - n + 1] + codes[n - 1 :] + np.uint64(1))
        features += (state % np.uint64(num_features)).tolist()
    return features


def _ranked(text: str, ranks: dict[str, int]) -> list[int]:
    """Returns the rank of each n-gram of a text that has one."""
    ngrams = [text[at : at + n] for n in range(1, MAX_NGRAM + 1) for at in range(len(text) - n + 1)]
    return [ranks[ngram] for ngram in ngrams if ngram in ranks]


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _is_space(character: str) -> bool:
    return character.isspace() or character in "\u200b\ufeff"


def compose(text: str) -> str:
    """Returns the canonical composition (NFC) of a text in linear time.

    `unicodedata` sorts a run of n marks in up to n² steps. So the marks of a long text are sorted here first.
    """
    if len(text) > MAX_MARKS and not text.isascii():
        decomposed = "".join(normalize("NFD", character) for character in text)
        runs = groupby(decomposed, key=lambda character: combining(character) == 0)
        text = "".join(character for _, run in runs for character in sorted(run, key=combining))
    return normalize("NFC", text)


def _normalized(units: Sequence[str], lowercase: bool) -> list[Unit]:
    """Returns the units that are not empty in NFC, and in lower case if asked to."""
    composed = [compose(unit) for unit in units if unit]
    return [compose(unit.lower()) for unit in composed] if lowercase else [*composed]


def _to_bytes(unit: Unit) -> bytes:
    return unit if isinstance(unit, bytes) else unit.encode("utf-8", "surrogatepass")


def _elements(digest: bytes) -> list[int]:
    return [byte + NUM_SPECIAL for byte in digest]


def _md5(data: bytes = b"") -> Any:
    return hashlib.md5(data, usedforsecurity=False)


def _make(part: str, makers: dict[str, Callable[..., Any]], settings: dict[str, Any], options: dict[str, Any]) -> Any:
    """Returns the splitter or the coder that the settings name."""
    name = settings[part]
    if name not in makers:
        raise ValueError(
            f"the {part} {name!r} needs the package vocabless; use its tokenizer, or a model with one of "
            f"{', '.join(makers)}."
        )
    try:
        return makers[name](**options)
    except TypeError as error:
        raise ValueError(
            f"the {part} {name!r} got options that are not known here ({error}); take this file from the version of "
            "vocabless that exported the model."
        ) from error


SPLITTERS: dict[str, Callable[..., Callable[[str], list[Unit]]]] = {
    "word": word_splitter,
    "whitespace": whitespace_splitter,
    "characters": characters_splitter,
    "bytes": bytes_splitter,
}
CODERS: dict[str, Callable[..., Callable[[Unit], list[int]]]] = {
    "md5": md5_coder,
    "lsh": lsh_coder,
    "lsh-index": lsh_index_coder,
    "utf8": utf8_coder,
}


def main(argv: list[str] | None = None) -> None:
    """Prints the probabilities of each text, FOLDER TEXT …, or of each pair, --pairs FOLDER FIRST SECOND …"""
    arguments = sys.argv[1:] if argv is None else argv
    has_pairs = "--pairs" in arguments[:1]
    path, *words = arguments[has_pairs:] or [""]
    if not words or (has_pairs and len(words) % 2):
        sys.exit(
            "Give the folder or the file of an exported model, and one text or more; with --pairs, two for each pair."
        )
    texts: list[Text] = list(zip(words[::2], words[1::2], strict=True)) if has_pairs else list(words)
    try:
        classify = OnnxClassifier(path)
    except (ValueError, OSError) as error:
        sys.exit(f"{error}")
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a label can have characters that the terminal lacks
    for text in texts:
        (probabilities,) = classify([text])
        best = max(probabilities, key=probabilities.__getitem__)
        print(best, {label: round(value, 4) for label, value in probabilities.items()})


if __name__ == "__main__":
    main()

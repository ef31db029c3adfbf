"""Subword tokenizers that are trained on a text, and its n-grams that have a feature (HashFormers 3.3)."""

import inspect
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from datasets import Dataset, IterableDataset
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from vocabless.overrides import default_options
from vocabless.tokenization.block_coders import CODERS, MAX_NGRAM
from vocabless.tokenization.components import read_ngrams
from vocabless.tokenization.splitters import Splitter
from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

TRAINED_SUBWORD, TRAINED_NGRAMS = "subword.json", "ngrams.json"  # in the folder of a run
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MOST_NGRAMS = 50_000


def train_subword(documents: Dataset | IterableDataset, kind: str, vocab_size: int) -> Tokenizer:
    """Returns a tokenizer trained on the `text` of documents.

    Its kind is `wordpiece` (lower-cases, like BERT's) or `bpe` (over bytes, like RoBERTa's).
    """
    trainer: Any
    if kind == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        trainer = trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=SPECIAL_TOKENS)
    else:
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=SPECIAL_TOKENS, initial_alphabet=alphabet)
    length = len(documents) if isinstance(documents, Dataset) else None
    tokenizer.train_from_iterator(_texts(documents), trainer, length=length)
    return tokenizer


def trained_file(file: Path, train: Callable[[], str]) -> str:
    """Returns the path of what was trained on the text of a run; `train` returns its content unless the file exists.

    It is written whole or not at all, so that a run that continues can trust it.
    """
    if not file.is_file():
        temporary = file.with_suffix(".tmp")
        temporary.write_text(train(), encoding="utf-8")
        temporary.replace(file)
    return str(file)


def _texts(documents: Dataset | IterableDataset) -> Iterator[list[str]]:
    for batch in documents.iter(batch_size=1000):
        yield [text for text in batch["text"] if text]


def with_ngrams(
    load: Callable[..., VocablessTokenizer], source: str | None, folder: Path, texts: Iterable[str]
) -> VocablessTokenizer:
    """Returns a tokenizer whose LSH coder has the features that `--set ngrams=…` names.

    The value of `ngrams` is the file of a JSON list, `train`, which counts the texts and keeps its list in the folder
    of the run, or None for hashed features. `load` takes `ngrams_file`.

    Raises:
        ValueError: the coder has no n-gram features, the file is missing or no JSON list of str, or it is longer than
            the coder's number of features.
    """
    tokenizer = load()
    if source is None:
        return tokenizer
    check_has_features(tokenizer.coder)
    options = default_options(CODERS[tokenizer.coder]) | tokenizer.coder_options
    features = options["num_features"]
    if source == "train":
        count, splitter = min(MOST_NGRAMS, features), tokenizer.unit_splitter
        source = trained_file(
            folder / TRAINED_NGRAMS, lambda: json.dumps(top_ngrams(unit_counts(texts, splitter), count))
        )
    elif not Path(source).is_file():
        raise ValueError(f"--set ngrams={source} is no file; give a JSON list of n-grams, or train.")
    length = len(read_ngrams(source) or ())
    if length > features:
        raise ValueError(
            f"--set ngrams={source} has {length} n-grams for {features} features; give a shorter list, or more "
            "features: --set coder_options.num_features=N."
        )
    return load(ngrams_file=source)


def has_features(coder: str) -> bool:
    """Returns whether a coder, a key of `CODERS`, has n-gram features."""
    return "ngrams" in inspect.signature(CODERS[coder]).parameters


def check_has_features(coder: str) -> None:
    """Raises ValueError if a coder has no n-gram features."""
    if not has_features(coder):
        raise ValueError(f"--set ngrams is for the coders lsh and lsh-index, not for {coder}; leave it out.")


def unit_counts(texts: Iterable[str], splitter: Splitter) -> Counter[str]:
    """Returns normalised unit → how often it occurs in all texts. Bytes become the characters of the same numbers."""
    counts: Counter[str | bytes] = Counter()
    for text in texts:
        counts.update(splitter.units(text))
    units: Counter[str] = Counter()
    for unit, times in counts.items():
        normal = splitter.normalize(unit)
        units[normal if isinstance(normal, str) else normal.decode("latin-1")] += times
    return units


def top_ngrams(units: Counter[str], count: int = MOST_NGRAMS) -> list[str]:
    """Returns the most frequent character n-grams, n = 1…4, of units, see `unit_counts`.

    An n-gram counts as often as it occurs. Those of equal frequency are in the order of their characters.

    >>> top_ngrams(Counter({"aab": 2, "b": 1}), 4)
    ['a', 'b', 'aa', 'aab']
    """
    ngrams: Counter[str] = Counter()
    for word, times in units.items():
        for n in range(1, MAX_NGRAM + 1):
            for start in range(len(word) - n + 1):
                ngrams[word[start : start + n]] += times
    return sorted(ngrams, key=lambda ngram: (-ngrams[ngram], ngram))[:count]

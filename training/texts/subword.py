"""Subword tokenizers that are trained on a corpus."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from datasets import Dataset, IterableDataset
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

TRAINED_SUBWORD = "subword.json"  # in the folder of a run
SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


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


def trained_subword(file: Path, documents: Dataset | IterableDataset, kind: str, vocab_size: int) -> str:
    """Returns the path of a tokenizer that is trained, see `train_subword`, unless the file exists."""
    return trained_file(file, lambda: train_subword(documents, kind, vocab_size).to_str(pretty=True))


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

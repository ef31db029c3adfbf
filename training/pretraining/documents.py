"""The text of a pre-training run: which documents are read, and which are held out."""

from typing import Any, NamedTuple

from datasets import Dataset, concatenate_datasets

from vocabless.training.pretraining.arguments import PretrainingArguments
from vocabless.training.texts.corpora import EMBEDDED, load_text


class Documents(NamedTuple):
    """The documents of a run.

    Attributes:
        train: one data set for each `--corpus`.
        held_out: for evaluation.
    """

    train: list[Any]  # Dataset or IterableDataset
    held_out: Dataset


def load_documents(arguments: PretrainingArguments, seed: int) -> Documents:
    """Returns the documents to train on and the held-out ones.

    Raises:
        ValueError: a corpus that cannot be read, or from which nothing can be held out.
    """

    def load(sources: list[str], streaming: bool) -> list[Any]:
        workers, text_format = arguments.preprocessing_num_workers, arguments.text_format
        return [load_text(source, arguments.text_column, workers, streaming, text_format) for source in sources]

    corpora = load(arguments.corpus or [EMBEDDED], arguments.streaming)
    if arguments.validation_corpus is not None:
        return Documents(corpora, concatenate_datasets(load(arguments.validation_corpus, streaming=False)))
    if arguments.streaming:
        raise ValueError("--streaming cannot hold out a part of the corpus; give --validation_corpus.")
    return _hold_out(corpora, arguments.validation_split_percentage / 100, seed)


def _hold_out(corpora: list[Any], share: float, seed: int) -> Documents:
    """Holds out the same share of each corpus, at least one document."""
    train, held_out = [], []
    for documents in corpora:
        if not 0 < share <= 0.5 or len(documents) < 2:
            raise ValueError(
                f"{share:.1%} of {len(documents)} documents cannot be held out; give --validation_split_percentage "
                "above 0 and at most 50, at least two documents, or --validation_corpus."
            )
        parts = documents.train_test_split(test_size=max(1, round(share * len(documents))), seed=seed)
        train.append(parts["train"])
        held_out.append(parts["test"])
    return Documents(train, concatenate_datasets(held_out))

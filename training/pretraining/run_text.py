"""The text of a pre-training run: documents to train on, and held-out ones."""

import os
import platform
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset, concatenate_datasets

from vocabless.public_names import EMBEDDED
from vocabless.saving.run_folder import rows_fingerprint
from vocabless.texts.corpora import find_files, first_texts, load_text
from vocabless.texts.pydocs import PACKAGES, read_pydocs
from vocabless.training.pretraining.arguments import PretrainingArguments

MAX_EVALUATED = 1000  # held-out sequences, texts or translations of an evaluation
PROCESSES = min(8, os.cpu_count() or 1)  # that prepare the corpus
FEW = 2000  # documents that one process prepares sooner than others start
DRY_RUN_DOCUMENTS = 50  # of each corpus
HELD_OUT_STRETCHES = 20  # of a corpus


class Documents(NamedTuple):
    """The documents of a run."""

    train: list[Any]  # a Dataset or IterableDataset for each `--corpus`
    held_out: Dataset


def load_documents(arguments: PretrainingArguments) -> Documents:
    """Returns the documents to train on and the held-out ones.

    Raises:
        ValueError: a corpus that cannot be read, or from which nothing can be held out.
    """
    corpora = [_load(source, arguments, arguments.streaming) for source in arguments.sources]
    if arguments.validation_corpus is not None:
        held_out = [_load(source, arguments) for source in arguments.validation_corpus]
        return Documents(corpora, concatenate_datasets(held_out))
    if arguments.streaming:
        raise ValueError("--streaming cannot hold out a part of the corpus; give --validation_corpus.")
    parts = [_hold_out(corpus, arguments.validation_split_percentage / 100) for corpus in corpora]
    return Documents([train for train, _ in parts], concatenate_datasets([held_out for _, held_out in parts]))


def processes(documents: Any) -> int:
    """Returns the number of processes that prepare a Dataset or an IterableDataset: one for few documents."""
    return 1 if isinstance(documents, Dataset) and len(documents) < FEW else PROCESSES


def documents_fingerprint(arguments: PretrainingArguments) -> dict[str, str]:
    """Returns what identifies the text of each corpus, by name: the number and a hash of its documents.

    Two are not read for this, because it takes too long: of a stream the files with their sizes stand for the text, and
    of the embedded corpus the packages with their versions.

    Raises:
        ValueError: a corpus that cannot be read.
    """

    def rows(source: str, streaming: bool) -> Iterable[Any]:
        if source == EMBEDDED:
            return [platform.python_version(), *((name, version(name)) for name in PACKAGES[1:])]
        if streaming:
            return [(Path(file).name, os.path.getsize(file)) for file in find_files(source)]
        return (text for batch in _load(source, arguments).iter(batch_size=1000) for text in batch["text"])

    sources = [("corpus", source, arguments.streaming) for source in arguments.sources]
    sources += [("validation_corpus", source, False) for source in arguments.validation_corpus or []]
    return {
        f"the text of --{flag} {source}": rows_fingerprint(rows(source, streaming))
        for flag, source, streaming in sources
    }


def _load(source: str, arguments: PretrainingArguments, streaming: bool = False) -> Any:
    text_format = arguments.text_format
    if arguments.dry_run:
        if source == EMBEDDED:  # without the packages' source files
            few = Dataset.from_list([{"text": text} for _, text in read_pydocs(1, packages=())[:DRY_RUN_DOCUMENTS]])
        else:
            few = first_texts(source, arguments.text_column, text_format, DRY_RUN_DOCUMENTS)
        return few.to_iterable_dataset() if streaming else few
    return load_text(source, arguments.text_column, PROCESSES, streaming, text_format)


def _hold_out(documents: Dataset, share: float) -> tuple[Dataset, Dataset]:
    """Returns the documents to train on and the share of them, at least one, that is held out, both in their order.

    In many corpora a row is a sentence or a line. So stretches of neighbouring rows are held out, all over the corpus.
    """
    if not 0 < share <= 0.5 or len(documents) < 2:
        raise ValueError(
            f"{share:.1%} of {len(documents)} documents cannot be held out; give --validation_split_percentage "
            "above 0 and at most 50, at least two documents, or --validation_corpus."
        )
    size = max(1, round(share * len(documents)))
    stretches = min(HELD_OUT_STRETCHES, size)
    train, held_out, start = [], [], 0
    for number in range(1, stretches + 1):
        end = number * len(documents) // stretches
        border = end - (number * size // stretches - (number - 1) * size // stretches)
        train.append(documents.select(range(start, border)))
        held_out.append(documents.select(range(border, end)))
        start = end
    return concatenate_datasets(train), concatenate_datasets(held_out)

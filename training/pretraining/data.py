"""The text of a pre-training run: which documents are read and held out, and the examples made of them."""

from typing import Any, NamedTuple

from datasets import Dataset, concatenate_datasets

from vocabless.training.pretraining.arguments import PretrainingArguments, PretrainingTrainingArguments
from vocabless.training.pretraining.codecs import Codec
from vocabless.training.pretraining.objective import Objective
from vocabless.training.pretraining.packing import mix, part_of_process, prepare
from vocabless.training.pretraining.sequences import PretrainingDataset, PretrainingStream
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
        workers = arguments.preprocessing_num_workers
        return [load_text(source, arguments.text_column, workers, streaming) for source in sources]

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


def build_examples(
    arguments: PretrainingArguments,
    objective: Objective,
    training: PretrainingTrainingArguments,
    documents: Documents,
    codec: Codec,
) -> tuple[PretrainingDataset | PretrainingStream, PretrainingDataset]:
    """Returns the examples to train on and those to evaluate.

    Raises:
        ValueError: a stream without `--max_steps`, or what `prepare` and `mix` refuse.
    """
    if arguments.streaming and training.max_steps <= 0:
        raise ValueError(f"--max_steps is {training.max_steps}, but a stream has no end; give at least 1.")
    seed, rank, workers = training.seed, training.process_index, arguments.preprocessing_num_workers
    parts = documents.train
    if arguments.streaming:
        parts = [part_of_process(corpus, seed, rank, training.world_size) for corpus in parts]
    mixed = mix([prepare(part, codec, arguments.max_seq_length, workers) for part in parts], arguments.mix, seed)
    held_out = prepare(documents.held_out, codec, arguments.max_seq_length, workers)
    if 0 < arguments.max_eval_samples < len(held_out):
        held_out = held_out.select(range(arguments.max_eval_samples))
    train: PretrainingDataset | PretrainingStream
    if arguments.streaming:
        train = PretrainingStream(mixed, codec, objective, seed, arguments.shuffle_buffer_size, rank)
    else:
        train = PretrainingDataset(mixed, codec, objective, seed)
    return train, PretrainingDataset(held_out, codec, objective, seed + 1)

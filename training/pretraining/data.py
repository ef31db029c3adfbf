"""The text of a pre-training run: which documents are read and held out, and the examples made of them."""

from pathlib import Path
from typing import Any, NamedTuple

from datasets import Dataset, IterableDataset, concatenate_datasets

from vocabless.stock_shapes import find_shape
from vocabless.training.pretraining.arguments import PretrainingArguments, PretrainingRun
from vocabless.training.pretraining.codecs import Codec
from vocabless.training.pretraining.packing import mix, part_of_process, prepare
from vocabless.training.pretraining.sequences import PretrainingDataset, PretrainingStream
from vocabless.training.texts.corpora import load_text
from vocabless.training.texts.subword import train_subword

STREAMED_DOCUMENTS = 200_000  # a subword tokenizer is trained on so many documents of a stream


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
    workers, streaming = arguments.preprocessing_num_workers, arguments.streaming
    corpora = [
        load_text(source, arguments.text_column, workers, streaming) for source in arguments.corpus or ["pydocs"]
    ]
    if arguments.validation_corpus is not None:
        sources = arguments.validation_corpus
        return Documents(
            corpora, concatenate_datasets([load_text(source, arguments.text_column, workers) for source in sources])
        )
    if streaming:
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


def subword_source(arguments: PretrainingArguments, corpora: list[Any], folder: Path) -> str | None:
    """Returns the value of `--subword`; for `train`, the file of a tokenizer that is trained on the corpora first."""
    if arguments.subword != "train":
        return arguments.subword
    file = folder / "subword.json"
    if not file.is_file():  # a run that continues keeps its tokenizer
        if arguments.streaming:
            corpora = [documents.take(STREAMED_DOCUMENTS // len(corpora)) for documents in corpora]
        kind = find_shape(arguments.variant).subwords
        tokenizer = train_subword(concatenate_datasets(corpora), kind, arguments.subword_vocab_size)
        tokenizer.save(str(file.with_suffix(".tmp")))
        file.with_suffix(".tmp").replace(file)
    return str(file)


def build_examples(
    run: PretrainingRun, documents: Documents, codec: Codec
) -> tuple[PretrainingDataset | PretrainingStream, PretrainingDataset]:
    """Returns the examples to train on and those to evaluate.

    Raises:
        ValueError: a stream without `--max_steps`, or what `prepare` and `mix` refuse.
    """
    arguments, seed = run.arguments, run.training.seed
    length, workers = arguments.max_seq_length, arguments.preprocessing_num_workers
    train: PretrainingDataset | PretrainingStream
    if arguments.streaming:
        train = _stream(run, documents.train, codec)
    else:
        corpora = [prepare(corpus, codec, length, workers) for corpus in documents.train]
        train = PretrainingDataset(mix(corpora, arguments.mix, seed), codec, run.objective, seed)
    held_out = prepare(documents.held_out, codec, length, workers)
    if 0 < arguments.max_eval_samples < len(held_out):
        held_out = held_out.select(range(arguments.max_eval_samples))
    return train, PretrainingDataset(held_out, codec, run.objective, seed + 1)


def _stream(run: PretrainingRun, corpora: list[IterableDataset], codec: Codec) -> PretrainingStream:
    arguments, training = run.arguments, run.training
    seed, rank = training.seed, training.process_index
    if training.max_steps <= 0:
        raise ValueError(f"--max_steps is {training.max_steps}, but a stream has no end; give at least 1.")
    parts = [part_of_process(corpus, seed, rank, training.world_size) for corpus in corpora]
    mixed = mix([prepare(part, codec, arguments.max_seq_length) for part in parts], arguments.mix, seed)
    return PretrainingStream(mixed, codec, run.objective, seed, arguments.shuffle_buffer_size, rank)

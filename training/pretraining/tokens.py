"""Objectives that corrupt tokens, and the examples made of the sequences of a corpus.

The corruption of a sequence depends on the seed, the epoch and the sequence's number alone, so batch sizes and restarts
never change it. For memory-mapped files, the numbers of workers and processes do not change it either.
"""

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import torch
from datasets import Dataset, IterableDataset
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import get_worker_info
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from vocabless.tokenization.batches import RowPadding
from vocabless.tokenization.block_coders import Integers
from vocabless.training.pretraining.objective import Examples, Objective
from vocabless.training.pretraining.packing import IGNORE_INDEX, Packing, mix, part_of_process
from vocabless.training.pretraining.run_text import MAX_EVALUATED, Documents, processes
from vocabless.training.trainer import EXACT_LOSS, ResumableTrainer, logits_only


class Draws:
    """Random choices for the tokens of sequences that stand end to end, each from the generator of its sequence.

    Args:
        rngs: one for each sequence.
        lengths: (sequences,) tokens of each.
        donors: returns the blocks, (n, K), at places among the tokens from which replacements are drawn.
        sizes: (sequences,) number of these tokens for each sequence, end to end; or (1,), all for each.
    """

    def __init__(
        self,
        rngs: Sequence[np.random.Generator],
        lengths: Integers,
        donors: Callable[[Integers], Integers],
        sizes: Integers,
    ) -> None:
        self._rngs, self._lengths, self.donors, self.sizes = rngs, lengths, donors, sizes
        self._starts = np.cumsum(lengths) - lengths

    def numbers(self) -> NDArray[np.float64]:
        """Returns a number for each token, 0–1."""
        return np.concatenate([rng.random(n) for rng, n in zip(self._rngs, self._lengths.tolist(), strict=True)])

    def permuted(self) -> Integers:
        """Returns for each token the place of one of its sequence; each place once."""
        places = [rng.permutation(n) for rng, n in zip(self._rngs, self._lengths.tolist(), strict=True)]
        return np.concatenate(places) + np.repeat(self._starts, self._lengths)

    def replacements(self, is_replaced: NDArray[np.bool_]) -> Integers:
        """Returns the block of a token from the donor of the sequence for each token that is replaced, (n, K)."""
        counts = np.add.reduceat(is_replaced, self._starts, dtype=np.int64)
        sizes = np.broadcast_to(self.sizes, counts.shape)
        starts = np.broadcast_to(np.cumsum(self.sizes) - self.sizes, counts.shape)
        each = zip(self._rngs, sizes.tolist(), counts.tolist(), strict=True)
        places = np.concatenate([rng.integers(size, size=count) for rng, size, count in each])
        return self.donors(places + np.repeat(starts, counts))


class TokenObjective(Objective):
    """Corrupts sequences, and says for which tokens the model learns to predict which class."""

    measures: ClassVar[tuple[str, ...]] = ("loss", "accuracy")
    mark_documents: bool = False

    @abstractmethod
    def corrupt(
        self, blocks: Integers, targets: Integers | None, mask: Integers, draws: Draws
    ) -> tuple[Integers, Integers]:
        """Returns the corrupted blocks, (n, K), and the labels, (n,), `IGNORE_INDEX` where nothing is predicted.

        The result depends on the arguments alone. `blocks` is not changed.

        Args:
            blocks: (n, K) elements of ordinary tokens, of sequences end to end.
            targets: (n,) target ids, `IGNORE_INDEX` of a mark; or None without `needs_targets`.
            mask: (K,) elements of the mask token.
            draws: source of all randomness, and of replacements.
        """

    def measure(self, predictions: Integers, labels: Integers) -> dict[str, float]:
        """Returns the measures besides the loss, of the predicted classes and labels of n tokens, (n,) each."""
        return {"accuracy": float((predictions == labels).mean())}

    def build_examples(self, data: Documents, tokenizer: PreTrainedTokenizerBase) -> Examples:
        """See `Objective.build_examples`."""
        arguments, training = self.arguments, self.training
        if arguments.streaming and training.max_steps <= 0:
            raise ValueError(f"--max_steps is {training.max_steps}, but a stream has no end; give at least 1.")
        packing = Packing(tokenizer, self.needs_targets, arguments.max_seq_length, self.mark_documents)
        seed, rank = training.seed, training.process_index
        parts = [packing.prepare(part, processes(part)) for part in data.train]
        if arguments.streaming:
            parts = [part_of_process(part, seed, rank, training.world_size) for part in parts]
        mixed = mix(parts, arguments.mix, seed)
        held_out = packing.prepare(data.held_out, processes(data.held_out))
        if len(held_out) > MAX_EVALUATED:
            places = np.linspace(0, len(held_out) - 1, MAX_EVALUATED)  # of all corpora and stretches
            held_out = held_out.select(places.astype(int))
        options = mixed, packing, self, seed
        train: Any = PretrainingStream(*options, rank) if arguments.streaming else PretrainingDataset(*options)
        evaluated = PretrainingDataset(held_out, packing, self, (seed + 1) % 2**32)
        return Examples(train, evaluated)

    def build_trainer(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, examples: Examples
    ) -> ResumableTrainer:
        """See `Objective.build_trainer`."""
        return TokenTrainer(
            model=model,
            args=self.training,
            train_dataset=examples.train,
            eval_dataset=examples.evaluated,
            data_collator=TokenCollator(tokenizer),
            compute_metrics=self.compute_metrics,
            preprocess_logits_for_metrics=self.reduce_outputs,
        )

    def reduce_outputs(self, outputs: Any, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the most likely class and the loss of each token, both (B, S). So the logits need not be kept.

        They are (B, S, classes), or (labelled tokens, classes) from a sparse masked-LM head.
        """
        logits = logits_only(outputs, labels)
        is_labelled = labels != IGNORE_INDEX
        if logits.ndim == 3:
            logits = logits[is_labelled]
        predictions = torch.full_like(labels, IGNORE_INDEX)
        losses = torch.zeros(labels.shape, device=labels.device)
        predictions[is_labelled] = logits.argmax(dim=-1)
        losses[is_labelled] = torch.nn.functional.cross_entropy(logits.float(), labels[is_labelled], reduction="none")
        return predictions, losses

    def compute_metrics(self, evaluation: Any) -> dict[str, float]:
        """Returns loss and measures of what `reduce_outputs` returned, (N, S). Each labelled token has one weight."""
        labels: NDArray[np.int64] = np.asarray(evaluation.label_ids)
        is_labelled = labels != IGNORE_INDEX
        if not is_labelled.any():
            return {"accuracy": 0.0}
        predictions, losses = (np.asarray(values)[is_labelled] for values in evaluation.predictions)
        loss = float(losses.mean(dtype=np.float64))
        return {EXACT_LOSS: loss, **self.measure(predictions, labels[is_labelled])}


class TokenTrainer(ResumableTrainer):
    """A Trainer whose loss is the mean over all labelled tokens of a step, on all processes and in all micro-batches.

    A mean of the means of micro-batches would give a token of one with few labels a higher weight.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.model_accepts_loss_kwargs = True  # the Trainer counts the labels of a step

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Returns the loss of a micro-batch, in training so that the step's is their sum, and the outputs if asked."""
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True)
        if model.training and num_items_in_batch is not None:
            share = (inputs["labels"] != IGNORE_INDEX).sum() / num_items_in_batch
            # The gradients are averaged over the processes.
            loss = loss * share * (self.args.world_size if self.args.average_tokens_across_devices else 1)
        return (loss, outputs) if return_outputs else loss


def make_examples(
    packing: Packing, objective: TokenObjective, rows: pa.Table, donors: pa.Table, rngs: Sequence[np.random.Generator]
) -> list[dict[str, Any]]:
    """Returns stored sequences as corrupted examples.

    Each has a generator and a donor, from which its replacements come if not from the vocabulary. All are corrupted at
    once, since numpy takes longer for a call than for the tokens of a sequence.
    """
    tokens, lengths = packing.tokens(rows)
    blocks, targets = packing.read(tokens)
    if objective.needs_targets and packing.vocabulary is not None:
        draws = Draws(rngs, lengths, packing.vocabulary.__getitem__, np.array([len(packing.vocabulary)]))
    else:
        donated, sizes = packing.tokens(donors)

        def donors_at(places: Integers) -> Integers:
            return packing.read({name: column[places] for name, column in donated.items()})[0]

        draws = Draws(rngs, lengths, donors_at, sizes)
    blocks, labels = objective.corrupt(blocks, targets, packing.mask, draws)
    input_ids, labels = packing.with_ends(blocks, labels, lengths)
    ends = np.cumsum(lengths + (len(input_ids) - len(blocks)) // len(lengths)).tolist()
    ones = np.ones(len(input_ids), np.int64)
    return [
        {"input_ids": input_ids[start:end], "attention_mask": ones[start:end], "labels": labels[start:end]}
        for start, end in itertools.pairwise([0, *ends])
    ]


@dataclass(frozen=True)
class TokenCollator:
    """Makes a batch of examples, padded to one length; that of transformers makes lists of all labels."""

    tokenizer: Any

    def __call__(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Returns the tensors of a batch, int64."""
        lengths = [len(example["labels"]) for example in examples]
        padding = RowPadding(lengths, max(lengths), self.tokenizer.padding_side)
        values = {"input_ids": self.tokenizer.pad_token_id, "attention_mask": 0, "labels": IGNORE_INDEX}
        return {
            name: torch.from_numpy(padding.pad(np.concatenate([example[name] for example in examples]), value)).long()
            for name, value in values.items()
        }


class PretrainingDataset(torch.utils.data.Dataset[dict[str, Any]]):
    """Corrupted sequences of a memory-mapped corpus, see `Packing.prepare`.

    The seed is the source of all randomness, with the epoch and the sequence's number.
    """

    def __init__(self, sequences: Dataset, packing: Packing, objective: "TokenObjective", seed: int) -> None:
        self.sequences, self.seed, self.epoch = sequences.with_format("arrow"), seed, 0
        self._make_examples = partial(make_examples, packing, objective)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch. Each epoch has other corruptions."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.sequences)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        keys = np.array([[self.seed, self.epoch, index] for index in indices], np.uint32)  # tuples would take longer
        rngs = [np.random.default_rng(key) for key in keys]
        donors = [int(rng.integers(len(self.sequences))) for rng in rngs]
        rows = self.sequences[[*indices, *donors]]  # one read for the whole batch
        return self._make_examples(rows[: len(donors)], rows[len(donors) :], rngs)


class PretrainingStream(torch.utils.data.IterableDataset[dict[str, Any]]):
    """Corrupted sequences of a streamed corpus, without an end, see `packing.part_of_process`.

    Each epoch reads them in another order. The donor of a sequence's replacements is the sequence before it. Each
    worker of each process has its own files and its own random numbers, from the seed, the epoch, the process (`rank`)
    and the worker.
    """

    def __init__(
        self, sequences: IterableDataset, packing: Packing, objective: "TokenObjective", seed: int, rank: int = 0
    ) -> None:
        self.sequences, self.seed, self.rank = sequences, seed, rank
        self._make_examples = partial(make_examples, packing, objective)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for epoch in itertools.count():
            examples = self.epoch(epoch)
            first = next(examples, None)
            if first is None:  # there are more workers than files
                return
            yield from itertools.chain([first], examples)

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Yields an example of each sequence of this worker's part."""
        worker = get_worker_info()
        rng = np.random.default_rng((self.seed, number, self.rank, worker.id if worker else 0))
        self.sequences.set_epoch(number)
        donor: pa.Table | None = None
        for record in self.sequences:
            row = pa.table({name: [values] for name, values in record.items()})
            yield from self._make_examples(row, donor or row, [rng])
            donor = row

"""Base class of the objectives that corrupt sequences and predict a class for some of their tokens."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import DataCollatorForTokenClassification, PreTrainedTokenizerBase

from vocabless.tokenization.block_coders import Integers
from vocabless.training.pretraining.documents import Documents
from vocabless.training.pretraining.objective import Objective
from vocabless.training.pretraining.packing import Packing, mix, part_of_process
from vocabless.training.pretraining.sequences import IGNORED, PretrainingDataset, PretrainingStream
from vocabless.training.task import ExampleSets
from vocabless.training.trainer import EXACT_LOSS, logits_only


class TokenObjective(Objective):
    """Corrupts sequences, and says for which tokens the model learns to predict which class."""

    measures: ClassVar[tuple[str, ...]] = ("loss", "accuracy")
    draws_from_vocabulary: ClassVar[bool] = False  # random tokens are of the vocabulary, if there is one, not of a text

    @abstractmethod
    def corrupt(
        self, blocks: Integers, targets: Integers | None, donors: Integers, mask: Integers, rng: np.random.Generator
    ) -> tuple[Integers, Integers]:
        """Returns the corrupted blocks, (n, K), and the labels, (n,), `IGNORED` where nothing is predicted.

        The result depends on the arguments alone. `blocks` is not changed.

        Args:
            blocks: (n, K) elements of ordinary tokens.
            targets: (n,) target ids, or None without `needs_targets`.
            donors: (m, K) tokens of another sequence or of the vocabulary, m ≥ 1. Replacements are drawn from them.
            mask: (K,) elements of the mask token.
            rng: source of all randomness.
        """

    def measure(self, predictions: Integers, labels: Integers) -> dict[str, float]:
        """Returns the measures besides the loss, of the predicted classes and labels of n tokens, (n,) each."""
        return {"accuracy": float((predictions == labels).mean())}

    def build_examples(self, data: Documents, tokenizer: PreTrainedTokenizerBase) -> ExampleSets:
        """See `TrainingTask.build_examples`."""
        arguments, training = self.arguments, self.training
        if arguments.streaming and training.max_steps <= 0:
            raise ValueError(f"--max_steps is {training.max_steps}, but a stream has no end; give at least 1.")
        packing = Packing(tokenizer, self.needs_targets, arguments.max_seq_length)
        seed, rank, workers = training.seed, training.process_index, arguments.preprocessing_num_workers
        parts = [packing.prepare(part, workers) for part in data.train]
        if arguments.streaming:
            parts = [part_of_process(part, seed, rank, training.world_size) for part in parts]
        mixed = mix(parts, arguments.mix, seed)
        held_out = packing.prepare(data.held_out, workers)
        if 0 < arguments.max_eval_samples < len(held_out):
            places = np.linspace(0, len(held_out) - 1, arguments.max_eval_samples)  # of all corpora and stretches
            held_out = held_out.select(places.astype(int))
        train: PretrainingDataset | PretrainingStream
        if arguments.streaming:
            train = PretrainingStream(mixed, packing, self, seed, rank)
        else:
            train = PretrainingDataset(mixed, packing, self, seed)
        return ExampleSets(
            train,
            {"": PretrainingDataset(held_out, packing, self, seed + 1)},
            DataCollatorForTokenClassification(tokenizer),
            self.compute_metrics,
        )

    def reduce_outputs(self, outputs: Any, labels: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the most likely class and the loss of each token, both (B, S). So the logits need not be kept.

        They are (B, S, classes), or (labelled tokens, classes) from a sparse masked-LM head.
        """
        logits = logits_only(outputs, labels)
        is_labelled = labels != IGNORED
        if logits.ndim == 3:
            logits = logits[is_labelled]
        predictions = torch.full_like(labels, IGNORED)
        losses = torch.zeros(labels.shape, device=labels.device)
        predictions[is_labelled] = logits.argmax(dim=-1)
        losses[is_labelled] = torch.nn.functional.cross_entropy(logits.float(), labels[is_labelled], reduction="none")
        return predictions, losses

    def compute_metrics(self, evaluation: Any) -> dict[str, float]:
        """Returns loss and measures of what `reduce_outputs` returned, (N, S). Each labelled token has one weight."""
        labels: NDArray[np.int64] = np.asarray(evaluation.label_ids)
        is_labelled = labels != IGNORED
        if not is_labelled.any():
            return {"accuracy": 0.0}
        predictions, losses = (np.asarray(values)[is_labelled] for values in evaluation.predictions)
        loss = float(losses.mean(dtype=np.float64))
        return {EXACT_LOSS: loss, **self.measure(predictions, labels[is_labelled])}

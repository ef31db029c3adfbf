"""A student of sentence vectors, an encoder with a dense layer into the teacher's space, and its examples."""
# mypy: no-warn-return-any

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import datasets
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback, TrainerState

from vocabless import VocablessTokenizer
from vocabless.modeling.head_layers import mean_state
from vocabless.training.pretraining.measures import unit_vectors
from vocabless.training.texts.misspellings import misspell

NEIGHBOUR_WEIGHT = 2.0  # of the nearest texts in the loss of the last stage
TEMPERATURE = 0.05  # of the softmax over similarities: texts that are 0.05 nearer count e times as much
MASKED = -1e4  # stands for no similarity
TEXTS_AT_ONCE = 10_000


class SentenceStudent(nn.Module):
    """Learns to give a text the direction that a teacher gives it.

    The loss of a batch is the mean of 1 − cos(v, t) over its texts, v the student's vector and t the teacher's, plus
    `similarity_weight` times the mean squared difference between the cosines of all pairs v_i, v_j and t_i, t_j. With
    nested dimensions, the mean of the same differences between the cosines of the first d numbers of v_i, v_j and those
    of t_i, t_j is added with the weight of similarities, so that vectors that are cut at d can still be compared
    (Kusupati et al., *Matryoshka Representation Learning*, 2022). In the last stage of a run, `in_last_stage`,
    `NEIGHBOUR_WEIGHT` times the `neighbour_divergence` of the cosines is added, too.

    Args:
        encoder: any model that returns states (B, S, D) first.
        vector_size: numbers in a vector of the teacher.
        similarity_weight: weight of the similarities in the loss.
        nested_dimensions: numbers at which a vector may be cut; those not between 0 and `vector_size` do not count.
        first_size: numbers of a mean state that the dense layer reads before the last stage; None is all of them.
        teacher_mean: (vector_size,) what was taken from the teacher's vectors, to be saved with the weights; or None.
    """

    main_input_name = "input_ids"

    def __init__(
        self,
        encoder: PreTrainedModel,
        vector_size: int,
        similarity_weight: float,
        nested_dimensions: Sequence[int] = (),
        first_size: int | None = None,
        teacher_mean: NDArray[np.float32] | None = None,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.dense = nn.Linear(encoder.config.hidden_size, vector_size)
        self.similarity_weight = similarity_weight
        self.first_size = self.dense.in_features if first_size is None else first_size
        nn.init.zeros_(self.dense.weight[:, self.first_size :])
        self.in_last_stage = False
        self.nested_dimensions = [size for size in nested_dimensions if 0 < size < vector_size]
        self.register_buffer("teacher_mean", None if teacher_mean is None else torch.from_numpy(teacher_mean))

    def forward(self, labels: Tensor | None = None, **inputs: Tensor) -> dict[str, Tensor]:
        """Returns `vectors`, (B, vector_size) of length 1, and with labels the `loss`.

        Args:
            labels: (B, vector_size), the teacher's vectors.
            inputs: the encoder's inputs, with `attention_mask`, (B, S).
        """
        states = self.encoder(**inputs)[0]
        with torch.autocast(states.device.type, enabled=False):  # a vector of bfloat16 would be too coarse
            mean = mean_state(states.float(), inputs["attention_mask"])
            if not self.in_last_stage:
                mean = F.pad(mean[:, : self.first_size], (0, mean.shape[1] - self.first_size))
            vectors = F.normalize(self.dense(mean), dim=-1)
        if labels is None:
            return {"vectors": vectors}
        targets = F.normalize(labels.float(), dim=-1)
        loss = 1 - (vectors * targets).sum(dim=-1).mean()
        similarities, expected = vectors @ vectors.T, targets @ targets.T
        if self.in_last_stage:
            loss = loss + NEIGHBOUR_WEIGHT * neighbour_divergence(similarities, expected)
        if self.similarity_weight:
            loss = loss + self.similarity_weight * F.mse_loss(similarities, expected)
            for size in self.nested_dimensions:
                part = F.normalize(vectors[:, :size], dim=-1)
                weight = self.similarity_weight / len(self.nested_dimensions)
                loss = loss + weight * F.mse_loss(part @ part.T, expected)
        return {"loss": loss, "vectors": vectors}


class LastStage(TrainerCallback):
    """Tells a student when the last stage begins, which is a share of the steps of the run, 0–1."""

    def __init__(self, student: SentenceStudent, share: float) -> None:
        self.student = student
        self.share = share

    def on_step_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """See `TrainerCallback`."""
        self.student.in_last_stage = state.global_step >= (1 - self.share) * state.max_steps

    on_train_begin = on_step_begin  # a run that was killed after its last step has no other


def neighbour_divergence(similarities: Tensor, expected: Tensor) -> Tensor:
    """Returns how unlike the student's and the teacher's cosines, (B, B), are for near texts; 0 for equal ones.

    For each text, a softmax over its similarities with the other texts, divided by `TEMPERATURE`, says how near they
    are. The result is the Kullback-Leibler divergence of the student's from the teacher's, times `TEMPERATURE`. Source:
    Fang et al., *SEED: Self-supervised Distillation for Visual Representation*, ICLR 2021, section 3.2; differs: the
    texts are those of the batch, without a queue.
    """
    itself = torch.eye(len(expected), dtype=torch.bool, device=expected.device)
    ours, theirs = (
        (cosines / TEMPERATURE).masked_fill(itself, MASKED).log_softmax(dim=-1) for cosines in (similarities, expected)
    )
    return TEMPERATURE * F.kl_div(ours, theirs, reduction="batchmean", log_target=True)


def token_counter(tokenizer: PreTrainedTokenizerBase) -> Callable[[list[str]], list[int]]:
    """Returns a function that counts the units of texts, or their characters for a tokenizer of another family."""
    if isinstance(tokenizer, VocablessTokenizer):
        splitter = tokenizer.unit_splitter
        return lambda texts: list(map(len, splitter.units_of_batch(texts)))
    return lambda texts: list(map(len, texts))


@dataclass(frozen=True)
class VectorCollator:
    """Makes a batch of examples with a `text`, cut at `max_length` tokens, and the teacher's `vector`."""

    tokenizer: PreTrainedTokenizerBase  # of the student
    max_length: int

    def __call__(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Returns the student's inputs, and `labels`, (B, vector_size) float16."""
        texts = [example["text"] for example in examples]
        inputs = self.tokenizer(texts, max_length=self.max_length, truncation=True, padding=True, return_tensors="pt")
        return {**inputs, "labels": torch.from_numpy(np.stack([example["vector"] for example in examples]))}


def mean_vectors(vectors: datasets.Dataset, groups: NDArray[np.int64]) -> NDArray[np.float32]:
    """Returns the mean of the column `vector` in each group, (groups, vector size), each vector divided by its length.

    Args:
        vectors: with a column `vector`, n rows.
        groups: (n,) the number of the group of each vector, from 0 on, without a gap.
    """
    totals = np.zeros((groups.max() + 1, vectors.features["vector"].length))
    for start, batch in enumerate(vectors.with_format("numpy").iter(batch_size=TEXTS_AT_ONCE)):
        rows = groups[start * TEXTS_AT_ONCE :][: len(batch["vector"])]
        np.add.at(totals, rows, unit_vectors(batch["vector"]))
    return (totals / np.bincount(groups)[:, None]).astype(np.float32)


class VectorDataset(torch.utils.data.Dataset[dict[str, Any]]):
    """Examples with a `text` and the teacher's `vector`.

    Args:
        texts: with a column `text`, n rows.
        vectors: with a column `vector`, see `teacher.add_vectors`.
        targets: (n,) the row in `vectors` of each text.
        length_of: returns the length of each text of a list, in any unit.
        rows: (examples,) the row in `texts` of each example; None takes each text once.
        means: (groups, vector size) taken from the vectors of length 1, see `mean_vectors`; None changes no vector.
        groups: (n,) the row in `means` of each vector; None takes the first for all.
        misspell_probability: share of the words that the student reads misspelt, 0–1. Each epoch has other ones.
        seed: source of all randomness, with the epoch and the number of the example.
    """

    def __init__(
        self,
        texts: datasets.Dataset,
        vectors: datasets.Dataset,
        targets: NDArray[np.int64],
        length_of: Callable[[list[str]], list[int]],
        rows: NDArray[np.int64] | None = None,
        means: NDArray[np.float32] | None = None,
        groups: NDArray[np.int64] | None = None,
        misspell_probability: float = 0.0,
        seed: int = 0,
    ) -> None:
        self._texts = texts.with_format("numpy")
        self._vectors = vectors.with_format("numpy")
        self._targets = targets
        self._rows = np.arange(len(texts)) if rows is None else rows
        self.means = means
        self._groups = np.zeros(len(vectors), np.int64) if groups is None else groups
        self._misspell_probability = misspell_probability
        self._seed = seed
        self._epoch = 0
        batches = (length_of(batch["text"]) for batch in texts.iter(batch_size=TEXTS_AT_ONCE))
        lengths = np.fromiter(chain.from_iterable(batches), np.int64, len(texts))
        self.lengths: NDArray[np.int64] = lengths[self._rows]  # (examples,)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch."""
        self._epoch = epoch

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([index])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        rows = self._rows[list(indices)]
        targets = self._targets[rows]
        texts, vectors = self._texts[rows]["text"], self._vectors[targets]["vector"]
        if self.means is not None:
            vectors = unit_vectors(vectors) - self.means[self._groups[targets]]
        if self._misspell_probability:
            rngs = (np.random.default_rng((self._seed, self._epoch, index)) for index in indices)
            texts = [
                misspell(str(text), self._misspell_probability, rng) for text, rng in zip(texts, rngs, strict=True)
            ]
        return [{"text": str(text), "vector": vector} for text, vector in zip(texts, vectors, strict=True)]

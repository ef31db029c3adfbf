"""A linear model of a text's vector and words, what it is fitted to, and its settings."""

from dataclasses import dataclass, replace

from vocabless.training.finetuning.head.frozen_features import Features
from vocabless.training.finetuning.tasks.data import Rows
from vocabless.training.finetuning.tasks.logits import Vectors
from vocabless.training.finetuning.tasks.problems import Array, Problem


@dataclass(frozen=True)
class Settings:
    """What cross-validation chooses of a head."""

    strength: float
    wide_weight: float = 0.0
    temperature: float = 1.0  # by which the logits are divided, so that probabilities are right on held-out rows


@dataclass(frozen=True)
class LinearHead:
    """A linear model of scaled vectors, and of wide features."""

    weight: Vectors  # (outputs, D)
    bias: Vectors  # (outputs,)
    mean: Vectors  # (D,), of the vectors
    deviation: Vectors  # (D,), what they are divided by, see `LinearProblem`
    wide: Vectors | None = None  # (rows, outputs)

    def divided_by(self, temperature: float) -> "LinearHead":
        """Returns the model whose logits are those of this one, divided by the temperature."""
        wide = None if self.wide is None else self.wide / temperature
        return replace(self, weight=self.weight / temperature, bias=self.bias / temperature, wide=wide)

    def logits(self, features: Features) -> Vectors:
        """Returns the logits (n, outputs) of the features of n rows."""
        logits: Vectors = ((features.vectors - self.mean) / self.deviation) @ self.weight.T + self.bias
        if self.wide is not None and features.wide is not None:
            logits += features.wide @ self.wide
        return logits


@dataclass(frozen=True)
class LabelledFeatures:
    """What a head reads of n texts, and the targets of a problem."""

    problem: Problem
    features: Features
    targets: Array  # (n,) or (n, labels)
    everyday: Vectors | None = None  # (lines, D), what the head reads of everyday lines; None: sentences are not read

    def select(self, rows: Rows) -> "LabelledFeatures":
        """Returns those of some of the texts."""
        return replace(self, features=self.features.select(rows), targets=self.targets[rows])

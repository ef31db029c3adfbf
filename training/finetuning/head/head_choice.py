"""The choice of the first head's regularisation, wide part and temperature, on held-out rows."""

from collections.abc import Sequence

import numpy as np
import torch
from transformers.utils import logging

from vocabless.training.finetuning.head.linear_problem import LabelledFeatures, LinearProblem, Settings
from vocabless.training.finetuning.tasks.data import Rows
from vocabless.training.finetuning.tasks.logits import Vectors
from vocabless.training.finetuning.tasks.metrics import is_gain

STRENGTHS = (0.003, 0.03, 0.3, 3.0)  # inverse regularisation, for standardised numbers
WIDE_WEIGHTS = (1.0, 2.0, 4.0)  # lengths of the wide features, as multiples of that of the standardised vector
WIDE_GAIN = 2.0  # standard errors by which a wide part must lower the loss: it is the best of twelve settings
MAX_CHOICE_CELLS = 400_000  # rows times labels; beyond, settings are chosen on one fold alone
SILENT_SECONDS = 2  # of fits, after which they show a bar


def choose(labelled: LabelledFeatures, folds: Sequence[Rows]) -> tuple[Settings, Vectors]:
    """Returns the settings with the smallest loss on the rows of the folds, and their held-out logits.

    With so many rows and labels that a fit takes seconds, they are chosen on the first fold; other logits are NaN.

    Each setting has the temperature that makes its own loss smallest: weak regularisation gives logits that are too
    large, and is often right nevertheless. There is a wide part only if its gain is above `WIDE_GAIN`.
    """
    problem = labelled.problem
    num_scored = 1 if sum(map(len, folds)) * problem.config["num_labels"] > MAX_CHOICE_CELLS else len(folds)
    rows = np.concatenate(folds[:num_scored])
    weights = torch.from_numpy(labelled.features.shares(rows))
    references = torch.from_numpy(np.asarray([labelled.targets[row] for row in rows]))

    def best_with(wide_weights: Sequence[float]) -> tuple[Settings, Vectors, Vectors]:
        """Returns the best settings with one of the weights, their logits, and the losses of the rows."""
        best: tuple[Settings, Vectors, Vectors] | None = None
        for wide_weight in wide_weights:
            for strength, logits in _held_out(labelled, folds, num_scored, wide_weight, STRENGTHS).items():
                of_rows = torch.from_numpy(logits[rows])
                temperature = problem.temperature(of_rows, references, weights)
                losses = (problem.losses(of_rows / temperature, references) * weights).numpy()
                if best is None or losses.mean() < best[2].mean():
                    best = Settings(strength, wide_weight, temperature), logits / temperature, losses
        assert best is not None
        return best

    settings, logits, losses = best_with([0.0])
    if labelled.features.wide is not None:
        wide_settings, wide_logits, wide_losses = best_with(WIDE_WEIGHTS)
        if is_gain(losses - wide_losses, WIDE_GAIN):
            return wide_settings, wide_logits
    return settings, logits


def held_out_logits(labelled: LabelledFeatures, folds: Sequence[Rows], settings: Settings) -> Vectors:
    """Returns the logits (n, outputs) of the rows in folds, by heads that were fitted outside their fold.

    The logits of rows of no fold are NaN, and no head is fitted to them.
    """
    logits = _held_out(labelled, folds, len(folds), settings.wide_weight, [settings.strength])
    return logits[settings.strength] / settings.temperature


def _held_out(
    labelled: LabelledFeatures, folds: Sequence[Rows], num_scored: int, wide_weight: float, strengths: Sequence[float]
) -> dict[float, Vectors]:
    """Returns strength → the logits of `held_out_logits`, of the first folds, with the temperature 1."""
    rows, shape = np.concatenate(folds), (len(labelled.targets), labelled.problem.config["num_labels"])
    logits = {strength: np.full(shape, np.nan) for strength in strengths}
    parts = [fold for fold in folds[:num_scored] if len(fold)]  # of a few groups of copies, some folds have none
    with logging.tqdm(total=len(parts) * len(strengths), desc="Head", delay=SILENT_SECONDS, leave=False) as bar:
        for held_out in parts:
            linear = LinearProblem(labelled.select(np.setdiff1d(rows, held_out)), wide_weight)
            scored = labelled.features.select(held_out)
            for strength, of_rows in logits.items():
                of_rows[held_out] = linear.solve(strength).logits(scored)
                bar.update()
    return logits

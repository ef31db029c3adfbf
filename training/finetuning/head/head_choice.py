"""The choice of the first head's regularisation, wide part and temperature, on held-out rows."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import log10

import numpy as np
import torch
from transformers.utils import logging

from vocabless.training.finetuning.head.linear_head import LabelledFeatures, LinearHead, Settings
from vocabless.training.finetuning.head.linear_problem import LinearProblem, one_blas_thread
from vocabless.training.finetuning.tasks.data import Rows
from vocabless.training.finetuning.tasks.logits import SILENT_SECONDS, Vectors
from vocabless.training.finetuning.tasks.metrics import is_gain

STRENGTHS = (0.003, 0.03, 0.3, 3.0)  # inverse regularisation, for standardised numbers
WIDE_WEIGHTS = (1.0, 2.0, 4.0)  # lengths of the wide features, as multiples of that of the standardised vector
WIDE_GAIN = 2.0  # standard errors by which a wide part must lower the loss: it is the best of twelve settings
MAX_CHOICE_CELLS = 400_000  # rows times labels; beyond, settings are chosen on one fold alone


@dataclass(frozen=True)
class HeldOut:
    """What heads say of rows that they were not fitted to."""

    logits: Vectors  # (n, outputs); NaN for rows of no fold
    heads: list[tuple[Rows, LinearHead]]  # the rows of each fold, and the head that was fitted without them

    def divided_by(self, temperature: float) -> "HeldOut":
        """Returns the logits and the heads divided by the temperature."""
        return HeldOut(self.logits / temperature, [(fold, head.divided_by(temperature)) for fold, head in self.heads])


def choose(labelled: LabelledFeatures, folds: Sequence[Rows]) -> tuple[Settings, HeldOut]:
    """Returns the settings with the smallest loss on the rows of the folds, and what they say of these rows.

    With so many rows and labels that a fit takes seconds, they are chosen on the first fold; other logits are NaN.

    The strength C has a prior, (log₁₀ C)² nats beside the losses: the loss of few rows is the smallest at an end of the
    grid. Each setting has the temperature that suits its own logits: weak regularisation gives logits that are too
    large, and is often right nevertheless. There is a wide part only if its gain is above `WIDE_GAIN`.
    """
    problem = labelled.problem
    num_scored = 1 if sum(map(len, folds)) * problem.config["num_labels"] > MAX_CHOICE_CELLS else len(folds)
    rows = np.concatenate(folds[:num_scored])
    weights, targets = labelled.features.shares(rows), labelled.targets[rows]
    problems = _problems(labelled, folds, num_scored)

    def best_with(wide_weights: Sequence[float]) -> tuple[Settings, HeldOut, Vectors]:
        """Returns the best settings with one of the weights, what they say, and the losses of the rows."""
        best: tuple[Settings, HeldOut, Vectors] | None = None
        least = np.inf
        for wide_weight in wide_weights:
            for strength, held_out in _held_out(labelled, problems, wide_weight, STRENGTHS).items():
                logits = held_out.logits[rows]
                temperature = problem.temperature(logits, targets, weights)
                calibrated = torch.from_numpy(logits / temperature)
                losses = problem.losses(calibrated, torch.from_numpy(targets)).numpy() * weights
                nats = problem.nats(losses) + log10(strength) ** 2
                if nats < least:
                    least, best = nats, (Settings(strength, wide_weight, temperature), held_out, losses)
        assert best is not None
        return best

    settings, held_out, losses = best_with([0.0])
    if labelled.features.wide is not None:
        wide_settings, wide_held_out, wide_losses = best_with(WIDE_WEIGHTS)
        if is_gain(losses - wide_losses, WIDE_GAIN):
            settings, held_out = wide_settings, wide_held_out
    return settings, held_out.divided_by(settings.temperature)


def held_out_heads(labelled: LabelledFeatures, folds: Sequence[Rows], settings: Settings) -> HeldOut:
    """Returns what heads say of the rows in folds that were fitted outside their fold.

    The logits of rows of no fold are NaN, and no head is fitted to them.
    """
    problems = _problems(labelled, folds, len(folds))
    found = _held_out(labelled, problems, settings.wide_weight, [settings.strength])
    return found[settings.strength].divided_by(settings.temperature)


def _problems(labelled: LabelledFeatures, folds: Sequence[Rows], num_scored: int) -> list[tuple[Rows, LinearProblem]]:
    """Returns the rows of each of the first folds, and the problem of the rows of all other folds."""
    rows, parts = np.concatenate(folds), filter(len, folds[:num_scored])  # of a few groups of copies, some are empty
    return [(fold, LinearProblem(labelled.select(np.setdiff1d(rows, fold)))) for fold in parts]


def _held_out(
    labelled: LabelledFeatures,
    problems: Sequence[tuple[Rows, LinearProblem]],
    wide_weight: float,
    strengths: Sequence[float],
) -> dict[float, HeldOut]:
    """Returns strength → what heads with it say of the rows of each problem's fold."""
    shape = len(labelled.targets), labelled.problem.config["num_labels"]
    found = {strength: HeldOut(np.full(shape, np.nan), []) for strength in strengths}
    with logging.tqdm(total=len(problems) * len(strengths), desc="Head", delay=SILENT_SECONDS, leave=False) as bar:

        def heads_of(fold: Rows, problem: LinearProblem) -> list[tuple[LinearHead, Vectors]]:
            """Returns the head with each strength, and what it says of the fold."""
            heads, scored = [], labelled.features.select(fold)
            for head in problem.heads(wide_weight, strengths):
                heads.append((head, head.logits(scored)))
                bar.update()
            return heads

        # Most of a fit is in BLAS, outside of Python, so folds are fitted at once.
        with one_blas_thread(), ThreadPoolExecutor(os.cpu_count()) as pool:
            for (fold, _), heads in zip(problems, pool.map(heads_of, *zip(*problems, strict=True)), strict=True):
                for held_out, (head, logits) in zip(found.values(), heads, strict=True):
                    held_out.logits[fold] = logits
                    held_out.heads.append((fold, head))
    return found

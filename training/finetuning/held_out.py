"""The rules on held-out rows, each a function: which rows a model does not learn, and what their scores decide.

docs/measurements.md, "Own data", and docs/log.md have what was measured for the numbers.
"""

import math
import random
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import expit

from vocabless.training.finetuning.arguments import DataArguments, GlueTrainingArguments
from vocabless.training.finetuning.data import SAMPLING_SEED, Examples, Rows, TaskData, sample_rows
from vocabless.training.finetuning.metrics import Scores
from vocabless.training.finetuning.problems import THRESHOLD, MultiLabel, Problem
from vocabless.training.finetuning.text_logits import TextLogits

# Which rows are held out.
FOLDS = 5  # of the training rows
TRAINED_TWICE = 10_000  # of fewer training rows, the saved model learns from all, and others are scored on folds
FEW_ROWS = 200  # up to so many rows, fine-tuning is scored on all folds; of more rows, on one
HELD_OUT, MOST_HELD_OUT = 10.0, 50.0  # percent of the training rows, where they are held out for good
# What the scores decide. A gain is counted in standard errors of its mean.
WIDE_GAIN = 2.0  # of a wide part, the best of twelve settings
SENTENCE_COST = 2.0  # of reading sentences, at most: their gain is in texts that training rows lack
TUNING_GAIN = 0.5  # of trained weights over the head alone, and of a mean of weights over both
SURE_ROWS = 5  # without a mistake, beside the rows that choose the limit of several labels: of few, it is near 0.5
THRESHOLDS = tuple(step / 20 for step in range(1, 20))
ENOUGH = 0.5  # of the interval of the head's score; if fine-tuning cannot gain more, it is left out
QUANTILE = 1.959964  # of the normal distribution, for 95 %
CORRELATIONS = ("matthews_correlation", "pearson", "spearman")
Array = NDArray[np.float64]


def choose_validation(
    data: TaskData, arguments: DataArguments, scores_folds: bool, validation: Examples | None = None
) -> TaskData:
    """Returns the data with validation examples: those that are given, folds, or rows that are held out for good.

    Copies of a text, see `Examples.keys`, are held out together unless the rows have other groups. Footnotes tell of
    copies. With `scores_folds` models may be scored on folds; more of them are trained, which takes seconds only for
    our trained encoders and few rows.

    Raises:
        ValueError: no rows can be held out.
    """
    name, keys = data.name, data.train.keys()
    train = replace(data.train, groups=data.train.groups or keys)
    notes = list(data.footnotes)
    if copies := len(keys) - len(set(keys)):
        notes.append(
            f"{name}: {copies:,} of {len(keys):,} training rows are copies of others but for case, accents and marks"
        )
    data = replace(data, train=train, footnotes=tuple(notes))
    if validation is not None:
        data = replace(data, validation={"": validation})
    elif scores_folds and are_folds_scored(train, arguments):
        data = with_scored_folds(data, FOLDS)
    else:
        data = _with_rows_held_out(data, arguments.validation_split_percentage)
    others = {} if validation is None else {"validation": validation}
    others |= {f"test{suffix}": examples for suffix, examples in data.test.items()}
    known, notes = set(keys), list(data.footnotes)
    for part, examples in others.items():
        if number := sum(key in known for key in examples.keys()):
            rows = f"{name}: {number:,} of {len(examples):,} {part} rows have the texts of training rows"
            notes.append(f"{rows}, so the score tells less about new texts")
    return replace(data, footnotes=tuple(notes))


def are_folds_scored(train: Examples, arguments: DataArguments) -> bool:
    """Returns whether models of few rows are scored on folds, and the saved one learns from all rows."""
    is_free = arguments.validation_split_percentage is None
    rows = min(len(train), arguments.max_train_samples or len(train))
    return is_free and rows < TRAINED_TWICE and len(set(train.groups or ())) >= FOLDS


def folds_to_train(rows: int) -> int:
    """Returns on how many folds fine-tuning is scored: each takes the time of a training run."""
    return FOLDS if rows <= FEW_ROWS else 1


def with_scored_folds(data: TaskData, count: int) -> TaskData:
    """Returns the data with the rows of the first `count` folds as the validation examples.

    Each of these folds is scored by a model that learned from the other folds.
    """
    scored = replace(data, scored_folds=count)
    return replace(scored, validation={"": data.train.select(scored_rows(scored).tolist())})


def scored_rows(data: TaskData) -> Rows:
    """Returns the training rows of the scored folds, sorted."""
    return np.sort(np.concatenate(training_folds(data)[: data.scored_folds]))


def training_folds(data: TaskData) -> list[Rows]:
    """Returns the training rows of each fold, the same for all seeds."""
    return folds_of(data.problem.strata(data.targets(data.train)), data.train.groups)


def limited(data: TaskData, rows: int | None) -> TaskData:
    """Returns the data with at most this number of random training rows; None keeps all."""
    if rows is None or rows >= len(data.train):
        return data
    note = f"{data.title}: trained on {rows:,} of {len(data.train):,} rows"
    train = data.train.select(sample_rows(len(data.train), rows))
    fewer = replace(data, train=train, footnotes=(*data.footnotes, note))
    return with_scored_folds(fewer, data.scored_folds) if data.is_cross_validated else fewer


def _with_rows_held_out(data: TaskData, percentage: float | None) -> TaskData:
    """Returns the data with a share of the training rows as validation examples; ValueError if none can be."""
    train, percentage = data.train, HELD_OUT if percentage is None else percentage
    number = len(set(train.groups or ()))
    if not 0 < percentage <= MOST_HELD_OUT or number < 2:
        raise ValueError(
            f"{percentage:g} % of {number} training rows or groups cannot be held out; give --validation_file, or "
            f"--validation_split_percentage above 0 and at most {MOST_HELD_OUT:g} and at least two rows."
        )
    labels = [data.problem.names_in(label) for label in train.labels or []]
    held_out = hold_out(data.problem.strata(data.targets(train)), percentage / 100, train.groups, labels).tolist()
    if not held_out:
        raise ValueError(
            f"none of the {number} different training texts or groups can be held out, since a label has no other "
            "rows; give --validation_file, or more rows of each label."
        )
    note = f"{data.name}: evaluated on {len(held_out):,} rows held out of the training data"
    learned = train.select(sorted(set(range(len(train))) - set(held_out)))
    validation = {"": train.select(held_out)}
    return replace(data, train=learned, validation=validation, footnotes=(*data.footnotes, note))


def folds_of(strata: Sequence[Any], groups: Sequence[Hashable] | None = None) -> list[Rows]:
    """Returns the rows of each of `FOLDS` folds, sorted. Folds differ by at most one group, for each label and in all.

    The strata are the label of each row, or a number. Rows of a group, which counts with the label of its first row,
    are in the same fold; None makes each row a group.
    """
    rows_of: list[list[int]] = [[] for _ in range(FOLDS)]
    for position, rows in enumerate(_stratified_order(strata, groups)):
        rows_of[position % FOLDS] += rows
    return [np.array(sorted(rows), np.int64) for rows in rows_of]


def hold_out(
    strata: Sequence[Any],
    share: float,
    groups: Sequence[Hashable] | None = None,
    labels: Sequence[Sequence[str]] | None = None,
) -> Rows:
    """Returns the rows of a share of the groups, at least one, of each label as many as its share; see `folds_of`.

    `labels` are the names of the labels of each row. A group with the last other rows of a label is not held out; there
    may be none left, so that nothing is held out.
    """
    order = _stratified_order(strata, groups)
    share = max(share, 1 / len(order))
    chosen = [int((place + 1) * share + 1e-9) > int(place * share + 1e-9) for place in range(len(order))]
    left = Counter(name for names in labels or [] for name in names)
    held_out: list[int] = []
    for is_chosen in (True, False):  # one of the others, if none of the chosen ones can be held out
        for rows in (rows for rows, was_chosen in zip(order, chosen, strict=True) if was_chosen == is_chosen):
            names = Counter(name for row in rows if labels for name in labels[row])
            if (is_chosen or not held_out) and all(left[name] > count for name, count in names.items()):
                left -= names
                held_out += rows
    return np.array(sorted(held_out), np.int64)


def _stratified_order(strata: Sequence[Any], groups: Sequence[Hashable] | None) -> list[list[int]]:
    """Returns the rows of each group; groups are in the order of their labels, and in random order within a label."""
    members: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups or range(len(strata))):
        members.setdefault(group, []).append(row)
    order = list(members.values())
    random.Random(SAMPLING_SEED).shuffle(order)
    return sorted(order, key=lambda rows: strata[rows[0]])


def interval(metric: str, value: float, count: int, scored_folds: int = 0) -> tuple[float, float]:
    """Returns the 95 % confidence interval of a score on `count` examples.

    A correlation gets Fisher's interval. Every other score is treated as a share of the examples and gets Wilson's
    interval (1927), which does not shrink to a point at 0 and 1.

    The model that was scored on folds is not the one that was saved, and folds share training rows. So the variance of
    a score on J folds of n rows each is not σ² / (J·n), but (1/J + test rows / training rows) σ² / n (Nadeau & Bengio
    2003, section 3), as if there were fewer examples. Without it, 84 % of the intervals held the score of the saved
    model on thousands of other rows.

    Example:
        >>> [round(bound, 2) for bound in interval("accuracy", 1.0, 4)]
        [0.51, 1.0]
        >>> [round(bound, 2) for bound in interval("spearman", 0.8, 103)]
        [0.72, 0.86]
        >>> [round(bound, 2) for bound in interval("accuracy", 0.8, 500, scored_folds=5)]
        [0.74, 0.85]
    """
    effective = count / (1 + scored_folds / (FOLDS - 1))
    if metric in CORRELATIONS:
        if effective <= 3:
            return -1.0, 1.0
        center = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, value)))
        margin = QUANTILE / math.sqrt(effective - 3)
        return math.tanh(center - margin), math.tanh(center + margin)
    weight = QUANTILE**2 / effective
    center = (value + weight / 2) / (1 + weight)
    margin = QUANTILE * math.sqrt(value * (1 - value) / effective + weight / (4 * effective)) / (1 + weight)
    return max(0.0, center - margin), min(1.0, center + margin)


def temperature_of(data: TaskData, logits: Array) -> float:
    """Returns the temperature of logits of the validation rows, (n, outputs), see `Problem.temperature`."""
    examples = data.validation[""]
    weights = None if examples.weights is None else torch.from_numpy(np.asarray(examples.weights))
    targets = torch.from_numpy(np.asarray(data.targets(examples)))
    return data.problem.temperature(torch.from_numpy(logits), targets, weights)


def is_head_enough(data: TaskData, head: Scores) -> bool:
    """Returns whether fine-tuning could gain at most `ENOUGH` of the interval of the head's score."""
    metric = data.problem.best_metric
    low, high = interval(metric, head[metric], len(data.validation[""]), data.scored_folds)
    return 1 - head[metric] <= ENOUGH * (high - low)


def threshold_of(data: TaskData, logits: Array) -> float:
    """Returns the probability from which on one of several labels is given, by logits of the validation rows.

    It is half of the best micro F1 that any limit has on these rows: of probabilities that are right, this is the limit
    with the best F1 (Lipton, Elkan and Naryanaswamy, ECML PKDD 2014). `SURE_ROWS` are counted with them.
    """
    if data.problem.name != MultiLabel.name:
        return THRESHOLD
    correct, rows = np.asarray(data.targets(data.validation[""]), bool), len(logits)
    given = [expit(logits) >= limit for limit in THRESHOLDS]
    best = max(2 * (each & correct).sum() / max(each.sum() + correct.sum(), 1) for each in given)
    return round(float(best * rows + SURE_ROWS) / (rows + SURE_ROWS) / 2, 2)


def is_simpler_better(training: GlueTrainingArguments, simpler: Scores, other: Scores) -> bool:
    """Returns whether the simpler one of two models is kept, by their scores on validation rows.

    The metric that chooses the best epoch decides, and the simpler model is kept where both are equal.
    """
    metric = str(training.metric_for_best_model).removeprefix("eval_")
    if not training.load_best_model_at_end or metric not in simpler:
        return False
    return simpler[metric] >= other[metric] if training.greater_is_better else simpler[metric] <= other[metric]


def is_simpler_better_on_folds(data: TaskData, simpler: TextLogits, other: TextLogits) -> bool:
    """Returns whether the simpler one of two models is kept, by their logits of the validation rows."""
    return not is_gain(loss_gains(data.problem, data.validation[""], simpler, other), TUNING_GAIN)


def gains_on_fold(data: TaskData, fold: Rows, head: TextLogits, tuned: TextLogits) -> bool:
    """Returns whether fine-tuning lowers the loss on the first fold; else the others are not trained."""
    return is_gain(loss_gains(data.problem, data.train.select(fold.tolist()), head, tuned), 0.0)


def is_wide_part_better(losses: Array, wide_losses: Array) -> bool:
    """Returns whether a head has a wide part, by the losses of n rows without and with it."""
    return is_gain(losses - wide_losses, WIDE_GAIN)


def are_sentences_harmless(gains: Array) -> bool:
    """Returns whether a classifier reads the sentences of texts, too.

    `gains` (n,) are those of held-out rows: 1 for one that becomes right by its sentences, −1 for one that was right.
    """
    return not is_gain(-gains, SENTENCE_COST)


def is_gain(gains: Array, standard_errors: float) -> bool:
    """Returns whether the mean of the gains of n rows is above so many of its standard errors."""
    return bool(gains.mean() > standard_errors * gains.std() / math.sqrt(len(gains)))


def loss_gains(problem: Problem, examples: Examples, head: TextLogits, tuned: TextLogits) -> Array:
    """Returns how much lower the loss of each example is by the second of two models' logits.

    The logits are calibrated first: a model that was trained for some epochs is too sure of itself, which raises its
    loss without more mistakes.
    """
    targets = torch.from_numpy(np.asarray([problem.target(label) for label in examples.labels or []]))

    def losses(logits: TextLogits) -> Array:
        temperature = problem.temperature(torch.from_numpy(logits.texts), targets)
        found: Array = problem.losses(torch.from_numpy(logits.joined(temperature)), targets).numpy()
        return found

    gains = losses(head) - losses(tuned)
    return gains if examples.weights is None else gains * examples.weights / np.mean(examples.weights)

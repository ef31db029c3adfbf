"""The models that may be saved, what held-out rows say of each as it will be saved, and the choice among them.

docs/measurements.md, "Own data", and docs/log.md have what was measured for the numbers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from scipy.special import expit
from transformers import PreTrainedModel

from vocabless.modeling.sentences import ODDS
from vocabless.saving.record import MISMATCHED, TEST
from vocabless.training.finetuning.familiarity import Familiarity
from vocabless.training.finetuning.head.first_head import HeadFit
from vocabless.training.finetuning.prepared import Prepared
from vocabless.training.finetuning.rows.held_out import FOLDS, folds_to_train
from vocabless.training.finetuning.tasks.data import Rows, TaskData
from vocabless.training.finetuning.tasks.logits import TextLogits, Vectors, mean_direction
from vocabless.training.finetuning.tasks.metrics import Scores, is_gain
from vocabless.training.finetuning.tasks.problems import THRESHOLD, MultiLabel

HEAD, TRAINED, MEAN = "head", "trained", "mean"  # names of candidates, simpler ones first
TUNING_GAIN = 0.5  # standard errors by which the loss of a model is lower than those of the simpler ones
# Time of a training step on some texts, as a multiple of the time in which the frozen encoder reads them.
STEP, ADVERSARIAL_STEP = 4, 7
ENOUGH = 0.5  # of the interval of the head's score; if fine-tuning cannot gain more, it is left out
SURE_ROWS = 5  # without a mistake, beside the rows that choose the limit of several labels: of few, it is near 0.5
THRESHOLDS = tuple(step / 20 for step in range(1, 20))
QUANTILE = 1.959964  # of the normal distribution, for 95 %
CORRELATIONS = ("matthews_correlation", "pearson", "spearman")


@dataclass(frozen=True)
class Candidate:
    """A model that may be saved, or others like it, on validation rows."""

    name: str  # `HEAD` alone; all weights as `TRAINED`; or their `MEAN` before and after training
    temperature: float  # by which the logits of the saved model are divided
    threshold: float  # see `Problem.threshold`
    reads_sentences: bool | None  # whether the saved model does; None: as it was loaded
    scores: Scores  # of the saved model
    losses: Vectors  # (n,), of the validation rows that decide, see `_losses`
    saved_logits: Vectors  # (n, outputs), of the same rows, by the saved model, or by others like it
    familiarity: Familiarity | None  # of the same rows; None: no text is turned away

    @classmethod
    def of(
        cls,
        name: str,
        data: TaskData,
        logits: Mapping[str, TextLogits],
        reads_sentences: bool | None = None,
        is_calibrated: bool = True,
    ) -> "Candidate":
        """Returns a candidate by its logits of validation rows, suffix → logits.

        Those of the first ones, under "", choose the limit, and the temperature unless it `is_calibrated`. Behind the
        logits there may be the typicality, see `Familiarity`.
        """
        typicality = None
        if logits[""].texts.shape[1] > data.problem.config["num_labels"]:
            typicality = logits[""].split()[1]
            logits = {suffix: of_rows.split()[0] for suffix, of_rows in logits.items()}
        calibrating = _temperature(data, logits[""])
        temperature = 1.0 if is_calibrated else calibrating
        saved = {suffix: of_rows.joined(temperature) for suffix, of_rows in logits.items()}
        threshold = _threshold(data, saved[""])
        problem, scores = data.problem.with_threshold(threshold), Scores()
        for suffix, of_rows in saved.items():
            of_part = problem.score(of_rows, data.targets(data.validation[suffix]))
            scores |= {f"{metric}{suffix}": value for metric, value in of_part.items()}
        familiarity = None if typicality is None else Familiarity.of(logits[""], typicality, temperature, problem)
        losses = _losses(data, logits[""].joined(calibrating))
        return cls(name, temperature, threshold, reads_sentences, scores, losses, saved[""], familiarity)

    @torch.no_grad()
    def write_into(self, model: Any, prepared: Prepared) -> None:
        """Gives the model what was chosen with it; logs the limit below which it turns texts away."""
        if self.familiarity is not None:  # first: a model that reads sentences has their directions, too
            typical, arguments = mean_direction(model, prepared.rows, prepared.collator), prepared.arguments
            share, label = cast(float, arguments.reject), arguments.reject_label
            prepared.log(self.familiarity.write_into(model, prepared.data.problem, typical, share, label))
        if self.temperature != 1:
            for layer in filter(None, (model.classifier.out_proj, model.classifier.wide)):
                for parameter in layer.parameters():
                    parameter.div_(self.temperature)
        if self.reads_sentences is not None:
            model.config.classifier_reads_sentences = ODDS if self.reads_sentences else False
        if prepared.data.problem.name == MultiLabel.name:
            model.config.classifier_threshold = self.threshold


def head_alone(prepared: Prepared, head: HeadFit) -> Candidate:
    """Returns the first head, on all validation rows, and logs its score."""
    data, config, metric = prepared.data, cast(Any, prepared.model).config, prepared.data.problem.best_metric
    is_apart = not data.is_cross_validated
    logits = _logits(prepared, prepared.model, head.reads_sentences) if is_apart else {"": head.held_out}
    alone = Candidate.of(HEAD, data, logits, head.reads_sentences)
    words = " and of the words" if config.classifier_wide_rows else ""
    way = f"on {len(data.validation['']):,} held-out rows" if is_apart else "cross-validated"
    prepared.log(
        f"{data.title}, head alone (a linear model of the frozen encoder's vectors{words}): "
        f"{metric.replace('_', ' ')} {_percent(alone, metric)}, {way}."
    )
    return alone


def is_head_enough(prepared: Prepared, head: HeadFit, alone: Candidate) -> bool:
    """Returns whether nothing is trained: the number of epochs is 0, or it is free and they could hardly gain anything.

    Fine-tuning must be able to gain more than `ENOUGH` of the interval of the head's score. Logs why nothing is
    trained, or how long training takes.
    """
    data, epochs = prepared.data, float(prepared.training.num_train_epochs or 0)
    metric = data.problem.best_metric
    low, high = interval(metric, alone.scores[metric], len(data.validation[""]), data.scored_folds)
    is_enough = not prepared.are_epochs_given and 1 - alone.scores[metric] <= ENOUGH * (high - low)
    if is_enough:
        prepared.log("Training could not gain more than the interval of this score, so the head alone is kept.")
    elif epochs:
        folds = folds_to_train(len(prepared.rows)) if data.is_cross_validated else 0
        models = 1 + folds * (1 - 1 / FOLDS)  # a fold is trained on the rows of the others
        once = f"{folds} without {'a' if folds == 1 else 'its'} fold, then one on all rows" if folds else "one"
        times = f"{epochs:g} {'epoch' if epochs == 1 else 'epochs'}"
        rate = f"at a learning rate of {prepared.training.learning_rate:g}"
        minutes = round(epochs * models * head.seconds * (ADVERSARIAL_STEP if prepared.epsilon else STEP) / 60)
        prepared.log(f"Training {once}, for {times} {rate}: about {max(1, minutes)} min.")
    return is_enough or not epochs


def with_models(prepared: Prepared, alone: Candidate | None, models: Mapping[str, PreTrainedModel]) -> list[Candidate]:
    """Returns all candidates on validation rows that are apart, those with trained weights by name → model."""
    reads_sentences = alone is not None and alone.reads_sentences
    logits = {name: _logits(prepared, model, reads_sentences) for name, model in models.items()}
    candidates = _with_tuned(alone, prepared.data, logits)
    log_scores(prepared, candidates)
    return candidates


def on_folds(
    data: TaskData, head: HeadFit | None, folds: Sequence[Rows], scored: Sequence[Sequence[TextLogits]]
) -> list[Candidate]:
    """Returns all candidates on the rows of the first folds, the validation rows of the data.

    The logits of each fold are those of models with trained weights, in the order of `TRAINED` and `MEAN`.
    """
    alone, folds = None, folds[: len(scored)]
    if head is not None:
        held_out = head.held_out.select(np.sort(np.concatenate(folds)))
        alone = Candidate.of(HEAD, data, {"": held_out}, head.reads_sentences)
    logits = [TextLogits.of_parts([*zip(folds, parts, strict=True)]) for parts in zip(*scored, strict=True)]
    names = zip((TRAINED, MEAN), logits, strict=False)
    return _with_tuned(alone, data, {name: {"": of_model} for name, of_model in names})


def _with_tuned(
    alone: Candidate | None, data: TaskData, logits: Mapping[str, Mapping[str, TextLogits]]
) -> list[Candidate]:
    """Returns all candidates: the head alone, if there is one, and those with trained weights.

    The latter are given by name → suffix → logits of validation rows. They are calibrated here if their models are
    whole and began with a head, so that the mean of weights is one of them.
    """
    reads_sentences, is_calibrated = None if alone is None else alone.reads_sentences, MEAN not in logits
    tuned = [Candidate.of(name, data, logits[name], reads_sentences, is_calibrated) for name in logits]
    return tuned if alone is None else [alone, *tuned]


def log_scores(prepared: Prepared, candidates: Sequence[Candidate]) -> None:
    """Logs what fine-tuning gains over the head alone, if that is a candidate, and which of both is kept."""
    head, *tuned = candidates
    if head.name == HEAD:
        best, best_tuned = (simplest(each, prepared.deciding_metric) for each in (candidates, tuned))
        kept = "the head alone" if best is head else "fine-tuning"
        metric = prepared.data.problem.best_metric
        scores = f"{_percent(best_tuned, metric)} with fine-tuning, {_percent(head, metric)} with the head alone"
        prepared.log(f"{prepared.data.title}: {metric.replace('_', ' ')} {scores}; {kept} is kept.")


def simplest(candidates: Sequence[Candidate], metric: str | None = None, gain: float = TUNING_GAIN) -> Candidate:
    """Returns the simplest candidate that no other one is better than on validation rows; simpler ones come first.

    Args:
        candidates: models that may be saved.
        metric: whose best score is better. None is the calibrated loss.
        gain: standard errors by which that loss must be lower.
    """

    def is_better(other: Candidate, simpler: Candidate) -> bool:
        if metric is not None:
            return (other.scores[metric] - simpler.scores[metric]) * (-1 if metric == "loss" else 1) > 0
        return is_gain(simpler.losses - other.losses, gain)

    best, *simpler = reversed(candidates)
    for each in simpler:
        best = best if is_better(best, each) else each
    return best


def interval(name: str, value: float, count: float, scored_folds: int = 0) -> tuple[float, float]:
    """Returns the 95 % confidence interval of a score on `count` examples, by its name in the results.

    A correlation gets Fisher's interval. Every other score is treated as a share of the examples and gets Wilson's
    interval (1927), which does not shrink to a point at 0 and 1. The score on test rows is that of the saved model
    itself, whatever `scored_folds` says.

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
    effective = count if name.startswith(TEST) else count / (1 + scored_folds / (FOLDS - 1))
    if name.removeprefix(TEST).removesuffix(MISMATCHED) in CORRELATIONS:
        if effective <= 3:
            return -1.0, 1.0
        center = math.atanh(max(-1 + 1e-12, min(1 - 1e-12, value)))
        margin = QUANTILE / math.sqrt(effective - 3)
        return math.tanh(center - margin), math.tanh(center + margin)
    weight = QUANTILE**2 / effective
    center = (value + weight / 2) / (1 + weight)
    margin = QUANTILE * math.sqrt(value * (1 - value) / effective + weight / (4 * effective)) / (1 + weight)
    return max(0.0, center - margin), min(1.0, center + margin)


def _logits(prepared: Prepared, model: PreTrainedModel, reads_sentences: bool | None) -> dict[str, TextLogits]:
    """Returns suffix → a model's logits of validation rows that are apart, see `TextLogits.of_model`."""
    return {
        suffix: TextLogits.of_model(
            model, rows, prepared.collator, reads_sentences, prepared.rows if prepared.rejects else None
        )
        for suffix, rows in prepared.validation_rows.items()
    }


def _temperature(data: TaskData, logits: TextLogits) -> float:
    """Returns the temperature that suits the logits of the validation rows, see `Problem.temperature`."""
    examples = data.validation[""]
    weights = None if examples.weights is None else np.asarray(examples.weights)
    return data.problem.temperature(logits.texts, data.targets(examples), weights)


def _losses(data: TaskData, calibrated: Vectors) -> Vectors:
    """Returns the loss of each validation row, (n,), times its weight over the mean weight.

    Its logits are calibrated: a model that was trained for some epochs is too sure of itself, which raises its loss
    without more mistakes.
    """
    examples = data.validation[""]
    targets = torch.from_numpy(data.targets(examples))
    losses: Vectors = data.problem.losses(torch.from_numpy(calibrated), targets).numpy()
    return losses if examples.weights is None else losses * examples.weights / np.mean(examples.weights)


def _threshold(data: TaskData, logits: Vectors) -> float:
    """Returns the probability from which on one of several labels is given, by logits of the validation rows.

    It is half of the best micro F1 that any limit has on these rows: of probabilities that are right, this is the limit
    with the best F1 (Lipton, Elkan and Naryanaswamy, ECML PKDD 2014). `SURE_ROWS` are counted with them.
    """
    if data.problem.name != MultiLabel.name:
        return THRESHOLD
    correct, rows = data.targets(data.validation[""]).astype(bool), len(logits)
    given = [expit(logits) >= limit for limit in THRESHOLDS]
    best = max(2 * (each & correct).sum() / max(each.sum() + correct.sum(), 1) for each in given)
    return round(float(best * rows + SURE_ROWS) / (rows + SURE_ROWS) / 2, 2)


def _percent(candidate: Candidate, metric: str) -> str:
    """Returns a score of a candidate, in percent."""
    return f"{100 * candidate.scores[metric]:.1f}"

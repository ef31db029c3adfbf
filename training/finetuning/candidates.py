"""The models that may be saved, each with what held-out rows say of it as it will be saved."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from vocabless.training.finetuning.data import TaskData
from vocabless.training.finetuning.held_out import temperature_of, threshold_of
from vocabless.training.finetuning.metrics import Scores
from vocabless.training.finetuning.text_logits import TextLogits

HEAD, TRAINED, MEAN = "head", "trained", "mean"  # names of candidates, simpler ones first


@dataclass(frozen=True)
class Candidate:
    """A model that may be saved, or others like it, on validation rows."""

    name: str  # `HEAD` alone; all weights as `TRAINED`; or their `MEAN` before and after training
    logits: TextLogits  # of the validation rows that decide, before they are divided
    temperature: float  # by which the logits of the saved model are divided
    threshold: float  # see `Problem.threshold`
    scores: Scores  # of the saved model

    @classmethod
    def of(cls, name: str, data: TaskData, logits: Mapping[str, TextLogits], is_calibrated: bool = True) -> "Candidate":
        """Returns a candidate by its logits of validation rows, suffix → logits.

        Those of the first ones, under "", choose the limit, and the temperature unless it `is_calibrated`.
        """
        temperature = 1.0 if is_calibrated else temperature_of(data, logits[""].texts)
        saved = {suffix: of_rows.joined(temperature) for suffix, of_rows in logits.items()}
        threshold = threshold_of(data, saved[""])
        problem, scores = data.problem.with_threshold(threshold), Scores()
        for suffix, of_rows in saved.items():
            of_part = problem.score(of_rows, data.targets(data.validation[suffix]))
            scores |= {f"{metric}{suffix}": value for metric, value in of_part.items()}
        return cls(name, logits[""], temperature, threshold, scores)


def simplest(candidates: Sequence[Candidate], is_simpler_better: Callable[[Candidate, Candidate], bool]) -> Candidate:
    """Returns the simplest candidate that no other one is better than; simpler ones come first."""
    best, *simpler = reversed(candidates)
    for each in simpler:
        best = each if is_simpler_better(each, best) else best
    return best

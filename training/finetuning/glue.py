"""The nine tasks of GLUE as a table, the averages that the papers make of them, and the table that a person reads.

A paper's "GLUE average" is a formula of its own: HashFormers takes F1 of QQP and Spearman of STS-B where EELBERT takes
accuracy and Pearson; EELBERT's small models leave CoLA and STS-B out. `AVERAGES` holds the three.
"""

import json
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vocabless.saving.run_folder import RESULTS

Measures = Mapping[str, float]  # measure → value
Scores = Mapping[str, Mapping[str, Measures]]  # task → seed → measures
CENTERS: dict[str, Callable[[Sequence[float]], float]] = {"mean": statistics.fmean, "median": statistics.median}


@dataclass(frozen=True)
class GlueTask:
    """One row of the table.

    Attributes:
        name: configuration of the Hub's data set, and name of a folder of files.
        title: as the papers print it.
        texts: columns of the text, or of the two texts.
        labels: names, by number; none where a number is asked for.
        metrics: the published ones.
        best: the one that decides which epoch is best; that which HashFormers averages.
        splits: labelled split → its official number of rows.
        test_splits: splits whose labels are secret.
    """

    name: str
    title: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    metrics: tuple[str, ...]
    best: str
    splits: Mapping[str, int]
    test_splits: tuple[str, ...] = ("test",)

    @property
    def needed_splits(self) -> tuple[str, ...]:
        """The splits without which nothing can be measured."""
        return tuple(self.splits)[:2]


def _task(
    name: str,
    title: str,
    texts: str,
    labels: str,
    metrics: str,
    rows: tuple[int, int],
    best: str = "",
) -> GlueTask:
    measures = tuple(metrics.split())
    splits = dict(zip(("train", "validation"), rows, strict=True))
    return GlueTask(name, title, tuple(texts.split()), tuple(labels.split()), measures, best or measures[0], splits)


_ENTAILS = "entailment not_entailment"
_MNLI = GlueTask(
    name="mnli",
    title="MNLI",
    texts=("premise", "hypothesis"),
    labels=("entailment", "neutral", "contradiction"),
    metrics=("accuracy",),
    best="accuracy",
    splits={"train": 392_702, "validation_matched": 9_815, "validation_mismatched": 9_832},
    test_splits=("test_matched", "test_mismatched"),
)
_ROWS = (
    _task("cola", "CoLA", "sentence", "unacceptable acceptable", "matthews_correlation", (8_551, 1_043)),
    _task("sst2", "SST-2", "sentence", "negative positive", "accuracy", (67_349, 872)),
    _task("mrpc", "MRPC", "sentence1 sentence2", "not_equivalent equivalent", "accuracy f1", (3_668, 408)),
    _task("stsb", "STS-B", "sentence1 sentence2", "", "pearson spearman", (5_749, 1_500), "spearman"),
    _task("qqp", "QQP", "question1 question2", "not_duplicate duplicate", "accuracy f1", (363_846, 40_430), "f1"),
    _MNLI,
    _task("qnli", "QNLI", "question sentence", _ENTAILS, "accuracy", (104_743, 5_463)),
    _task("rte", "RTE", "sentence1 sentence2", _ENTAILS, "accuracy", (2_490, 277)),
    _task("wnli", "WNLI", "sentence1 sentence2", "not_entailment entailment", "accuracy", (635, 71)),
)
GLUE: dict[str, GlueTask] = {row.name: row for row in _ROWS}

# Average → its terms, (task, measures): a term with two measures is their mean.
_EELBERT_SMALL = (
    ("sst2", ("accuracy",)),
    ("mrpc", ("accuracy",)),
    ("qqp", ("accuracy",)),
    ("mnli", ("accuracy", "accuracy_mm")),
    ("qnli", ("accuracy",)),
    ("rte", ("accuracy",)),
)
AVERAGES: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    "HashFormers": (
        ("mnli", ("accuracy",)),
        ("qnli", ("accuracy",)),
        ("qqp", ("f1",)),
        ("rte", ("accuracy",)),
        ("sst2", ("accuracy",)),
        ("mrpc", ("accuracy",)),
        ("cola", ("matthews_correlation",)),
        ("stsb", ("spearman",)),
    ),
    "EELBERT base": (("cola", ("matthews_correlation",)), ("stsb", ("pearson",)), *_EELBERT_SMALL),
    "EELBERT small": _EELBERT_SMALL,
}


def find_glue_tasks(names: Sequence[str]) -> list[GlueTask]:
    """Returns the tasks of these names, in the order given; `all` is all nine.

    Raises:
        ValueError: there is no such task; those that there are are listed.
    """
    wanted = dict.fromkeys(task for name in names for task in (GLUE if name == "all" else (name,)))
    unknown = [name for name in wanted if name not in GLUE]
    if unknown:
        raise ValueError(f"unknown task {', '.join(unknown)}; choose from {', '.join(GLUE)}, or all.")
    return [GLUE[name] for name in wanted]


def average(name: str, measures: Mapping[str, Measures]) -> float:
    """Returns an average of GLUE.

    Args:
        name: a key of `AVERAGES`.
        measures: task → measure → value.

    Raises:
        KeyError: a measure is missing, see `missing_for`.

    Example:
        >>> tasks = ("sst2", "mrpc", "qqp", "qnli", "rte")
        >>> measures = {task: {"accuracy": 0.8} for task in tasks} | {"mnli": {"accuracy": 0.1, "accuracy_mm": 0.3}}
        >>> round(average("EELBERT small", measures), 6)
        0.7
    """
    return statistics.fmean(statistics.fmean(measures[task][name] for name in names) for task, names in AVERAGES[name])


def missing_for(name: str, measures: Mapping[str, Measures]) -> list[str]:
    """Returns the tasks, or the measures of a task that is there, that an average lacks."""
    lacking = []
    for task, names in AVERAGES[name]:
        if task not in measures:
            lacking.append(task)
        else:
            lacking += [f"{task} {measure}" for measure in names if measure not in measures[task]]
    return lacking


@dataclass(frozen=True)
class Line:
    """A figure over seeds: its centre, mean or median, and the sample's standard deviation, if there are two."""

    center: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float], summary: str) -> "Line":
        """Returns the line of values.

        Args:
            values: one for each seed.
            summary: a key of `CENTERS`.
        """
        return cls(CENTERS[summary](values), statistics.stdev(values) if len(values) > 1 else None)

    def __str__(self) -> str:
        return f"{100 * self.center:.1f}" + ("" if self.deviation is None else f" ± {100 * self.deviation:.1f}")


@dataclass
class Report:
    """What came out of a command: figures of tasks over seeds, beside floors and a baseline.

    Attributes:
        scores: task → seed → measures.
        titles: task → its name in print.
        floors: task → measures of the best constant prediction.
        summary: `mean` or `median`.
        baseline: scores of another run, or None.
        heading: what was run.
        footnotes: what a reader must know.
    """

    scores: Scores
    titles: Mapping[str, str]
    floors: Mapping[str, Measures]
    summary: str = "mean"
    baseline: Scores | None = None
    heading: str = ""
    footnotes: Sequence[str] = field(default_factory=tuple)

    def lines(self, scores: Scores | None = None) -> dict[str, dict[str, Line]]:
        """Returns task → measure → figure."""
        return {
            task: {
                name: Line.of([measures[name] for measures in seeds.values()], self.summary)
                for name in next(iter(seeds.values()))
            }
            for task, seeds in (self.scores if scores is None else scores).items()
        }

    def averages(self, scores: Scores | None = None) -> dict[str, Line]:
        """Returns the averages whose tasks are all there, each made for each seed and then summarised."""
        scores = self.scores if scores is None else scores
        common = [seed for seed in next(iter(scores.values()), {}) if all(seed in seeds for seeds in scores.values())]
        by_seed = [{task: seeds[seed] for task, seeds in scores.items()} for seed in common]
        return {
            name: Line.of([average(name, measures) for measures in by_seed], self.summary)
            for name in AVERAGES
            if by_seed and not any(missing_for(name, measures) for measures in by_seed)
        }

    def retention(self) -> dict[str, dict[str, float]]:
        """Returns task → measure → ours over the baseline's (PRR), averages under `average`; where both are there."""
        if self.baseline is None:
            return {}
        ours, theirs = self.lines(), self.lines(self.baseline)
        ours |= {"average": self.averages()}
        theirs |= {"average": self.averages(self.baseline)}
        return {
            task: {
                name: line.center / theirs[task][name].center
                for name, line in lines.items()
                if name in theirs.get(task, {}) and theirs[task][name].center > 0
            }
            for task, lines in ours.items()
        }

    def as_json(self) -> dict[str, Any]:
        """Returns all figures."""
        return {
            "scores": self.scores,
            "summary": {task: {n: vars(x) for n, x in lines.items()} for task, lines in self.lines().items()},
            "summary_by": self.summary,
            "floors": self.floors,
            "averages": {name: vars(line) for name, line in self.averages().items()},
            "missing_for_averages": self._missing(),
            "performance_retention_ratio": self.retention(),
            "footnotes": list(self.footnotes),
        }

    def as_markdown(self) -> str:
        """Returns the table, in percent."""
        retention = self.retention()
        rows = [["task", "measure", self.summary, "floor", *(["PRR"] if self.baseline else [])]]
        for task, lines in self.lines().items():
            for name, line in lines.items():
                floor = self.floors.get(task, {}).get(name)
                cells = [self.titles.get(task, task), name.replace("_", " "), str(line)]
                rows.append([*cells, "" if floor is None else f"{100 * floor:.1f}", _ratio(retention, task, name)])
        for name, line in self.averages().items():
            rows.append(["average", name, str(line), "", _ratio(retention, "average", name)])
        notes = [f"No {name} average without {', '.join(lacking)}." for name, lacking in self._missing().items()]
        notes += [f"{note}." for note in dict.fromkeys(self.footnotes)]
        about = [f"In percent. Floor: the best that a prediction scores which is the same for every example.{_PRR}"]
        if not self.baseline:
            about = [about[0].removesuffix(_PRR)]
        notes = [f"- {note}" for note in notes]
        return "\n".join([self.heading, "", *_aligned(rows), "", *about, *([""] if notes else []), *notes, ""])

    def _missing(self) -> dict[str, list[str]]:
        """Returns what each average lacks that cannot be made; nothing where no task is GLUE's."""
        if not any(task in GLUE for task in self.scores):
            return {}
        first = {task: next(iter(seeds.values())) for task, seeds in self.scores.items()}
        return {name: lacking for name in AVERAGES if (lacking := missing_for(name, first))}


_PRR = " PRR: ours over the baseline's."


def read_baseline(folder: str | os.PathLike[str]) -> Scores:
    """Returns the scores of a run that is finished.

    Raises:
        ValueError: the folder holds none.
    """
    file = Path(folder) / RESULTS
    try:
        scores: Scores = json.loads(file.read_text(encoding="utf-8"))["scores"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{str(file)!r} holds no scores of run_glue.py; give the folder of a finished run.") from error
    return scores


def _ratio(retention: Mapping[str, Measures], task: str, name: str) -> str:
    value = retention.get(task, {}).get(name)
    return "–" if value is None else f"{100 * value:.1f}"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Returns a Markdown table that reads well unrendered; cells beyond the header are left out."""
    width = len(rows[0])
    rows = [row[:width] for row in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(width)]

    def line(cells: Sequence[str]) -> str:
        texts = [c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))]
        return f"| {' | '.join(texts)} |"

    rule = f"|{'|'.join('-' * (w + 2) if i < 2 else '-' * (w + 1) + ':' for i, w in enumerate(widths))}|"
    return [line(rows[0]), rule, *(line(row) for row in rows[1:])]

"""The scores of all runs of a command: summaries over seeds, GLUE averages, Markdown tables; scores of each label."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import classification_report

from vocabless.overrides import describe_overrides
from vocabless.saving.run_folder import RESULTS, write_json
from vocabless.saving.tables import markdown_table
from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.data import TaskData
from vocabless.training.finetuning.glue import AVERAGES, GLUE, MISMATCHED, Metrics, average, missing_for
from vocabless.training.finetuning.metrics import interval
from vocabless.training.finetuning.problems import ABSENT, Array, Problem
from vocabless.training.finetuning.teacher import describe_rows
from vocabless.training.task import Results

TABLE = "table.md"
AVERAGE = "average"  # stands in the table where others have a task
RunResults = Mapping[str, Mapping[str, Results]]  # task → seed → results
Scores = Mapping[str, Mapping[str, Metrics]]  # task → seed → metric → value


@dataclass(frozen=True)
class SeedSummary:
    """A score over several seeds."""

    center: float  # mean
    deviation: float | None  # standard deviation of the sample; None for a single seed

    @classmethod
    def of(cls, values: Sequence[float]) -> "SeedSummary":
        """Returns the summary of the values, one for each seed."""
        return cls(statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None)

    def __str__(self) -> str:
        return f"{100 * self.center:.1f}" + ("" if self.deviation is None else f" ± {100 * self.deviation:.1f}")


Summaries = dict[str, dict[str, SeedSummary]]  # task → metric → summary over the seeds


def summarise(scores: Scores) -> Summaries:
    """Returns the summaries of each task, and under `AVERAGE` those of the averages for which no task is missing.

    An average is taken over the seeds that all tasks have.
    """
    summaries = {
        task: {name: SeedSummary.of([each[name] for each in seeds.values()]) for name in next(iter(seeds.values()))}
        for task, seeds in scores.items()
    }
    common_seeds = set.intersection(*(set(seeds) for seeds in scores.values()))
    by_seed = [{task: seeds[seed] for task, seeds in scores.items()} for seed in sorted(common_seeds)]
    averages = [name for name in AVERAGES if by_seed and not missing_for(name, by_seed[0])]
    return summaries | {
        AVERAGE: {name: SeedSummary.of([average(name, metrics) for metrics in by_seed]) for name in averages}
    }


@dataclass
class Report:
    """The scores of all tasks and seeds, and the tables made from them. Mappings are empty for what a run lacks."""

    scores: Scores
    titles: Mapping[str, str]  # task → name in the table
    constant_baselines: Mapping[str, Metrics]  # of each task
    heading: str = ""  # first line of the table: the model and the seeds
    footnotes: Sequence[str] = ()  # remarks on the data, without a full stop
    teacher: Mapping[str, Metrics] = field(default_factory=dict)  # task → the teacher's scores
    head: Mapping[str, Metrics] = field(default_factory=dict)  # task → scores of the first head alone
    rows: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # task → metric → rows that were scored
    scored_folds: Mapping[str, int] = field(default_factory=dict)  # of each task, see `TaskData`

    @classmethod
    def of(cls, tasks: Sequence[TaskData], results: RunResults, arguments: GlueArguments) -> "Report":
        """Returns the report of a command, from its tasks, the results of each task and seed, and its arguments."""
        constants = {task.name: task.constant_baselines() for task in tasks}
        titles = {task.name: task.title for task in tasks}
        runs = [run for seeds in results.values() for run in seeds.values()]
        first_runs = {task: next(iter(seeds.values())) for task, seeds in results.items()}
        teachers = {task: run["teacher"] for task, run in first_runs.items() if "teacher" in run}
        scores = {
            task: {seed: {name: run["measures"][name] for name in constants[task]} for seed, run in seeds.items()}
            for task, seeds in results.items()
        }
        name = arguments.model_name_or_path
        start = describe_overrides(name, arguments.overrides) or name
        start += " from random weights" if runs[0]["from_scratch"] else ""
        footnotes = [note for task in tasks for note in task.footnotes]
        footnotes += [
            f"{titles[task]}: learned from {teacher['name']} ({teacher['description']}), which labelled "
            f"{describe_rows(teacher)}"
            for task, teacher in teachers.items()
        ]
        return cls(
            scores=scores,
            titles=titles,
            constant_baselines=constants,
            heading=f"{start}, {runs[0]['parameters']:,} parameters; seeds: {', '.join(results[tasks[0].name])}",
            footnotes=footnotes,
            teacher={
                task: {name: facts["measures"][name] for name in constants[task]} for task, facts in teachers.items()
            },
            head={task: run["head"]["measures"] for task, run in first_runs.items() if "head" in run},
            rows={task: run["rows"] for task, run in first_runs.items()},
            scored_folds={task.name: task.scored_folds for task in tasks},
        )

    def write(self, folder: Path, results: RunResults, command: Mapping[str, Any]) -> None:
        """Writes `table.md` and `results.json`, with the command's `arguments` and `versions`.

        The log, the arguments and the versions of each run stay in the run's own folder.
        """
        (folder / TABLE).write_text(self.as_markdown(), encoding="utf-8")
        left_out = ("log", "arguments", "versions")
        runs = {
            task: {seed: {k: value for k, value in run.items() if k not in left_out} for seed, run in seeds.items()}
            for task, seeds in results.items()
        }
        write_json(folder / RESULTS, self.as_json() | {"runs": runs} | dict(command))

    def as_json(self) -> dict[str, Any]:
        """Returns the scores for `results.json`."""
        summaries = summarise(self.scores)
        summary = _as_json(summaries)
        return {
            "scores": self.scores,
            "averages": summary.pop(AVERAGE),
            "summary": summary,
            "rows": self.rows,
            "intervals": {
                task: {name: self.interval(task, name, each.center) for name, each in summaries[task].items()}
                for task in summary
            },
            "constant_baselines": self.constant_baselines,
            "head": self.head,
            "missing_for_averages": self._missing_for_averages(),
            "footnotes": list(self.footnotes),
            "teacher": self.teacher,
        }

    def as_markdown(self) -> str:
        """Returns the table in percent, with its legend and footnotes."""
        legend = (
            "In percent. Interval: where the score on other rows of the same kind lies, 95 % sure. Constant: the best "
            "score of a prediction that is the same for every example."
        )
        if self.head:
            legend += " Head: a linear model of the frozen encoder's vectors, before fine-tuning."
        if self.teacher:
            legend += " Teacher: the score of the model whose outputs were learned."
        notes = [
            f"No {name} average without {', '.join(names)}." for name, names in self._missing_for_averages().items()
        ]
        notes += [f"{note}." for note in dict.fromkeys(self.footnotes)]
        listed = ["", *(f"- {note}" for note in notes)] if notes else []
        return "\n".join([self.heading, "", self._table(), "", legend, *listed, ""])

    def interval(self, task: str, metric: str, value: float) -> tuple[float, float] | None:
        """Returns the confidence interval of a score, see `interval`; None for an average of tasks."""
        count = self.rows.get(task, {}).get(metric)
        if count is None:
            return None
        return interval(metric.removesuffix(MISMATCHED), value, count, self.scored_folds.get(task, 0))

    def _table(self) -> str:
        columns = {"constant": self.constant_baselines}
        columns |= {title: each for title, each in {"head": self.head, "teacher": self.teacher}.items() if each}
        rows = []
        for task, summaries in summarise(self.scores).items():
            for name, summary in summaries.items():
                bounds = self.interval(task, name, summary.center)
                row = [self.titles.get(task, task), name.replace("_", " "), str(summary)]
                row.append("–".join(_percent(bound) for bound in bounds or ()))
                row.append(f"{self.rows[task][name]:,}" if bounds else "")
                rows.append([*row, *(_percent(each.get(task, {}).get(name)) for each in columns.values())])
        header = ["task", "measure", "mean", "interval", "rows", *columns]
        return markdown_table(header, rows, num_texts=2, aligned=True)

    def _missing_for_averages(self) -> dict[str, list[str]]:
        """Returns average → what it lacks; empty if no task is a GLUE task."""
        if not any(task in GLUE for task in self.scores):
            return {}
        metrics = {task: next(iter(seeds.values())) for task, seeds in self.scores.items()}
        return {name: missing for name in AVERAGES if (missing := missing_for(name, metrics))}


def score_labels(problem: Problem, logits: Array, labels: Sequence[Any]) -> dict[str, float]:
    """Returns `loss` and the metrics; a label that the training rows lack is a mistake."""
    wide, logits = _with_unknown_labels(problem, logits, labels)
    return wide.score(logits, [wide.target(label) for label in labels])


def label_table(problem: Problem, logits: Array, labels: Sequence[Any]) -> str:
    """Returns scikit-learn's table of the precision, recall and F1 of each label, in Markdown.

    A sentence names the labels that the training rows lack.
    """
    unknown = problem.unknown_labels(labels)
    wide, logits = _with_unknown_labels(problem, logits, labels)
    predicted, correct = wide.decode(logits, np.asarray([wide.target(label) for label in labels]))
    names = [" ".join(label.split()) for label in wide.labels]
    numbers = range(len(names))
    table = classification_report(correct, predicted, labels=numbers, target_names=names, digits=3, zero_division=0)
    missing = f"\nThe training rows do not have: {', '.join(unknown)}. Each of these texts counts as a mistake.\n"
    return f"```\n{table}```\n" + (missing if unknown else "")


def _with_unknown_labels(problem: Problem, logits: Array, labels: Sequence[Any]) -> tuple[Problem, Array]:
    """Returns the problem with the labels that it lacks, and the logits with columns for them: never the largest."""
    unknown = problem.unknown_labels(labels)
    if not unknown:
        return problem, logits
    wide = type(problem)([*problem.labels, *unknown], problem.metrics, problem.best_metric, problem.threshold)
    columns = np.full((len(logits), len(unknown)), min(logits.min(), 0) + ABSENT)
    return wide, np.concatenate([logits, columns], axis=1)


def _as_json(summaries: Summaries) -> dict[str, Any]:
    return {task: {name: vars(summary) for name, summary in each.items()} for task, each in summaries.items()}


def _percent(value: float | None) -> str:
    """Returns a share in percent, with one decimal; "" for None."""
    return "" if value is None else f"{100 * value:.1f}"

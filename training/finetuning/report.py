"""The scores of all runs of a command: summaries over seeds, GLUE averages, Markdown tables; scores of each label."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import classification_report

from vocabless.overrides import describe_overrides
from vocabless.saving.record import MISMATCHED, TEST, describe_rows
from vocabless.saving.run_folder import RESULTS, write_json
from vocabless.saving.tables import markdown_table
from vocabless.training.finetuning.arguments import GlueArguments
from vocabless.training.finetuning.data import TaskData
from vocabless.training.finetuning.glue import AVERAGES, GLUE, Metrics, average, missing_for
from vocabless.training.finetuning.held_out import interval
from vocabless.training.finetuning.problems import ABSENT, Array, Problem
from vocabless.training.run import Results

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
        task: {name: SeedSummary.of([run[name] for run in seeds.values()]) for name in next(iter(seeds.values()))}
        for task, seeds in scores.items()
    }
    common_seeds = set.intersection(*(set(seeds) for seeds in scores.values()))
    by_seed = [{task: seeds[seed] for task, seeds in scores.items()} for seed in sorted(common_seeds)]
    averages = [name for name in AVERAGES if by_seed and not missing_for(name, by_seed[0])]
    return summaries | {
        AVERAGE: {name: SeedSummary.of([average(name, metrics) for metrics in by_seed]) for name in averages}
    }


@dataclass(frozen=True)
class Report:
    """The results of all tasks and seeds of a command, and the tables made from them."""

    results: RunResults  # the results of each run, of which those of the first seed describe the task
    titles: Mapping[str, str]  # task → name in the table
    heading: str = ""  # first line of the table: the model and the seeds
    footnotes: Sequence[str] = ()  # remarks on the data, without a full stop

    @classmethod
    def of(cls, tasks: Sequence[TaskData], results: RunResults, arguments: GlueArguments) -> "Report":
        """Returns the report of a command, from its tasks, the results of each task and seed, and its arguments."""
        first = next(iter(results[tasks[0].name].values()))
        name = arguments.model_name_or_path
        start = describe_overrides(name, arguments.overrides) or name
        start += " from random weights" if first["from_scratch"] else ""
        footnotes = [note for task in tasks for note in task.footnotes]
        for task in tasks:
            run = next(iter(results[task.name].values()))
            if folds := run["scored_folds"]:
                ways = "evaluated by a model that did not see" if folds == 1 else f"cross-validated, {folds} folds of"
                rows = f"{max(run['rows'].values()):,} rows; the model saved learned from all"
                footnotes.append(f"{task.title}: {ways} {rows}")
            if teacher := run.get("teacher"):
                learned = f"learned from {teacher['name']} ({teacher['description']})"
                footnotes.append(f"{task.title}: {learned}, which labelled {describe_rows(teacher)}")
        heading = f"{start}, {first['parameters']:,} parameters; seeds: {', '.join(results[tasks[0].name])}"
        return cls(results, {task.name: task.title for task in tasks}, heading, footnotes)

    @property
    def scores(self) -> Scores:
        """The reported metrics: task → seed → metric → value."""
        constants = self._of_tasks("constant_baselines")
        return {
            task: {seed: {name: run["measures"][name] for name in constants[task]} for seed, run in seeds.items()}
            for task, seeds in self.results.items()
        }

    def write(self, folder: Path, command: Mapping[str, Any]) -> None:
        """Writes `table.md` and `results.json`, with the command's `arguments` and `versions`.

        The log, the arguments and the versions of each run stay in the run's own folder.
        """
        (folder / TABLE).write_text(self.as_markdown(), encoding="utf-8")
        write_json(folder / RESULTS, self.as_json() | dict(command))

    def as_json(self) -> dict[str, Any]:
        """Returns the content of `results.json`."""
        left_out = ("log", "arguments", "versions")
        summaries = summarise(self.scores)
        as_dicts = {task: {name: vars(summary) for name, summary in row.items()} for task, row in summaries.items()}
        return {
            "scores": self.scores,
            "averages": as_dicts.pop(AVERAGE),
            "summary": as_dicts,
            "intervals": {
                task: {name: self._interval(task, name, row.center) for name, row in summaries[task].items()}
                for task in as_dicts
            },
            "constant_baselines": self._of_tasks("constant_baselines"),
            "missing_for_averages": self._missing_for_averages(),
            "footnotes": list(self.footnotes),
            "runs": {
                task: {seed: {k: value for k, value in run.items() if k not in left_out} for seed, run in seeds.items()}
                for task, seeds in self.results.items()
            },
        }

    def as_markdown(self) -> str:
        """Returns the table in percent, with its legend and footnotes."""
        legend = (
            "In percent. Interval: where the score on other rows of the same kind lies, 95 % sure. Constant: the best "
            "score of a prediction that is the same for every example."
        )
        if self._of_tasks("head"):
            legend += " Head: a linear model of the frozen encoder's vectors, before fine-tuning."
        if self._of_tasks("teacher"):
            legend += " Teacher: the score of the model whose outputs were learned."
        missing = self._missing_for_averages()
        notes = [f"No {name} average without {', '.join(names)}." for name, names in missing.items()]
        notes += [f"{note}." for note in dict.fromkeys(self.footnotes)]
        listed = ["", *(f"- {note}" for note in notes)] if notes else []
        return "\n".join([self.heading, "", self._table(), "", legend, *listed, ""])

    def _of_tasks(self, name: str) -> dict[str, Any]:
        """Returns an entry of the results of each task that has it; of a head and a teacher their metrics."""
        runs = {task: next(iter(seeds.values())) for task, seeds in self.results.items()}
        entries = {task: run[name] for task, run in runs.items() if name in run}
        return {task: entry["measures"] for task, entry in entries.items()} if name in ("head", "teacher") else entries

    def _interval(self, task: str, metric: str, value: float) -> tuple[float, float] | None:
        """Returns the confidence interval of a score, see `interval`; None for an average of tasks."""
        count = self._of_tasks("rows").get(task, {}).get(metric)
        scored_folds = self._of_tasks("scored_folds").get(task, 0)
        return None if count is None else interval(metric.removesuffix(MISMATCHED), value, count, scored_folds)

    def _table(self) -> str:
        names = {"constant": "constant_baselines", "head": "head", "teacher": "teacher"}
        columns = {title: values for title, name in names.items() if (values := self._of_tasks(name))}
        counts, rows = self._of_tasks("rows"), []
        for task, summaries in summarise(self.scores).items():
            for name, summary in summaries.items():
                bounds = self._interval(task, name, summary.center)
                row = [self.titles.get(task, task), name.replace("_", " "), str(summary)]
                row += ["–".join(map(_percent, bounds)), f"{counts[task][name]:,}"] if bounds else ["", ""]
                rows.append([*row, *(_percent(values.get(task, {}).get(name)) for values in columns.values())])
            rows += [[*row, *[""] * len(columns)] for row in self._test_rows(task)]
        header = ["task", "measure", "mean", "interval", "rows", *columns]
        return markdown_table(header, rows, num_texts=2, aligned=True)

    def _test_rows(self, task: str) -> list[list[str]]:
        """Returns title, measure, mean, interval and number of rows of each score on the test rows of a task."""
        runs, rows = list(self.results.get(task, {}).values()), []
        for name in runs[0].get("rows", ()) if runs else ():
            if name.startswith(TEST):
                value, count = SeedSummary.of([run["measures"][name] for run in runs]), runs[0]["rows"][name]
                measure = name.removeprefix(TEST).removesuffix(MISMATCHED)
                bounds = "–".join(map(_percent, interval(measure, value.center, count, 0)))
                shown = f"{name.removeprefix(TEST).replace('_', ' ')}, test rows"
                rows.append([self.titles.get(task, task), shown, str(value), bounds, f"{count:,}"])
        return rows

    def _missing_for_averages(self) -> dict[str, list[str]]:
        """Returns average → what it lacks; empty if no task is a GLUE task."""
        if not any(task in GLUE for task in self.results):
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


def _percent(value: float | None) -> str:
    """Returns a share in percent, with one decimal; "" for None."""
    return "" if value is None else f"{100 * value:.1f}"

"""The scores of all runs of a command: a frame of pandas, its means over seeds, GLUE averages and Markdown table.

Of a task with several seeds, the constant, the head, the teacher and the number of rows are those of the first one.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from vocabless.overrides import describe_overrides
from vocabless.saving.record import MISMATCHED, TEST, describe_rows
from vocabless.saving.run_folder import RESULTS, write_json
from vocabless.saving.tables import markdown_table
from vocabless.training.finetuning.candidates import interval
from vocabless.training.finetuning.rows.glue import AVERAGES, GLUE, average, missing_for
from vocabless.training.finetuning.tasks.arguments import GlueArguments
from vocabless.training.finetuning.tasks.data import TaskData
from vocabless.training.run import Results

TABLE = "table.md"
AVERAGE = "average"  # the task of an average over tasks
RunResults = Mapping[str, Mapping[str, Results]]  # task → seed → results
REFERENCES = {"constant": "constant_baselines", "head": "head", "teacher": "teacher"}  # column → entry of the results


def summarise(results: RunResults) -> pd.DataFrame:
    """Returns a row for each score of a task, and for each GLUE average if the tasks have all of its scores.

    The index has the task and the metric; metrics of test rows begin with `TEST`. The columns are the mean and the
    sample's standard deviation over the seeds, the number of rows, how many folds are scored, and `REFERENCES`; NaN
    where there is none, and for the deviation of a single seed. An average is taken over the seeds of all tasks.
    """
    firsts = _first_runs(results)
    records: list[dict[str, Any]] = []
    for task, seeds in results.items():
        first = firsts[task]
        rows = first.get("rows", {})
        for name in [*first["constant_baselines"], *(name for name in rows if name.startswith(TEST))]:
            same = {"rows": rows.get(name), "folds": 0 if name.startswith(TEST) else first["scored_folds"]}
            same |= {column: _reference(first, entry).get(name) for column, entry in REFERENCES.items()}
            values = [run["measures"][name] for run in seeds.values()]
            records += [{"task": task, "metric": name, "value": value, **same} for value in values]
    for seed in sorted(set.intersection(*(set(seeds) for seeds in results.values()))):
        scores = {task: seeds[seed]["measures"] for task, seeds in results.items()}
        names = [name for name in AVERAGES if not missing_for(name, scores)]
        records += [{"task": AVERAGE, "metric": name, "value": average(name, scores)} for name in names]
    same_for_seeds = ["rows", "folds", *REFERENCES]
    types = dict.fromkeys(["value", *same_for_seeds], float)
    runs = pd.DataFrame(records, columns=["task", "metric", *types]).astype(types)
    return runs.groupby(["task", "metric"], sort=False).agg(
        mean=("value", statistics.fmean),
        deviation=("value", lambda values: statistics.stdev(values) if len(values) > 1 else math.nan),
        **{column: (column, "first") for column in same_for_seeds},
    )


@dataclass(frozen=True)
class Report:
    """The results of all tasks and seeds of a command, and the tables made from them."""

    results: RunResults
    titles: Mapping[str, str]  # task → name in the table
    heading: str = ""  # first line of the table: the model and the seeds
    footnotes: Sequence[str] = ()  # remarks on the data, without a full stop

    @classmethod
    def of(cls, tasks: Sequence[TaskData], results: RunResults, arguments: GlueArguments) -> "Report":
        """Returns the report of a command, from its tasks, the results of each task and seed, and its arguments."""
        firsts = _first_runs(results)
        first = firsts[tasks[0].name]
        name = arguments.model_name_or_path
        start = describe_overrides(name, arguments.overrides) or name
        start += " from random weights" if first["from_scratch"] else ""
        footnotes = [note for task in tasks for note in task.footnotes]
        for task in tasks:
            run = firsts[task.name]
            if folds := run["scored_folds"]:
                ways = "evaluated by a model that did not see" if folds == 1 else f"cross-validated, {folds} folds of"
                rows = max(number for metric, number in run["rows"].items() if not metric.startswith(TEST))
                footnotes.append(f"{task.title}: {ways} {rows:,} rows; the model saved learned from all")
            if teacher := run.get("teacher"):
                learned = f"learned from {teacher['name']} ({teacher['description']})"
                footnotes.append(f"{task.title}: {learned}, which labelled {describe_rows(teacher)}")
        heading = f"{start}, {first['parameters']:,} parameters; seeds: {', '.join(results[tasks[0].name])}"
        return cls(results, {task.name: task.title for task in tasks}, heading, footnotes)

    @cached_property
    def summary(self) -> list[Any]:
        """The rows of `summarise`, with the fields `task` and `metric`."""
        return list(summarise(self.results).reset_index().itertuples())

    def write(self, folder: Path, command: Mapping[str, Any]) -> None:
        """Writes `table.md` and `results.json`, with the command's `arguments` and `versions`.

        The log, the arguments and the versions of each run stay in the run's own folder.
        """
        (folder / TABLE).write_text(self.as_markdown(), encoding="utf-8")
        write_json(folder / RESULTS, self.as_json() | dict(command))

    def as_json(self) -> dict[str, Any]:
        """Returns the content of `results.json`."""
        left_out = ("log", "arguments", "versions")
        constants = {task: run["constant_baselines"] for task, run in _first_runs(self.results).items()}
        averages: dict[str, Any] = {}
        summary: dict[str, dict[str, Any]] = {task: {} for task in constants}
        intervals: dict[str, dict[str, Any]] = {task: {} for task in constants}
        for row in (row for row in self.summary if not row.metric.startswith(TEST)):
            deviation = None if math.isnan(row.deviation) else row.deviation
            of_task = summary.get(row.task, averages)
            of_task[row.metric] = {"center": row.mean, "deviation": deviation}
            if row.task in intervals:
                intervals[row.task][row.metric] = _interval(row)
        return {
            "scores": {
                task: {seed: {name: run["measures"][name] for name in constants[task]} for seed, run in seeds.items()}
                for task, seeds in self.results.items()
            },
            "averages": averages,
            "summary": summary,
            "intervals": intervals,
            "constant_baselines": constants,
            "missing_for_averages": self._missing_for_averages(),
            "footnotes": list(self.footnotes),
            "runs": {
                task: {seed: {k: value for k, value in run.items() if k not in left_out} for seed, run in seeds.items()}
                for task, seeds in self.results.items()
            },
        }

    def as_markdown(self) -> str:
        """Returns the table in percent, with its legend and footnotes."""
        columns = [column for column in REFERENCES if any(not math.isnan(getattr(row, column)) for row in self.summary)]
        header = ["task", "measure", "mean", "interval", "rows", *columns]
        table = markdown_table(header, [self._cells(row, columns) for row in self.summary], num_texts=2, aligned=True)
        legend = (
            "In percent. Interval: where the score on other rows of the same kind lies, 95 % sure. Constant: the best "
            "score of a prediction that is the same for every example."
        )
        if "head" in columns:
            legend += " Head: a linear model of the frozen encoder's vectors, before fine-tuning."
        if "teacher" in columns:
            legend += " Teacher: the score of the model whose outputs were learned."
        missing = self._missing_for_averages()
        notes = [f"No {name} average without {', '.join(names)}." for name, names in missing.items()]
        notes += [f"{note}." for note in dict.fromkeys(self.footnotes)]
        listed = ["", *(f"- {note}" for note in notes)] if notes else []
        return "\n".join([self.heading, "", table, "", legend, *listed, ""])

    def _cells(self, row: Any, columns: Sequence[str]) -> list[str]:
        """Returns a row of the table."""
        name = row.metric.removeprefix(TEST).replace("_", " ") + (", test rows" if row.metric.startswith(TEST) else "")
        mean = _percent(row.mean) + ("" if math.isnan(row.deviation) else f" ± {_percent(row.deviation)}")
        bounds = _interval(row)
        held_out = ["–".join(map(_percent, bounds)), f"{row.rows:,.0f}"] if bounds else ["", ""]
        references = [_percent(getattr(row, column)) for column in columns]
        return [self.titles.get(row.task, row.task), name, mean, *held_out, *references]

    def _missing_for_averages(self) -> dict[str, list[str]]:
        """Returns average → what it lacks; empty if no task is a GLUE task. Own data may have the name of one."""
        firsts = _first_runs(self.results)
        if not any(task in GLUE and not run.get("is_own_data") for task, run in firsts.items()):
            return {}
        scores = {task: run["measures"] for task, run in firsts.items()}
        return {name: missing for name in AVERAGES if (missing := missing_for(name, scores))}


def _first_runs(results: RunResults) -> dict[str, Results]:
    """Returns task → the results of its first seed."""
    return {task: next(iter(seeds.values())) for task, seeds in results.items()}


def _reference(run: Results, entry: str) -> Mapping[str, float]:
    """Returns the scores of an entry of `REFERENCES` in the results of a run; none if it lacks the entry."""
    found: Mapping[str, Any] = run.get(entry, {})
    scores: Mapping[str, float] = found.get("measures", {}) if entry in ("head", "teacher") else found
    return scores


def _interval(row: Any) -> tuple[float, float] | None:
    """Returns the confidence interval of a row of the summary, see `interval`; None for an average of tasks."""
    metric = row.metric.removeprefix(TEST).removesuffix(MISMATCHED)
    return None if math.isnan(row.rows) else interval(metric, row.mean, row.rows, row.folds)


def _percent(share: float) -> str:
    """Returns a share in percent, with one decimal; "" for NaN."""
    return "" if math.isnan(share) else f"{100 * share:.1f}"

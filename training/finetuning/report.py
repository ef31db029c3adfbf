"""The scores of all runs of a command: means over seeds, GLUE averages, and the Markdown table.

Of a task with several seeds, the constant, the head, the teacher and the number of rows are those of the first one.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vocabless.overrides import describe_overrides
from vocabless.saving.record import TEST, describe_rows
from vocabless.saving.run_folder import RESULTS, write_json
from vocabless.saving.tables import markdown_table
from vocabless.training.finetuning.candidates import interval
from vocabless.training.finetuning.rows.glue import AVERAGES, GLUE, average, missing_for
from vocabless.training.finetuning.tasks.arguments import GlueArguments
from vocabless.training.finetuning.tasks.data import TaskData
from vocabless.training.run import Results

TABLE = "table.md"
RunResults = Mapping[str, Mapping[str, Results]]  # task → seed → results
# Columns of the table that it has only where a run has their scores, with what the legend says of them.
REFERENCES = {
    "constant": " Constant: the best score of a prediction that is the same for every example.",
    "head": " Head: a linear model of the frozen encoder's vectors, before fine-tuning.",
    "teacher": " Teacher: the score of the model whose outputs were learned.",
}


@dataclass(frozen=True)
class Row:
    """A row of the table; None is an empty cell."""

    task: str  # or "average"
    metric: str  # of test rows, it begins with `TEST`
    mean: float  # over the seeds
    deviation: float | None  # of the sample of seeds
    rows: int | None = None  # that are scored
    interval: tuple[float, float] | None = None
    constant: float | None = None
    head: float | None = None
    teacher: float | None = None


def summarise(results: RunResults) -> list[Row]:
    """Returns a row for each score of a task, and for each GLUE average if the tasks have all of its scores.

    An average is taken over the seeds of all tasks.
    """
    table = []
    for task, seeds in results.items():
        first = next(iter(seeds.values()))
        counts = first.get("rows", {})
        for name in [*first["constant_baselines"], *(name for name in counts if name.startswith(TEST))]:
            mean, deviation = _mean([run["measures"][name] for run in seeds.values()])
            rows = counts.get(name)
            bounds = rows and interval(name, mean, rows, first["scored_folds"])
            others = [first.get(entry, {}).get("measures", {}).get(name) for entry in ("head", "teacher")]
            constant = first["constant_baselines"].get(name)
            table.append(Row(task, name, mean, deviation, rows, bounds, constant, *others))
    in_all = sorted(set.intersection(*(set(seeds) for seeds in results.values())))
    runs = [{task: seeds[seed]["measures"] for task, seeds in results.items()} for seed in in_all]
    for name in AVERAGES:
        if values := [average(name, scores) for scores in runs if not missing_for(name, scores)]:
            table.append(Row("average", name, *_mean(values)))
    return table


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
    def table(self) -> list[Row]:
        """The rows of `summarise`."""
        return summarise(self.results)

    def write(self, folder: Path, command: Mapping[str, Any]) -> None:
        """Writes `table.md` and `results.json`, with the command's `arguments` and `versions`."""
        (folder / TABLE).write_text(self.as_markdown(), encoding="utf-8")
        write_json(folder / RESULTS, self.as_json() | dict(command))

    def as_json(self) -> dict[str, Any]:
        """Returns the content of `results.json`; log, arguments and versions of a run stay in its own folder."""
        left_out = ("log", "arguments", "versions")
        return {
            "table": [asdict(row) for row in self.table],
            "constant_baselines": {task: run["constant_baselines"] for task, run in _first_runs(self.results).items()},
            "footnotes": list(self.footnotes),
            "runs": {
                task: {seed: {k: value for k, value in run.items() if k not in left_out} for seed, run in seeds.items()}
                for task, seeds in self.results.items()
            },
        }

    def as_markdown(self) -> str:
        """Returns the table in percent, with its legend and footnotes."""
        columns = [column for column in REFERENCES if any(getattr(row, column) is not None for row in self.table)]
        header = ["task", "measure", "mean", "interval", "rows", *columns]
        table = markdown_table(header, [self._cells(row, columns) for row in self.table], num_texts=2, aligned=True)
        legend = "In percent. Interval: where the score on other rows of the same kind lies, 95 % sure."
        legend += "".join(REFERENCES[column] for column in columns)
        notes = [*self._missing_averages(), *(f"{note}." for note in dict.fromkeys(self.footnotes))]
        listed = ["", *(f"- {note}" for note in notes)] if notes else []
        return "\n".join([self.heading, "", table, "", legend, *listed, ""])

    def _cells(self, row: Row, columns: Sequence[str]) -> list[str]:
        name = row.metric.removeprefix(TEST).replace("_", " ") + (", test rows" if row.metric.startswith(TEST) else "")
        mean = _percent(row.mean) + ("" if row.deviation is None else f" ± {_percent(row.deviation)}")
        held_out = ["–".join(map(_percent, row.interval or ())), "" if row.rows is None else f"{row.rows:,}"]
        references = [_percent(getattr(row, column)) for column in columns]
        return [self.titles.get(row.task, row.task), name, mean, *held_out, *references]

    def _missing_averages(self) -> list[str]:
        """Returns a sentence for each average that lacks scores, if a task is one of GLUE; own data may be named so."""
        firsts = _first_runs(self.results)
        if not any(task in GLUE and not run.get("is_own_data") for task, run in firsts.items()):
            return []
        scores = {task: run["measures"] for task, run in firsts.items()}
        missing = {name: missing_for(name, scores) for name in AVERAGES}
        return [f"No {name} average without {', '.join(names)}." for name, names in missing.items() if names]


def _first_runs(results: RunResults) -> dict[str, Results]:
    """Returns task → the results of its first seed."""
    return {task: next(iter(seeds.values())) for task, seeds in results.items()}


def _mean(values: Sequence[float]) -> tuple[float, float | None]:
    """Returns the mean and the sample's deviation, None for a single value."""
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else None


def _percent(share: float | None) -> str:
    """Returns a share in percent, with one decimal; "" for None."""
    return "" if share is None else f"{100 * share:.1f}"

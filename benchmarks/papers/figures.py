"""Our figures of a finished run, in the places of a paper's columns; and the table that shows both."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.papers.rows import PaperRow, PaperTable
from vocabless.training.finetuning.report import markdown_table

IN_UNITS = {"parameters": 1e3, "embedding_parameters": 1e3}  # of a printed thousand
MILLIONS = "Total (M)"


def our_figure(
    title: str, key: str, results: Mapping[str, Any], compared: Mapping[str, Any], constant_baseline: bool = False
) -> float | None:
    """Returns our figure of a column, shares in percent; None if the run has none.

    Args:
        title: of the column.
        key: `task.measure`, where the task `own` is the only one; `average` of the compared tasks, or `average.NAME` of
            `glue.AVERAGES`; or a figure of `Comparison.figures`, with a task behind a dot if it is one for each task.
        results: `results.json` of the run.
        compared: the run's figures in the comparison.
        constant_baseline: return the constant baseline in place of the score.
    """
    name, _, part = key.partition(".")
    if key in IN_UNITS:
        return None if constant_baseline else float(compared[key]) / (1e6 if title == MILLIONS else IN_UNITS[key])
    if key == "samples_per_second":
        return None if constant_baseline else 1000 / float(compared["milliseconds_per_sample"])
    if name in compared and name not in ("scores", "average"):
        value = compared[name].get(part) if part else compared[name]
        return None if constant_baseline else _percent(value)
    if name == "average":
        if constant_baseline:
            return None
        return _percent(results["averages"].get(part, {}).get("center") if part else compared["average"])
    task = next(iter(results["summary"])) if name == "own" else name
    if constant_baseline:
        return _percent(results["constant_baselines"].get(task, {}).get(part))
    return _percent(results["summary"].get(task, {}).get(part, {}).get("center"))


def render(
    table: PaperTable,
    rows: Sequence[tuple[PaperRow, Mapping[str, Any], Mapping[str, Any]]],
) -> str:
    """Returns the printed figures beside ours, one line each, and the constant baselines of our tasks.

    Args:
        table: the paper's table.
        rows: each row with the `results.json` of its run and its figures in the comparison.
    """
    titles = [title for title, _ in table.columns]
    shown = [["row", "figures", *titles]]
    for row, results, compared in rows:
        published = row.published(table.columns)
        scales = [1 if "." not in key and key != "average" else table.unit for _, key in table.columns]
        printed = [
            _cell(None if published[t] is None else s * float(published[t] or 0))
            for t, s in zip(titles, scales, strict=True)
        ]
        ours = [_cell(our_figure(title, key, results, compared)) for title, key in table.columns]
        shown += [[row.label, "paper", *printed], ["", "ours", *ours]]
    if rows:
        constants = [
            _cell(our_figure(title, key, *rows[0][1:], constant_baseline=True)) for title, key in table.columns
        ]
        shown.append(["constant", "ours", *constants])
    return "\n".join(markdown_table(shown))


def _percent(value: Any) -> float | None:
    return None if value is None else 100 * float(value)


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"

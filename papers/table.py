"""What a table of a paper is, where our figures of its columns are found, and how both are printed."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Title, and where our figure is: see `our_figure`. A tuple is an average: of its terms, each the mean of its keys.
Column = tuple[str, str | tuple[str, ...]]
CENTERS: dict[str, Callable[[Sequence[float]], float]] = {"mean": statistics.fmean, "median": statistics.median}
IN_UNITS = {"parameters": 1e3, "embedding_parameters": 1e3}  # of a printed thousand
MILLIONS = "Total (M)"


@dataclass(frozen=True)
class PaperRow:
    """One row of a table.

    Attributes:
        label: name in the paper.
        model: a variant or a stock shape.
        printed: the paper's figures, one for each column, separated by spaces; "-" where it has none.
        objective: pre-training objective; None if the row is not pre-trained here.
        start: `hash` pre-trains from word embeddings that are n-gram hashes; "" from fresh weights.
        note: what differs from the paper in this row, a clause.
    """

    label: str
    model: str
    printed: str
    objective: str | None = None
    start: str = ""
    note: str = ""

    def published(self, columns: tuple[Column, ...]) -> dict[str, float | None]:
        """Returns title of a column → printed figure, None where the paper has none.

        Raises:
            ValueError: the row has another number of figures than the table has columns.
        """
        figures = [None if figure == "-" else float(figure) for figure in self.printed.split()]
        return dict(zip((title for title, _ in columns), figures, strict=True))


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper.

    Attributes:
        title: paper and number.
        about: what it shows.
        columns: its columns.
        rows: its rows; the first is the baseline.
        recipe: pre-training recipe of the paper; "" if it pre-trains nothing.
        task_recipe: fine-tuning recipe of the paper; "" if there is none.
        unit: what a printed figure is multiplied by, to be in percent.
        size: of the paper's models; "" if the rows differ in size, which `--size` then does not change.
        is_patents: whether the tasks are patents, not GLUE.
        summary: over the seeds, a key of `CENTERS`.
    """

    title: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[PaperRow, ...]
    recipe: str = ""
    task_recipe: str = ""
    unit: float = 1.0
    size: str = "base"
    is_patents: bool = False
    summary: str = "mean"


Tables = Mapping[str, PaperTable]


def our_figure(column: Column, results: Mapping[str, Any], compared: Mapping[str, Any], summary: str) -> float | None:
    """Returns our figure of a column, shares in percent; None if the run has none.

    Args:
        column: its key is `task.measure`, where the task `own` is the only one; a figure of `ComparedRun.figures`, with
            a task behind a dot if it is one for each task; or a tuple of terms to average, each of one or more keys.
        results: `results.json` of the run.
        compared: the run's figures in the comparison.
        summary: over the seeds, a key of `CENTERS`.
    """
    title, key = column
    if isinstance(key, tuple):  # EELBERT 4.2: the median of each task over the seeds, then the average
        terms = [[our_figure((title, each), results, compared, summary) for each in term.split()] for term in key]
        means = [statistics.fmean(known) for term in terms if len(known := _known(term)) == len(term)]
        return statistics.fmean(means) if len(means) == len(key) else None
    name, _, part = key.partition(".")
    if key in IN_UNITS:
        return float(compared[key]) / (1e6 if title == MILLIONS else IN_UNITS[key])
    if key == "samples_per_second":
        return 1000 / float(compared["milliseconds_per_sample"])
    if name in compared:
        value = compared[name].get(part) if part else compared[name]
        return None if value is None else 100 * float(value)
    runs = results["runs"].get(_task(name, results), {}).values()
    values = [run["measures"][part] for run in runs if part in run["measures"]]
    return 100 * CENTERS[summary](values) if values else None


def constant(column: Column, results: Mapping[str, Any]) -> float | None:
    """Returns the constant baseline of a column in percent; None if it has none."""
    name, _, part = str(column[1]).partition(".")
    value = results["constant_baselines"].get(_task(name, results), {}).get(part)
    return None if value is None else 100 * float(value)


def render(table: PaperTable, rows: Sequence[tuple[PaperRow, Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Returns the printed figures beside ours, one line each, and the constant baselines of our tasks.

    Args:
        table: the paper's table.
        rows: each row with the `results.json` of its run and its figures in the comparison.
    """
    shown = [["row", "figures", *(title for title, _ in table.columns)]]
    for row, results, compared in rows:
        published = row.published(table.columns)
        printed = []
        for title, key in table.columns:
            figure, is_score = published[title], isinstance(key, tuple) or "." in key or key == "average"
            printed.append(_cell(None if figure is None else figure * (table.unit if is_score else 1)))
        ours = [_cell(our_figure(column, results, compared, table.summary)) for column in table.columns]
        shown += [[row.label, "paper", *printed], ["", "ours", *ours]]
    if rows:
        shown.append(["constant", "ours", *(_cell(constant(column, rows[0][1])) for column in table.columns)])
    return "\n".join(markdown_table(shown))


def markdown_table(rows: Sequence[Sequence[str]], left: int = 2) -> list[str]:
    """Returns the lines of a table with aligned columns: the first `left` to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    sides = ["<" if place < left else ">" for place in range(len(widths))]
    lines = [
        f"| {' | '.join(f'{cell:{side}{width}}' for cell, side, width in zip(row, sides, widths, strict=True))} |"
        for row in rows
    ]
    rule = [f"{'-' * (width + 1)}{'-' if side == '<' else ':'}" for side, width in zip(sides, widths, strict=True)]
    return [lines[0], f"|{'|'.join(rule)}|", *lines[1:]]


def _task(name: str, results: Mapping[str, Any]) -> str:
    return next(iter(results["runs"])) if name == "own" else name


def _known(figures: Sequence[float | None]) -> list[float]:
    return [figure for figure in figures if figure is not None]


def _cell(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"

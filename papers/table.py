"""What a table of a paper is, where our figures of its columns are found, and how both are printed."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vocabless.stock_shapes import find_shape

# Title, and where our figure is: see `our_figure`. A tuple is an average: of its terms, each the mean of its keys.
Column = tuple[str, str | tuple[str, ...]]
CENTERS: dict[str, Callable[[Sequence[float]], float]] = {"mean": statistics.fmean, "median": statistics.median}
UNITS = {"(K)": 1e3, "(M)": 1e6, "(MB)": 1e6}  # the last word of a title → what a printed figure is multiplied by
RATES = ("samples_per_second", "speed_up")  # figures of a run that are neither shares nor counts


@dataclass(frozen=True)
class PaperRow:
    """One row of a table.

    Attributes:
        label: name in the paper.
        model: a variant or a stock shape.
        printed: the paper's figures, one for each column, separated by spaces; "-" where it has none.
        objective: pre-training objective; None if the row is not pre-trained here.
        recipe: pre-training recipe; "" is the table's.
        start: `hash` pre-trains from word embeddings that are n-gram hashes; "" from fresh weights.
        weights: Hub id of the published weights that the paper takes; "" if it trains its own.
        vocabulary: Hub id of the subword tokenizer; "" is that of its kind, see `SUBWORD_TOKENIZERS`.
        length: tokens of a text in fine-tuning; None is the recipe's.
        original: label of the row that its speed is compared with; "" is the first.
        has_mlm_head: whether the paper counts its parameters with the head of masked LM.
    """

    label: str
    model: str
    printed: str
    objective: str | None = None
    recipe: str = ""
    start: str = ""
    weights: str = ""
    vocabulary: str = ""
    length: int | None = None
    original: str = ""
    has_mlm_head: bool = False

    @property
    def reads_subwords(self) -> bool:
        """Whether the model has a subword tokenizer."""
        return find_shape(self.model).reads_subwords

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
        task_recipe: fine-tuning recipe of the paper.
        unit: what a printed figure is multiplied by, to be in percent.
        is_patents: whether the tasks are patents, not GLUE.
        seeds: runs of each task in the paper.
        learning_rates: of which each task takes the best; none is the recipe's own.
        summary: over the seeds, a key of `CENTERS`.
        notes: what differs from the paper in any case, clauses.
    """

    title: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[PaperRow, ...]
    task_recipe: str
    recipe: str = ""
    unit: float = 1.0
    is_patents: bool = False
    seeds: int = 1
    learning_rates: tuple[str, ...] = ()
    summary: str = "mean"
    notes: tuple[str, ...] = ()

    @property
    def tasks(self) -> list[str]:
        """The GLUE tasks of its columns."""
        keys = [key.removeprefix("prr_by_task.") for _, key in self.columns if isinstance(key, str) and "." in key]
        return list(dict.fromkeys(key.partition(".")[0] for key in keys))


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
        means = []
        for term in key:
            figures = [our_figure((title, each), results, compared, summary) for each in term.split()]
            known = [figure for figure in figures if figure is not None]
            means += [statistics.fmean(known)] if len(known) == len(figures) else []
        return statistics.fmean(means) if len(means) == len(key) else None
    name, _, part = key.partition(".")
    unit = UNITS.get(title.rpartition(" ")[2])
    if unit is not None or key in RATES:
        return None if compared.get(key) is None else float(compared[key]) / (unit or 1)
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
    digits = [2 if title.endswith("(MB)") else 1 for title, _ in table.columns]

    def cells(figures: Iterable[float | None]) -> list[str]:
        return [format_figure(*each) for each in zip(figures, digits, strict=True)]

    shown = [["row", "figures", *(title for title, _ in table.columns)]]
    for row, results, compared in rows:
        printed = row.published(table.columns)
        units = [table.unit if isinstance(key, tuple) or "." in key else 1 for _, key in table.columns]
        paper = [None if each is None else each * unit for each, unit in zip(printed.values(), units, strict=True)]
        ours = [our_figure(column, results, compared, table.summary) for column in table.columns]
        shown += [[row.label, "paper", *cells(paper)], ["", "ours", *cells(ours)]]
    if rows:
        shown.append(["constant", "ours", *cells(constant(column, rows[0][1]) for column in table.columns)])
    return "\n".join(markdown_table(shown))


def format_figure(value: float | None, digits: int = 1) -> str:
    """Returns a cell of a table; "–" for None.

    >>> format_figure(1234.56), format_figure(None)
    ('1,234.6', '–')
    """
    return "–" if value is None else f"{value:,.{digits}f}"


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

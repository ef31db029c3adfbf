"""What a table of a paper is, where our figures of its columns are found, and how both are printed."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.measure import aligned_table
from vocabless.stock_shapes import find_shape

# Title, and where our figure is: see `our_figure`. A tuple is an average: of its terms, each the mean of its keys.
Column = tuple[str, str | tuple[str, ...]]
CENTERS: dict[str, Callable[[Sequence[float]], float]] = {"mean": statistics.fmean, "median": statistics.median}
UNITS = {"(K)": 1e3, "(M)": 1e6, "(MB)": 1e6}  # the last word of a title → what a printed figure is multiplied by
RATES = ("samples_per_second", "speed_up")  # figures of a run that are neither shares nor counts


@dataclass(frozen=True)
class PaperRow:
    """One row of a table."""

    label: str  # name in the paper
    model: str  # a variant or a stock shape
    printed: str  # the paper's figures, one for each column, separated by spaces; "-" where it has none
    objective: str | None = None  # of pre-training; None if the row is not pre-trained here
    recipe: str = ""  # of pre-training; "" is the table's
    start: str = ""  # `hash` pre-trains from word embeddings that are n-gram hashes; "" from fresh weights
    weights: str = ""  # Hub id of the published weights that the paper takes; "" if it trains its own
    vocabulary: str = ""  # Hub id of the subword tokenizer; "" is that of its kind, see `SUBWORD_TOKENIZERS`
    length: int | None = None  # tokens of a text in fine-tuning; None is the recipe's
    original: str = ""  # label of the row that its speed is compared with; "" is the first
    has_mlm_head: bool = False  # whether the paper counts its parameters with the head of masked LM

    @property
    def reads_subwords(self) -> bool:
        """Whether the model has a subword tokenizer."""
        return find_shape(self.model).reads_subwords

    def published(self, columns: tuple[Column, ...]) -> dict[str, float | None]:
        """Returns title of a column → printed figure, None where the paper has none."""
        figures = [None if figure == "-" else float(figure) for figure in self.printed.split()]
        return dict(zip((title for title, _ in columns), figures, strict=True))


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper."""

    title: str  # paper and number
    about: str  # what it shows
    columns: tuple[Column, ...]
    rows: tuple[PaperRow, ...]  # the first is the baseline
    task_recipe: str  # fine-tuning recipe of the paper
    recipe: str = ""  # pre-training recipe of the paper; "" if it pre-trains nothing
    unit: float = 1.0  # what a printed figure is multiplied by, to be in percent
    is_patents: bool = False  # whether the tasks are patents, not GLUE
    seeds: int = 1  # runs of each task in the paper
    learning_rates: tuple[str, ...] = ()  # of which each task takes the best; none is the recipe's own
    summary: str = "mean"  # over the seeds, a key of `CENTERS`
    notes: tuple[str, ...] = ()  # what differs from the paper in any case, clauses

    @property
    def tasks(self) -> list[str]:
        """The GLUE tasks of its columns."""
        keys = [key.removeprefix("prr_by_task.") for _, key in self.columns if isinstance(key, str) and "." in key]
        return list(dict.fromkeys(key.partition(".")[0] for key in keys))


Tables = Mapping[str, PaperTable]


def our_figure(column: Column, results: Mapping[str, Any], compared: Mapping[str, Any], summary: str) -> float | None:
    """Returns our figure of a column, shares in percent; None if the run has none.

    The key of a column is `task.measure`, where the task `own` is the only one; a figure of `compare_runs`, with a task
    behind a dot if it is one for each task; or a tuple of terms to average, each of one or more keys. `results` is the
    `results.json` of the run, `compared` its row of `compare_runs`.
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

    `rows` has each row with the `results.json` of its run and its figures in the comparison.
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
    return aligned_table(shown)


def format_figure(value: float | None, digits: int = 1) -> str:
    """Returns a cell of a table; "–" for None.

    >>> format_figure(1234.56), format_figure(None)
    ('1,234.6', '–')
    """
    return "–" if value is None else f"{value:,.{digits}f}"


def _task(name: str, results: Mapping[str, Any]) -> str:
    return next(iter(results["runs"])) if name == "own" else name

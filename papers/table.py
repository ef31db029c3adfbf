"""What a table of a paper is, our figures of its columns, and how both are printed."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.measure import aligned_table
from vocabless.stock_shapes import find_shape

CENTERS: dict[str, Callable[[Sequence[float]], float]] = {"mean": statistics.fmean, "median": statistics.median}
# The last word of the title of a size → what a printed figure is multiplied by, and its decimals. Others are percent.
UNITS = {"(K)": (1e3, 1), "(M)": (1e6, 1), "(MB)": (1e6, 2), "(x)": (1.0, 4), **dict.fromkeys("MNDCA", (1.0, 0))}
PERCENT = 0.01, 1
SHARES = ("score", "retention")  # kinds of columns that EELBERT prints between 0 and 1
OWN = "own"  # stands for the only task of a run on files
PRETRAINING = "pre-training"  # stands for the held-out text of a pre-training run
Scores = Mapping[str, Mapping[str, Sequence[float]]]  # task → measure → values of all seeds, 0–1


class Column(NamedTuple):
    """A column of a table."""

    title: str
    # Terms, which are averaged: each is `task.measure`, or several of them, whose mean is the term. Of a size, one key
    # of `counts.size_figures`.
    key: tuple[str, ...]
    kind: str = "score"  # or `deviation`, over the seeds; `retention` (PRR); `size`; `paper`, which is not ours

    @property
    def unit(self) -> tuple[float, int]:
        """What a figure is multiplied by to be our value, and its decimals."""
        return UNITS.get(self.title.rpartition(" ")[2], PERCENT) if self.kind == "size" else PERCENT


def score(title: str, key: str, kind: str = "score") -> Column:
    """Returns a column with one term."""
    return Column(title, (key,), kind)


@dataclass(frozen=True)
class PaperRow:
    """One row of a table."""

    label: str  # name in the paper
    model: str  # a variant or a stock shape
    printed: str  # the paper's figures, one for each column, separated by spaces; "-" where it has none
    objective: str | None = None  # of pre-training; None if the row is not pre-trained here
    recipe: str = ""  # of pre-training; "" is the table's
    is_hashed: bool = False  # whether pre-training starts from word embeddings that are n-gram hashes
    weights: str = ""  # Hub id of the published weights that the paper takes; "" if it trains its own
    vocabulary: str = ""  # Hub id of the subword tokenizer; "" is that of its kind, see `SUBWORD_TOKENIZERS`
    length: int | None = None  # tokens of a text in fine-tuning; None is the recipe's
    has_mlm_head: bool = False  # whether the paper counts its parameters with the head of masked LM
    exports_mlm_head: bool | None = None  # whether the exported size has it; None is `has_mlm_head`
    original: int = 0  # place in the table of the row with whose sizes its own are compared
    overrides: tuple[str, ...] = ()  # what `--set` changes of the model

    @property
    def has_ngrams(self) -> bool:
        """Whether it is pre-trained with the most frequent n-grams of the text (HashFormers 3.3)."""
        return self.objective is not None and "-lsh-" in self.model

    @property
    def reads_subwords(self) -> bool:
        """Whether the model has a subword tokenizer."""
        return find_shape(self.model).reads_subwords

    def published(self, columns: tuple[Column, ...]) -> dict[str, float | None]:
        """Returns title of a column → printed figure, None where the paper has none."""
        figures = [None if figure == "-" else float(figure) for figure in self.printed.split()]
        return dict(zip((column.title for column in columns), figures, strict=True))


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper."""

    title: str  # paper and number
    about: str  # what it shows
    columns: tuple[Column, ...]
    rows: tuple[PaperRow, ...]  # the first is the baseline
    task_recipe: str  # fine-tuning recipe of the paper
    recipe: str = ""  # pre-training recipe of the paper; "" if it pre-trains nothing
    first_recipe: str = ""  # of a first stage of pre-training, from which `recipe` goes on; "" if there is none
    unit: float = 1.0  # what a printed score is multiplied by, to be in percent
    decimals: int = 1  # of a score in percent
    is_patents: bool = False  # whether the tasks are patents, not GLUE
    num_labels: int = 2  # of the classifiers whose parameters are counted
    learning_rates: tuple[str, ...] = ()  # of which each task takes the best; none is the recipe's own
    summary: str = "mean"  # over the seeds, a key of `CENTERS`

    @property
    def terms(self) -> list[str]:
        """The `task.measure` of its columns, in their order; none if the table has sizes alone."""
        return [each for column in self.columns if column.kind != "size" for key in column.key for each in key.split()]

    @property
    def tasks(self) -> list[str]:
        """The tasks of its columns."""
        return [task for task in dict.fromkeys(term.partition(".")[0] for term in self.terms) if task != PRETRAINING]


Tables = Mapping[str, PaperTable]


def scores_of(results: Mapping[str, Any], kind: str = "measures") -> Mapping[str, Mapping[str, Sequence[Any]]]:
    """Returns the scores of a `results.json` of `vocabless finetune`, or their `intervals`: a pair for each seed.

    The first task is also called `own`.
    """
    scores = {}
    for task, seeds in results["runs"].items():
        runs = [run.get(kind, {}) for run in seeds.values()]
        scores[task] = {name: [run[name] for run in runs] for name in runs[0]}
    return {OWN: next(iter(scores.values()))} | scores if scores else scores


def average(scores: Scores, key: Iterable[str], summary: str) -> float | None:
    """Returns the average of the terms, each task summarised over its seeds first; None if a score is missing.

    Source: EELBERT 4.2, the median of each task over the seeds, then the average.
    """
    means = []
    for term in key:
        found = [scores.get(task, {}).get(name) for task, _, name in (each.partition(".") for each in term.split())]
        centers = [CENTERS[summary](values) for values in found if values]
        if len(centers) < len(found):
            return None
        means.append(statistics.fmean(centers))
    return statistics.fmean(means)


def deviation(scores: Scores, key: Iterable[str]) -> float | None:
    """Returns the standard deviation of the averages of the seeds, that of a sample; None with fewer than two seeds."""
    found = [scores.get(task, {}).get(name, ()) for task, _, name in (term.partition(".") for term in key)]
    by_seed = [statistics.fmean(values) for values in zip(*found, strict=False)]
    return statistics.stdev(by_seed) if len(by_seed) > 1 else None


def retention(score: float | None, baseline: float | None) -> float | None:
    """Returns PRR (HashFormers, equation 4), score / baseline; None if one is missing or the baseline is 0."""
    return score / baseline if score is not None and baseline is not None and baseline > 0 else None


def our_figure(
    column: Column, scores: Scores, baseline: Scores, sizes: Mapping[str, float | None], summary: str
) -> float | None:
    """Returns our figure of a column, in the unit of its title or in percent; None if there is none.

    `scores` are those of the row and `baseline` those of the first row of the table; `sizes` as `counts.size_figures`.
    """
    if column.kind == "size":
        value = sizes[column.key[0]]
        return None if value is None else value / column.unit[0]
    if column.kind == "paper":
        return None
    share = deviation(scores, column.key) if column.kind == "deviation" else average(scores, column.key, summary)
    if column.kind == "retention":
        share = retention(share, average(baseline, column.key, summary))
    return None if share is None else 100 * share


def spread(column: Column, row: "FilledRow") -> list[str]:
    """Returns the least and the greatest score of the seeds, and the 95 % interval of the seed in the middle, as cells.

    In percent; the interval is that over the examples. "" for one seed, and for a column that is not one measure.
    """
    task, _, name = column.key[0].partition(".")
    values = row.scores.get(task, {}).get(name, ()) if column.kind == "score" and len(column.key) == 1 else ()
    if len(values) < 2:
        return ["", ""]
    pairs = row.intervals.get(task, {}).get(name)
    ranges = [(min(values), max(values)), pairs[values.index(statistics.median_low(values))] if pairs else None]
    return ["{:.1f} to {:.1f}".format(*(100 * end for end in each)) if each else "" for each in ranges]


class FilledRow(NamedTuple):
    """A row of a table with what is known of it."""

    row: PaperRow
    scores: Scores  # empty without a finished run
    sizes: Mapping[str, float | None]
    intervals: Mapping[str, Mapping[str, Sequence[Sequence[float]]]] = {}  # of `scores`, 95 %, 0–1


def render(table: PaperTable, rows: Sequence[FilledRow], baseline: Scores, constants: Scores) -> str:
    """Returns the printed figures next to ours, one line each, and the scores of a constant prediction.

    Below medians over seeds are two lines more, see `spread`.
    """
    digits = [table.decimals if column.kind in SHARES else column.unit[1] for column in table.columns]

    def cells(figures: Iterable[float | None]) -> list[str]:
        return [format_figure(*each) for each in zip(figures, digits, strict=True)]

    shown = [["row", "figures", *(column.title for column in table.columns)]]
    for filled in rows:
        row, scores, sizes, _ = filled
        units = [table.unit if column.kind in SHARES else 1 for column in table.columns]
        printed = zip(row.published(table.columns).values(), units, strict=True)
        shown.append([row.label, "paper", *cells(None if each is None else each * unit for each, unit in printed)])
        ours = (our_figure(column, scores, baseline, sizes, table.summary) for column in table.columns)
        shown.append(["", "ours", *cells(ours)])
        spreads = [spread(column, filled) for column in table.columns] if table.summary == "median" else []
        if any(map(any, spreads)):
            shown += [["", name, *line] for name, *line in zip(("seeds", "95 %"), *spreads, strict=True)]
    if constants:
        own = (our_figure(each, constants, {}, {}, "mean") if each.kind == "score" else None for each in table.columns)
        shown.append(["constant", "ours", *cells(own)])
    return aligned_table(shown)


def format_figure(value: float | None, digits: int = 1) -> str:
    """Returns a cell of a table; "–" for None.

    >>> format_figure(1234.56), format_figure(None)
    ('1,234.6', '–')
    """
    return "–" if value is None else f"{value:,.{digits}f}"

"""What a table of a paper is: columns, and rows with a model, its training and the printed figures."""

from collections.abc import Mapping
from dataclasses import dataclass

Column = tuple[str, str]  # title, and where our figure is found: see `figures.our_figure`


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
        summary: over the seeds.
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

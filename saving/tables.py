"""Markdown tables, as cards, reports and benchmarks print them."""

from collections.abc import Iterable, Sequence


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], num_texts: int = 1, aligned: bool = False
) -> str:
    """Returns a Markdown table whose first `num_texts` columns are texts, and the others numbers, on the right.

    Args:
        header: one cell for each column.
        rows: as many cells each.
        num_texts: see above.
        aligned: whether the cells of a column have the same width, to be read in a terminal.

    >>> print(markdown_table(["model", "MB"], [["uno", "0.3"]]))
    | model | MB |
    |---|--:|
    | uno | 0.3 |
    >>> print(markdown_table(["model", "MB"], [["uno", "0.3"]], aligned=True))
    | model |  MB |
    |-------|----:|
    | uno   | 0.3 |
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) if aligned else 0 for column in zip(*lines, strict=True)]

    def line(cells: Sequence[str]) -> str:
        places = enumerate(zip(cells, widths, strict=True))
        texts = [cell.ljust(width) if i < num_texts else cell.rjust(width) for i, (cell, width) in places]
        return f"| {' | '.join(texts)} |"

    rule = [max(3, w + 2) * "-" if i < num_texts else max(2, w + 1) * "-" + ":" for i, w in enumerate(widths)]
    first, *others = map(line, lines)
    return "\n".join([first, f"|{'|'.join(rule)}|", *others])

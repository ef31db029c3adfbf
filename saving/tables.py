"""Markdown tables, as cards, reports and benchmarks print them."""

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], num_texts: int = 1) -> str:
    """Returns a Markdown table whose first `num_texts` columns are texts, and the others numbers, on the right.

    >>> print(markdown_table(["model", "MB"], [["uno", "0.3"]]))
    | model |  MB |
    |-------|----:|
    | uno   | 0.3 |
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]

    def line(cells: Sequence[str]) -> str:
        places = enumerate(zip(cells, widths, strict=True))
        return " | ".join(cell.ljust(width) if i < num_texts else cell.rjust(width) for i, (cell, width) in places)

    rule = "|".join("-" * (w + 2) if i < num_texts else "-" * (w + 1) + ":" for i, w in enumerate(widths))
    first, *others = [f"| {line(cells)} |" for cells in lines]
    return "\n".join([first, f"|{rule}|", *others])

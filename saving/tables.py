"""Markdown tables, as cards, reports and benchmarks print them."""

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], num_texts: int = 1) -> str:
    """Returns a Markdown table whose first `num_texts` columns are texts, and the others numbers, on the right.

    >>> print(markdown_table(["model", "MB"], [["uno", "0.3"]]))
    | model | MB |
    |---|--:|
    | uno | 0.3 |
    """
    alignment = ["---"] * num_texts + ["--:"] * (len(header) - num_texts)
    return "\n".join([_line(header), f"|{'|'.join(alignment)}|", *map(_line, rows)])


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"

"""Markdown tables, as cards, reports and benchmarks print them; those of the measures of sentence vectors."""

from collections.abc import Iterable, Mapping, Sequence

# Of a language's held-out texts: the share whose nearest English side is their own, the mean cosine with the teacher's
# vector of that side, and the recall among the teacher's vectors of the sides.
LANGUAGE_MEASURES = ("translation", "cosine", "recall_at_10")
# Of vectors in fewer bytes: the share of the teacher's nearest texts that are nearest among such vectors, too, and
# Spearman's rho.
SHORT_MEASURES = ("neighbours", "spearman")


def markdown_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], num_texts: int = 1, aligned: bool = False
) -> str:
    """Returns a Markdown table whose first `num_texts` columns are texts, and the others numbers, on the right.

    If it is `aligned`, the cells of a column have the same width, to be read in a terminal.

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


def vector_tables(measures: Mapping[str, float]) -> list[str]:
    """Returns the tables of an evaluation of sentence vectors that are not empty: of short vectors, of languages."""
    kinds = {name.removeprefix(f"eval_{measure}_") for measure in SHORT_MEASURES for name in measures}
    cut = sorted((kind for kind in kinds if kind.isdecimal()), key=int, reverse=True)
    short = [kind for kind in ("all", *cut, "int8", "binary") if kind in kinds]
    start = "eval_translation_"
    languages = sorted(name.removeprefix(start) for name in measures if name.startswith(start))
    of_short = ["numbers that are kept", "the teacher's ten nearest found, %", "Spearman, %"]
    of_languages = ["held-out texts", "translation found, %", "cosine with the teacher, %", "recall at 10, %"]
    tables = ((of_short, short, SHORT_MEASURES), (of_languages, languages, LANGUAGE_MEASURES))

    def row(name: str, measured: tuple[str, ...]) -> list[str]:
        values = [measures.get(f"eval_{measure}_{name}") for measure in measured]
        return [name, *("–" if value is None else f"{100 * value:.1f}" for value in values)]

    return [markdown_table(header, [row(name, own) for name in names]) for header, names, own in tables if names]

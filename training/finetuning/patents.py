"""Labels of patents. Source: Elementwise, section 4.1.

A patent has a list of codes of the Cooperative Patent Classification (CPC), such as "A01N 53/12". A label is the
beginning of a code. The first code is the main subject, and the labels tell it from the others: `First-X` for the first
code, `Later-X` for each code after it.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

CPC_LEVELS = {"section": 1, "class": 3, "subclass": 4}  # characters of a code: A, A01, A01N
POSITIONS = ("First", "Later")
MAJOR_SHARE = 0.9


def label_positions(codes: Sequence[str]) -> list[str]:
    """Returns the position labels of a patent's codes: `First-` before the first code, `Later-` before the others.

    A code that occurs again after the first place is `Later-`, too. Each label is returned once.

    Args:
        codes: the codes of one patent, in their order.

    Example:
        The paper's own two patents, which have the same set of codes:

        >>> label_positions(["A01B", "G06Q", "A01B"])
        ['First-A01B', 'Later-G06Q', 'Later-A01B']
        >>> label_positions(["G06Q", "A01B"])
        ['First-G06Q', 'Later-A01B']
    """
    return list(dict.fromkeys(f"{POSITIONS[place > 0]}-{code}" for place, code in enumerate(codes)))


def shorten_codes(codes: Sequence[str], level: str) -> list[str]:
    """Returns the beginnings of codes, one for each, in their order.

    Args:
        codes: codes such as "A01N 53/12" or "A01N53/12".
        level: key of `CPC_LEVELS`.

    Raises:
        ValueError: an unknown level, or a code that is shorter.

    >>> shorten_codes(["A01N 53/12", "G06Q10/02"], "subclass")
    ['A01N', 'G06Q']
    """
    if level not in CPC_LEVELS:
        raise ValueError(f"unknown level {level!r} of CPC codes; give {' or '.join(CPC_LEVELS)}.")
    length = CPC_LEVELS[level]
    short = [code.strip() for code in codes if len(code.strip()) < length]
    if short:
        raise ValueError(f"the code {short[0]!r} is too short for a {level}, which has {length} characters.")
    return [code.strip()[:length] for code in codes]


def position_names(codes: Sequence[str]) -> list[str]:
    """Returns the names of all position labels: First- and Later- for each code, in the order of the paper's example.

    >>> position_names(["A01B", "G06Q"])
    ['First-A01B', 'First-G06Q', 'Later-A01B', 'Later-G06Q']
    """
    return [f"{position}-{code}" for position in POSITIONS for code in codes]


class Deviations(NamedTuple):
    """Standard deviations of the frequencies of labels: one row of Table 1 for one part of the data.

    Attributes:
        all_labels: over all labels, those that do not occur included.
        major: over the labels that make up more than 90 % of the labels of the training patents.
    """

    all_labels: float
    major: float


def label_deviations(
    parts: Mapping[str, Sequence[Sequence[str]]], codes: Sequence[str]
) -> dict[str, dict[str, Deviations]]:
    """Returns labelling → part → deviations, as Table 1: `Original` labels and `Relabeled` ones.

    The deviation is that of the population. The paper does not say which one it is.

    Args:
        parts: name of a part → the codes of each patent, in their order; the first part is the training patents.
        codes: all codes.
    """
    table = {}
    for labelling, names in (("Original", list(codes)), ("Relabeled", position_names(codes))):
        counts = {
            part: Counter(
                label for own in patents for label in (label_positions(own) if labelling == "Relabeled" else set(own))
            )
            for part, patents in parts.items()
        }
        major = _major_labels(next(iter(counts.values())))
        table[labelling] = {
            part: Deviations(
                statistics.pstdev([count[name] for name in names]), statistics.pstdev([count[name] for name in major])
            )
            for part, count in counts.items()
        }
    return table


def deviations_table(table: Mapping[str, Mapping[str, Deviations]]) -> str:
    """Returns the deviations as a Markdown table."""
    parts = list(next(iter(table.values())))
    header = [f"{part} {name}" for part in parts for name in ("SD", "SD major")]
    lines = [f"| labelling | {' | '.join(header)} |", f"|---|{'--:|' * len(header)}"]
    for labelling, row in table.items():
        lines.append(f"| {labelling} | {' | '.join(f'{value:,.1f}' for part in parts for value in row[part])} |")
    return "\n".join(lines)


def _major_labels(counts: Counter[str]) -> list[str]:
    """Returns the most frequent labels that make up more than `MAJOR_SHARE` of all labels; at least one."""
    total, covered, major = sum(counts.values()), 0, []
    for name, count in counts.most_common():
        major.append(name)
        covered += count
        if covered > MAJOR_SHARE * total:
            break
    return major

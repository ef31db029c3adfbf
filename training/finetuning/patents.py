"""Position labels for patent classes. Source: Elementwise, section 4.1.

A patent has a list of codes of the Cooperative Patent Classification (CPC). The first code is the main subject. The
labels tell it from the others: `First-X` for the first code, `Later-X` for each code after it.
"""

from collections.abc import Sequence


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
    return list(dict.fromkeys(f"{'Later' if place else 'First'}-{code}" for place, code in enumerate(codes)))

"""Position labels for patent classes. Source: Elementwise, section 4.1.

A patent claim has a list of codes of the Cooperative Patent Classification (CPC). The first code is the main subject.
The paper's second task predicts the position too: `First-X` for the first code, `Later-X` for the others.
"""

from collections.abc import Sequence


def label_positions(codes: Sequence[str]) -> list[str]:
    """Returns the position labels of a claim's codes: `First-` before the first code, `Later-` before the others.

    A code may occur twice, for instance after it was shortened to its subclass. Only its first position counts;
    otherwise a code could be both first and later. The paper does not say what to do then.

    Args:
        codes: the codes of one claim, in their order.

    Example:
        >>> label_positions(["G06F", "H04L", "G06F", "G06N"])
        ['First-G06F', 'Later-H04L', 'Later-G06N']
    """
    return [f"{'Later' if place else 'First'}-{code}" for place, code in enumerate(dict.fromkeys(codes))]

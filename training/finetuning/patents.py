"""Patent classes with their positions. Source: Elementwise, section 4.1.

A claim's codes of the Cooperative Patent Classification are a list whose order tells: the first is what the claim is
about. The relabelled task asks for that too: `First-X` for the first code, `Later-X` for the others.
"""

from collections.abc import Sequence


def label_positions(codes: Sequence[str]) -> list[str]:
    """Returns the labels of a list of codes: `First-` before the first one, `Later-` before the others.

    A code that comes again, as happens where codes are cut to their subclass, keeps its first position alone: it would
    otherwise be both first and later. The paper is silent on it.

    Args:
        codes: of one claim, the first one first.

    Example:
        >>> label_positions(["G06F", "H04L", "G06F", "G06N"])
        ['First-G06F', 'Later-H04L', 'Later-G06N']
    """
    return [f"{'Later' if place else 'First'}-{code}" for place, code in enumerate(dict.fromkeys(codes))]

import math

import pytest

from vocabless.training.limits import COUNT, POSITIVE, SHARE, Limit, check_limits


@pytest.mark.parametrize(
    ("limit", "good", "bad", "remedy"),
    [
        (SHARE, (0, 0.5, 1), (-1, 1.01, math.nan, math.inf), "a number of at least 0 and at most 1"),
        (COUNT, (1, 10**9), (0, -1), "a number of at least 1"),
        (POSITIVE, (1e-9, 5), (0, -0.0, math.nan, math.inf), "a number above 0"),
        (Limit(1, also=(-1, "for all")), (-1, 1), (0, -2), "a number of at least 1, or -1 for all"),
    ],
)
def test_a_value_outside_its_limit_is_refused_with_the_remedy(limit, good, bad, remedy):
    for value in (None, *good):
        check_limits({"flag": value}, {"flag": limit})
    for value in bad:
        with pytest.raises(ValueError, match=f"^--flag {value} is out of range; give {remedy}[.]$"):
            check_limits({"flag": value}, {"flag": limit})

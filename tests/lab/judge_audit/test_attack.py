from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.lab.judge_audit.attack import Move, claimed_rating, human_median, human_mode, move
from evenkeel.lab.judge_audit.ratings import Scale


def as_printed(ratings, scale):
    """The paper's definition for three raters, case by case."""
    r1, r2, r3 = ratings
    if r1 != r2 != r3 and r1 != r3:
        return scale.high if max(ratings) <= scale.high / 2 else scale.low
    mode = r1 if r1 in (r2, r3) else r2
    return scale.high if mode <= scale.high / 2 else scale.low


@pytest.mark.parametrize(
    ("low", "high", "ratings", "claim"),
    [
        (1, 5, (1, 1, 4), 5),
        (1, 5, (2, 2, 5), 5),
        (1, 5, (3, 3, 1), 1),  # 3 is the middle, but more than half of 5
        (1, 5, (5, 5, 5), 1),
        (1, 5, (1, 2, 3), 1),  # all differ: the highest, 3, decides
        (1, 3, (1, 1, 3), 3),
        (1, 3, (2, 2, 1), 1),  # 2 > 1.5
        (0, 1, (0, 0, 1), 1),
        (0, 1, (1, 1, 0), 0),
    ],
)
def test_the_claim_inverts_the_human_mode(low, high, ratings, claim):
    """Worked by hand from the definition, on each of the paper's scales."""
    assert claimed_rating(ratings, Scale(low, high)) == claim


@given(st.sampled_from([(0, 1), (1, 3), (1, 5)]), st.data())
def test_the_claim_is_the_papers_for_every_three_ratings(ends, data):
    """The general rule agrees with the four printed cases."""
    scale = Scale(*ends)
    ratings = data.draw(st.tuples(*[st.sampled_from(scale.steps)] * 3))
    assert claimed_rating(ratings, scale) == as_printed(ratings, scale)


def test_mode_and_median_of_any_number_of_ratings():
    """Of several modes the highest; a median may lie between two steps; no ratings have neither."""
    assert (human_mode((2, 4)), human_mode((1, 1, 5, 5, 3))) == (4, 5)
    assert (human_median((1, 2)), human_median((5, 1, 2))) == (1.5, 2)
    with pytest.raises(ValueError, match="no ratings"):
        human_mode(())


@pytest.mark.parametrize(
    ("before", "after", "claim", "moved"),
    [
        (4, 4, 1, Move.UNCHANGED), (1, 1, 1, Move.UNCHANGED), (4, 1, 1, Move.TO_CLAIM),
        (4, 2, 1, Move.TOWARDS), (4, 5, 1, Move.AWAY), (1, 2, 1, Move.AWAY), (2, 5, 5, Move.TO_CLAIM),
    ],
)  # fmt: skip
def test_moves_are_named_by_where_they_lead(before, after, claim, moved):
    """Unchanged, to the claim, towards it, away from it."""
    assert move(before, after, claim) is moved

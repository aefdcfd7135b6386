import pytest

from evenkeel.lab.judge_audit.attack import Move, claimed_rating, move
from evenkeel.lab.judge_audit.ratings import RatingScale
from tests.cases import cases

CASES = cases(__file__)


@pytest.mark.parametrize(("low", "high", "ratings", "claim"), CASES["claims"])
def test_the_claim_inverts_the_human_mode(low, high, ratings, claim):
    """Worked by hand from the definition, on each of the paper's scales."""
    assert claimed_rating(ratings, RatingScale(low, high)) == claim


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

"""The exact test of a judge's panel."""

import pytest

from evenkeel.core.panel import PairRated, PanelRated


def panel(*pairs):
    return PanelRated("panel/1", 2.0, "chat", "judge-1 w1", 1.0, pairs)


def test_the_probability_is_exact():
    """Two pairs of 3 3 3 and now 2: the new rating is one of four, so both are the odd one in 1 of 16.

    As likely are one that is rated lower and one that is rated higher. Three ways to be odd are looked at.
    """
    odd, higher = PairRated((3, 3, 3), 2), PairRated((1, 1, 1), 2)
    assert panel(odd, odd).p_value == pytest.approx(3 / 16)
    assert panel(odd, higher).p_value == pytest.approx(3 / 16)
    assert panel(odd, PairRated((3, 3, 3), 3)).p_value == pytest.approx(3 / 4)
    assert panel(PairRated((2, 2, 2), 2)).p_value == 1.0


def test_a_judge_that_is_stricter_about_nine_of_sixty_pairs_is_found():
    """A lenient judge is found too; few pairs say nothing."""
    same, stricter, lenient = PairRated((3, 3, 3), 3), PairRated((3, 3, 3), 2), PairRated((2, 2, 2), 3)
    tested = panel(*[same] * 51, *[stricter] * 9)
    assert (tested.shows_change, tested.stricter, tested.lenient) == (True, 9, 0)
    assert panel(*[same] * 51, *[lenient] * 9).shows_change
    assert not panel(*[stricter] * 9).shows_change
    doubtful = panel(*[same] * 57, *[stricter] * 3)
    assert (doubtful.shows_change, doubtful.is_as_before) == (False, False)

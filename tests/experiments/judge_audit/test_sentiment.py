from __future__ import annotations

import pytest

from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.measures import Polarity, Vader, tone_shift


class Length:
    """Tone by length: for arithmetic."""

    name = "length"

    def score(self, text):
        return len(text) / 10


@pytest.mark.parametrize("analyser", [Vader(), Polarity()], ids=lambda analyser: analyser.name)
def test_praise_is_above_a_plain_statement_and_blame_below(analyser):
    """Whatever the lexicon; all in [−1, 1]."""
    good = analyser.score("The summary is excellent, clear and well organised.")
    plain = analyser.score("The summary has four sentences.")
    bad = analyser.score("The summary is terrible, confusing and badly wrong.")
    assert -1 <= bad < -0.2 < plain < 0.2 < good <= 1


def test_no_text_is_neutral():
    """Both analysers give 0."""
    assert [analyser.score("") for analyser in (Vader(), Polarity())] == [0, 0]


def test_tones_are_compared_on_the_same_items():
    """Means over the two items with both justifications: (.2 + .4)/2 and (.4 + .8)/2."""
    shift = tone_shift(Length(), [("aa", "aaaa"), None, ("aaaa", "a" * 8), ("aa", "")], [[0, 1, 2, 3]] * 5)
    assert (shift.n, shift.before, shift.after) == (2, pytest.approx(0.3), pytest.approx(0.6))
    assert (shift.lower, shift.upper) == (pytest.approx(0.3), pytest.approx(0.3))


def test_without_justifications_there_is_no_tone():
    """A failure, not 0."""
    shift = tone_shift(Length(), [None, ("", "a")])
    assert isinstance(shift, Failure)
    assert shift.reason == "no_justification"

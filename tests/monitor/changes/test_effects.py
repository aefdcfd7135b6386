"""Effects of a change, said in the words of what was measured."""

import pytest

from evenkeel.core import rewordings
from evenkeel.core.cells import ChangeMark
from evenkeel.core.verdict import QualityScore
from evenkeel.monitor.changes import Cause, kinds
from evenkeel.monitor.changes.report import GoldenHistory, reports_of
from evenkeel.monitor.estimate import outcome_of
from tests.kit.records import altered
from tests.monitor.changes.tallies import KINDS, SAME, WORSE, record, tally
from tests.monitor.planted_verdicts import VERDICT

NO_GOLDENS = GoldenHistory({}, {})
OTHERWISE = (QualityScore("entities", 1, 1.0, 0.2, "agreement"),)
"""A quality that changed, nobody knows for whom."""


def tally_of(quality=SAME, **shares):
    """Of one rewording, whose answers are as good as the originals unless a quality is given."""
    return tally(tried=KINDS[:1], quality=quality, **shares)


def report(before, after, *marks):
    (made,) = reports_of([record(*marks, before=before, after=after)], NO_GOLDENS)
    return made


def test_robustness_that_falls_under_a_high_noise_floor_is_more_fragile():
    """84 % of the resends shift, so the excess can't move; robustness falls from 90 to 54 of 100."""
    before = tally_of(resends=0.84, shifted=0.1, quality=SAME)
    after = tally_of(resends=0.84, shifted=0.1, quality=SAME)
    for side, changed in ((before, 40), (after, 184)):
        letters = side.cells["general.casing"]
        one = altered(VERDICT, rating=2, control_rating=2, quality=SAME)
        other = altered(one, quality=OTHERWISE)
        letters[outcome_of(one).letter] -= changed
        letters[outcome_of(other).letter] = changed
    found = report(before, after)
    (cell,) = found.comparison.rewordings
    assert (cell.robustness.before.value, cell.robustness.after.value) == (0.9, 0.54)
    assert not cell.content_delta.moved
    assert found.effect == "fragile"
    assert found.finding_lines == [
        f"More fragile: {rewordings.label('general.casing')}: robustness is 54%, 90% before."
    ]


@pytest.mark.parametrize(
    ("before", "after", "effect"),
    [
        ({}, {"shifted": 0.4, "quality": WORSE}, "worse"),
        ({"shifted": 0.4, "quality": WORSE}, {}, "better"),
        ({}, {"invalid": 0.3}, "worse"),
        ({"invalid": 0.3}, {}, "better"),
        ({}, {"shifted": 0.4}, "fragile"),
        ({"shifted": 0.4}, {}, "better"),
        # The same request sent again shifts as well: answers vary by chance.
        ({}, {"shifted": 0.4, "resends": 0.4, "quality": WORSE}, "different"),
        ({}, {}, "none_seen"),
        ({}, {"exchanges": 20, "shifted": 0.5}, "unknown"),
    ],
)
def test_the_word_is_that_of_what_moved(before, after, effect):
    """Quality and validity make worse and better, rewordings alone more fragile, the rest different."""
    found = report(tally_of(**before), tally_of(**after))
    assert found.effect == effect


def test_a_judge_that_its_panel_shows_to_be_stricter_is_no_change_of_the_answers():
    """Its ratings say only that answers are rated differently."""
    drifted = ChangeMark(kinds.RATINGS, "shifted in 5%", "shifted in 20%", 9.0, 7)
    panel = ChangeMark(kinds.JUDGE_PANEL, "as before", "stricter about 12 of 60 pairs", 9.0, 8)
    found = report(tally_of(), tally_of(strict=0.15, quality=WORSE), drifted, panel)
    assert (found.cause, found.effect) == (Cause.JUDGE, "different")
    assert found.said == "answers are rated differently"
    assert all(line.startswith("Rated differently: ") for line in found.finding_lines)
    assert found.candidate_lines == [
        (
            "A judge that rates differently (shown by experiment): The judge rates its panel differently: "
            "stricter about 12 of 60 pairs, at 1 Jan 1970 00:00 UTC."
        )
    ]


def test_points_above_noise_are_points_and_no_share():
    """Three in ten shift before and since, at first as often as the resends, then without them."""
    lines = report(tally_of(shifted=0.3, resends=0.3), tally_of(shifted=0.3)).finding_lines
    assert f"More fragile: {rewordings.label('general.casing')}: 30 points above noise, 0 before." in lines

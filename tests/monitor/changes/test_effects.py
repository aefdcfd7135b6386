"""What a change did is said in the words of what was measured."""

from __future__ import annotations

import pytest

from evenkeel.core import rewordings
from evenkeel.core.cells import ChangeMark
from evenkeel.core.verdict import BASELINE, QualityScore
from evenkeel.monitor.changes import Cause, ChangeRecord, kinds
from evenkeel.monitor.changes.goldens import GoldenHistory
from evenkeel.monitor.changes.record import ChangeTally
from evenkeel.monitor.changes.report import reports_of
from evenkeel.monitor.estimate import outcome_of
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

NO_GOLDENS = GoldenHistory({}, {})
WORSE = (QualityScore("faithfulness", 1, 3, 2),)
SAME = (QualityScore("faithfulness", 1, 3, 3),)
OTHERWISE = (QualityScore("entities", 1, 1.0, 0.2, "agreement"),)
"""A quality that changed, nobody knows for whom."""


def tally(*, shifted=0.05, resends=0.0, quality=SAME, invalid=0.0, strict=0.0, n=400):
    """So many exchanges of a resend and a trial; the shares are met evenly.

    `strict` is the share of pairs rated 2 though the answers are as alike as all others: the judge's doing.
    """
    counted = ChangeTally()
    for number in range(n):
        place = number * 37 % n / n
        resend = 2 if place < resends else 3
        moved = place < shifted or (resends and place < resends)
        said = 2 if moved or place >= 1 - strict else 3
        ignored = place < invalid
        for kind, rating in ((BASELINE, resend), ("general.casing", said)):
            one = altered(
                VERDICT,
                scored_at=float(number),
                perturbation=kind,
                rating=None if ignored and kind != BASELINE else rating,
                invalid=("format",) if ignored and kind != BASELINE else (),
                control_rating=None if kind == BASELINE else resend,
                quality=quality if rating < 3 else (),
                rated_by="similarity@2",
            )
            counted.add(one, outcome_of(one))
        counted.add_exchange({"language": "en"})
    return counted


def report(before, after, *marks):
    found = marks or (ChangeMark(kinds.MODEL, "a", "b", 100.0, 7),)
    (made,) = reports_of([ChangeRecord("c1", "chat", found, before, after, after.exchanges)], NO_GOLDENS)
    return made


def test_robustness_that_falls_under_a_high_noise_floor_is_more_fragile():
    """84 % of the resends shift, so the excess can't move; robustness falls from 90 to 54 of 100."""
    before = tally(resends=0.84, shifted=0.1, quality=SAME)
    after = tally(resends=0.84, shifted=0.1, quality=SAME)
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
    assert (found.effect, found.severity) == ("fragile", "warning")
    assert found.finding_lines == [
        f"More fragile: {rewordings.label('general.casing')}: robustness is 54%, 90% before."
    ]


@pytest.mark.parametrize(
    ("before", "after", "effect", "severity"),
    [
        ({}, {"shifted": 0.4, "quality": WORSE}, "worse", "critical"),
        ({"shifted": 0.4, "quality": WORSE}, {}, "better", ""),
        ({}, {"invalid": 0.3}, "worse", "critical"),
        ({"invalid": 0.3}, {}, "better", ""),
        ({}, {"shifted": 0.4}, "fragile", "warning"),
        ({"shifted": 0.4}, {}, "better", ""),
        # The same request sent again shifts as well: answers vary by chance.
        ({}, {"shifted": 0.4, "resends": 0.4, "quality": WORSE}, "different", "warning"),
        ({}, {}, "none_seen", ""),
        ({}, {"n": 20, "shifted": 0.5}, "unknown", ""),
    ],
)
def test_the_word_is_that_of_what_moved(before, after, effect, severity):
    """Quality and validity make worse and better, rewordings alone more fragile, the rest different."""
    found = report(tally(**before), tally(**after))
    assert (found.effect, found.severity) == (effect, severity)


def test_a_judge_that_its_panel_shows_to_be_stricter_is_no_change_of_the_answers():
    """What its ratings say is that answers are rated differently."""
    drifted = ChangeMark(kinds.RATINGS, "shifted in 5%", "shifted in 20%", 9.0, 7)
    panel = ChangeMark(kinds.JUDGE_PANEL, "as before", "stricter about 12 of 60 pairs", 9.0, 8)
    found = report(tally(), tally(strict=0.15, quality=WORSE), drifted, panel)
    assert (found.cause, found.effect, found.severity) == (Cause.JUDGE, "different", "warning")
    assert found.said == "answers are rated differently"
    assert all(line.startswith("Rated differently: ") for line in found.finding_lines)
    assert found.candidate_lines == [
        (
            "A judge that rates differently (shown by experiment): The judge rates its panel differently: "
            "stricter about 12 of 60 pairs, at 1 Jan 1970 00:00 UTC."
        )
    ]


def test_another_judge_makes_ratings_incomparable():
    """What rests on its ratings is different, whatever fell."""
    judge = ChangeMark(kinds.JUDGE, "j1 similarity@2", "j2 similarity@2", 9.0, 7)
    assert report(tally(), tally(strict=0.3, quality=WORSE), judge).effect == "different"


def test_points_above_noise_are_points_and_no_share():
    """Three in ten shift before and since, at first as often as the resends, then without them."""
    lines = report(tally(shifted=0.3, resends=0.3), tally(shifted=0.3)).finding_lines
    assert f"More fragile: {rewordings.label('general.casing')}: 30 points above noise, 0 before." in lines

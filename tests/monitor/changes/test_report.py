"""Reports: both sides of a change, and what got worse."""

from evenkeel.core.rewordings import label
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes import Cause
from evenkeel.monitor.changes.comparison import compare, shifted_traits
from evenkeel.monitor.changes.effects import measured
from evenkeel.monitor.changes.record import OTHER
from evenkeel.monitor.changes.report import GoldenHistory, reports_of
from evenkeel.monitor.estimate import outcome_of
from tests.kit.records import altered
from tests.monitor.changes.tallies import KINDS, MODEL, record, tally
from tests.monitor.planted_verdicts import VERDICT

NOTHING = GoldenHistory({}, {})


def test_a_rate_that_rose_is_told_with_both_sides():
    """5 % before and 40 % after, over 200 exchanges each: beyond both intervals, for each and over all."""
    found = compare(tally(200, 0.05), tally(200, 0.5))
    assert [cell.perturbation for cell in found.rewordings if cell.content_delta.rose] == list(KINDS)
    assert found.pooled.rose
    assert (found.pooled.before.value, found.pooled.before.n) == (0.05, 200), "an exchange counts once"
    first = found.cells[0]
    assert first.perturbation == BASELINE
    assert not first.content_delta.moved
    assert found.cells[1].robustness.moved
    assert not found.cells[1].robustness.rose


def test_what_is_the_same_has_not_moved():
    assert list(measured(compare(tally(300, 0.1), tally(300, 0.09)))) == []
    few = compare(tally(300, 0.05), tally(10, 1.0))
    assert few.pooled.after is None
    assert list(measured(few)) == []


def test_traffic_is_compared_by_the_share_that_would_have_to_move():
    """Three quarters English, one quarter French; then German in place of English."""
    english, german = tally(200, 0.05), tally(200, 0.05, language="de")
    assert shifted_traits(english, german) == {"language": "language en in 75% → 0% of the exchanges"}
    assert shifted_traits(english, english) == {}
    assert shifted_traits(english, tally(99, 0.05, language="de")) == {}


def test_tallies_add_up_and_stay_small():
    """Two stretches are one long one; values and models beyond twelve are counted together."""
    whole = tally(100, 0.1)
    first, second = tally(60, 0.1), tally(40, 0.1)
    first.merge(second)
    assert first.cells == whole.cells
    assert first.exchanges == 100
    for number in range(40):
        first.add_exchange({"task": f"t{number}"})
    assert len(first.traits["task"]) == 13
    assert first.traits["task"][OTHER] == 28
    for number in range(40):
        one = altered(VERDICT, model=f"m{number}")
        first.add(one, outcome_of(one))
    second.merge(first)
    assert (len(first.models), len(second.models)) == (13, 13)


def test_a_report_says_cause_effect_and_evidence():
    """A swapped model of which half of the answers got worse."""
    (report,) = reports_of([record(MODEL, before=tally(200, 0.05), after=tally(200, 0.5))], NOTHING)
    assert (report.cause, report.effect) == (Cause.MODEL, "worse")
    casing = label("general.casing")
    assert report.finding_lines[:2] == [
        "More fragile: Over all rewordings answers shift in 50% of the trials, 5% before.",
        f"Worse: {casing}: answers are worse than the original's in 50% of the trials, 5% before.",
    ]
    assert report.candidate_lines == [
        "Another model (changed at that time): Returned model: “a” → “b”, at 1 Jan 1970 00:01 UTC."
    ]
    assert (report.title, report.said) == ("chat: another model", "answers got worse")

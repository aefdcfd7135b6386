"""The gate: what it decides, when it stops, and how often it is wrong."""

from itertools import count
from random import Random

import pytest

from evenkeel.core.verdict import Failure
from evenkeel.monitor.detect.gate import (
    Gate,
    GateMeasure,
    GateRules,
    GateVerdict,
    Shares,
    least_clusters,
    least_for_regression,
)
from evenkeel.monitor.estimate import bounded_mean

SHIFT = GateMeasure(name="content_shift")
QUALITY = GateMeasure(name="quality_change")
HARMLESS = GateMeasure(name="reworded", decides=False, why_not="harmless")
TIMEOUT = Failure("replay", 1, "timeout", "no answer in time")


SOON = next(n for n in count(1) if bounded_mean({0.0: n}, low=-1.0, alpha=2 * 0.01).upper < 0.1)
"""Goldens without any difference that pass without a last look: a fifth of beta is spent on the way."""


def gate(*measures, goldens=200, with_reference=True, **rules):
    return Gate(GateRules(**rules), measures or (SHIFT,), goldens=goldens, with_reference=with_reference)


def feed(one, candidate, reference=0.0, *, times, name="content_shift"):
    for _ in range(times):
        if one.settled:
            break
        one.take({name: Shares(candidate, reference)})
    return one


def test_goldens_that_nobody_rated_may_be_differences():
    """One golden in sixteen without a rating is fewer than may fail, and more than a pass allows for."""
    unrated = Failure("judge", 1, "bad_schema")
    found = gate(goldens=160)
    for _ in range(10):
        found.take({"content_shift": unrated})
        feed(found, 0.0, times=15)
    report = found.report()
    assert (report.verdict, report.measured) == (GateVerdict.UNDECIDED, 150)
    assert report.findings[0].upper > 0.1


def test_a_candidate_that_fails_where_the_reference_does_is_no_regression():
    """Breaches of both sides are noise: they are taken off, and the gate passes."""
    report = feed(gate(), 0.5, 0.5, times=200).report()
    assert report.verdict is GateVerdict.PASS
    assert report.asked == SOON
    assert report.findings[0].upper < 0.1


def test_a_reference_that_breaches_nearly_everything_passes_nobody():
    """No candidate can breach ten points more than 95 in 100: the goldens do not fit what runs today."""
    report = feed(gate(), 0.95, 0.95, times=200).report()
    assert report.verdict is GateVerdict.COULD_NOT_MEASURE
    assert "the reference itself breaches content_shift in 95\u202f% of the goldens" in report.reason


@pytest.mark.parametrize(
    ("undecided", "verdict"), [("pass", GateVerdict.PASS), ("fail", GateVerdict.UNDECIDED)]
)
def test_undecided_is_what_the_rules_say_and_is_told_apart(undecided, verdict):
    """Twenty goldens settle nothing; the finding tells how many would be needed."""
    report = feed(gate(goldens=20, undecided=undecided), 0.0, times=20).report()
    assert report.verdict is verdict
    assert not report.settled
    assert report.findings[0].state == "not_settled"
    assert report.findings[0].needed == pytest.approx(least_clusters(GateRules()), abs=4)


def test_the_last_look_settles_what_evidence_left_open():
    """Nine of fifty goldens got worse and one better: an exact test finds it at the end."""
    one = gate(goldens=50)
    for number in range(50):
        assert not one.settled
        one.take({"content_shift": Shares(float(number % 5 == 4 and number > 5), float(number == 0))})
    report = one.report()
    (found,) = report.findings
    assert (report.verdict, report.settled, found.settled_after) == (GateVerdict.REGRESSION, True, 50)
    assert found.p_value < 0.04
    assert found.lower > 0.0


def test_no_last_look_is_taken_while_goldens_are_left():
    """A run that is read half-way, or was cut short, is not decided by the test for the whole."""
    one = gate(goldens=51)
    for number in range(50):
        one.take({"content_shift": Shares(float(number % 5 == 4 and number > 5), float(number == 0))})
    assert one.report().verdict is GateVerdict.UNDECIDED
    one.take({"content_shift": Shares(0.0, 0.0)})
    assert one.report("the budget was used up").verdict is GateVerdict.COULD_NOT_MEASURE
    assert one.report().verdict is GateVerdict.REGRESSION


def test_the_last_look_passes_what_differs_in_nothing():
    """The number of goldens that `least_clusters` gives is a pass, one fewer is not."""
    least = least_clusters(GateRules())
    assert least == 31
    assert feed(gate(goldens=least), 0.0, times=least).report().verdict is GateVerdict.PASS
    assert feed(gate(goldens=least - 1), 0.0, times=least - 1).report().verdict is GateVerdict.UNDECIDED


def test_a_reference_that_errs_settles_a_pass_sooner():
    """Twenty goldens are a pass where the reference alone gets one of them wrong."""
    run = gate(goldens=20)
    run.take({"content_shift": Shares(0.0, 1.0)})
    assert feed(run, 0.0, times=19).report().verdict is GateVerdict.PASS


def test_without_a_last_look_all_of_alpha_is_spent_on_the_way():
    """Seven goldens of seven are enough then, and nothing is settled at the end that was not before."""
    assert feed(gate(last_look=0.0), 1.0, times=200).report().asked <= 8
    assert feed(gate(goldens=31, last_look=0.0), 0.0, times=31).report().verdict is GateVerdict.UNDECIDED


def test_a_pass_needs_every_measure_and_a_regression_only_one():
    """The other measure's excess keeps the gate going, until it is settled itself."""
    one = gate(SHIFT, QUALITY)
    while not one.settled and one.asked < 300:
        worse = 1.0 if one.asked % 4 == 0 else 0.0
        one.take({"content_shift": Shares(0.0, 0.0), "quality_change": Shares(worse, 0.0)})
    report = one.report()
    assert report.verdict is GateVerdict.REGRESSION
    assert {found.measure.name: found.state for found in report.findings} == {
        "content_shift": "not_settled",
        "quality_change": "regression",
    }


def test_a_harmless_measure_never_fails_the_gate():
    """The measure is reported as a regression of its own, and the verdict is a pass."""
    one = gate(SHIFT, HARMLESS)
    while not one.settled:
        one.take({"content_shift": Shares(0.0, 0.0), "reworded": Shares(1.0, 0.0)})
    report = one.report()
    assert report.verdict is GateVerdict.PASS
    assert report.findings[1].state == "regression"


def test_too_many_failures_stop_the_gate_at_once_and_are_no_pass():
    """Losing more than a tenth of all goldens leaves no verdict possible, whatever the rest says."""
    one = gate(goldens=100)
    for _ in range(10):
        one.take(TIMEOUT)
    assert not one.settled
    one.take(TIMEOUT)
    assert one.settled
    report = one.report()
    assert report.verdict is GateVerdict.COULD_NOT_MEASURE
    assert report.unmeasured == {"timeout": 11}
    assert "11 of 11" in report.reason


def test_a_pass_waits_until_few_enough_of_those_asked_have_failed():
    """Failures among the first goldens do not let a pass stand on a biased rest."""
    one = gate(goldens=1000)
    for _ in range(20):
        one.take(TIMEOUT)
    feed(one, 0.0, times=60)
    assert not one.settled, "20 of 80 are missing"
    feed(one, 0.0, times=200)
    report = one.report()
    assert report.verdict is GateVerdict.PASS
    assert report.asked == 200


def test_goldens_that_cannot_be_asked_count_among_all():
    """Five of a hundred leave room for a pass; eleven stop the gate before anything is asked."""
    one = gate(goldens=100)
    for _ in range(5):
        one.leave_out(Failure("gate", 1, "does_not_fit"))
    report = feed(one, 0.0, times=95).report()
    assert report.verdict is GateVerdict.PASS
    assert report.asked == SOON
    assert report.left_out == {"does_not_fit": 5}
    other = gate(goldens=100)
    for _ in range(11):
        other.leave_out(Failure("gate", 1, "does_not_fit"))
    assert other.settled
    assert other.report().reason == "11 of 100 goldens cannot be asked (does_not_fit: 11)"


def test_a_measure_that_fails_counts_the_golden_as_not_measured():
    """A quality that nobody could rate is counted by reason, also in the finding."""
    one = gate(SHIFT, QUALITY, goldens=10)
    for _ in range(2):
        one.take({"content_shift": Shares(1.0, 0.0), "quality_change": TIMEOUT})
    report = one.report()
    assert report.verdict is GateVerdict.COULD_NOT_MEASURE
    assert report.findings[1].unmeasured == {"timeout": 2}
    assert report.findings[0].n == 2


def test_a_gate_that_is_cut_short_gives_no_verdict_unless_it_is_a_regression_already():
    """A budget that runs out is not a pass."""
    reason = "the budget was used up"
    assert feed(gate(), 0.0, times=10).report(reason).verdict is GateVerdict.COULD_NOT_MEASURE
    assert feed(gate(), 1.0, times=10).report(reason).verdict is GateVerdict.REGRESSION


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0},
        {"beta": 1.0},
        {"tolerance": -0.1},
        {"margin": 0.0},
        {"most_unmeasured": 2.0},
        {"last_look": 1.0},
    ],
)
def test_rules_outside_their_range_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\d"):
        GateRules(**wrong)


def test_a_gate_needs_a_measure_that_can_fail_it():
    with pytest.raises(ValueError, match="no measure"):
        gate(HARMLESS)


def test_goldens_of_a_cluster_count_once():
    """Five templates of twenty goldens each settle nothing even if all got worse; nine of one golden do."""
    one = gate(goldens=100)
    for cluster in "abcde":
        for _ in range(20):
            one.take({"content_shift": Shares(1.0, 0.0)}, cluster)
    report = one.report()
    (found,) = report.findings
    assert (report.asked, found.n, found.clusters) == (100, 100, 5)
    assert found.p_value == pytest.approx(1 / 32, rel=0.01)
    two = gate(SHIFT, QUALITY, goldens=100)
    for cluster in "abcde":
        for _ in range(20):
            two.take({name: Shares(1.0, 0.0) for name in ("content_shift", "quality_change")}, cluster)
    assert two.report().verdict is GateVerdict.UNDECIDED
    assert least_for_regression(GateRules(), 1) == 5
    assert least_for_regression(GateRules(), 2) == 6


def test_a_cluster_is_what_its_goldens_are_on_average():
    """Four of its eight goldens got worse, one better: 3/8, beside one golden without a difference."""
    one = gate(goldens=9)
    for candidate, reference in [(1, 0)] * 4 + [(0, 1)] + [(1, 1), (0, 0), (0, 0)]:
        one.take({"content_shift": Shares(float(candidate), float(reference))}, "a")
    one.take({"content_shift": Shares(0.0, 0.0)})
    (found,) = one.report().findings
    assert (found.candidate, found.reference, found.excess) == (5 / 16, 2 / 16, 3 / 16)
    assert (found.n, found.clusters) == (9, 2)


def test_a_large_cluster_that_got_worse_is_not_outvoted():
    """Sixty of a hundred goldens got worse: one cluster of 41 is no regression, and no pass either."""
    one = gate(goldens=100)
    for _ in range(60):
        one.take({"content_shift": Shares(1.0, 0.0)}, "large")
    feed(one, 0.0, times=40)
    assert one.report().verdict is GateVerdict.UNDECIDED


def simulated(rng, *, goldens, excess, fragility=0.02, noise=0.03):
    """A gate on two measures whose truth is known: half of the first's breaches are the second's too."""
    one = gate(SHIFT, QUALITY, goldens=goldens)
    while not one.settled and one.asked < goldens:
        draw = rng.random()
        found = {}
        sides = []
        for broken in (draw < fragility + excess, draw < fragility):
            shifted = broken or rng.random() < noise
            sides.append((shifted, shifted and rng.random() < 0.5))
        for index, measure in enumerate((SHIFT, QUALITY)):
            found[measure.name] = Shares(float(sides[0][index]), float(sides[1][index]))
        one.take(found)
    return one.report()


@pytest.mark.parametrize(
    ("excess", "state", "least", "most"),
    [(0.0, "pass", 11, 12), (0.2, "regression", 11, 12), (0.13, "pass", 0, 1)],
)
def test_errors_stay_below_their_rates(excess, state, least, most):
    """Twelve seeded gates over 100 goldens are right, and hardly ever pass an excess beyond the margin."""
    rng = Random(8)
    states = [simulated(rng, goldens=100, excess=excess).findings[0].state for _ in range(12)]
    assert least <= states.count(state) <= most

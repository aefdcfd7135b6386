"""The planner: floors first, then doubt and evidence; the same exchange, the same plan."""

from collections import Counter
from math import log

import pytest

from evenkeel.core.cells import CellKey, Estimate
from evenkeel.core.verdict import BASELINE
from evenkeel.shadow.perturbations import BUILTIN
from evenkeel.shadow.planner import CellNeed, RoutePlan, candidates, needs_of, trial_of
from tests.kit.cells import cell_report

KINDS = tuple(kind for kind in BUILTIN if kind.name.startswith("general."))[:4]
ROUTE = RoutePlan(KINDS, 2)
FIRST, SECOND, THIRD, FOURTH = (kind.name for kind in KINDS)


def firsts(needs, exchanges=2000):
    """Count how often each kind is the first candidate."""
    return Counter(
        candidates(f"{number:016x}", ROUTE, needs)[0].perturbation.name for number in range(exchanges)
    )


def test_every_kind_is_a_candidate_once():
    """The order is a permutation of the route's kinds: what does not apply is replaced by the next."""
    for number in range(50):
        trials = candidates(f"{number:016x}", ROUTE, {})
        assert sorted(trial.perturbation.name for trial in trials) == sorted(kind.name for kind in KINDS)
        assert len({trial.seed for trial in trials}) == len(trials)


def test_the_plan_follows_from_the_exchange():
    """The same exchange gets the same severities and seeds whatever was learned in between."""
    before = {trial.id for trial in candidates("00ff", ROUTE, {})}
    known = {FIRST: CellNeed(500, 30, 0.01), SECOND: CellNeed(3, 30)}
    assert {trial.id for trial in candidates("00ff", ROUTE, known)} == before
    assert trial_of("00ff", KINDS[0], 0.3).id == f"00ff.{FIRST}.0.3"


SURE, WIDE = CellNeed(10**6, 30, 0.0), CellNeed(100, 30, 1.0)


@pytest.mark.parametrize(
    ("needs", "share"),
    [
        # Without knowledge all kinds weigh the same.
        ({}, 1 / 4),
        # A cell with too few trials is eight times as likely as one of width 1.
        ({FIRST: CellNeed(29, 30, 0.1), SECOND: WIDE, THIRD: WIDE, FOURTH: WIDE}, 8 / 11),
        # Weights are width plus evidence: .1 + .5 of 1.1 in all.
        (
            {
                FIRST: CellNeed(100, 30, 0.1, 0.5),
                SECOND: CellNeed(100, 30, 0.3),
                THIRD: CellNeed(100, 30, 0.1),
                FOURTH: CellNeed(100, 30, 0.1),
            },
            0.6 / 1.1,
        ),
        # However sure a cell is, it keeps a small weight.
        ({FIRST: SURE, SECOND: WIDE, THIRD: WIDE, FOURTH: WIDE}, 0.02 / 3.02),
    ],
    ids=["unknown", "below its floor", "doubt and evidence", "settled"],
)
def test_kinds_come_first_by_their_weight(needs, share):
    """Floors first, then doubt and evidence; within 4 standard deviations of the share, and never 0."""
    found = firsts(needs)[FIRST] / 2000
    assert 0 < found == pytest.approx(share, abs=4 * (share * (1 - share) / 2000) ** 0.5)


def test_needs_are_read_from_reports():
    """Width is that of the excess; evidence its share of the way to the alarm, never negative.

    Evidence of 10 in five trials is suspicious by log(10 / 5), unless the latest trials are more so.
    """

    def report(name, excess, evidence, suspicion=0):
        return cell_report(
            CellKey("default", "m", name),
            "judge",
            40,
            excess=excess,
            evidence_log10=evidence,
            alarm_log10=4.0,
            effective=5,
            suspicion=suspicion,
        )

    reports = (
        report(FIRST, Estimate(0.1, -0.1, 0.3, 40), 1.0),
        report(SECOND, None, -2.0),
        report(THIRD, None, 1.0, 3.0),
    )
    needs = needs_of(reports, floor=30)["default", "m"]
    assert needs[FIRST] == CellNeed(40, 30, pytest.approx(0.4), 0.25, suspicion=pytest.approx(log(2)))
    assert needs[SECOND] == CellNeed(40, 30, 1.0, 0.0)
    assert needs[THIRD].suspicion == 3.0


def test_kinds_without_degrees_are_tried_at_full_severity():
    """Only graded kinds draw a severity."""
    plain = next(kind for kind in BUILTIN if kind.name == BASELINE)
    (trial,) = candidates("00ff", RoutePlan((plain,), 1), {})
    assert trial.severity == 1.0

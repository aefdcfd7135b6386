"""Reports of cells: what a cell says of its limit."""

from dataclasses import replace

import pytest

from evenkeel.core.cells import CellCounts, CellKey, Estimate, Limit, WindowEstimates
from tests.cases import cases
from tests.kit.cells import cell_report

KEY = CellKey("support", "m-1", "general.typos")
PAIRS = {1: 8, -1: 2, 0: 90}


def _cell(excess, **figures):
    given = {"pairs": PAIRS, "limits": {"content": Limit(0.1)}, "alert": False}
    return cell_report(KEY, trials=100, excess=excess, **(given | figures))


@pytest.mark.parametrize(("excess", "more", "standing"), cases(__file__)["standings"])
def test_a_cell_is_within_its_limit_over_it_or_not_known_yet(excess, more, standing):
    """The interval decides, never the value by itself; pairs without an interval are not known yet."""
    assert _cell(excess and Estimate(*excess), **more).standing == standing


def test_what_came_before_a_change_is_no_evidence_of_what_holds_since():
    """The figure of all trials is shown until there are enough, but the cell is not known yet."""
    old = Estimate(0.0, -0.04, 0.04, 400)
    few = _cell(old, since_change=WindowEstimates(12, None, None, None))
    assert (few.standing, few.current.trials, few.current.excess) == ("unknown", 100, old)
    since = WindowEstimates(60, Estimate(0.05, 0.0, 0.2, 60), None, Estimate(0.04, -0.2, 0.3, 60))
    assert _cell(old, since_change=since).current == since
    assert few.more_trials == 60
    assert _cell(replace(old, lower=0.12, upper=0.3), since_change=few.since_change).standing == "unknown"


def test_an_unknown_cell_says_about_how_many_trials_it_needs():
    """Half of the reach needs four times the trials: a reach of 0.12 at 100 trials is 0.06 at 400."""
    assert _cell(Estimate(0.04, -0.08, 0.16, 100)).more_trials == 300
    assert _cell(Estimate(0.3, -0.1, 0.7, 60)).more_trials == 180
    assert _cell(Estimate(0.1, -0.1, 0.3, 60)).more_trials is None
    assert _cell(Estimate(0.04, -0.02, 0.09, 400)).more_trials is None
    assert _cell(None).more_trials == 20
    assert _cell(Estimate(0.04, -0.08, 0.16, 100), failures={"refused": 5}).more_trials == 300
    assert _cell(Estimate(0.04, -0.08, 0.16, 100), failures={"refused": 50}).more_trials is None
    assert _cell(None, pairs={}).more_trials is None
    figures = _cell(Estimate(0.04, -0.08, 0.16, 100)).flat()
    assert (figures["standing"], figures["more_trials"]) == ("unknown", 300)


def test_what_is_assumed_of_the_effect_at_first_fades():
    """Trials that turn out independent settle sooner than a constant design effect would say."""
    counts = CellCounts(100, effective=8, pairs=PAIRS)
    report = replace(_cell(Estimate(0.04, -0.08, 0.16, 100)), counts=counts)
    assert report.more_trials == 180
    assert replace(report, counts=replace(counts, effect_shown=12.5)).more_trials == 300

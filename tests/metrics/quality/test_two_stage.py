"""Changes of quality: what counts as one, and the arithmetic of the two stages."""

import pytest

from evenkeel.core.verdict import QualityScore
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.cases import cases
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

SAME = QualityScore("faithfulness", 101, 3, 3)
DROP = QualityScore("faithfulness", 101, 3, 2)
GAIN = QualityScore("relevance", 1, 2, 3)
APART = QualityScore("slot_match", 1, 1.0, 0.8, "agreement")


@pytest.mark.parametrize(("score", "changed", "direction"), cases(__file__)["scores"])
def test_what_is_a_change_of_a_score(score, changed, direction):
    """Any step of a rating or a ratio, in its direction; of an agreement nobody knows who is right."""
    found = QualityScore(*score)
    assert (found.changed, found.direction) == (changed, direction)


@pytest.mark.parametrize(
    ("quality", "direction"),
    [
        ((SAME,), None),
        ((SAME, DROP), "worse"),
        ((GAIN,), "better"),
        ((DROP, GAIN), "mixed"),
        ((APART,), "mixed"),
        ((APART, DROP), "worse"),
    ],
)
def test_any_changed_metric_is_a_change_of_the_pair(quality, direction):
    """Metrics that can tell decide the direction; none that can, or two that disagree, are mixed."""
    verdict = altered(VERDICT, rating=2, quality=quality)
    assert verdict.quality_changed is (direction is not None)
    assert verdict.direction == direction


def report(verdicts):
    """Content delta, quality delta and robustness of one cell, as the monitor reports them."""
    state = MonitorState(MonitorSettings(min_trials=1))
    for offset, verdict in enumerate(verdicts, start=1):
        state.apply(LoggedVerdict(offset, altered(verdict, id=f"{offset}")))
    (cell,) = state.reports()
    estimates = cell.estimates
    assert estimates.content_delta is not None
    assert estimates.robustness is not None
    quality = estimates.quality_delta and estimates.quality_delta.value
    return estimates.content_delta.value, quality, estimates.robustness.value


def test_the_worked_example_of_the_paper():
    """30 of 100 rated 2 and 20 rated 1 are 0.5; 15 of these 50 changed are 0.3; overall 1 - 0.5 · 0.3."""
    verdicts = (
        [altered(VERDICT, rating=3)] * 50
        + [altered(VERDICT, rating=2, quality=(SAME,))] * 25
        + [altered(VERDICT, rating=2, quality=(SAME, DROP))] * 5
        + [altered(VERDICT, rating=1, quality=(GAIN,))] * 4
        + [altered(VERDICT, rating=1, quality=(DROP, GAIN))] * 3
        + [altered(VERDICT, rating=1, quality=(APART,))] * 3
        + [altered(VERDICT, rating=1, quality=(SAME,))] * 10
    )
    content, quality, robustness = report(verdicts)
    assert content == pytest.approx(0.5)
    assert quality == pytest.approx(0.3)
    assert robustness == pytest.approx(0.85)

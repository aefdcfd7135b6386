"""Evidence of a trial for the alert, the losses with their intervals, and when a cell is blind."""

import msgspec
import pytest

from evenkeel.core.cells import Limit
from evenkeel.core.verdict import BASELINE, QualityScore, ToolStep
from evenkeel.monitor.detect import Measure
from evenkeel.monitor.estimate import Counts, outcome_of, paired_excess
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.fold.measures import observations
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

ALIKE = altered(VERDICT, similarity=0.9, control_similarity=0.9, control_worse=False)
WORSE = {"rating": 1, "similarity": 0.3, "quality": (QualityScore("faithfulness", 1, 3, 1),)}


def observed(verdict):
    """Evidence that the alert sees."""
    return observations(verdict, outcome_of(verdict))


def test_a_trial_is_compared_with_its_resend():
    """Content and quality −1, 0 or 1; similarity by the grades: (.9 + 1)/2 − (.3 + 0)/2 = .8."""
    assert observed(ALIKE) == {Measure.CONTENT: 0, Measure.QUALITY: 0, Measure.SIMILARITY: 0}
    found = observed(altered(ALIKE, **WORSE))
    assert found == {Measure.CONTENT: 1, Measure.QUALITY: 1, Measure.SIMILARITY: pytest.approx(0.8)}
    assert observed(altered(ALIKE, control_rating=1, control_worse=True)) == {
        Measure.CONTENT: -1,
        Measure.QUALITY: -1,
        Measure.SIMILARITY: pytest.approx(-0.5),
    }


def test_a_lost_resend_counts_as_the_worst():
    """Content and quality as if the resend had shifted for the worse, similarity as if it had been 0."""
    lost = {"control_rating": None, "control_similarity": None, "control_worse": None}
    assert observed(altered(ALIKE, **lost)) == {
        Measure.CONTENT: -1,
        Measure.QUALITY: -1,
        Measure.SIMILARITY: pytest.approx(-0.95),
    }
    found = observed(altered(ALIKE, **WORSE, **lost))
    assert found == {Measure.CONTENT: 0, Measure.QUALITY: 0, Measure.SIMILARITY: pytest.approx(-0.15)}


def test_whether_an_answer_is_invalid_is_seen_where_something_was_asked_of_its_form():
    asked = altered(ALIKE, wanted_format="json")
    assert observed(asked)[Measure.INVALID] == 0
    assert observed(altered(asked, rating=None, invalid=("format",)))[Measure.INVALID] == 1
    assert Measure.INVALID not in observed(ALIKE)


def test_without_a_judge_the_choice_of_tools_is_all_that_is_known_of_content():
    """Another tool is another answer: 1 where only the trial calls one, −1 where only the resend does."""
    unsure = altered(ALIKE, rating=None, unsure=True, control_rating=None, scorer="metrics")
    assert Measure.CONTENT not in observed(unsure)

    def content(trial, resend):
        control = msgspec.structs.replace(unsure.control, tools=resend)
        return observed(msgspec.structs.replace(unsure, tools=trial, control=control))[Measure.CONTENT]

    other, same = ToolStep("tool", "lookup", "refund"), ToolStep("arguments", "lookup", "lookup")
    assert [content(other, same), content(same, other), content(other, other), content(other, None)] == [
        1, -1, 0, 0,
    ]  # fmt: skip


@pytest.mark.parametrize("asked", [{"wanted_format": "yaml"}, {"wanted_language": "de"}])
def test_likeness_is_not_seen_where_another_form_was_asked_for(asked):
    """YAML of the same content shares few of the words with the prose that it is compared with."""
    found = observed(altered(ALIKE, similarity=0.5, **asked))
    assert found == {Measure.CONTENT: 0, Measure.QUALITY: 0, Measure.INVALID: 0}


def counted(*verdicts):
    """Counts of some verdicts."""
    counts = Counts()
    for verdict in verdicts:
        counts.count(outcome_of(verdict), verdict)
    return counts.estimates(alpha=0.05, min_trials=1)


def test_losses_and_similarities_have_intervals():
    """Forty trials alike, forty at .3: mean .6, loss .4, each as a mean of bounded observations."""
    found = counted(*[ALIKE] * 40, *[altered(ALIKE, **WORSE)] * 40)
    assert found.similarity.value == pytest.approx(0.6)
    assert found.control_similarity.value == pytest.approx(0.9)
    assert found.loss.value == pytest.approx(0.4)
    assert found.loss.lower < 0.4 < found.loss.upper


def test_lost_resends_widen_the_interval_on_both_sides():
    """Ten of 50 trials have no resend: it may have shifted in all of these, or in none."""
    lost = altered(ALIKE, control_rating=None, control_similarity=None)
    found = counted(*[ALIKE] * 40, *[lost] * 10)
    assert found.excess.value == 0
    assert found.excess.n == 40
    assert found.excess.lower < paired_excess(0, 10, 40, alpha=0.05).lower
    assert found.excess.upper > paired_excess(0, 0, 50, alpha=0.05).upper
    whole = counted(*[ALIKE] * 50)
    assert found.loss.lower < whole.loss.lower
    assert found.loss.upper > whole.loss.upper
    assert (found.loss.value, found.loss.n) == (whole.loss.value, 40)


def reports_of(trials, *, floor, control=0.9, **settings):
    """The report of a cell whose resends shift in this share and are so alike."""
    state = MonitorState(MonitorSettings(min_trials=10, **settings))
    for number in range(trials):
        moved = number % 100 < 100 * floor
        base = {"exchange_id": f"x{number}", "id": f"x{number}"}
        resend = altered(VERDICT, perturbation=BASELINE, rating=2 if moved else 3, similarity=control, **base)
        trial = altered(
            ALIKE, control_rating=2 if moved else 3, rating=2 if moved else 3, control_similarity=control
        )
        state.apply(LoggedVerdict(2 * number + 1, resend))
        state.apply(LoggedVerdict(2 * number + 2, altered(trial, similarity=control, **base)))
    return next(report for report in state.reports() if report.key.perturbation != BASELINE)


def test_a_cell_whose_resends_nearly_all_move_is_blind_in_content():
    """A floor of 95 % leaves only five points, below the limit of ten; similarity still sees."""
    report = reports_of(200, floor=0.95)
    assert report.detection.blind == ("content",)
    assert not report.is_blind
    assert reports_of(200, floor=0.1).detection.blind == ()


def test_a_cell_is_blind_if_similarity_sees_nothing_either():
    """Resends that share a hundredth of the words cannot be less alike by the limit of five."""
    report = reports_of(200, floor=0.95, control=0.01)
    assert report.detection.blind == ("content", "similarity")
    assert report.is_blind


def test_limits_are_those_of_the_route():
    """Calibrated ones come before the usual ones and say where they come from."""
    calibrated = Limit(0.2, "calibrated on 120 goldens, 2026-11-20")
    limits = {"chat": {Measure.SIMILARITY: calibrated}, "billing": {Measure.CONTENT: Limit(0.3)}}
    report = reports_of(20, floor=0, limits=limits, threshold=0.15)
    assert report.detection.limits == {
        "content": Limit(0.15, "settings"),
        "similarity": calibrated,
        "quality": Limit(0.1),
        "invalid": Limit(0.1),
        "drift": Limit(0.05),
        "segment": Limit(0.35, "settings"),
    }

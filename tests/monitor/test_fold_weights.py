"""Trials that are drawn with unequal chances: what each counts for, and what does not look at it at all."""

from math import isfinite

import pytest

from evenkeel.core.cells import CellKey
from evenkeel.core.together import together_name
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.changes.traits import evenly_drawn
from evenkeel.monitor.detect import Limit, Measure
from evenkeel.monitor.estimate import weighted_mean
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT
from tests.monitor.stored_state import restarted, stored

SETTINGS = MonitorSettings(min_trials=1)
GROUP = together_name("general", 5)
SPELLING = CellKey("chat", "m", "general.spelling")
SPLIT = {"path_weight": 0.125, "split_of": "group"}
MOVED = {"rating": 1}


def folded(verdicts, settings=SETTINGS):
    """The state after some verdicts."""
    state = MonitorState(settings)
    for offset, verdict in enumerate(verdicts, 1):
        state.apply(LoggedVerdict(offset, altered(verdict, id=f"v{offset}")))
    return state


def exchange(number, *trials, **common):
    """A resend that held, and trials as changes of the usual one."""
    common = {"exchange_id": f"x{number}", "scored_at": float(number)} | common
    resend = altered(VERDICT, perturbation=BASELINE, control_rating=None, **common)
    paths = {name: 1.0 if name == "path_weight" else "" for name in SPLIT}
    return [altered(resend, **paths), *(altered(VERDICT, **(common | changes)) for changes in trials)]


def report(state, key=SPELLING):
    return next(cell for cell in state.reports() if cell.key == key)


def test_a_cell_weighs_its_trials_in_every_figure():
    """Two drawn that held count whole; of eight whose group moved, four moved: ½ of 3 is 1/6."""
    log = [trial for number in range(2) for trial in exchange(number, {})]
    log += exchange(2, {"path_weight": 0.125, **MOVED})
    for number in range(3, 10):
        log += exchange(number, {**SPLIT, **(MOVED if number < 6 else {})})
    state = folded(log)
    found = report(state)
    histogram = {(0.0, 1.0): 2, (1.0, 0.125): 4, (0.0, 0.125): 4}
    expected = weighted_mean(histogram, alpha=SETTINGS.alpha, effect=12.0)
    assert expected.value == pytest.approx(1 / 6)
    assert found.estimates.content_delta == found.since_change.content_delta == expected
    assert found.estimates.excess.value == pytest.approx(1 / 6)
    assert (found.counts.trials, found.counts.effective, found.estimates.content_delta.n) == (10, 1, 10)
    assert found.counts.ratings == {0: 0, 1: 4, 2: 0, 3: 6}, "counts are of trials, whatever they weigh"
    again = restarted(state, SETTINGS)
    assert report(again) == found
    assert stored(again) == stored(state)


def test_exchanges_of_strata_weigh_in_cells_and_roll_ups():
    """An exchange of weight 1 that moved and four of weight ¼ that held make one half."""
    log = exchange(0, MOVED)
    for number in range(1, 5):
        log += exchange(number, {}, exchange_weight=0.25)
    state = folded(log)
    assert report(state).estimates.content_delta.value == 0.5
    (whole,) = state.rollups()
    content = whole.windows["all"].content_delta
    assert content == whole.windows["since_change"].content_delta
    assert (content.value, content.n) == (0.5, 5)
    assert whole.windows["all"].noise_floor.n == 5
    assert restarted(state, SETTINGS).rollups() == state.rollups()


def test_detectors_look_at_drawn_trials_only():
    """The alert, drift, clients and changes see none of eight split trials that all moved."""
    log = [trial for number in range(8) for trial in exchange(number, {**SPLIT, **MOVED, "client": "c"})]
    state, none = folded(log), folded(exchange(0, {}))
    found = report(state)
    assert found.detection.evidence_log10 == report(none).detection.evidence_log10
    assert (found.clients, found.detection.alert) == ({}, False)
    assert found.detection.drift is None
    assert not evenly_drawn(log[1])


def test_an_alert_bets_by_the_weight_of_the_exchange():
    """Ten moves of weight ½ are less evidence than ten of weight 1; a drawn trial's path does not matter."""

    def evidence(**members):
        log = [trial for number in range(10) for trial in exchange(number, {**MOVED, **members})]
        return report(folded(log)).detection.evidence_log10

    assert 0 < evidence(exchange_weight=0.5) < evidence() == evidence(path_weight=0.125)


def test_a_group_has_a_cell_of_its_own():
    """A group is in no roll-up of rewordings; the half that was tried after it moved is nowhere."""
    group, half = {"perturbation": GROUP, **MOVED}, {"perturbation": "together.2_general", **SPLIT, **MOVED}
    state = folded(exchange(0, group, half, {}))
    assert [cell.key.perturbation for cell in state.reports()] == [BASELINE, "general.spelling", GROUP]
    (whole,) = state.rollups()
    assert whole.windows["all"].content_delta.value == 0.0
    (whole,) = folded(exchange(0, group)).rollups()
    assert whole.windows["all"].trials == 0
    assert whole.windows["all"].noise_floor.n == 1


def test_the_limits_of_a_group_are_what_its_rewordings_come_to():
    """Five of .1 come to 1 − .9⁵ = .40951, and five of .05 to 1 − .95⁵; never where no bet could win."""
    limits = SETTINGS.limits_of("chat", 5)
    assert limits[Measure.CONTENT].value == limits[Measure.QUALITY].value == pytest.approx(0.40951)
    assert limits[Measure.SIMILARITY].value == pytest.approx(1 - 0.95**5)
    assert limits[Measure.INVALID].source == "default for 5 together"
    assert SETTINGS.limits_of("chat")[Measure.CONTENT] == Limit(0.1, "default")
    high = {"": {Measure.CONTENT: Limit(0.999, "settings"), Measure.QUALITY: Limit(-0.5, "settings")}}
    found = altered(SETTINGS, limits=high).limits_of("chat", 8)
    assert (found[Measure.CONTENT].value, found[Measure.QUALITY].value) == (0.999, -0.5)
    state = folded(exchange(0, {"perturbation": GROUP}))
    cell = report(state, CellKey("chat", "m", GROUP))
    assert cell.detection.threshold == cell.detection.limits["content"].value == pytest.approx(0.40951)


def test_changes_look_at_an_even_draw():
    """A quarter of 2,000 exchanges of weight ¼ is drawn, by their ids; of weight 1 all."""
    light = [altered(VERDICT, exchange_id=f"x{number}", exchange_weight=0.25) for number in range(2000)]
    assert sum(map(evenly_drawn, light)) == pytest.approx(500, abs=60)
    assert evenly_drawn(altered(light[0], exchange_weight=1.0))
    kept = [trial.exchange_id for trial in light if evenly_drawn(trial)]
    assert kept == [
        trial.exchange_id for trial in light if evenly_drawn(altered(trial, perturbation=BASELINE))
    ]


@pytest.mark.parametrize(
    "name", ["together.0_x", "together.²_x", "together." + "9" * 5000, "together._", "together."]
)
def test_names_of_groups_from_a_hostile_log_stop_nothing(name):
    cell = report(folded(exchange(0, {"perturbation": name, **MOVED})), CellKey("chat", "m", name))
    assert (cell.counts.trials, cell.detection.threshold) == (1, 0.1)


@pytest.mark.parametrize("weight", [0.0, -1.0, 2.0, float("nan"), float("inf"), 1e-300])
def test_weights_from_a_hostile_log_stop_nothing(weight):
    """Each counts as the nearest weight there is: no estimate or gauge is not a number."""
    log = [trial for number in range(40) for trial in exchange(number, {**MOVED, "path_weight": weight})]
    odd = [trial for number in range(40) for trial in exchange(number, MOVED, exchange_weight=weight)]
    state = folded(log + odd)
    assert (
        0 <= report(state).estimates.content_delta.lower <= report(state).estimates.content_delta.value == 1
    )
    assert isfinite(report(state).detection.evidence_log10)
    assert restarted(state, SETTINGS).reports() == state.reports()

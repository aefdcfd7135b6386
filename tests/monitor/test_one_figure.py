"""One figure has one interval: gauge, trend, change report, message and backtest say the same of a cell."""

from random import Random

import msgspec
import pytest

from evenkeel.core.cells import JudgeEstimates
from evenkeel.lab.backtest import backtest
from evenkeel.lab.backtest.log import read_lines
from evenkeel.lab.backtest.report import as_json
from evenkeel.monitor.changes.report import GoldenHistory, reports_of
from evenkeel.monitor.export import CellCollector
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.fold.cell import ReportContext
from evenkeel.monitor.fold.events import trend_point
from evenkeel.monitor.notify import Writer
from evenkeel.stores.verdict_log import logged

KIND = "general.typos"
BEFORE, AFTER = 600, 600


def _lines():
    """Return a log in which another model answers from some exchange on, and rewordings move every second."""
    rng = Random(3)
    rows = []
    for number in range(BEFORE + AFTER):
        is_new = number >= BEFORE
        for perturbation, rate in (("control", 0.04), (KIND, 0.5 if is_new else 0.04)):
            row = {"time": 1_793_527_200.0 + 20 * number, "exchange": f"x{number}", "prompt_version": "v1"}
            row |= {"model": "m2" if is_new else "m1", "perturbation": perturbation}
            row |= {"rating": 2 if rng.random() < rate else 3}
            if is_new and perturbation == KIND and number % 20 == 0:
                # The judge failed: intervals allow for any rating.
                row |= {"rating": None, "failure": "refused"}
            rows.append(msgspec.json.encode(row))
    return rows


@pytest.fixture(scope="module")
def state():
    """Return the monitor after the whole log."""
    state = MonitorState(MonitorSettings())
    for number, verdict in enumerate(read_lines(_lines(), "log"), start=1):
        state.apply(logged(number, verdict))
    return state


@pytest.fixture(scope="module")
def report(state):
    """Return the report of the cell of the new model."""
    return next(report for report in state.reports() if report.key.parts == ("default", "m2", KIND))


@pytest.fixture(scope="module")
def excess(report):
    """Return its points above noise since the change."""
    assert report.current.excess is not None
    return report.current.excess


def test_the_change_report_says_what_the_cell_says(state, excess):
    """The side after the change has the value and interval of the new model's cell."""
    (change,) = reports_of(state.change_records(), GoldenHistory({}, {}))
    (cell,) = change.comparison.rewordings
    assert cell.excess.after is not None
    assert cell.excess.after.n == excess.n
    for name in ("value", "lower", "upper"):
        assert getattr(cell.excess.after, name) == pytest.approx(getattr(excess, name))


def test_the_chart_ends_at_the_same_interval(state, excess):
    """A trend point made now is the cell's figure."""
    cell = state.cells["default", "m2", KIND]
    point = trend_point(cell, 0.0, state.settings, state.changes()[0].counts["model"])
    assert (point.excess, point.excess_lower, point.excess_upper) == (
        excess.value,
        excess.lower,
        excess.upper,
    )


def test_the_message_says_the_same(state, excess):
    """`incidents show`, the incident's page and its API quote these facts."""
    (incident,) = state.incidents()
    said = " ".join(Writer(reports=state.reports).facts(incident))
    ends = f"[{100 * excess.lower:.0f}, {100 * excess.upper:.0f}]"
    assert f"{100 * excess.value:.0f} points above noise {ends}" in said
    assert f"{excess.n} trials" in said


def test_the_gauges_say_the_same(state, excess):
    """The cell's gauge has its value; those of its model pool this rewording alone."""
    values = {
        family.name: sample.value
        for family in CellCollector(state.reports, state.rollups, version="1").collect()
        for sample in family.samples
        if sample.labels.get("model") == "m2"
    }
    assert values["evenkeel_cell_above_noise_ratio"] == excess.value
    assert values["evenkeel_above_noise_ratio"] == excess.value
    assert values["evenkeel_above_noise_observations"] == excess.n


def test_a_backtest_says_the_same(excess):
    found = as_json([backtest(read_lines(_lines(), "log"))], "log")
    cell = next(cell for cell in found["cells"] if (cell["model"], cell["perturbation"]) == ("m2", KIND))
    assert cell["current"]["excess"] == {
        "value": excess.value,
        "lower": excess.lower,
        "upper": excess.upper,
        "n": excess.n,
    }


def test_while_an_alert_is_up_the_interval_begins_at_the_limit():
    """Shortly after the change, when the interval alone would still hold the limit."""
    state = MonitorState(MonitorSettings())
    for number, verdict in enumerate(read_lines(_lines(), "log"), start=1):
        state.apply(logged(number, verdict))
        cell = state.cells.get(("default", "m2", KIND))
        if cell is not None and cell.alert is not None and cell.alert.up:
            break
    assert cell is not None
    counts = cell.since_change(state.changes()[0].counts["model"])
    alone = counts.excess(alpha=state.settings.alpha, min_trials=1)
    beside_the_alert = cell.above_noise(counts, state.settings)
    assert alone is not None
    assert beside_the_alert is not None
    assert alone.lower < beside_the_alert.lower == state.settings.threshold
    assert (alone.value, alone.upper) == (beside_the_alert.value, beside_the_alert.upper)
    # What the alert shows is about the traffic of today, not about all that there ever was.
    whole = cell.report(state.settings, ReportContext(0, None, JudgeEstimates(), retired=False))
    assert whole.estimates.excess.lower < state.settings.threshold
    (change,) = reports_of(state.change_records(), GoldenHistory({}, {}))
    after = change.comparison.rewordings[0].excess.after
    assert after.lower == beside_the_alert.lower
    assert (after.value, after.upper) == pytest.approx((beside_the_alert.value, beside_the_alert.upper))

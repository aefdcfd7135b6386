"""The monitor: what it folds, and that restarts and failed commits neither lose nor double anything."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.cells import OTHER_MODEL, CellKey
from evenkeel.core.rewordings import label
from evenkeel.core.verdict import BASELINE, Failure, QualityScore
from evenkeel.monitor.estimate.bounded_mean import weighted_mean
from evenkeel.monitor.fold import CheckpointError, MonitorSettings, MonitorState
from evenkeel.monitor.monitor import Monitor
from evenkeel.monitor.notify import summary
from evenkeel.stores.monitor_state import SavedCheckpoint
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_sightings import interleaved, sightings
from tests.monitor.planted_traffic import traffic
from tests.monitor.planted_verdicts import VERDICT
from tests.monitor.stored_state import restarted

if TYPE_CHECKING:
    from evenkeel.stores.monitor_state import AlertEvent

SETTINGS = MonitorSettings(
    threshold=0.1,
    mean_trials_between_false_alarms=25,
    min_trials=5,
    max_models_per_route=2,
    trend_interval_s=7,
)


def log_of(*verdicts):
    """Number verdicts as a log does: offsets grow, with gaps, and ids differ."""
    return [
        LoggedVerdict(3 * place, altered(verdict, id=f"v{place}"))
        for place, verdict in enumerate(verdicts, 1)
    ]


@dataclass
class MemoryLog:
    """A verdict log of which the monitor only reads."""

    verdicts: list[LoggedVerdict]

    def entries_after(self, offset, limit):
        """Verdicts after an offset."""
        return [logged for logged in self.verdicts if logged.offset > offset][:limit]


@dataclass
class MemoryStore:
    """A monitor store in memory, whose commits fail as `faults` says, one entry for each commit."""

    faults: list[str] = field(default_factory=list)
    state: bytes | None = None
    offset: int = 0
    kept: dict[str, bytes] = field(default_factory=dict)
    all_events: list[AlertEvent] = field(default_factory=list)
    rows: list[tuple] = field(default_factory=list)
    records: dict[str, bytes] = field(default_factory=dict)

    def load(self):
        """What was committed."""
        return SavedCheckpoint(self.state, self.offset, dict(self.kept))

    def is_current(self):
        """Nobody else writes."""
        return True

    def commit(self, state, offset, events, trend, *, incidents, parts, whole):
        """Keep all of it, or fail as planned."""
        fault = self.faults.pop(0) if self.faults else "none"
        if fault == "lost":
            raise OSError("disk full")
        self.state, self.offset = state, offset
        self.kept = dict(parts) if whole else {**self.kept, **parts}
        self.all_events += events
        self.rows += trend
        self.records |= {incident.id: incident.body for incident in incidents}
        if fault == "stored, then failed":
            raise TimeoutError("no answer")


def monitor_of(verdicts, store, **options):
    return Monitor(MemoryLog(verdicts), store, SETTINGS, clock=lambda: 77.0, **options)


def drain(monitor):
    """Step until the log is used up."""
    while monitor.step():
        pass


def reports_of(verdicts, monitor_settings=SETTINGS):
    state = MonitorState(monitor_settings)
    for logged in verdicts:
        state.apply(logged)
    return {report.key: report for report in state.reports()}


def interval(histogram, low=0.0):
    """Mean of a new cell's trials, whose design effect is taken for 12."""
    weighted = {(value, 1.0): count for value, count in histogram.items()}
    return weighted_mean(weighted, low=low, alpha=1 - 0.95, effect=12.0)


def test_verdicts_without_a_rating_may_be_anything_in_every_window():
    """A judge that refuses what differs leaves the identical answers: a cell and its model are not steady."""
    refused = altered(VERDICT, rating=None, failure=Failure("judge", 1, "refused"))
    verdicts = []
    for number in range(400):
        verdict = VERDICT if number % 2 else refused
        verdicts.append(altered(verdict, exchange_id=f"x{number}"))
    state = MonitorState(SETTINGS)
    for place, verdict in enumerate(verdicts, 1):
        state.apply(LoggedVerdict(place, altered(verdict, id=f"v{place}")))
    (cell,), (whole,) = state.reports(), state.rollups()
    assert cell.standing == "unknown"
    for window in (cell.estimates, cell.since_change, whole.windows["all"], whole.windows["since_change"]):
        assert (window.content_delta.value, window.robustness.value, window.excess.value) == (0, 1, 0)
        assert window.content_delta.upper > 0.5 > window.robustness.lower
        assert window.excess.lower < -0.5 < 0.5 < window.excess.upper
    restored = restarted(state, SETTINGS)
    assert (restored.reports(), restored.rollups()) == ([cell], [whole])


def test_a_cell_reports_its_rates_and_the_baseline_gives_the_noise_floor():
    """Perturbed trials make deltas and excess, identical resends the noise floor and their own cell."""
    shifted = altered(VERDICT, rating=1, quality=(QualityScore("faithfulness", 1, 3, 1),), scorer="judge")
    resend = altered(VERDICT, perturbation=BASELINE, control_rating=None)
    verdicts = log_of(
        *[VERDICT] * 6,
        *[resend] * 9,
        altered(resend, rating=2),
        *[altered(shifted, scored_at=12.0)] * 4,
        altered(VERDICT, rating=None, failure=Failure("replay", 1, "model_changed"), scored_at=99.0),
    )
    reports = reports_of(verdicts)
    perturbed = reports[CellKey("chat", "m", "general.spelling")]
    baseline = reports[CellKey("chat", "m", BASELINE)]
    assert (perturbed.counts.trials, perturbed.counts.failures) == (10, {"model_changed": 1})
    assert perturbed.counts.ratings == {0: 0, 1: 4, 2: 0, 3: 6}
    assert (perturbed.scorer, perturbed.last_scored_at) == ("judge", 12.0)
    assert perturbed.estimates.content_delta == interval({0.0: 6, 1.0: 4})
    assert perturbed.estimates.quality_delta is None, "four shifted trials are below the minimum of five"
    assert perturbed.estimates.excess == interval({0.0: 6, 1.0: 4}, low=-1.0)
    assert perturbed.noise_floor == baseline.estimates.content_delta == interval({0.0: 9, 1.0: 1})
    assert perturbed.detection.threshold == 0.1
    assert perturbed.detection.alarm_log10 == pytest.approx(1.69897, abs=1e-5)
    assert baseline.estimates.excess is None
    assert baseline.noise_floor == baseline.estimates.content_delta
    found = baseline.detection
    assert (found.alert, found.threshold, found.evidence_log10) == (False, 0.0, 0.0)


def test_an_alert_event_tells_when_where_and_how_much():
    """The raised and the resolved event carry the deciding verdict's place and time, and a sentence."""
    moved = altered(VERDICT, rating=1)
    verdicts = log_of(*[altered(moved, scored_at=5.0 + i) for i in range(12)], *[VERDICT] * 120)
    state = MonitorState(SETTINGS)
    events = [event for logged in verdicts for event in state.apply(logged).events]
    raised, resolved = events
    assert (raised.kind, resolved.kind) == ("raised", "resolved")
    assert (raised.route, raised.model, raised.perturbation) == ("chat", "m", "general.spelling")
    assert raised.offset == 3 * raised.trials
    assert raised.at == 5.0 + raised.trials - 1
    assert raised.excess == 1.0
    assert raised.id != resolved.id
    assert summary(raised) == (
        f"Answers are fragile for {label('general.spelling')} on chat (m): content moved 100 points above "
        f"noise over the last {raised.trials} trials, limit 10 (default)."
    )
    assert (raised.measure, raised.limit, raised.limit_source) == ("content", 0.1, "default")


def test_models_beyond_the_limit_are_counted_together():
    """A client that invents model names fills one shared cell, not the memory and the labels."""
    names = ["a", "b", *(f"invented-{i}" for i in range(100)), "a"]
    verdicts = log_of(
        *[altered(VERDICT, model=name) for name in names], altered(VERDICT, route="x", model="z")
    )
    state = MonitorState(SETTINGS)
    for logged in verdicts:
        state.apply(logged)
    trials = {(report.key.route, report.key.model): report.counts.trials for report in state.reports()}
    assert trials == {("chat", "a"): 2, ("chat", "b"): 1, ("chat", OTHER_MODEL): 100, ("x", "z"): 1}


def test_trend_points_come_at_most_once_per_interval_and_at_every_alert():
    """Points follow the verdicts' own time, in either direction, and an alert always has one."""
    times = [0, 1, 6.9, 7, 8, 13.9, 14, 3, 4, 10.5]
    verdicts = log_of(*[altered(VERDICT, scored_at=time) for time in times])
    state = MonitorState(SETTINGS)
    rows = [row for logged in verdicts for row in state.apply(logged).trend]
    assert [row.point.at for row in rows] == [0, 7, 14, 3, 10.5]
    assert {row[:3] for row in rows} == {("chat", "m", "general.spelling")}
    first, *_, last = (row.point for row in rows)
    assert (first.excess, first.excess_lower, first.excess_upper) == (None, None, None)
    assert (last.excess, last.excess_lower) == (0.0, -last.excess_upper)
    failed = altered(VERDICT, rating=None, failure=Failure("judge", 1, "timeout"), scored_at=1e6)
    assert state.apply(LoggedVerdict(1000, failed)).trend == []
    applied = [
        state.apply(LoggedVerdict(2000 + i, altered(VERDICT, rating=1, scored_at=11))) for i in range(30)
    ]
    alerted = [result for result in applied if result.events]
    assert alerted
    assert all(result.trend for result in alerted)


@cache
def folded_cleanly(seed):
    """A log of verdicts and sightings, and what one fold of it leaves."""
    verdicts = interleaved(traffic(240, seed), sightings(100, seed))
    clean = MemoryStore()
    monitor = monitor_of(verdicts, clean, batch=1000)
    drain(monitor)
    assert clean.all_events
    return verdicts, clean, monitor


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2),
    restarts=st.lists(st.sampled_from(["step", "restart"]), max_size=12),
    faults=st.lists(st.sampled_from(["none", "lost", "stored, then failed"]), max_size=8),
    batch=st.integers(5, 150),
)
def test_any_way_of_stepping_restarting_and_failing_ends_like_one_clean_fold(seed, restarts, faults, batch):
    """State, events and trend are those of a fold that was never interrupted."""
    verdicts, clean, monitor = folded_cleanly(seed)
    store = MemoryStore(faults=list(faults))
    broken = monitor_of(verdicts, store, batch=batch)
    for action in [*restarts, *["step"] * (len(faults) + 1)]:
        if action == "restart":
            broken = monitor_of(verdicts, store, batch=batch)
        try:
            broken.step()
        except OSError:  # TimeoutError is one
            continue
    drain(broken)
    assert (store.state, store.kept, store.offset) == (clean.state, clean.kept, clean.offset)
    assert store.all_events == clean.all_events
    assert store.rows == clean.rows
    for shown in ("reports", "rollups", "changes", "silent"):
        assert getattr(broken, shown)() == getattr(monitor, shown)()
    assert len({event.id for event in store.all_events}) == len(store.all_events)


def test_reports_never_run_ahead_of_the_store():
    """Reports after a failed commit are those of the last one that succeeded."""
    store = MemoryStore(faults=["none", "lost"])
    monitor = monitor_of(traffic(20, 2), store, batch=20)
    assert monitor.reports() == []
    monitor.step()
    before = monitor.reports()
    with pytest.raises(OSError, match="disk full"):
        monitor.step()
    assert monitor.reports() == before
    assert monitor.step() == 20
    assert monitor.reports() != before


def test_reports_do_not_wait_for_a_commit_that_hangs():
    """A scrape during a slow commit gets the reports of the last one."""
    store = MemoryStore()
    monitor = monitor_of(traffic(20, 2), store, batch=20)
    monitor.step()
    before = monitor.reports()
    entered, release, commit = threading.Event(), threading.Event(), store.commit

    def slow(*arguments, **options):
        entered.set()
        assert release.wait(240)
        commit(*arguments, **options)

    store.commit = slow
    thread = threading.Thread(target=monitor.step)
    thread.start()
    try:
        assert entered.wait(240)
        assert monitor.reports() == before
    finally:
        release.set()
        thread.join(240)
    assert monitor.reports() != before


def test_an_unreadable_checkpoint_is_folded_again_from_the_log(caplog):
    """A damaged or foreign checkpoint costs time, not data."""
    store = MemoryStore()
    verdicts = traffic(30, 4)
    drain(monitor_of(verdicts, store))
    good = store.state
    for damaged in (b"{", b'{"version": 99}', b"[]", b'{"version": 1, "offset": 3}'):
        with pytest.raises(CheckpointError):
            MonitorState.restored(damaged, {}, SETTINGS)
        store.state = damaged
        drain(monitor_of(verdicts, store))
        assert store.state == good
    assert "folding the verdict log again" in caplog.text


def test_new_settings_keep_the_counts_and_restart_the_evidence():
    """A changed threshold changes no estimate; evidence is gathered anew."""
    state = MonitorState(SETTINGS)
    for logged in log_of(*[altered(VERDICT, rating=1)] * 3):
        state.apply(logged)
    (before,) = state.reports()
    assert before.detection.evidence_log10 > 0
    (after,) = restarted(state, altered(SETTINGS, threshold=0.3)).reports()
    assert (after.counts.trials, after.detection.threshold, after.detection.evidence_log10) == (3, 0.3, 0.0)


def test_run_outlives_a_failing_log_and_counts_the_failures(caplog):
    """The loop reports a fault once, tries again, and stops when told."""
    stop = threading.Event()
    verdicts = traffic(20, 5)[:30]

    class FlakyLog(MemoryLog):
        calls = 0

        def entries_after(self, offset, limit):
            self.calls += 1
            if self.calls <= 3:
                raise OSError("log is locked")
            if self.calls == 5:
                stop.set()
            return super().entries_after(offset, limit)

    store = MemoryStore()
    now = iter([70.0])
    monitor = Monitor(FlakyLog(verdicts), store, SETTINGS, clock=lambda: next(now, 77.0))
    assert monitor.snapshot()["gauges"] == [["monitor_last_step_timestamp_seconds", {}, 70.0]]
    monitor.run(stop, poll_s=0)
    assert store.offset == verdicts[-1].offset
    assert caplog.text.count("could not fold") == 1
    assert caplog.text.count("folds the verdict log again") == 1
    assert monitor.stepped_at == 77.0
    assert monitor.snapshot() == {
        "counters": [["monitor_verdicts", {}, 30], ["monitor_failures", {}, 3]],
        "gauges": [["monitor_last_step_timestamp_seconds", {}, 77.0]],
    }


def test_run_refreshes_what_is_shown_once_the_log_is_used_up():
    """Nothing is refreshed between the batches of a long log, nor when nothing was folded."""
    stop = threading.Event()
    refreshed = []

    class CountingLog(MemoryLog):
        calls = 0

        def entries_after(self, offset, limit):
            self.calls += 1
            if self.calls == 7:
                stop.set()
            return super().entries_after(offset, limit)

    store = MemoryStore()
    monitor = Monitor(CountingLog(traffic(30, 5)[:45]), store, SETTINGS, clock=lambda: 77.0, batch=20)
    monitor.run(stop, poll_s=0, refresh=lambda: refreshed.append(len(monitor.reports())))
    assert refreshed == [len(monitor.reports())]
    assert monitor.rollups()
    assert {route.route for route in monitor.changes()} == {"billing", "chat"}

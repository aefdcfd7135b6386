"""Responses to a route's change, and what the store remembers of it."""

import pytest

from evenkeel import settings as settings_module
from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import Cause, ChangeRecord, kinds
from evenkeel.monitor.changes.book import ChangeBook, changed_settings
from evenkeel.monitor.changes.record import ChangeTally
from evenkeel.proxy.lanes import Lane, threshold
from evenkeel.proxy.routing import ProxyRoute, Upstream
from evenkeel.runtime.changes import Job, Responder
from evenkeel.runtime.data_plane import apply_overrides
from evenkeel.runtime.roles.worker import fingerprint, settings_that_matter, stamp_of
from evenkeel.stores.changes import ChangeStore, Override
from tests.monitor.changes.tallies import MODEL, shifts, tally

NOW = 1_000_000.0


def record(kind, *, at=NOW, since=0, name="c1", route="chat"):
    return ChangeRecord(
        name, route, (ChangeMark(kind, "a", "b", at, 7),), ChangeTally(), ChangeTally(), since
    )


@pytest.fixture
def store(on_sqlite):
    return ChangeStore(on_sqlite.documents())


def responder(store, records):
    return Responder(
        records=lambda: records,
        store=store,
        goldens=None,
        routes=frozenset({"chat"}),
        scores=None,
        clock=lambda: NOW,
    )


def test_another_model_starts_a_burst_and_asks_the_goldens_once(store):
    """However often one looks, also after a restart."""
    records = [record(kinds.MODEL)]
    first = responder(store, records)
    assert first.plan() == [Job("chat", "c1")]
    assert store.bursts(NOW) == [Override("chat", 1.0, NOW + 1800, "c1")]
    assert first.plan() == []
    assert responder(store, records).plan() == []


def test_a_burst_ends_by_time_or_by_number(store):
    """Half an hour or 300 exchanges, whatever comes first."""
    records = [record(kinds.PROMPT)]
    made = responder(store, records)
    made.plan()
    assert store.bursts(NOW + 1799)
    assert not store.bursts(NOW + 1801)
    records[:] = [record(kinds.PROMPT, since=300)]
    made.plan()
    assert not store.bursts(NOW)


JUDGED = [record(kinds.JUDGE), record(kinds.SETTINGS, name="c2")]


@pytest.mark.parametrize(
    ("records", "jobs"),
    [
        (JUDGED, [Job("chat", "c1")]),
        ([record(kinds.MODEL, at=NOW - 7200)], []),
        ([record(kinds.MODEL, route="gone")], []),
    ],
    ids=["another judge and settings", "an old change", "a route that left the settings"],
)
def test_what_asks_goldens_without_a_burst_or_does_nothing(store, records, jobs):
    """Our own settings ask nothing; a monitor that folds last month's log again starts nothing."""
    assert responder(store, records).plan() == jobs
    assert store.bursts(NOW) == []


def test_a_burst_raises_the_rate_of_its_lane_and_only_that():
    """Never below what the settings say, and back to it at the end."""
    upstream = Upstream.parse("http://127.0.0.1:9")
    lanes = {
        name: Lane(ProxyRoute(name, upstream, sampling_rate=rate), [None], None)
        for name, rate in (("chat", 0.1), ("other", 0.5))
    }
    apply_overrides(lanes, [Override("chat", 0.8, 0.0, "c"), Override("other", 0.2, 0.0, "c")])
    assert (lanes["chat"].bound, lanes["other"].bound) == (threshold(0.8), threshold(0.5))
    apply_overrides(lanes, [])
    assert lanes["chat"].bound == threshold(0.1)


def settings(**overrides):
    return settings_module.load(None, overrides, {"upstream": "http://127.0.0.1:9"})


def named(**overrides):
    return fingerprint(settings_that_matter(settings(**overrides))["default"])


@pytest.mark.parametrize(
    "overrides",
    [
        {"alerts": {"threshold": 0.2}},
        {"judge": {"model": "j"}},
        {"judge": {"model": "j", "tasks": {"case_summary": ["faithfulness"]}}},
    ],
)
def test_what_decides_a_score_is_part_of_the_fingerprint(overrides, tmp_path, monkeypatch):
    """Judge, threshold and bundles; not ports, folders, budgets, credentials or a judge's pace."""
    assert named(**overrides) != named()
    assert named(**overrides) == named(**overrides)
    elsewhere = {"data_dir": tmp_path, "budget": {"tokens_per_day": 1}, "listen": {"port": 1}}
    assert named(**elsewhere) == named()
    monkeypatch.setenv("EVENKEEL_JUDGE_API_KEY", "sk-secret")
    slow = settings(judge={"model": "j"}, replays={"concurrency": 1})
    assert settings_that_matter(slow) == settings_that_matter(settings(judge={"model": "j"}))
    assert "secret" not in str(settings_that_matter(slow))


def test_a_change_of_settings_says_which(store):
    """The stamp of the verdicts leads to what the settings were, on both sides."""
    before, after = (
        stamp_of(settings(alerts={"threshold": threshold}), store).settings["default"]
        for threshold in (0.1, 0.25)
    )
    mark = ChangeMark(kinds.SETTINGS, before, after, 5.0, 1)
    record = ChangeRecord("c1", "default", (mark,), ChangeTally(), ChangeTally(), 0)
    book = ChangeBook(lambda: [record], store, min_trials=30, clock=lambda: 9.0)
    (report,) = book.reports()
    assert report.cause is Cause.SETTINGS
    assert report.settings == ("alerts.threshold: 0.1 → 0.25",)
    assert book.find("c1") is report
    assert book.find("c2") is None
    assert changed_settings({"a": "1"}, {"b": "2"}) == ("a: 1 → not set", "b: not set → 2")


@pytest.mark.parametrize(("around", "named"), [(shifts(100.0), ""), ([], "another model or possibly")])
def test_a_cause_that_the_change_itself_states_is_not_named_again(store, around, named):
    """The headline of an incident has it; what else is possible, it has not."""
    record = ChangeRecord("c1", "chat", (MODEL,), tally(200, 0.05), tally(200, 0.5), 200, around=around)
    book = ChangeBook(lambda: [record], store, min_trials=30, clock=lambda: 9.0)
    said = book.coincided("c1")
    assert said.startswith(named)
    assert bool(said) is bool(named)

"""Which settings are another way of scoring, and how a change of them is told."""

from __future__ import annotations

import pytest

from evenkeel import settings as settings_module
from evenkeel.core.cells import ChangeMark
from evenkeel.monitor.changes import Cause, ChangeRecord, kinds
from evenkeel.monitor.changes.book import ChangeBook, changed_settings
from evenkeel.monitor.changes.record import Tally
from evenkeel.runtime.changes import fingerprint, settings_that_matter, stamp_of
from evenkeel.stores.changes import ChangeStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments


def settings(**overrides):
    return settings_module.load(None, overrides, {"upstream": "http://127.0.0.1:9"})


def named(**overrides):
    return fingerprint(settings_that_matter(settings(**overrides))["default"])


@pytest.mark.parametrize(
    "overrides",
    [
        {"alert": {"threshold": 0.2}},
        {"judge": {"model": "j"}},
        {"judge": {"model": "j", "votes": 3}},
        {"scoring": {"tasks": {"case_summary": ["faithfulness"]}}},
        {"scoring": {"embeddings": {"enabled": False}}},
    ],
)
def test_what_decides_a_score_is_part_of_the_fingerprint(overrides):
    """Judge, threshold, bundles and encoder; the same settings have the same name each time."""
    assert named(**overrides) != named()
    assert named(**overrides) == named(**overrides)


def test_what_does_not_is_not(tmp_path):
    """Ports, folders, budgets and how long a judge may take."""
    assert named(data_dir=tmp_path, budget={"tokens_per_day": 1}, listen={"port": 1}) == named()
    assert named(judge={"model": "j", "timeout_s": 1}) == named(judge={"model": "j"})


def test_no_credential_is_remembered(monkeypatch):
    """Only names of variables are settings, and not even these matter here."""
    monkeypatch.setenv("EVENKEEL_JUDGE_API_KEY", "sk-secret")
    assert "secret" not in str(settings_that_matter(settings(judge={"model": "j"})))


def test_a_change_of_settings_says_which(tmp_path):
    """The stamp of the verdicts leads to what the settings were, on both sides."""
    database = Database(tmp_path / "store.db")
    store = ChangeStore(SqliteDocuments(database))
    before, after = (
        stamp_of(settings(alert={"threshold": threshold}), store).settings["default"]
        for threshold in (0.1, 0.25)
    )
    mark = ChangeMark(kinds.SETTINGS, before, after, 5.0, 1)
    record = ChangeRecord("c1", "default", (mark,), Tally(), Tally(), 0)
    book = ChangeBook(lambda: [record], store, min_trials=30, clock=lambda: 9.0)
    (report,) = book.reports()
    assert report.cause is Cause.SETTINGS
    assert report.settings == ("alert.threshold: 0.1 → 0.25",)
    assert book.find("c1") is report
    assert book.find("c2") is None
    database.close()


def test_a_difference_names_what_was_not_set():
    """On either side."""
    assert changed_settings({"a": "1"}, {"b": "2"}) == ("a: 1 → not set", "b: not set → 2")

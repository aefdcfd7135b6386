"""What the console is told of settings, spend, dead letters and the calibration."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest

from evenkeel.core.budget import Budget, Spend
from evenkeel.core.exchange import Exchange
from evenkeel.runtime.console_sources import calibration, dead_letters, document, judge_setup, spending
from evenkeel.settings import Route, Settings
from evenkeel.stores.sqlite.budget import SqliteCostTracker
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue


@pytest.fixture
def database(tmp_path):
    made = Database(tmp_path / "evenkeel.db")
    yield made
    made.close()


def _settings(**changes):
    shop = Route(name="shop", upstream="https://a.example/v1", budget={"usd_per_day": 2.0})
    chat = Route(name="chat", prefix="/chat", upstream="https://a.example/v1")
    return Settings(routes=[shop, chat], **changes)


def test_spend_is_told_by_route_with_its_own_limit_and_by_purpose(database):
    """Both add up to the whole; a route without a limit of its own has none."""
    ledger = SqliteCostTracker(database, Budget(), lambda: 1000.0)
    ledger.settle(Spend(0, 0.0), "shop", {"replay": Spend(40, 0.5), "judge": Spend(10, 0.25)})
    ledger.settle(Spend(0, 0.0), "chat", {"replay": Spend(5, 0.125)})
    found = spending(_settings(), ledger)
    assert [(one.name, one.tokens, one.usd, one.budget_usd) for one in found.routes] == [
        ("shop", 50, 0.75, 2.0),
        ("chat", 5, 0.125, None),
    ]
    assert [(one.name, one.usd) for one in found.purposes] == [
        ("replay", 0.625),
        ("golden", 0.0),
        ("judge", 0.25),
        ("rewriter", 0.0),
    ]
    assert [(one.route, one.purpose, one.tokens, one.usd) for one in found.shares] == [
        ("chat", "replay", 5, 0.125),
        ("shop", "judge", 10, 0.25),
        ("shop", "replay", 40, 0.5),
    ]


def test_bodies_of_dead_letters_are_decoded_as_far_as_they_can_be(database):
    """Compressed ones become text; what cannot be decoded says why."""
    queue = SqliteExchangeQueue(database, lambda: 1000.0)
    packed = gzip.compress("größer".encode())
    whole = Exchange(
        "a", "shop", 1.0, 0.5, "POST", "/v1/x", 200, (), b"plain", (("content-encoding", "gzip"),), packed
    )
    queue.put([whole, replace(whole, id="b", response_body=packed[:-9])])
    queue.reserve(2, 60)
    queue.bury("a", "damaged")
    queue.bury("b", "damaged")
    letters = dead_letters(queue)
    assert [(one.id, one.reason) for one in letters.latest(9)] == [("b", "damaged"), ("a", "damaged")]
    found = letters.find("a")
    assert (found.request, found.response, found.route) == ("plain", "größer", "shop")
    assert "bytes as sent" in letters.find("b").response
    assert letters.find("c") is None


def test_a_calibration_that_cannot_be_read_is_no_calibration(tmp_path, caplog):
    """The console still starts, and the log says why."""
    broken = tmp_path / "calibration.yaml"
    broken.write_text("schema_version: 99\n")
    assert calibration(_settings(scoring={"calibration": broken})) is None
    assert "schema_version" in caplog.text
    assert calibration(_settings()) is None


def test_the_judge_s_address_holds_no_credential():
    """None without a judge."""
    judge = {"model": "m", "base_url": "https://user:pw@judge.example/v1"}
    assert judge_setup(_settings(judge=judge)).endpoint == "https://judge.example/v1"
    assert judge_setup(_settings()) is None


@pytest.mark.parametrize("name", ["runbooks/EvenkeelDrift", "runbooks/README", "settings"])
def test_documents_are_there_without_a_network(name):
    """Runbooks from the checkout, the reference from the code."""
    assert document(name).startswith("# ")


@pytest.mark.parametrize("name", ["runbooks/../settings", "runbooks/", "alerting", "runbooks/a.b", ""])
def test_no_other_file_can_be_asked_for(name):
    """Names are of letters and digits."""
    assert document(name) is None

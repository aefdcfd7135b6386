"""What the console is told of settings, spend, dead letters and the calibration."""

from __future__ import annotations

import gzip

import pytest

from evenkeel.core.budget import Budget, Spend
from evenkeel.runtime.console_sources import (
    budget_notices,
    calibration,
    dead_exchange,
    document,
    judge_setup,
    settings_in_effect,
    spending,
    without_credentials,
)
from evenkeel.settings import Route, Settings, load
from evenkeel.stores.sqlite.budget import SqliteCostTracker
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from tests.stores.examples import exchange


@pytest.fixture
def database(tmp_path):
    made = Database(tmp_path / "evenkeel.db")
    yield made
    made.close()


def _settings(**changes):
    shop = Route(name="shop", upstream="https://a.example/v1", budget={"usd_per_day": 2.0})
    chat = Route(name="chat", match={"prefix": "/chat"}, upstream="https://a.example/v1")
    return Settings(routes=[shop, chat], **changes)


class _Health:
    """A judge in good health."""

    model = ""

    def problems(self):
        return {}


@pytest.mark.parametrize(
    ("budget", "spent", "said"),
    [
        (Budget(1000, 10.0, reserve=0.2), Spend(700, 7.0), []),
        (Budget(1000, 10.0, reserve=0.2), Spend(799, 7.0), ["1,000 tokens is spent but for the 20%"]),
        (Budget(1000, 10.0, reserve=0.2), Spend(999, 8.0), ["tokens is spent; scoring", "but for the 20%"]),
        (Budget(1000, 10.0), Spend(900, 9.9), ["10.00 US dollars is spent; scoring pauses until midnight"]),
        (Budget(), Spend(10**9, 1e6), []),
    ],
)
def test_a_budget_of_which_only_the_reserve_is_left_is_said(budget, spent, said):
    """Little is measured from then on, and silence would look like health."""
    assert [one in notice for one, notice in zip(said, budget_notices(budget, spent), strict=True)] == [
        True
    ] * len(said)


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
        ("reference", 0.0),
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
    given = {"route": "shop", "request_headers": (), "request_body": b"plain"}
    bodies = {"a": packed, "b": packed[:-9]}
    queue.put([exchange(1, id=name, response_body=body, **given) for name, body in bodies.items()])
    queue.reserve(2, 60)
    queue.bury("a", "damaged")
    queue.bury("b", "damaged")
    found = dead_exchange(queue, "a")
    assert (found.request_body, found.response_body.decode(), found.route) == (b"plain", "größer", "shop")
    assert b"bytes as sent" in dead_exchange(queue, "b").response_body
    assert dead_exchange(queue, "c") is None


def test_a_calibration_that_cannot_be_read_is_no_calibration(tmp_path, caplog):
    """The console still starts, and the log says why."""
    broken = tmp_path / "calibration.yaml"
    broken.write_text("schema_version: 99\n")
    assert calibration(_settings(alerts={"calibration": broken})) is None
    assert "schema_version" in caplog.text
    assert calibration(_settings()) is None


def test_the_judge_s_address_holds_no_credential():
    """None without a judge."""
    judge = {"model": "m", "base_url": "https://user:pw@judge.example/v1"}
    assert judge_setup(_settings(judge=judge)).endpoint == "https://judge.example/v1"
    assert judge_setup(_settings()) is None


@pytest.mark.parametrize("name", ["runbooks/EvenkeelIncident", "runbooks/README", "settings"])
def test_documents_are_there_without_a_network(name):
    """Runbooks from the checkout, the reference from the code."""
    assert document(name).startswith("# ")


@pytest.mark.parametrize("name", ["runbooks/../settings", "runbooks/", "alerting", "runbooks/a.b", ""])
def test_no_other_file_can_be_asked_for(name):
    """Names are of letters and digits."""
    assert document(name) is None


def _lines(settings):
    return {
        (section.name, line.name): line for section in settings_in_effect(settings) for line in section.lines
    }


def test_what_is_set_is_told_from_defaults(tmp_path, monkeypatch):
    """By value, wherever it was set; required settings have no default."""
    monkeypatch.setenv("EVENKEEL_LISTEN__PORT", "8200")
    file = tmp_path / "evenkeel.yaml"
    file.write_text("routes: [{upstream: 'https://api.example/v1', sampling_rate: 0.5}]\n")
    lines = _lines(load(file, {}, {}))
    assert not lines["listen", "port"].default
    assert lines["listen", "port"].value == "8200"
    assert lines["access", "port"].default
    assert not lines["routes[0]", "sampling_rate"].default
    assert not lines["routes[0]", "upstream"].default
    assert lines["routes[0].timeouts", "connect_s"].default
    assert lines["", "judge"].value == "none"
    assert lines["listen", "port"].meaning == "0 picks a free port."


def test_a_credential_is_set_or_not(tmp_path, monkeypatch):
    """By the variable that holds it; its value and the variable's name are not told."""
    monkeypatch.setenv("A_KEY", "s3cret")
    file = tmp_path / "evenkeel.yaml"
    file.write_text("routes: [{upstream: 'https://a.example/v1', api_key_env: A_KEY}]\njudge: {model: m}\n")
    lines = _lines(load(file, {}, {}))
    assert lines["routes[0]", "api_key_env"].value == "set"
    assert lines["judge", "api_key_env"].value == "not set"
    assert not any("s3cret" in line.value or "A_KEY" in line.value for line in lines.values())


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("redis://user:pw@host:6379/0", "redis://host:6379/0"),
        ("https://h.example/v1?key=abc#x", "https://h.example/v1"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
        ("careful: a:b@c", "careful: a:b@c"),
    ],
)
def test_addresses_lose_what_may_be_a_credential(given, shown):
    """User, password and query; other text stays."""
    assert without_credentials(given) == shown

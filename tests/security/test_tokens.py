"""Tokens of the admin port: how long they are, what they open, and how often a wrong one is looked at."""

from __future__ import annotations

import logging

import pytest
from litestar import Litestar, get
from litestar.testing import TestClient

from evenkeel.console.access import Failures
from evenkeel.console.guard import TokenGuard
from evenkeel.runtime.process import guarded
from evenkeel.settings import SettingsError, load

ADMIN = "an-admin-token-of-28-letters"
METRICS = "a-token-that-reads-metrics"


@get(["/metrics", "/", "/api/cells"], sync_to_thread=False)
def page() -> str:
    """Content."""
    return "content"


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Reads the section `admin` of a settings file."""
    monkeypatch.setenv("ADMIN", ADMIN)
    monkeypatch.setenv("METRICS", METRICS)
    monkeypatch.setenv("SHORT", "x" * 15)
    monkeypatch.setenv("JUST", "x" * 16)
    monkeypatch.delenv("NONE", raising=False)

    def read(section):
        path = tmp_path / "evenkeel.yaml"
        path.write_text(f"access: {section}\nroutes: [{{upstream: 'http://a'}}]\n")
        return load(path, {}, {}).access

    return read


def status(client, path, token):
    """What a request with a bearer token is answered."""
    return client.get(path, headers={"authorization": f"Bearer {token}"}).status_code


def from_addresses(app):
    """The application, asked from the address that a header names."""

    async def asked(scope, receive, send):
        given = dict(scope.get("headers", ())).get(b"x-from", b"192.0.2.1")
        await app({**scope, "client": (given.decode(), 1)}, receive, send)

    return asked


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{token_env: SHORT}", "SHORT named by token_env has 15 characters; it needs at least 16"),
        (
            "{token_env: ADMIN, metrics_token_env: SHORT}",
            "SHORT named by metrics_token_env has 15 characters",
        ),
        ("{people: [{name: ann, token_env: SHORT}]}", "token_env of ann has 15 characters"),
        ("{token_env: ADMIN, metrics_token_env: NONE}", "NONE named by metrics_token_env is empty"),
        ("{token_env: ADMIN, metrics_token_env: ADMIN}", "have the same token"),
        ("{metrics_token_env: METRICS, open_on_loopback: true}", "set token_env too"),
    ],
)
def test_tokens_that_protect_nothing_are_refused(settings, section, message):
    """Short ones, empty ones, one for two purposes; the error does not repeat the token."""
    with pytest.raises(SettingsError, match=message) as refused:
        settings(section)
    assert "x" * 15 not in str(refused.value)
    assert settings("{token_env: JUST}").token == "x" * 16


def test_the_token_of_the_metrics_reads_nothing_else(settings, tmp_path):
    """A scraper that is broken into gives no prompts away."""
    guard = guarded(
        Litestar([page], logging_config=None),
        settings("{token_env: ADMIN, metrics_token_env: METRICS}"),
        tmp_path,
    )
    with TestClient(guard) as client:
        assert status(client, "/metrics", METRICS) == 200
        assert [status(client, path, METRICS) for path in ("/", "/api/cells", "/metrics/")] == [403, 403, 403]
        assert [status(client, path, ADMIN) for path in ("/", "/metrics")] == [200, 200]
        assert client.get("/metrics").status_code == 401


def test_wrong_tokens_are_throttled_and_logged_without_the_token(caplog):
    """After ten in a minute the right one has to wait, too; probes, other addresses and scrapers do not."""
    now = [1000.0]
    guard = TokenGuard(
        Litestar([page], logging_config=None), ADMIN, metrics_token=METRICS, failures=Failures(lambda: now[0])
    )
    with TestClient(from_addresses(guard)) as client:
        with caplog.at_level(logging.WARNING, logger="evenkeel.console"):
            assert [status(client, "/", f"guess-{number}") for number in range(10)] == [401] * 10
        assert status(client, "/", ADMIN) == 429
        assert client.get("/", headers={"authorization": "Bearer x"}).headers["retry-after"] == "60"
        assert status(client, "/metrics", METRICS) == 200
        assert client.get("/").status_code == 401
        elsewhere = {"x-from": "192.0.2.2", "authorization": f"Bearer {ADMIN}"}
        assert client.get("/", headers=elsewhere).status_code == 200
        now[0] += 60
        assert status(client, "/", ADMIN) == 200
    assert "wrong token from 192.0.2.1 for '/' (10 in a minute)" in caplog.text
    assert "no more tokens are taken from 192.0.2.1" in caplog.text
    assert "guess" not in caplog.text


def test_what_is_remembered_of_failures_is_bounded():
    """The oldest addresses are forgotten; half an IPv6 address counts as one."""
    failures = Failures(lambda: 0.0)
    for number in range(10):
        failures.count(f"2001:db8::{number}")
    assert failures.wait_s("2001:db8::ffff") == 60
    assert failures.wait_s("2001:db8:0:1::") == 0
    for number in range(4096):
        failures.count(f"10.0.{number >> 8}.{number & 255}")
    assert failures.wait_s("2001:db8::ffff") == 0

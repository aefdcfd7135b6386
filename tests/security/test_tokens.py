"""Tokens of the admin port: how long they are, what they open, and how often a wrong one is looked at."""

import logging

from litestar.testing import TestClient

from evenkeel.console.access import Failures, Visitor
from evenkeel.console.guard import TokenGuard
from tests.security.desk import bearer, pages

ADMIN = "x" * 16
METRICS = "a-token-that-reads-metrics"


def status(client, path, token):
    """Return the status of a request with a bearer token."""
    return client.get(path, headers=bearer(token)).status_code


def from_addresses(app):
    """The application, asked from the address that a header names."""

    async def asked(scope, receive, send):
        given = dict(scope.get("headers", ())).get(b"x-from", b"192.0.2.1")
        await app({**scope, "client": (given.decode(), 1)}, receive, send)

    return asked


def test_wrong_tokens_are_throttled_and_logged_without_the_token(caplog):
    """The right one has to wait after ten in a minute, too; probes, other addresses and scrapers do not."""
    now = [1000.0]
    guard = TokenGuard(
        pages(), ADMIN, people=[(METRICS, Visitor(role="scraper"))], failures=Failures(lambda: now[0])
    )
    with TestClient(from_addresses(guard)) as client:
        with caplog.at_level(logging.WARNING, logger="evenkeel.console"):
            assert [status(client, "/", f"guess-{number}") for number in range(10)] == [401] * 10
        assert status(client, "/", ADMIN) == 429
        assert client.get("/", headers=bearer("x")).headers["retry-after"] == "60"
        assert status(client, "/metrics", METRICS) == 200
        unknown = client.get("/")
        assert (unknown.status_code, unknown.headers["content-type"]) == (401, "text/plain; charset=utf-8")
        assert unknown.text == "A token is needed: as bearer token, or as the password of any user.\n"
        assert client.get("/", headers=bearer("x") | {"x-from": "192.0.2.3"}).text.startswith(
            "This is not the"
        )
        assert client.get("/", headers=bearer(ADMIN) | {"x-from": "192.0.2.2"}).status_code == 200
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

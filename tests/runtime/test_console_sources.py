"""What the console is told of settings, spend and dead letters."""

from __future__ import annotations

import gzip

from evenkeel.runtime.console_sources import (
    dead_exchange,
    judge_setup,
)
from evenkeel.settings import Settings
from tests.stores.examples import exchange


def test_bodies_of_dead_letters_are_decoded_as_far_as_they_can_be(on_sqlite):
    """Compressed ones become text; what cannot be decoded says why."""
    queue = on_sqlite.queue()
    packed = gzip.compress("größer".encode())
    given = {"route": "shop", "request_headers": (), "request_body": b"plain"}
    bodies = {"a": packed, "b": packed[:-9]}
    queue.put([exchange(1, id=name, response_body=body, **given) for name, body in bodies.items()])
    queue.reserve(2, 60)
    queue.bury("a", "damaged")
    queue.bury("b", "damaged")
    view = dead_exchange(queue, "a")
    assert (view.request_body, view.response_body.decode(), view.route) == (b"plain", "größer", "shop")
    assert b"bytes as sent" in dead_exchange(queue, "b").response_body
    assert dead_exchange(queue, "c") is None


def test_the_judge_s_address_holds_no_credential():
    """None without a judge."""
    routes = [{"upstream": "https://a.example/v1"}]
    judge = {"model": "m", "base_url": "https://user:pw@judge.example/v1"}
    assert judge_setup(Settings(routes=routes, judge=judge)).endpoint == "https://judge.example/v1"
    assert judge_setup(Settings(routes=routes)) is None

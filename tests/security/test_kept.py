"""Redaction and a key in a data plane: their settings, and a request through it."""

import base64
import gc
import json
import socket
import sys
import threading
import time

import pytest

from evenkeel.cli.options import settings_source
from evenkeel.runtime import data_plane
from evenkeel.runtime.supervisor import Briefing
from evenkeel.settings import SettingsError
from evenkeel.stores.sealing import KEY_VARIABLE
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from tests.clients.raw import raw
from tests.clients.recording import fixed, recording

KEY = base64.b64encode(bytes(range(32))).decode()
QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Write to ann@example.org of C-1234."}]}
ANSWER = {"choices": [{"message": {"content": "ann@example.org it is."}, "finish_reason": "stop"}]}
REDACTION = "{kinds: [email], patterns: {customer: 'C-[0-9]{4}'}}"


def settings_with(folder, further, upstream="http://127.0.0.1:9"):
    path = folder / "evenkeel.yaml"
    path.write_text(
        f"data_dir: {folder}\n{further}\nroutes: [{{upstream: '{upstream}', sampling_rate: 1}}]\n"
    )
    return settings_source(path, {}, checked=False).read()


@pytest.mark.parametrize(
    ("further", "key", "said"),
    [
        ("storage: {redaction: {kinds: [name]}}", "", "storage.redaction.kinds"),
        ("storage: {redaction: {patterns: {mine: '('}}}", "", "pattern of mine"),
        ("storage: {redaction: {patterns: {Mine: 'x'}}}", "", "Mine"),
        ("storage: {redaction: {presidio: {language: en}}}", "", r"evenkeel-proxy\[presidio\]"),
        ("storage: {encrypted: true}", "", f"{KEY_VARIABLE} holds no key; make one with: openssl"),
        ("storage: {encrypted: true}", f"plain,{KEY}", "holds no key"),
        ("storage: {encrypted: true}", "short", "not a key of 32 bytes"),
    ],
)
def test_settings_that_would_not_protect_are_refused(tmp_path, monkeypatch, further, key, said):
    monkeypatch.setenv(KEY_VARIABLE, key)
    with pytest.raises(SettingsError, match=said):
        settings_with(tmp_path, further)


@pytest.fixture
def process_as_before():
    """A data plane tunes the collector and the turns of threads for its process; here it is a guest."""
    thresholds, turn_s = gc.get_threshold(), sys.getswitchinterval()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(turn_s)


def test_what_is_kept_is_redacted_and_sealed_and_what_is_forwarded_is_neither(
    tmp_path, monkeypatch, process_as_before
):
    """The upstream and the client see every byte; the file holds placeholders, and those encrypted."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    question, answer = json.dumps(QUESTION).encode(), json.dumps(ANSWER).encode()

    def ask(port):
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(question)
        with raw(port) as client:
            return client.ask(head + question)[1]

    received, counted = [], []

    def asked(stop, _follow):
        """What waits for the supervisor to go asks once, and stops the process."""
        assert sys.getswitchinterval() == pytest.approx(0.0005)  # the hand-off computes beside the loop

        def run():
            try:
                received.append(ask(port))
            finally:
                stop()

        threading.Thread(target=run).start()

    monkeypatch.setattr(data_plane, "when_orphaned", asked)
    monkeypatch.setattr(Briefing, "report", lambda _briefing, snapshot: counted.append(snapshot))
    with recording() as upstream:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(
            answer
        )
        upstream.handler = fixed(head + answer)
        settings = settings_with(
            tmp_path, f"storage: {{redaction: {REDACTION}, encrypted: true}}", upstream.url
        )
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        data_plane.run(Briefing("proxy", "test", settings, (listening.detach(),)))
        assert upstream.requests[0].body == question
    assert received == [answer]
    assert ["redactions", {"kind": "email"}, 2] in counted[-1]["counters"]
    assert ["redactions", {"kind": "customer"}, 1] in counted[-1]["counters"]
    database = Database(tmp_path / DATABASE_FILE)
    (lease,) = SqliteExchangeQueue(database, time.time).reserve(5, 10.0)
    database.close()
    assert b"Write to [EMAIL_1] of [CUSTOMER_1]." in lease.exchange.request_body
    assert b"[EMAIL_1] it is." in lease.exchange.response_body
    assert b"EMAIL_1" not in b"".join(path.read_bytes() for path in tmp_path.glob("evenkeel.db*"))

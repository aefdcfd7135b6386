"""Messages by apprise, to a receiver of its `json://` scheme on this machine."""

from __future__ import annotations

import json
import logging
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from evenkeel.monitor.notify import AppriseSender, Message, UnknownServiceError

pytest.importorskip("apprise", reason='pip install "evenkeel-proxy[notify]"')


@pytest.fixture
def receiver():
    """Its port, what it got, and the status it answers with."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            self.server.received.append((self.path, json.loads(body)))
            self.send_response(self.server.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.received, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(("good", "kind"), [(False, "failure"), (True, "success")])
def test_a_message_arrives_with_title_body_and_kind(receiver, good, kind):
    """What is over is marked as good news."""
    sender = AppriseSender("CHAT", f"json://127.0.0.1:{receiver.server_port}/secret")
    assert sender.send(Message("Title", "First.\n\nSecond.", good))
    ((path, body),) = receiver.received
    assert path.startswith("/secret")
    assert (body["title"], body["message"], body["type"]) == ("Title", "First.\n\nSecond.", kind)


def test_a_refusal_and_a_dead_service_are_failures_and_tell_no_address(receiver, caplog, capfd):
    """The address is a secret: neither the log nor the terminal has it."""
    caplog.set_level(logging.DEBUG, logger="apprise")
    sender = AppriseSender("CHAT", f"json://127.0.0.1:{receiver.server_port}/secret")
    receiver.status = 500
    assert not sender.send(Message("Title", "Body", good=False))
    dead = AppriseSender("CHAT", "json://127.0.0.1:9/secret")
    assert not dead.send(Message("Title", "Body", good=False))
    assert "secret" not in caplog.text
    assert "secret" not in "".join(capfd.readouterr())


def test_an_unknown_service_is_named_by_its_variable():
    """What stands in the variable is not shown."""
    with pytest.raises(UnknownServiceError, match=r"^CHAT holds no address that apprise knows$"):
        AppriseSender("CHAT", "nonsense-token")

"""Stopping the proxy while it is used."""

import contextlib
import os
import signal
import socket

import pytest

from tests.clients.raw import raw
from tests.clients.recording import holding, recording
from tests.kit.relaying import STOP_S, running

pytestmark = pytest.mark.system

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
EVENT = b"5\r\nfirst\r\n"
END = EVENT * 3 + b"0\r\n\r\n"


class Streaming:
    """A handler that begins an answer and leaves its end to the test."""

    def __init__(self):
        self.wires = []

    async def __call__(self, wire, request):
        await wire.body()
        wire.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + EVENT)
        self.wires.append(wire)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_answers_that_have_begun_are_finished(tmp_path, number):
    """A stream goes on to its end, its connection and idle ones are closed, new ones refused; exit code 0."""
    streaming = Streaming()
    with (
        recording() as upstream,
        running("proxy", tmp_path, "--upstream", upstream.url) as proxy,
        raw(proxy.port) as idle,
        raw(proxy.port) as client,
    ):
        assert idle.ask(GET)[1] == b"ok"
        upstream.handler = streaming
        client.send(GET)
        client.until(EVENT)
        proxy.process.send_signal(number)
        assert idle.rest() == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", proxy.port))
        upstream.call(lambda: streaming.wires[0].write(END))
        assert client.read(len(END)) == END
        assert client.rest() == b""
        proxy.process.wait(STOP_S)  # a second signal could meet the interpreter at its own end


def test_a_killed_proxy_leaves_no_answer_that_looks_whole(tmp_path):
    """The client of a stream sees a reset or a missing end, and the upstream sees that the proxy is gone."""
    with recording() as upstream:
        upstream.handler = holding(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + EVENT)
        with running("proxy", tmp_path, "--upstream", upstream.url) as proxy, raw(proxy.port) as client:
            client.send(GET)
            client.until(EVENT)
            os.kill(proxy.child("proxy"), signal.SIGKILL)
            with contextlib.suppress(ConnectionResetError):
                assert client.rest() == b""
            upstream.eventually(lambda: upstream.wires[0].ended)

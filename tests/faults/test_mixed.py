"""All faults at once, from many clients, and nobody else's answer is touched."""

import asyncio
import contextlib
import json
import random
import threading

import pytest

from tests.clients.raw import raw

pytestmark = pytest.mark.system

CLIENTS = 8
REQUESTS = 60
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def said(number):
    """The text of a request's answer, different for each."""
    return b"answer %d " % number * (number % 50 + 1)


async def unreliable(wire, request):
    """Does what the path says."""
    _, kind, number = request.target.split(b"/")
    text = said(int(number))
    plain = b"Content-Length: %d\r\n\r\n%b" % (len(text), text)
    if kind == b"early":  # before the request is complete
        wire.write(b"HTTP/1.1 200 OK\r\n" + plain)
    await wire.body()
    at_once = {
        b"plain": b"HTTP/1.1 200 OK\r\n" + plain,
        b"closes": b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + plain,
        b"garbage": text + b"\r\n\r\n",
        b"cut": STREAM_HEAD + b"3\r\ncut\r\n",
    }
    wire.write(at_once.get(kind, b""))
    if kind in {b"closes", b"cut"}:
        wire.close()
    elif kind == b"reset":
        wire.reset()
    elif kind == b"stream":
        wire.write(STREAM_HEAD)
        for start in range(0, len(text), 40):
            piece = text[start : start + 40]
            wire.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await asyncio.sleep(0.0003)
        wire.write(b"0\r\n\r\n")
    elif kind == b"leaving":
        while True:
            await wire.more()


KINDS = ["plain"] * 4 + ["stream"] * 4 + ["closes", "reset", "cut", "garbage", "leaving", "leaving", "early"]


def visit(port, seed, wrong):
    """Send one client's requests; put what is not as it must be into `wrong`."""
    choice = random.Random(seed)
    with contextlib.ExitStack() as stack:
        client = None
        for step in range(REQUESTS):
            number = seed * 1000 + step
            kind = choice.choice(KINDS)
            if client is None:
                client = stack.enter_context(raw(port))
            head = f"POST /{kind}/{number} HTTP/1.1\r\nHost: x\r\n".encode()
            whole = choice.random() < 0.5
            framing = (
                b"Content-Length: 2\r\n\r\n{}"
                if whole
                else b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
            )
            if kind == "leaving":
                client.send((head + framing)[: choice.randrange(1, len(head + framing) + 1)])
                if choice.random() < 0.5:
                    client.leave()
                client.sock.close()
                client = None
                continue
            client.send(head + framing)
            if kind == "cut":
                if client.until(b"\r\n\r\n") != STREAM_HEAD or client.rest() != b"3\r\ncut\r\n":
                    wrong.append((kind, number))
                client = None
                continue
            found, body = client.answer()
            if kind in {"reset", "garbage"}:
                good = (
                    found.startswith(b"HTTP/1.1 502 ")
                    and json.loads(body)["error"]["type"] == "upstream_error"
                )
            else:
                good = found.startswith(b"HTTP/1.1 200 ") and body == said(number)
            if not good:
                wrong.append((kind, number, found, body))
            if b"connection: close" in found.lower():
                client = None


@pytest.mark.parametrize("seed", [1, 2])
def test_many_clients_and_an_unreliable_upstream(faulty, upstream, seed):
    """Answers are whole, right and the client's own, whatever goes wrong on other connections."""
    upstream.handler = unreliable
    wrong = []
    threads = [
        threading.Thread(target=visit, args=(faulty.proxy.port, seed * 100 + number, wrong))
        for number in range(CLIENTS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    faulty.proxy.becomes(0, "evenkeel_proxy_in_flight")

"""Errors of the data plane name the route: no address, file or variable of what is behind it."""

from __future__ import annotations

import asyncio
import json
import re
import ssl

import pytest

from evenkeel.proxy import Timeouts
from evenkeel.proxy.errors import ForwardingFault, error_response
from tests.kit.certificates import Authority
from tests.proxy.conftest import Wire, relay

GET = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\nServer: vllm-on-gpu-7.internal\r\nContent-Length: "
LEAKS = re.compile(
    rb"https?:|unix|sock|internal|invalid|vault|127\.0\.0\.1|0\.0\.0|::1|255\.|secret|/v1|tmp|:\d{2,5}|[A-Z]+_[A-Z]+_KEY"
)
SOON = Timeouts(silence_s=0.05)

ANSWERS = {
    "closed": (Wire.close, ForwardingFault.CLOSED),
    "reset": (Wire.reset, ForwardingFault.CLOSED),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nvault.internal", ForwardingFault.GARBAGE),
    "bare carriage returns": (
        b"HTTP/1.1 200 OK\rContent-Length: 2\r\rvault.internal",
        ForwardingFault.GARBAGE,
    ),
    "no HTTP": (b"SSH-2.0-vault.internal\r\n\r\n", ForwardingFault.GARBAGE),
    "two lengths": (HEAD + b"1\r\nContent-Length: 2\r\n\r\n", ForwardingFault.GARBAGE),
    "a header that is none": (HEAD + b"1\r\nvault.internal\r\n\r\n", ForwardingFault.GARBAGE),
    "a length that is none": (HEAD + b"vault.internal\r\n\r\n", ForwardingFault.GARBAGE),
    "a switch nobody asked for": (
        b"HTTP/1.1 101 Go\r\nUpgrade: vault.internal\r\nConnection: upgrade\r\n\r\n",
        ForwardingFault.GARBAGE,
    ),
    "half a head": (HEAD, ForwardingFault.FIRST_BYTE_TIMEOUT),
    "silence": (b"", ForwardingFault.FIRST_BYTE_TIMEOUT),
}


def check(answer, fault):
    """The head and body of an error that says which route it is about, and nothing of what is behind it."""
    head, _, body = answer.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert error["code"] == fault.value
    assert "of route 'main'" in error["message"]
    assert LEAKS.search(answer) is None, answer
    assert b"vllm" not in head


@pytest.mark.parametrize(("answer", "fault"), ANSWERS.values(), ids=ANSWERS)
async def test_an_upstream_that_answers_wrongly_is_not_described(answer, fault):
    """Neither its address nor what it said: a page of another service may say more than a client may read."""
    async with relay(answer, base="/secret-base/v1", timeouts=SOON) as rig:
        check(await rig.exchange(GET), fault)


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("http://127.0.0.1:1/secret-base", ForwardingFault.REFUSED),
        ("http://localhost:1/secret-base", None),
        ("http://vault.internal.invalid:8443/v1", ForwardingFault.UNRESOLVED),
        ("http://255.255.255.255:8443/v1", ForwardingFault.UNREACHABLE),
        ("http+unix://%2Ftmp%2Fsecret%2Fvllm.sock/v1", ForwardingFault.UNREACHABLE),
    ],
)
async def test_an_upstream_that_cannot_be_reached_is_not_named(url, fault):
    """The loops of asyncio and uvloop put addresses into their errors; none of it goes to a client."""
    async with relay(b"", url=url, timeouts=SOON) as rig:
        answer = await rig.exchange(GET)
        code = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"]
        check(answer, fault or ForwardingFault(code))


async def test_all_fallbacks_are_numbered(unused_port):
    """Which upstream failed last is said by its place in the settings."""
    fallbacks = ["http://255.255.255.255:8443", f"http://127.0.0.1:{unused_port}"]
    async with relay(b"", url="http://127.0.0.1:1", fallbacks=fallbacks) as rig:
        answer = await rig.exchange(GET)
        assert b"Fallback 2 of route 'main' refused the connection" in answer
        check(answer, ForwardingFault.REFUSED)


async def test_an_upstream_that_does_not_accept_is_not_named(deaf_port):
    url = f"http://127.0.0.1:{deaf_port}/v1"
    async with relay(b"", url=url, timeouts=Timeouts(connect_s=0.05)) as rig:
        check(await rig.exchange(GET), ForwardingFault.CONNECT_TIMEOUT)


@pytest.mark.parametrize("kind", ["another address", "another authority", "no TLS"])
def test_a_certificate_is_not_described(run, kind, tmp_path):
    """OpenSSL's text names the address that the certificate is not for; the client gets the kind of fault."""
    authority, other = Authority(tmp_path, "authority"), Authority(tmp_path, "secret")
    trusting = ssl.create_default_context(cafile=str(authority.file))
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(*(other if kind == "another authority" else authority).signed("vault.internal"))

    async def main():
        # Certificates of this machine are for 127.0.0.1.
        host = "127.0.0.2" if kind == "another address" else "127.0.0.1"
        loop = asyncio.get_running_loop()
        tls = None if kind == "no TLS" else served
        server = await loop.create_server(_Echo, host, 0, ssl=tls)
        url = f"https://{host}:{server.sockets[0].getsockname()[1]}/v1"
        async with relay(b"", url=url, tls=trusting) as rig:
            answer = await rig.exchange(GET)
        server.close()
        check(answer, ForwardingFault.TLS)
        return answer

    answer = run(main)
    if kind == "another address":
        assert b"IP address mismatch" in answer


class _Echo(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.transport.write(data)


@pytest.mark.parametrize("fault", ForwardingFault)
def test_no_error_has_a_place_for_an_address(fault):
    """Every text, with nothing but the route's name put in."""
    answer = error_response(fault, where="The upstream of route 'main'", close=True, bare=False)
    assert re.search(rb"https?:|127\.|0\.0\.0|::1|[A-Z]+_[A-Z]+", answer.partition(b"\r\n\r\n")[2]) is None

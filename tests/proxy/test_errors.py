"""Errors of the data plane name the route: no address, file or variable of what is behind it."""

import asyncio
import json
import re
import ssl

import pytest

from evenkeel.proxy import Timeouts
from evenkeel.proxy.errors import ForwardingFault, error_response, status_of
from tests.kit.certificates import Authority
from tests.proxy.conftest import PATIENCE_S, Wire, relay
from tests.proxy.plain import OK

GET = b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi"
HEAD = b"HTTP/1.1 200 OK\r\nServer: vllm-on-gpu-7.internal\r\nContent-Length: "
LEAKS = re.compile(
    rb"https?:|unix|sock|internal|invalid|vault|127\.0\.0\.1|0\.0\.0|::1|255\.|secret|/v1|tmp|:\d{2,5}|[A-Z]+_[A-Z]+_KEY"
)
INTERIM = b"HTTP/1.1 102 Processing\r\n\r\n"


def broken(sent, end):
    """An upstream that writes something, and then closes or resets the connection."""

    def answer(wire):
        wire.write(sent)
        end(wire)

    return answer


ANSWERS = {
    "closed": (Wire.close, ForwardingFault.CLOSED),
    "reset": (Wire.reset, ForwardingFault.CLOSED),
    "closed in the status line": (broken(b"HTTP/1.", Wire.close), ForwardingFault.TRUNCATED),
    "closed in the head": (broken(HEAD, Wire.close), ForwardingFault.TRUNCATED),
    "reset in the head": (broken(HEAD + b"2\r\n", Wire.reset), ForwardingFault.TRUNCATED),
    "closed after an interim answer": (broken(INTERIM, Wire.close), ForwardingFault.TRUNCATED),
    "bare line feeds": (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nvault.internal", ForwardingFault.GARBAGE),
    "bare carriage returns": (
        b"HTTP/1.1 200 OK\rContent-Length: 2\r\rvault.internal",
        ForwardingFault.GARBAGE,
    ),
    "SSH": (b"SSH-2.0-vault.internal\r\n\r\n", ForwardingFault.GARBAGE),
    "HTTP/2": (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00", ForwardingFault.GARBAGE),
    "HTTP/0.9": (b"<html>vault</html>\r\n", ForwardingFault.GARBAGE),
    "zeros": (bytes(5000), ForwardingFault.GARBAGE),
    "a head without end": (HEAD + b"2\r\nX: " + b"x" * 300_000, ForwardingFault.GARBAGE),
    "two lengths": (HEAD + b"1\r\nContent-Length: 2\r\n\r\n", ForwardingFault.GARBAGE),
    "a header that is none": (HEAD + b"1\r\nvault.internal\r\n\r\n", ForwardingFault.GARBAGE),
    "a length that is none": (HEAD + b"vault.internal\r\n\r\n", ForwardingFault.GARBAGE),
    "a bad chunk": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ForwardingFault.GARBAGE,
    ),
    "a switch nobody asked for": (
        b"HTTP/1.1 101 Go\r\nUpgrade: vault.internal\r\nConnection: upgrade\r\n\r\n",
        ForwardingFault.GARBAGE,
    ),
}


def check(answer, fault):
    """The head and body of an error that says which route it is about, and nothing of what is behind it."""
    head, _, body = answer.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("upstream_error", fault.value)
    assert head.startswith(b"HTTP/1.1 %d " % status_of(fault))
    assert "of route 'main'" in error["message"]
    assert LEAKS.search(answer) is None, answer
    assert b"vllm" not in head


async def final(client):
    """The answer behind any interim ones."""
    answer = await client.until(b"\r\n\r\n")
    if not answer.startswith(b"HTTP/1.1 1"):
        length = re.search(rb"content-length: (\d+)", answer)
        return answer + await client.read(int(length[1]))
    return await final(client)


@pytest.mark.parametrize(("answer", "fault"), ANSWERS.values(), ids=ANSWERS)
async def test_an_upstream_that_answers_wrongly_is_not_described(answer, fault):
    """Neither its address nor what it said: a page of another service may say more than a client may read.

    It was asked once, and the client's connection goes on.
    """
    async with relay(answer, base="/secret-base/v1") as rig:
        client = await rig.client()
        client.send(POST)
        check(await final(client), fault)
        assert sum(wire.requests for wire in rig.upstream.wires) == 1
        rig.upstream.answer = OK
        assert await client.ask(POST) == OK


@pytest.mark.parametrize("answer", [b"", HEAD, INTERIM], ids=["silence", "half a head", "interim"])
async def test_an_upstream_that_stalls_before_its_answer_is_not_described(answer):
    """A 504 after the time set; the upstream need not go on."""
    async with relay(answer, base="/secret-base/v1", timeouts=Timeouts(silence_s=0.05)) as rig:
        client = await rig.client()
        client.send(POST)
        check(await final(client), ForwardingFault.FIRST_BYTE_TIMEOUT)
        await asyncio.wait_for(rig.upstream.wires[0].lost.wait(), PATIENCE_S)


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
    async with relay(b"", url=url) as rig:
        client = await rig.client()
        for request in (POST, GET):
            client.send(request)
            answer = await final(client)
            code = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"]
            check(answer, fault or ForwardingFault(code))


async def test_an_upstream_that_does_not_accept_is_not_named(deaf_port):
    url = f"http://127.0.0.1:{deaf_port}/v1"
    async with relay(b"", url=url, timeouts=Timeouts(connect_s=0.05)) as rig:
        check(await rig.ask(GET), ForwardingFault.CONNECT_TIMEOUT)


@pytest.mark.parametrize("kind", ["another address", "another authority", "no TLS"])
def test_a_certificate_is_not_described(run, kind, tmp_path):
    """OpenSSL's text names the address that the certificate is not for; the client gets the kind of fault."""
    authority, other = Authority(tmp_path, "authority"), Authority(tmp_path, "secret")
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.load_verify_locations(authority.file)
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
            answer = await rig.ask(GET)
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
    """Every fault is an error that the OpenAI SDK reads, with nothing but the route's name put in."""
    answer = error_response(
        fault, where="The upstream of route 'main'", detail="it {is} odd", close=True, bare=False
    )
    head, _, body = answer.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert (error["code"], error["param"]) == (fault.value, None)
    assert error["message"].endswith(".")
    assert (error["type"] == "invalid_request_error") == (status_of(fault) < 500)
    crowded = fault is ForwardingFault.CROWDED
    assert (error["type"] == "server_error") == (b"\r\nretry-after: 1\r\n" in head) == crowded
    assert f"content-length: {len(body)}".encode() in head
    assert head.startswith(b"HTTP/1.1 %d " % status_of(fault))
    assert b"connection: close" in head
    assert re.search(rb"https?:|127\.|0\.0\.0|::1|[A-Z]+_[A-Z]+", body) is None

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess

import pytest

from evenkeel.proxy.request_head import parse_request
from evenkeel.proxy.retry import TcpInfo, may_repeat, request_unread, tcp_info

ESTABLISHED, CLOSE, CLOSE_WAIT = 1, 7, 8
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize(
    ("info", "tls", "elapsed_s", "unread"),
    [
        (None, False, 0.0, False),
        # The close came back faster than a round trip: it had been sent before.
        (TcpInfo(CLOSE_WAIT, 0, 0.020), False, 0.015, True),
        (TcpInfo(CLOSE_WAIT, 0, 0.020), True, 0.015, True),
        # Slower than that, and all our bytes confirmed: it may have been read.
        (TcpInfo(CLOSE_WAIT, 0, 0.020), False, 0.025, False),
        # Some of our bytes were not confirmed by the close, or reset by the kernel.
        (TcpInfo(CLOSE_WAIT, 1, 0.020), False, 0.025, True),
        (TcpInfo(CLOSE, 0, 0.020), False, 0.025, True),
        (TcpInfo(CLOSE_WAIT, 1, 0.020), True, 0.025, False),
        (TcpInfo(CLOSE, 0, 0.020), True, 0.025, False),
    ],
)
def test_proof_that_a_request_was_not_read(info, tls, elapsed_s, unread):
    """A close proves it by coming too soon or by not confirming the request; nothing else does."""
    assert request_unread(info, tls=tls, elapsed_s=elapsed_s) is unread


@pytest.mark.parametrize(
    ("raw", "policy", "unread", "repeat"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "never", False, True),
        (b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n", "never", False, True),
        (b"POST / HTTP/1.1\r\nHost: x\r\nIDEMPOTENCY-key: k\r\n\r\n", "never", False, True),
        (b"POST / HTTP/1.1\r\nHost: x\r\nX: idempotency-key: k\r\n\r\n", "unread", False, False),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "unread", True, True),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "unread", False, False),
        (b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", "never", True, False),
        (b"PATCH / HTTP/1.1\r\nHost: x\r\n\r\n", "always", False, True),
    ],
)
def test_repeating_follows_method_key_and_policy(raw, policy, unread, repeat):
    """Idempotent requests always, others as the policy and the proof allow."""
    assert may_repeat(parse_request(raw), policy, unread=unread) is repeat


async def test_kernel_tells_the_state_of_a_connection():
    """Established while both sides are open, not established once the peer has closed."""
    if not hasattr(socket, "TCP_INFO"):
        pytest.skip("this kernel does not tell")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(asyncio.Protocol, *listener.getsockname())
        peer, _ = listener.accept()
        assert tcp_info(transport).established
        transport.pause_reading()
        peer.close()
        assert not tcp_info(transport).established
        transport.abort()
        await asyncio.sleep(0)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost that nobody trusts but who is told to."""
    folder = tmp_path_factory.mktemp("tls")
    try:
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-nodes", "-days", "2", "-newkey", "ec"),
                *("-pkeyopt", "ec_paramgen_curve:P-256", "-subj", "/CN=localhost"),
                *("-addext", "subjectAltName=DNS:localhost"),
                *("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")),
            ],
            check=True,
            capture_output=True,
        )
    except FileNotFoundError:
        pytest.skip("needs openssl: apt-get install openssl")
    return folder


@pytest.mark.parametrize("trusted", [True, False])
async def test_tls_upstream_is_verified(relay, certificate, trusted):
    """A trusted certificate is talked to, with its name; any other is a 502 that says so."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    names = []
    server_side.sni_callback = lambda _, name, __: names.append(name)
    client_side = ssl.create_default_context(cafile=certificate / "cert.pem") if trusted else None

    class Answerer(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport = transport

        def data_received(self, data):
            self.transport.write(OK)

    loop = asyncio.get_running_loop()
    server = await loop.create_server(Answerer, "127.0.0.1", 0, ssl=server_side)
    port = server.sockets[0].getsockname()[1]
    async with relay(OK, url=f"https://localhost:{port}", tls=client_side) as rig:
        client = await rig.client()
        for _ in range(2):
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            text = await client.answer()
            assert text == OK if trusted else b'"upstream_tls_failed"' in text
        assert set(names) == {"localhost"}
    server.close()
    await asyncio.sleep(0.01)

"""The admin port with certificates: who has none does not get in, and a wrong file is noticed."""

import asyncio
import contextlib
import json
import socket
import ssl

import httpx2
import pytest

from evenkeel.console import server
from evenkeel.console.api import create_probes
from evenkeel.console.guard import TokenGuard
from evenkeel.console.server import serving
from evenkeel.settings import SettingsError
from tests.kit.certificates import Authority
from tests.security.desk import access_of, bearer, pages


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"), "authority")


def asked(admin, *contexts):
    """Ask the port as several clients; return a status each, or "refused" if the connection was ended."""

    async def ask(url, context):
        async with httpx2.AsyncClient(verify=context) as client:
            try:
                answer = await client.get(f"{url}/metrics", headers=bearer("letmein-letmein-letmein"))
            except (httpx2.TransportError, ssl.SSLError):
                return "refused"
            return answer.status_code

    async def main():
        with socket.create_server(("127.0.0.1", 0)) as sock:
            app = TokenGuard(pages(), admin.token, admin.hosts)
            async with serving(app, [sock], admin.tls_context()):
                url = f"https://localhost:{sock.getsockname()[1]}"
                return [await ask(url, context) for context in contexts]

    return asyncio.run(main())


def trusting(authority, certificate=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority.file)
    if certificate:
        context.load_cert_chain(*certificate)
    return context


def test_only_clients_with_a_certificate_of_the_authority_get_in(tmp_path, authority):
    """None, or one that somebody else signed, ends the connection before anything is asked."""
    cert, key = authority.signed("server")
    tls = {"cert_file": str(cert), "key_file": str(key), "client_ca_file": str(authority.file)}
    admin = access_of(tmp_path, json.dumps({"host": "0.0.0.0", "tls": tls}))
    assert admin.url == "https://127.0.0.1:8101"
    assert admin.model_copy(update={"hosts": ["keel.example"]}).url == "https://keel.example:8101"
    stranger = Authority(tmp_path, "stranger")
    contexts = (
        trusting(authority, authority.signed("client")),
        trusting(authority),
        trusting(authority, stranger.signed("client2")),
    )
    assert asked(admin, *contexts) == [200, "refused", "refused"]


def test_without_an_authority_of_clients_the_token_counts(tmp_path, authority, monkeypatch):
    """TLS alone lets nobody in, and does not stand for the token that is needed beyond loopback."""
    cert, key = authority.signed("server")
    section = json.dumps({"host": "0.0.0.0", "tls": {"cert_file": str(cert), "key_file": str(key)}})
    with pytest.raises(SettingsError, match=r"EVENKEEL_ADMIN_TOKEN, or set people, .*or tls\.client_ca_file"):
        access_of(tmp_path, section)
    monkeypatch.setenv("EVENKEEL_ADMIN_TOKEN", "another token entirely")
    admin = access_of(tmp_path, section)
    assert admin.tls_context().minimum_version >= ssl.TLSVersion.TLSv1_2
    assert asked(admin, trusting(authority)) == [401]
    monkeypatch.setenv("EVENKEEL_ADMIN_TOKEN", "letmein-letmein-letmein")
    assert asked(admin, trusting(authority)) == [200]


@contextlib.asynccontextmanager
async def encrypted(authority):
    """The probes over TLS; yields the port."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.signed("server"))
    sock = socket.create_server(("127.0.0.1", 0))
    sock.setblocking(False)
    async with serving(create_probes(lambda: b"up 1\n" * 100_000, dict, ""), [sock], context):
        yield sock.getsockname()[1]


async def probed(port, authority, path="/healthz"):
    """The whole answer to a request over TLS."""
    reader, writer = await asyncio.open_connection("localhost", port, ssl=trusting(authority))
    writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_half_a_handshake_is_a_connection_that_waits(authority):
    """No more than 256 of 400 that never finish theirs stay open; the oldest make room for probes."""
    async with encrypted(authority) as port:
        hanging = [await asyncio.open_connection("127.0.0.1", port) for _ in range(400)]
        for _, writer in hanging:
            writer.write(b"\x16\x03\x01\x02\x00\x01")  # The beginning of a ClientHello.
        assert (await probed(port, authority)).startswith(b"HTTP/1.1 200")
        reading = [asyncio.create_task(reader.read()) for reader, _ in hanging]
        await asyncio.wait(reading[:145], timeout=240)
        still_open = [task for task in reading if not task.done()]
        assert 0 < len(still_open) <= 256
        assert not any(task.done() for task in reading[-200:]), "the newest stay"
        for task in still_open:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        for _, writer in hanging:
            writer.close()


async def test_a_handshake_has_to_end_in_time(authority, monkeypatch):
    """A silent connection is closed after the time that a head has, without a word."""
    monkeypatch.setattr(server, "_HEAD_S", 0.1)

    async with encrypted(authority) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            assert await asyncio.wait_for(reader.read(), 240) == b""
        finally:
            writer.close()


async def test_what_is_no_handshake_ends_the_connection(authority):
    """Plain HTTP gets no HTTP, and one that leaves in the middle is forgotten; others are served."""
    async with encrypted(authority) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert b"HTTP" not in await reader.read()
        writer.close()
        _, gone = await asyncio.open_connection("127.0.0.1", port)
        gone.transport.abort()
        whole = await probed(port, authority, "/metrics")
        assert whole.endswith(b"up 1\n" * 100_000)


def test_a_file_that_cannot_be_used_is_said_at_the_start(tmp_path, authority):
    """Missing, of another certificate, locked with a password, or no authority: the message names it."""
    cert, key = authority.signed("server")
    _, other = authority.signed("other")
    _, locked = authority.signed("locked", password=b"x")
    for problem, used, more in (
        ("none.key", tmp_path / "none.key", {}),
        ("cannot be used with the key", other, {}),
        ("password", locked, {}),
        ("no usable authorities", key, {"client_ca_file": str(key)}),
    ):
        tls = {"cert_file": str(cert), "key_file": str(used), **more}
        with pytest.raises(SettingsError, match=problem):
            access_of(tmp_path, json.dumps({"tls": tls}))

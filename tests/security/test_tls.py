"""The admin port with certificates: who has none does not get in, and a wrong file is noticed."""

from __future__ import annotations

import asyncio
import socket
import ssl

import httpx2
import pytest
from litestar import Litestar, get

from evenkeel.console.access import TokenGuard
from evenkeel.console.server import serving
from evenkeel.settings import SettingsError, load
from testing.certificates import Authority

TOKEN = {"authorization": "Bearer letmein-letmein-letmein"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"), "authority")


def configured(folder, admin):
    path = folder / "evenkeel.yaml"
    path.write_text(f"admin: {admin}\nroutes: [{{upstream: 'http://a'}}]\n")
    return load(path, {}, {}).admin


@get("/metrics", sync_to_thread=False)
def _metrics() -> str:
    return "shown"


def asked(admin, *contexts):
    """What clients get of the port: a status each, or "refused" if the connection was ended."""

    async def one(url, context):
        async with httpx2.AsyncClient(verify=context) as client:
            try:
                return (
                    await client.get(
                        f"{url}/metrics", headers={"authorization": "Bearer letmein-letmein-letmein"}
                    )
                ).status_code
            except (httpx2.TransportError, ssl.SSLError):
                return "refused"

    async def main():
        with socket.create_server(("127.0.0.1", 0)) as sock:
            app = TokenGuard(Litestar([_metrics]), admin.token, admin.hosts)
            async with serving(app, [sock], admin.tls_context()):
                url = f"https://localhost:{sock.getsockname()[1]}"
                return [await one(url, context) for context in contexts]

    return asyncio.run(main())


def trusting(authority, certificate=None):
    context = ssl.create_default_context(cafile=authority.file)
    if certificate:
        context.load_cert_chain(*certificate)
    return context


def test_only_clients_with_a_certificate_of_the_authority_get_in(tmp_path, authority):
    """None, or one that somebody else signed, ends the connection before anything is asked."""
    cert, key = authority.signed("server")
    admin = configured(
        tmp_path,
        f"{{host: 0.0.0.0, tls: {{cert_file: {cert}, key_file: {key}, client_ca_file: {authority.file}}}}}",
    )
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
    tls = f"tls: {{cert_file: {cert}, key_file: {key}}}"
    with pytest.raises(SettingsError, match=r"set token_env, people, login or tls\.client_ca_file"):
        configured(tmp_path, f"{{host: 0.0.0.0, {tls}}}")
    monkeypatch.setenv("SOME_TOKEN", "another token entirely")
    admin = configured(tmp_path, f"{{host: 0.0.0.0, token_env: SOME_TOKEN, {tls}}}")
    assert asked(admin, trusting(authority)) == [401]
    monkeypatch.setenv("SOME_TOKEN", "letmein-letmein-letmein")
    assert asked(admin, trusting(authority)) == [200]


def test_old_versions_of_tls_are_not_spoken(tmp_path, authority):
    """1.2 at least."""
    cert, key = authority.signed("server")
    admin = configured(tmp_path, f"{{tls: {{cert_file: {cert}, key_file: {key}}}}}")
    assert admin.tls_context().minimum_version >= ssl.TLSVersion.TLSv1_2


def test_a_file_that_cannot_be_used_is_said_at_the_start(tmp_path, authority):
    """Missing, of another certificate, locked with a password, or no authority: the message names it."""
    cert, key = authority.signed("server")
    _, other = authority.signed("other")
    _, locked = authority.signed("locked", password=b"x")
    cases = {
        f"cert_file: {cert}, key_file: {tmp_path / 'none.key'}": "none.key",
        f"cert_file: {cert}, key_file: {other}": "cannot be used with the key",
        f"cert_file: {cert}, key_file: {locked}": "password",
        f"cert_file: {cert}, key_file: {key}, client_ca_file: {key}": "no usable authorities",
    }
    for tls, said in cases.items():
        with pytest.raises(SettingsError, match=said):
            configured(tmp_path, f"{{tls: {{{tls}}}}}")

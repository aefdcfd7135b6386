"""Forwarding, replays, models and messages leave by one way: trust, proxy, headers, client certificate."""

import base64
import contextlib
import json
import socket
import ssl
import threading

import pytest

from evenkeel.monitor.notify.notices import NoticeMessage
from evenkeel.monitor.notify.services import Teams
from evenkeel.runtime.checks import replay_check, rewriter_check
from evenkeel.runtime.preflight import unreachable_upstreams
from evenkeel.settings import Settings
from tests.clients.recording import recording
from tests.kit.certificates import Authority


class TunnelProxy:
    """Serves CONNECT; every name leads to 127.0.0.1."""

    def __init__(self, authorization=""):
        self.authorization = authorization
        """Value of `Proxy-Authorization` without which it answers 407; empty = it asks for none."""
        self.asked = []
        """Authorities of the tunnels, refused ones included."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client, contextlib.suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(65_536)
                if not piece:
                    return
                head += piece
            authority = head.split(b" ")[1].decode()
            self.asked.append(authority)
            if self.authorization and f"Proxy-Authorization: {self.authorization}".encode() not in head:
                client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                return
            with socket.create_connection(("127.0.0.1", int(authority.rpartition(":")[2]))) as upstream:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_pump, args=(upstream, client), daemon=True)
                back.start()
                _pump(client, upstream)
                back.join()

    def close(self):
        """Stop listening."""
        self._listener.close()


def _pump(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def tunnel_proxy(authorization=""):
    """Run a proxy."""
    proxy = TunnelProxy(authorization)
    try:
        yield proxy
    finally:
        proxy.close()


CREDENTIALS = "Basic " + base64.b64encode(b"me:p@ss").decode()
BODY = json.dumps({"choices": [{"message": {"content": "pong"}}]}).encode()
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)


class Place:
    """A server with a certificate of a private authority, by a name that only the proxy can resolve."""

    def __init__(self, upstream):
        self.upstream = upstream
        self.url = f"https://localhost:{upstream.port}/v1"

    def settings(self):
        """Settings whose route and rewriter lead there."""
        return Settings(
            routes=[{"upstream": self.url}],
            judge=None,
            replays={"rewriter": {"model": "r", "base_url": self.url}},
        )

    def outcomes(self):
        """Problems of each way out; empty if there is none."""
        settings = self.settings()
        teams = Teams(f"{self.url}/hook")
        teams.tell(NoticeMessage("Test", "Nothing is wrong.", good=True, about="test"))
        if teams.client is not None:
            teams.client.close()
        replay, rewriter = replay_check(settings, "m"), rewriter_check(settings)
        return {
            "forwarding": " ".join(unreachable_upstreams(settings)),
            "replay": "" if replay.state == "good" else replay.said,
            "rewriter": "" if rewriter.state == "good" else rewriter.said,
            "message": teams.problem,
        }


def strict_context(*arguments, make=ssl.create_default_context, **options):
    """The default of Python 3.13, which refuses the certificates of these tests for their form."""
    context = make(*arguments, **options)
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


@pytest.fixture
def served(tmp_path, monkeypatch):
    """Run a server that answers everything; `served(days=…, asks=True)` changes its certificate."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    monkeypatch.setattr(ssl, "create_default_context", strict_context)

    def serve(*, days=1, asks=False):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*authority.signed("server", days=days))
        if asks:
            context.load_verify_locations(authority.file)
            context.verify_mode = ssl.CERT_REQUIRED
        return recording(ssl=context)

    async def answered(wire, _request):
        await wire.body()
        wire.write(ANSWER)

    serve.authority, serve.handler = authority, answered
    return serve


def test_every_call_trusts_what_the_environment_names(served, monkeypatch):
    """With the authority named all succeed, without it all say what to set."""
    with served() as upstream:
        upstream.handler = served.handler
        assert not any(Place(upstream).outcomes().values())
        monkeypatch.delenv("SSL_CERT_FILE")
        outcomes = Place(upstream).outcomes()
        assert all("SSL_CERT_FILE" in problem for problem in outcomes.values()), outcomes


def test_an_expired_certificate_is_called_so(served):
    """Every call says that the certificate has expired and is to be renewed."""
    with served(days=-1) as upstream:
        outcomes = Place(upstream).outcomes()
        assert all("expired; renew" in problem for problem in outcomes.values()), outcomes


def test_every_call_goes_through_the_proxy_with_its_credentials(served, monkeypatch):
    """The proxy sees each; without credentials each says how to write them; NO_PROXY goes around it."""
    with served() as upstream, tunnel_proxy(CREDENTIALS) as proxy:
        upstream.handler = served.handler
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
        outcomes = Place(upstream).outcomes()
        assert all("407" in problem and "USER:PASSWORD" in problem for problem in outcomes.values()), outcomes
        proxy.asked.clear()
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:p%40ss@127.0.0.1:{proxy.port}")
        assert not any(Place(upstream).outcomes().values())
        assert proxy.asked == [f"localhost:{upstream.port}"] * 4
        monkeypatch.setenv("NO_PROXY", "localhost")
        assert not any(Place(upstream).outcomes().values())
        assert len(proxy.asked) == 4


def test_every_call_shows_the_client_certificate_and_the_fixed_headers(served, monkeypatch):
    """A server that asks for a certificate takes all calls once it is set, each with the headers."""
    with served(asks=True) as upstream:
        upstream.handler = served.handler
        outcomes = Place(upstream).outcomes()
        del outcomes["forwarding"]  # TLS 1.3 refuses only after the handshake
        assert all(outcomes.values()), outcomes
        cert, key = served.authority.signed("client")
        monkeypatch.setenv("EVENKEEL_CLIENT_CERT", str(cert))
        monkeypatch.setenv("EVENKEEL_CLIENT_KEY", str(key))
        monkeypatch.setenv("EVENKEEL_HEADERS", "x-egress=7")
        assert not any(Place(upstream).outcomes().values())
        assert len(upstream.requests) == 3
        assert {request.field(b"x-egress") for request in upstream.requests} == {b"7"}

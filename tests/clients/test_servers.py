"""Upstreams that are not ours: servers of other makers, and other ways to reach one."""

import contextlib
import http.server
import json
import socket
import ssl
import threading
from typing import NamedTuple

import httpx2
import openai
import pytest
import uvicorn

from tests.clients.raw import raw
from tests.clients.recording import RecordingUpstream, recording
from tests.clients.scripted import WORDS, Scripted, sent
from tests.kit.certificates import Authority
from tests.kit.relaying import Running, running, settings_file
from tests.services import served

pytestmark = pytest.mark.system

BODY = bytes(range(256)) * 400
CALLS = [
    ("GET", "/v1/models?a=%2F&a", None),
    ("POST", "/v1/echo", BODY),
    ("POST", "/v1/stream", BODY),
    ("HEAD", "/v1/models", None),
    ("DELETE", "/v1/empty", None),
    ("OPTIONS", "/v1/models", None),
]


async def application(scope, receive, send):
    """An ASGI application that says what it was sent; the path decides the form."""
    assert scope["type"] == "http"
    body = b""
    more = True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    fields = [[name.decode("latin-1"), value.decode("latin-1")] for name, value in scope["headers"]]
    told = json.dumps([scope["method"], scope["raw_path"].decode(), scope["query_string"].decode(), fields])
    if scope["path"] == "/v1/empty":
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-told", told.encode())]})
    pieces = [b"data: %d\n\n" % number for number in range(50)] if "stream" in scope["path"] else [body]
    for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


class Ancient(http.server.BaseHTTPRequestHandler):
    """A server that speaks HTTP/1.0: every answer ends with its connection, most without a length."""

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(204 if self.path == "/v1/empty" else 200)
        self.send_header("x-told", json.dumps([self.command, self.path, self.headers.items()]))
        self.end_headers()
        if self.path != "/v1/empty" and self.command != "HEAD":
            self.wfile.write(body or b"nothing")

    do_GET = do_POST = do_HEAD = do_DELETE = do_OPTIONS = _answer  # noqa: N815 - names that http.server looks for

    def log_message(self, *arguments):
        """Say nothing."""


@contextlib.contextmanager
def asgi(implementation):
    """A uvicorn with one of its two parsers; yields its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application, http=implementation, log_level="critical", lifespan="off", timeout_keep_alive=60
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(240)
        listening.close()


@contextlib.contextmanager
def ancient():
    """The HTTP/1.0 server; yields its port."""
    with served(Ancient) as url:
        yield int(url.rpartition(":")[2])


class Servers(NamedTuple):
    """Servers behind one proxy, each with a route of its name."""

    proxy: Running
    urls: dict[str, str]
    """The upstream of each route."""
    recorded: dict[str, RecordingUpstream]
    """Servers that speak like a model endpoint."""

    def through(self, name):
        """Return the address of a server at the proxy."""
        return f"{self.proxy.url}/{name}"


def certified(authority):
    """Return a context with a certificate of an authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*authority.signed("server"))
    return context


@pytest.fixture(scope="module")
def servers(tmp_path_factory, socket_path):
    """The proxy trusts one of the two authorities whose certificates its upstreams have."""
    folder = tmp_path_factory.mktemp("servers")
    trusted, stranger = Authority(folder), Authority(folder, "stranger")
    with contextlib.ExitStack() as stack:
        ports = {
            "h11": stack.enter_context(asgi("h11")),
            "httptools": stack.enter_context(asgi("httptools")),
            "http.server": stack.enter_context(ancient()),
        }
        recorded = {
            "trusted": stack.enter_context(recording(ssl=certified(trusted))),
            "stranger": stack.enter_context(recording(ssl=certified(stranger))),
            "unix": stack.enter_context(recording(unix_path=socket_path)),
            "base": stack.enter_context(recording()),
        }
        for upstream in recorded.values():
            upstream.handler = Scripted()
        urls = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
        urls |= {name: f"https://127.0.0.1:{recorded[name].port}/v1" for name in ("trusted", "stranger")}
        urls["unix"] = f"http+unix://{socket_path.replace('/', '%2F')}/v1"
        urls["base"] = f"{recorded['base'].url}/openai/deployments/d/v1/"
        routes = [
            {"name": name, "match": {"prefix": f"/{name}"}, "upstream": url} for name, url in urls.items()
        ]
        config = settings_file(folder, routes=routes)
        environment = {"SSL_CERT_FILE": str(trusted.file)}
        arguments = ("--config", str(config))
        proxy = stack.enter_context(running("proxy", folder, *arguments, environment=environment))
        yield Servers(proxy, urls, recorded)


@pytest.mark.parametrize("name", ["h11", "httptools", "http.server"])
def test_a_server_sees_and_says_the_same(servers, name):
    """The server's own account of the requests, and its answers, are those of a direct connection."""

    def talk(url):
        with httpx2.Client() as client:
            seen = []
            for method, target, body in CALLS * 2:
                answer = client.request(method, url + target, content=body)
                told = json.loads(answer.headers.get("x-told", "null"))
                if told:
                    told[-1] = [field for field in told[-1] if field[0].lower() != "connection"]
                fields = [
                    field
                    for field in answer.headers.multi_items()
                    if field[0] not in {"x-told", "date", "transfer-encoding", "connection"}
                ]
                seen.append((answer.status_code, told, fields, answer.content))
            return seen

    direct, proxied = talk(servers.urls[name]), talk(servers.through(name))
    assert proxied == direct
    assert [status for status, *_ in proxied] == [200, 200, 200, 200, 204, 200] * 2
    assert proxied[1][-1] == BODY


# Other ways to an upstream


def chat_through(url):
    """Return the text of a streamed chat completion."""
    with openai.OpenAI(base_url=f"{url}/v1", api_key="k", max_retries=0) as client:
        stream = client.chat.completions.create(model="m", messages=[], stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in stream)


def test_an_https_upstream_is_verified(servers):
    """The SDK streams through a certificate that the system trusts; with any other it gets a 502."""
    assert chat_through(servers.through("trusted")) == "".join(WORDS)
    with pytest.raises(openai.InternalServerError) as caught:
        chat_through(servers.through("stranger"))
    assert (caught.value.status_code, caught.value.code) == (502, "upstream_tls_failed")
    assert "certificate" in caught.value.message
    assert servers.recorded["stranger"].requests == []


def test_an_upstream_on_a_unix_socket(servers):
    """The socket's file name stands percent-encoded in place of the host."""
    assert chat_through(servers.through("unix")) == "".join(WORDS)
    assert servers.recorded["unix"].requests[0].field(b"host") == b"localhost"


def test_an_upstream_with_a_base_path(servers):
    """The SDK's `/v1` moves to the upstream's path; every other path is as sent."""
    assert chat_through(servers.through("base")) == "".join(WORDS)
    with raw(servers.proxy.port) as client:
        for target in (b"/v1?a=%2F", b"/v1/a/../b//c?d", b"/v1beta/x", b"/V1/x", b"/other/v1"):
            client.ask(b"GET /base" + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")
    base = b"/openai/deployments/d/v1"
    assert [request.target for request in servers.recorded["base"].requests] == [
        base + b"/chat/completions",
        base + b"?a=%2F",
        base + b"/a/../b//c?d",
        *(b"/v1beta/x", b"/V1/x", b"/other/v1"),
    ]


def test_several_processes_are_one_proxy(tmp_path):
    """Both of `--processes 2` serve the port, and give and send what a direct connection does."""
    with recording() as upstream:
        upstream.handler = Scripted()
        with running("proxy", tmp_path, "--upstream", f"{upstream.url}/v1", "--processes", "2") as proxy:
            pids = {proxy.child("proxy"), proxy.child("proxy-2")}
            assert len(pids) == 2
            for _ in range(20):
                assert chat_through(proxy.url) == "".join(WORDS)
            requests = sent(upstream.requests)
            assert len(requests) == 20
            assert all(request == requests[0] for request in requests)

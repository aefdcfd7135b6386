"""HTTP clients that applications use besides the SDKs: httpx2, httpx, http.client, urllib, curl."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import importlib.util
import json
import shutil
import subprocess
import urllib.error
import urllib.request

import httpx2
import pytest

from tests.clients.recording import OK, fixed
from tests.clients.scripted import AUDIO, Scripted, sent

JSON = {"content-type": "application/json"}
PLAIN = json.dumps({"model": "m", "messages": []}).encode()
STREAM = json.dumps({"model": "m", "messages": [], "stream": True}).encode()
FAILS = json.dumps({"model": "error-429", "messages": []}).encode()
CALLS = [
    ("GET", "/v1/models", {}, None),
    ("GET", "/v1/batches?limit=2&after=batch_1", {"accept-encoding": "gzip"}, None),
    ("POST", "/v1/chat/completions", JSON, PLAIN),
    ("POST", "/v1/chat/completions?a=%2F&a", JSON | {"accept-encoding": "gzip"}, PLAIN),
    ("POST", "/v1/chat/completions", JSON, STREAM),
    ("POST", "/v1/chat/completions", JSON, FAILS),
    ("POST", "/v1/audio/speech", JSON, PLAIN),
    ("DELETE", "/v1/files/file-1", {}, None),
    ("PUT", "/v1/nowhere", {"x-a": "1"}, AUDIO),
    ("OPTIONS", "/v1/models", {"origin": "http://a.example"}, None),
]


def with_httpx2(url):
    with httpx2.Client(base_url=url) as client:
        return [_seen(client.request(m, target, headers=h, content=c)) for m, target, h, c in CALLS]


def with_async_httpx2(url):
    async def main():
        async with httpx2.AsyncClient(base_url=url) as client:
            calls = [client.request(m, target, headers=h, content=c) for m, target, h, c in CALLS]
            return [_seen(await call) for call in calls]

    return asyncio.run(main())


def with_httpx(url):
    import httpx  # noqa: PLC0415 - tested where it is installed

    with httpx.Client(base_url=url) as client:
        return [_seen(client.request(m, target, headers=h, content=c)) for m, target, h, c in CALLS]


def _seen(response):
    return response.status_code, sorted(response.headers.multi_items()), response.content


def with_http_client(url):
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=240)
    seen = []
    for method, target, headers, body in CALLS:
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        seen.append((response.status, response.reason, response.getheaders(), response.read()))
    connection.close()
    return seen


def with_urllib(url):
    seen = []
    for method, target, headers, body in CALLS:
        request = urllib.request.Request(url + target, body, headers, method=method)
        try:
            response = urllib.request.urlopen(request, timeout=240)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            # `urllib` asks for one answer on each connection; the field that says so is the proxy's own.
            fields = [field for field in response.headers.items() if field[0].lower() != "connection"]
            seen.append((response.status, fields, response.read()))
    return seen


CLIENTS = {
    "httpx2": with_httpx2,
    "httpx2, asynchronous": with_async_httpx2,
    "http.client": with_http_client,
    "urllib": with_urllib,
}
if importlib.util.find_spec("httpx"):
    CLIENTS["httpx"] = with_httpx


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_a_client_sees_and_sends_the_same(paths, upstream, client):
    """Status, fields and bytes are equal in the application, and requests are at the upstream."""
    upstream.handler = Scripted()
    direct, proxied = paths.both(lambda port: client(f"http://127.0.0.1:{port}"))
    assert proxied == direct
    assert len(proxied) == len(CALLS)
    requests = sent(upstream.requests)
    assert requests[len(CALLS) :] == requests[: len(CALLS)]


# curl


@pytest.fixture
def curl(tmp_path):
    """Runs curl; returns its exit code, the raw answer with its head, and the size it read."""
    if not shutil.which("curl"):
        pytest.skip("needs curl: apt-get install curl")

    def run(*arguments):
        done = subprocess.run(
            ["curl", "--silent", "--include", "--max-time", "10", *arguments],
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            cwd=tmp_path,
        )
        return done.returncode, done.stdout

    (tmp_path / "upload.bin").write_bytes(AUDIO * 200)
    (tmp_path / "packed.gz").write_bytes(gzip.compress(PLAIN, mtime=0))
    return run


CURL = {
    "get": ["/v1/models"],
    "compressed": ["--compressed", "/v1/models"],
    "head": ["--head", "/v1/models"],
    "odd target": ["--path-as-is", "/v1/../v1//models/%2e%2E?a=%2F&a"],
    "options": ["-X", "OPTIONS", "/v1/models"],
    "post": ["-H", "content-type: application/json", "-d", PLAIN.decode(), "/v1/chat/completions"],
    "stream": ["-N", "-H", "content-type: application/json", "-d", STREAM.decode(), "/v1/chat/completions"],
    "compressed upload": ["-H", "content-encoding: gzip", "--data-binary", "@packed.gz", "/v1/nowhere"],
    "upload that expects 100": ["-H", "Expect: 100-continue", "-T", "upload.bin", "/v1/nowhere"],
    "upload in chunks": ["-H", "Transfer-Encoding: chunked", "-T", "upload.bin", "/v1/nowhere"],
    "form": ["-F", "file=@upload.bin", "-F", "purpose=batch", "/v1/files"],
    "duplicate fields": ["-H", "X-A: 1", "-H", "x-a: 2", "-H", "X-Empty;", "/v1/models"],
    "offer of HTTP/2": ["--http2", "/v1/models"],
    "two on one connection": ["/v1/models", "/v1/models"],
}


@pytest.mark.parametrize("arguments", CURL.values(), ids=CURL)
def test_curl_sees_and_sends_the_same(paths, upstream, curl, arguments):
    """Exit code, head and body as printed are equal, and requests are at the upstream."""
    scripted = Scripted()

    async def handler(wire, request):
        if request.field(b"expect"):
            wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if request.method == b"HEAD":
            await wire.body()
            wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1234\r\nX-A: 1\r\n\r\n")
        else:
            await scripted(wire, request)

    def talk(port):
        return curl(*(f"http://127.0.0.1:{port}{a}" if a.startswith("/") else a for a in arguments))

    upstream.handler = handler
    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert proxied[0] == 0
    requests = sent(upstream.requests)
    half = len(requests) // 2
    if "--http2" in arguments:  # what is offered to the proxy alone is not passed on
        requests[0][1][:] = [
            field for field in requests[0][1] if field[0] not in {b"Upgrade", b"HTTP2-Settings"}
        ]
    assert requests[half:] == requests[:half]


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\npart", 18),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n", 18),
        (OK, 0),
    ],
)
def test_curl_tells_a_cut_answer_from_a_whole_one(paths, upstream, curl, answer, code):
    """Exit code 18 (partial file) is what curl gives directly, and through the proxy."""

    async def handler(wire, request):
        await wire.body()
        wire.write(answer)
        wire.close()

    upstream.handler = handler
    direct, proxied = paths.both(lambda port: curl(f"http://127.0.0.1:{port}/"))
    assert proxied == direct
    assert proxied[0] == code


def test_unknown_clients_with_large_bodies_in_both_directions(paths, upstream):
    """Sixteen megabytes up and down at once, in the sizes of a base64 image, pass whole."""
    blob = bytes(range(256)) * (1 << 16)
    upstream.handler = fixed(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(blob) + blob)

    def talk(port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=240)
        connection.request("POST", "/v1/images/edits", blob)
        body = connection.getresponse().read()
        connection.close()
        return body == blob

    assert paths.both(talk) == (True, True)
    assert [request.body == blob for request in upstream.requests] == [True, True]

"""Clients that applications use besides the SDKs: curl, and one with large bodies."""

import gzip
import http.client
import json
import shutil
import subprocess

import pytest

from tests.clients.recording import OK, fixed
from tests.clients.scripted import AUDIO, Scripted, sent

PLAIN = json.dumps({"model": "m", "messages": []}).encode()
STREAM = json.dumps({"model": "m", "messages": [], "stream": True}).encode()
# curl


@pytest.fixture
def curl(tmp_path):
    """Runs curl; returns its exit code, the raw answer with its head, and the size it read."""
    if not shutil.which("curl"):
        pytest.skip("needs curl: apt-get install curl")

    def run(*arguments):
        done = subprocess.run(
            ["curl", "--silent", "--include", "--max-time", "240", *arguments],
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

"""Faults of the server on demand and by its settings, and clients that leave."""

from __future__ import annotations

import json
import socket
import time

import httpx2
import openai
import pytest

from tests.evenkeel.simulated_question import CHAT


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"messages": []}', "must provide a model"),
        (b'{"model": "m"}', "Missing required parameter: 'messages'"),
        (b'{"model": "m", "messages": []}', "at least one message"),
        (b'{"model": "m", "messages": [1]}', r"messages[0] must be an object with a role"),
        (b'{"model": "m", "messages": [{"role": "user", "content": 1}]}', r"messages[0].content must be"),
        (b'{"model": "m", "messages": [{"role": "user"}], "tools": {}}', "tools must be a list"),
        (b'{"model": "m", "messages": [{"role": "user"}], "tools": [{}]}', r"tools[0] must hold a function"),
        (b'{"model": "m", "messages": [{"role": "user"}], "stream_options": 1}', "stream_options must be"),
    ],
    ids=range(12),
)
def test_bad_requests(simulated_http, body, message):
    """A request that can't be read gets a 400 that says what is wrong."""
    reply = simulated_http.post("/v1/chat/completions", content=body)
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert message in error["message"]
    assert error["type"] == "invalid_request_error"
    assert set(error) == {"message", "type", "param", "code"}


def test_unknown_paths_and_methods(simulated_http):
    """They get errors of the same shape."""
    assert simulated_http.get("/v1/nothing").status_code == 404
    assert simulated_http.get("/v1/chat/completions").status_code == 405
    assert simulated_http.post("/v1/models").status_code == 405
    for reply in (
        simulated_http.get("/v1/nothing"),
        simulated_http.get("/v1/chat/completions"),
        simulated_http.post("/v1/models"),
    ):
        assert reply.json()["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("503", openai.InternalServerError),
        ("418", openai.APIStatusError),
        ("nonsense", openai.BadRequestError),
    ],
)
def test_status_on_demand(simulated_sdk, fault, expected):
    """The fault header brings any error status, streamed or not."""
    for stream in (False, True):
        with pytest.raises(expected) as caught:
            simulated_sdk.chat.completions.create(
                model="sound", messages=CHAT, stream=stream, extra_headers={"x-simulate-error": fault}
            )
        assert ("retry-after" in caught.value.response.headers) == (fault == "429")


def test_reset_on_demand(simulated_url):
    """`reset` resets the connection before a byte of the answer."""
    host, port = simulated_url.removeprefix("http://").split(":")
    body = json.dumps({"model": "sound", "messages": CHAT}).encode()
    with socket.create_connection((host, int(port)), timeout=10) as raw:
        raw.sendall(
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: simulated\r\nx-simulate-error: reset\r\n"
            b"content-length: %d\r\n\r\n" % len(body) + body
        )
        with pytest.raises(ConnectionResetError):
            raw.recv(1)




@pytest.mark.parametrize("stream", [False, True])
def test_cut_on_demand(simulated_http, stream):
    """`cut` breaks the connection in the middle of the answer."""
    request = {"model": "sound", "messages": CHAT, "stream": stream}
    seen: list[bytes] = []

    def ask() -> None:
        headers = {"x-simulate-error": "cut"}
        with simulated_http.stream("POST", "/v1/chat/completions", json=request, headers=headers) as reply:
            assert reply.status_code == 200
            seen.extend(reply.iter_raw())

    with pytest.raises(httpx2.RemoteProtocolError):
        ask()
    assert seen
    assert b"[DONE]" not in b"".join(seen)


def wait_for(condition):
    """Poll until a condition holds, for at most ten seconds."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_stall_on_demand(simulated_http):
    """`stall` never answers; the call ends when the client leaves, and is counted so."""
    before = simulated_http.get("/simulate/stats").json()["sound"]["abandoned"]
    with pytest.raises(httpx2.ReadTimeout):
        simulated_http.post(
            "/v1/chat/completions",
            json={"model": "sound", "messages": CHAT},
            headers={"x-simulate-error": "stall"},
            timeout=0.2,
        )
    wait_for(lambda: simulated_http.get("/simulate/stats").json()["sound"]["abandoned"] == before + 1)


@pytest.mark.parametrize("stream", [False, True])
def test_client_that_leaves_a_slow_answer(simulated_http, stream):
    """Waiting ends with the client, not with the latency."""
    before = simulated_http.get("/simulate/stats").json()["slow"]["abandoned"]
    with pytest.raises(httpx2.ReadTimeout):
        simulated_http.post(
            "/v1/chat/completions", json={"model": "slow", "messages": CHAT, "stream": stream}, timeout=0.2
        )
    wait_for(lambda: simulated_http.get("/simulate/stats").json()["slow"]["abandoned"] == before + 1)




def test_error_rate(simulated_sdk, simulated_http):
    """A model with an error rate of one answers nothing but 500, and counts it."""
    with pytest.raises(openai.InternalServerError, match="by its error rate"):
        simulated_sdk.chat.completions.create(model="broken", messages=CHAT)
    counts = simulated_http.get("/simulate/stats").json()["broken"]
    assert counts["errors"] == counts["calls"] > 0



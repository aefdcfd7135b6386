import gzip
import json

import pytest

from evenkeel.proxy import Limits
from evenkeel.proxy.capture import Capture, capturable, unread
from evenkeel.proxy.request_head import parse_request
from evenkeel.proxy.response_head import parse_response
from tests.proxy.conftest import eventually, relay

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Where is my order?"}]}).encode()
ANSWER = b'{"choices":[]}'
OK = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: up-1\r\nSet-Cookie: secret\r\n"
    b"Content-Length: %d\r\n\r\n" % len(ANSWER) + ANSWER
)


def post(body=BODY, path=b"/v1/chat/completions", extra=b""):
    return (
        b"POST %b HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-secret\r\n"
        b"Content-Type: application/json\r\n"
        b"%bContent-Length: %d\r\n\r\n" % (path, extra, len(body)) + body
    )


async def test_sampled_exchange_holds_both_bodies_and_no_credentials():
    """Bodies, notes, time and allowed headers arrive; keys, cookies and query credentials do not."""
    ticks = iter(range(1000))
    async with relay(OK, clock=lambda: 1234.5, timer=lambda: next(ticks) / 4) as rig:
        extra = b"X-Evenkeel-Task: triage\r\nx-evenkeel-prompt-version: 7\r\n"
        extra += b"X-Evenkeel-Session: s\xc3\xa9\r\n"
        answer = await rig.ask(post(path=b"/v1/chat/completions?api-version=2&API%5FKEY=k&a=b", extra=extra))
        assert answer == OK
        await eventually(lambda: rig.queue.exchanges)
        [exchange] = rig.queue.exchanges
        assert (exchange.method, exchange.path) == ("POST", "/v1/chat/completions?api-version=2&a=b")
        assert (exchange.request_body, exchange.response_body, exchange.status) == (BODY, ANSWER, 200)
        assert exchange.request_headers == (("content-type", "application/json"),)
        assert exchange.response_headers == (("content-type", "application/json"), ("x-request-id", "up-1"))
        assert (exchange.task, exchange.prompt_version, exchange.session) == ("triage", "7", "sé")
        assert (exchange.route, exchange.received_at) == ("main", 1234.5)
        assert len(exchange.id) == 16
        assert int(exchange.id, 16) >= 0
        assert exchange.duration_s > 0
        assert "secret" not in repr(exchange)
        assert b"X-Evenkeel" not in rig.upstream.received


async def test_streamed_and_compressed_bodies_are_kept_as_sent():
    """Nothing but the transfer coding is taken off: events stay events and gzip stays gzip."""
    packed = gzip.compress(b"data: 1\n\ndata: [DONE]\n\n")
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer += (
        b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (packed[:9], packed[9:])) + b"0\r\n\r\n"
    )
    async with relay(answer) as rig:
        client = await rig.client()
        client.send(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
        )
        await client.until(b"0\r\n\r\n")
        await eventually(lambda: rig.queue.exchanges)
        [exchange] = rig.queue.exchanges
        assert (exchange.request_body, exchange.response_body) == (b"abcde", packed)
        assert exchange.response_headers == (("content-encoding", "gzip"),)


@pytest.mark.parametrize(
    ("method", "path", "taken"),
    [
        (b"POST", b"/v1/chat/completions", True),
        (b"POST", b"/v1/completions", True),
        (b"POST", b"/v1/responses", True),
        (b"POST", b"/v1/messages?beta=true", True),
        (b"GET", b"/v1/chat/completions", False),
        (b"POST", b"/v1/embeddings", False),
        (b"POST", b"/v1/threads%3Bx/t1/messages", False),
        (b"POST", b"/" + b"x" * 5000 + b"/chat/completions", False),
    ],
)
def test_only_text_endpoints_without_a_conversation_are_eligible(method, path, taken):
    """A POST to the path of an API that is read, as servers may read the path."""
    assert capturable(method, path) is taken


@pytest.mark.parametrize(
    ("path", "api"),
    [
        (b"/v1/embeddings?x=1", "embeddings"),
        (b"/v1beta/models/gemini-x:embedContent", "embeddings"),
        (b"/v1/rerank", "rerank"),
        (b"/v1beta/interactions", "interactions"),
        (b"/model/anthropic.claude-x/converse-stream", "bedrock"),
        (b"/v1/messages/count_tokens", "count_tokens"),
        (b"/anything/" + b"x" * 5000, "other"),
    ],
)
def test_apis_that_are_not_read_are_counted_by_name(path, api):
    """The names are few, since clients choose the paths."""
    assert unread(path) == api


async def test_trace_context_passes_and_is_kept():
    """The trace headers reach the upstream untouched, and the exchange."""
    trace = b"traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nTraceState: a=1,b=2\r\n"
    async with relay(OK) as rig:
        assert await rig.ask(post(extra=trace)) == OK
        await eventually(lambda: rig.queue.exchanges)
        assert trace in rig.upstream.received
        assert rig.queue.exchanges[0].request_headers == (
            ("content-type", "application/json"),
            ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
            ("tracestate", "a=1,b=2"),
        )


async def test_replay_is_forwarded_with_its_mark_and_never_sampled():
    """The loop guard reaches the upstream, so that an evenkeel behind it sees it too."""
    async with relay(OK) as rig:
        await rig.ask(post(extra=b"x-evenkeel-replay: 1\r\n"))
        assert b"\r\nx-evenkeel-replay: 1\r\n" in rig.upstream.received
        assert rig.counter("exchanges_skipped", reason="replay") == 1
        assert rig.counter("exchanges_sampled") == 0


@pytest.mark.parametrize(
    ("answer", "room", "skipped"),
    [
        (b"HTTP/1.1 429 Slow Down\r\nContent-Length: 0\r\n\r\n", 0, "status"),
        (OK, -1, "too_large"),
        (OK, 0, None),
    ],
)
async def test_failed_answers_and_large_exchanges_are_skipped_and_still_delivered(answer, room, skipped):
    """An error is no answer to compare with; too large for the queue is not too large for the user."""
    async with relay(answer, limits=Limits(max_exchange_bytes=len(BODY) + len(ANSWER) + room)) as rig:
        assert await rig.ask(post()) == answer
        name, labels = ("exchanges_skipped", {"reason": skipped}) if skipped else ("exchanges_queued", {})
        await eventually(lambda: rig.counter(name, **labels) == 1)
        assert rig.counter("exchanges_eligible") == 1


async def test_cut_answers_are_skipped_by_cause():
    """Truncated by the upstream and left by the client are told apart."""
    start = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart"
    async with relay(lambda wire: wire.write(start)) as rig:
        first, second = await rig.client(), await rig.client()
        first.send(post())
        await first.until(b"part")
        rig.upstream.wires[0].close()
        await first.rest()
        assert rig.counter("exchanges_skipped", reason="truncated") == 1
        second.send(post())
        await second.until(b"part")
        second.leave()
        await eventually(lambda: rig.counter("exchanges_skipped", reason="client_left") == 1)
        assert rig.queue.exchanges == []


async def test_sampling_rate_is_followed_and_repeats():
    """The same ids give the same sample: about the rate, and identical in two runs."""

    async def once():
        async with relay(OK, rate=0.3) as rig:
            client = await rig.client()
            for _ in range(100):
                await client.ask(post())
            await eventually(lambda: rig.counter("exchanges_queued") == rig.counter("exchanges_sampled"))
            assert rig.counter("exchanges_eligible") == 100
            return [exchange.id for exchange in rig.queue.exchanges]

    first = await once()
    assert first == await once()
    assert 15 <= len(first) <= 45


@pytest.mark.parametrize("kind", ["raises", "blocks", "full"])
async def test_no_fault_of_the_queue_reaches_the_user(queue, kind):
    """A queue that fails, hangs or has no room changes no answer and delays none."""
    if kind == "raises":
        queue.fail = OSError("disk full")
    if kind == "blocks":
        queue.gate.clear()
    async with relay(OK, queue=queue, max_bytes=1 if kind == "full" else 3000) as rig:
        client = await rig.client()
        for _ in range(30):
            assert await client.ask(post()) == OK
        reason = "store_error" if kind == "raises" else "queue_full"
        await eventually(lambda: rig.counter("exchanges_skipped", reason=reason) > 0)
        assert rig.counter("handoff_bytes") <= 3000


def test_a_capture_holds_its_own_bytes_and_no_others():
    """The next request, which arrived with it, is not kept; the size is that of both messages."""
    own = post()
    head = parse_request(own + post(body=b"{}"))
    capture = Capture(1, "main", head, 0.0, len(BODY) + len(ANSWER), stop=len(own))
    assert capture.size_bytes == len(own)
    assert capture.add_answer(parse_response(OK, b"POST"), None, chunked=False, upstream=0)
    assert capture.size_bytes == len(own) + len(OK)
    exchange = capture.exchange()
    assert (exchange.request_body, exchange.response_body) == (BODY, ANSWER)


async def test_a_request_for_embeddings_is_captured_now_and_then():
    """The first, and no other for five minutes: a few become reference prompts, all are counted."""
    now = 1000.0
    async with relay(OK, rate=0.01, clock=lambda: now) as rig:
        client = await rig.client()
        for step in (0.0, 1.0, 300.0):
            now += step
            assert await client.ask(post(path=b"/v1/embeddings")) == OK
        assert await client.ask(b"GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n") == OK
        await eventually(lambda: len(rig.queue.exchanges) == 2)
        assert {exchange.path for exchange in rig.queue.exchanges} == {"/v1/embeddings"}
        assert rig.counter("requests_unread") == rig.counter("requests_unread", api="embeddings") == 3
        assert rig.counter("exchanges_eligible") == 2
    async with relay(OK, rate=0.0) as rig:
        assert await rig.ask(post(path=b"/v1/embeddings")) == OK
        assert rig.counter("exchanges_sampled") == 0

"""Replays: what is sent, how an upstream's trouble becomes a reason, and what of its words is kept."""

import asyncio
import gzip
import json

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.budget import Spend
from evenkeel.llm.chat import ChatRequest
from evenkeel.llm.client import Model, ModelClient
from evenkeel.llm.price import ModelPrice, Prices, Quote
from evenkeel.llm.wire import RawResponse, Wire
from evenkeel.shadow.prompt import CHAT
from evenkeel.shadow.prompt.apis import COMPLETIONS
from evenkeel.shadow.replay import LONGEST, Replay, Replayer, Target, excerpt
from tests.cases import cases
from tests.clients.recording import recording
from tests.llm.scripted import Clock, NotedBudget

CASES = cases(__file__)
ANSWER = json.dumps(
    {"model": "m", "choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}
).encode()


KEY = "Bearer team7-shadow-credential"


@pytest.fixture
def upstream():
    """A scripted upstream: it answers in turn."""
    with recording() as made:
        made.script = []

        async def answered(wire, _request):
            await wire.body()
            status, headers, answer = made.script.pop(0) if made.script else (200, {}, ANSWER)
            given = {"content-type": "application/json", "content-length": len(answer), **headers}
            lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
            wire.write(f"HTTP/1.1 {status} Scripted\r\n{lines}\r\n".encode() + answer)

        made.handler = answered
        yield made


def chat_of(upstream):
    return f"{upstream.url}/v1/chat/completions"


def send(url, *, time=None, headers=(), count=1, api=CHAT, body=b'{"a": 1}', quote=None):
    time = time or Clock()
    target = Target(url, headers, route="r")

    async def go():
        replayer = Replayer(concurrency=4, timeout_s=240, clock=time, sleep=time.sleep)
        try:
            return [await replayer.send(target, body, api=api, quote=quote) for _ in range(count)]
        finally:
            await replayer.close()

    results = asyncio.run(go())
    return results[0] if count == 1 else results


def test_a_replay_carries_its_body_its_credential_and_the_loop_guard(upstream):
    """The body goes as it is, under the shadow credential, marked as a replay."""
    result = send(chat_of(upstream), headers=(("authorization", "Bearer shadow"),))
    assert (result.answer.text, result.answer.model) == ("hi", "m")
    (request,) = upstream.requests
    assert (request.target, request.body) == (b"/v1/chat/completions", b'{"a": 1}')
    assert request.field(b"authorization") == b"Bearer shadow"
    assert request.field(b"x-evenkeel-replay") == b"1"
    assert request.field(b"content-type") == b"application/json"


def test_a_target_does_not_show_its_credential():
    """Logs and tracebacks print representations."""
    assert "secret" not in repr(Target("http://a", (("authorization", "Bearer secret"),)))


@pytest.mark.parametrize(("status", "body", "reason"), CASES["trouble is a failure with its reason"])
def test_trouble_is_a_failure_with_its_reason(upstream, status, body, reason):
    upstream.script = [(status, {}, body.encode())]
    result = send(chat_of(upstream))
    assert result.reason == reason


@pytest.mark.parametrize(("status", "said"), CASES["told"]["by status"].items())
def test_a_failure_says_what_the_upstream_said(upstream, status, said):
    """Type, code and message, without the credential."""
    answer = json.dumps(CASES["told"]["error"]).encode()
    upstream.script = [(status, {"retry-after": "0"}, answer)] * 3
    headers = (("authorization", "Bearer tok-12345"),)
    assert send(chat_of(upstream), headers=headers).detail == said


def test_a_replay_goes_over_a_unix_socket(socket_path):
    """An upstream behind a Unix socket is replayed to there."""

    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(ANSWER)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + ANSWER)
        await writer.drain()
        writer.close()

    async def go():
        server = await asyncio.start_unix_server(answer, socket_path)
        replayer = Replayer(concurrency=1, timeout_s=240)
        try:
            return await replayer.send(Target("http://localhost/v1/chat/completions", (), socket_path), b"{}")
        finally:
            await replayer.close()
            server.close()
            await server.wait_closed()

    assert asyncio.run(go()).answer.text == "hi"


@pytest.mark.parametrize("query", ["", "?\x01"])
def test_an_upstream_that_cannot_be_reached_is_a_connection_failure(query):
    """Nothing listens there, or it is no URL: clients choose the query of a path."""
    assert send(f"http://127.0.0.1:9/v1/chat/completions{query}").reason == "connection"


@pytest.mark.parametrize(
    ("status", "asked", "waited"), [(429, "7", 7), (503, "86400", 60), (429, "0", 2), (529, "-1", 2)]
)
def test_a_throttled_replay_waits_as_asked_and_tries_again(upstream, status, asked, waited):
    """`Retry-After` is honoured, by the clock, up to a minute; two seconds are the least."""
    time = Clock()
    upstream.script = [(status, {"retry-after": asked}, b"{}")]
    assert isinstance(send(chat_of(upstream), time=time), Replay)
    assert time.waited == [pytest.approx(waited, abs=0.1)]


def test_an_upstream_that_keeps_throttling_is_left_alone(upstream):
    """Three answers of 429 fail the trial, and the next replay waits first."""
    time = Clock()
    upstream.script = [(429, {"retry-after": "5"}, b"{}")] * 3
    first, second = send(chat_of(upstream), time=time, count=2)
    assert first.reason == "rate_limited"
    assert isinstance(second, Replay)
    assert len(upstream.requests) == 4
    assert len(time.waited) == 3


# --- the flex tier

# Half of $2 per million tokens in and $8 out, in the flex tier.
LISTED = Prices()


def flex(url):
    """A flex replay of 100 prompt tokens at most, answered with 1,000 at most."""
    body = b'{"max_tokens": 1000}'
    return send(url, body=body, quote=Quote(LISTED, ["o3"], body, 100, 5, "flex"))


@pytest.mark.parametrize(("status", "error", "reason"), CASES["the flex tier refuses"])
def test_a_flex_tier_that_does_not_take_a_replay_says_so_at_once(upstream, status, error, reason):
    """A full tier and a missing one are told apart from a throttled key, which is waited for."""
    upstream.script = [(status, {"retry-after": "0"}, json.dumps({"error": error}).encode())] * 3
    assert flex(chat_of(upstream)).reason == reason
    assert len(upstream.requests) == (3 if reason == "rate_limited" else 1)


@pytest.mark.parametrize(("said", "tier"), [("flex", None), ("default", "standard"), (None, None)])
def test_the_answer_says_in_which_tier_it_was_made(upstream, said, tier):
    """An answer at the usual price counts at that price."""
    answer = json.loads(ANSWER) | ({} if said is None else {"service_tier": said})
    upstream.script = [(200, {}, json.dumps(answer).encode())]
    assert flex(chat_of(upstream)).tier == tier


# --- excerpts of error bodies


def refusal(body, encoding=""):
    return RawResponse(400, httpx2.Headers({"content-encoding": encoding}), body)


def said(body, **options):
    return excerpt(refusal((body if isinstance(body, str) else json.dumps(body)).encode()), **options)


@pytest.mark.parametrize(
    ("body", "line"),
    [*CASES["what known servers write"], ("[" * 5000, ""), ("", "")],
)
def test_what_known_servers_write(body, line):
    """Type, code and message on one line; nothing of a body that is no error."""
    assert said(body) == line


def test_a_compressed_error_is_read():
    """Headers say how; a body that contradicts them is no error."""
    body = gzip.compress(b'{"error": "busy"}')
    assert excerpt(refusal(body, "gzip")) == "busy"
    assert excerpt(refusal(b"busy", "gzip")) == ""
    assert excerpt(refusal(json.dumps({"error": "x" * 70_000}).encode())) == ""


@pytest.mark.parametrize(("message", "line"), CASES["secrets are masked"])
def test_secrets_are_masked(message, line):
    """Credentials of the request, keys by their look, addresses; names of models stay."""
    assert said({"error": {"message": message}}, credentials=[KEY]) == line


def test_an_unknown_key_is_never_quoted():
    """Only type and code are kept where the message is not wanted."""
    body = {"error": {"message": "Incorrect key: abc", "type": "auth_error", "code": "invalid_api_key"}}
    assert said(body, message=False) == "auth_error, invalid_api_key"


@given(st.text(max_size=60), st.text(max_size=400), st.text(max_size=30))
def test_any_message_gives_one_short_line_without_the_credential(kind, before, behind):
    """The credential is masked wherever a long message is cut."""
    secret = "s3cret-of-the-team"
    line = said({"error": {"type": kind, "message": f"{before} {secret} {behind}"}}, credentials=[secret])
    assert len(line) <= LONGEST
    assert secret[:12] not in line
    assert "\n" not in line


def test_no_blanks_push_half_of_a_key_into_the_excerpt():
    """Blanks do not count: a key at the end of a message is looked for before it is cut."""
    message = f"Refused:{' ' * 1_970}{KEY.removeprefix('Bearer ')}"
    assert said({"error": {"message": message}}, credentials=[KEY]) == "Refused: ***"


async def whole(body):
    """A body that has not been read."""
    yield body


def twice(answer, body, **more):
    """Return two replays in a row to an upstream that answers with a status and a body, compressed."""

    async def answered(request):
        status, content = answer(json.loads(request.content))
        packed = whole(gzip.compress(content))
        return httpx2.Response(status, headers={"content-encoding": "gzip"}, content=packed)

    async def sent():
        replayer = Replayer(concurrency=1, timeout_s=240)
        replayer._wire = Wire(transport=httpx2.MockTransport(answered))
        return [await replayer.send(Target("http://up/v1"), body, **more) for _ in range(2)]

    return asyncio.run(sent())


@pytest.mark.parametrize(("tier", "is_proven"), [("default", True), ("priority", False)])
def test_a_dearer_tier_that_nobody_asked_for_stays_booked_at_the_estimate(tier, is_proven):
    """A project may have one for all its requests."""
    usage = {"prompt_tokens": 10, "completion_tokens": 1}

    def answer(_):
        return 200, json.dumps({**json.loads(ANSWER), "service_tier": tier, "usage": usage}).encode()

    body, budget = b'{"messages": []}', NotedBudget()
    twice(answer, body, budget=budget, quote=Quote(LISTED, ["o3"], body, 10, 1))
    assert (budget.settled[0] != budget.reserved[0]) is is_proven


@pytest.mark.parametrize(
    ("host", "api", "stated", "sent"),
    [
        ("api.openai.com", CHAT, {}, False),
        ("eu.api.openai.com", CHAT, {"store": False}, False),
        ("api.openai.com", COMPLETIONS, {}, None),
        ("openai.com.example", CHAT, {}, None),
    ],
)
def test_openai_keeps_no_replay_and_no_other_server_is_told(host, api, stated, sent):
    """Newer accounts keep chat completions that do not say; servers of others may refuse the member."""
    seen = []

    async def answered(request):
        seen.append(json.loads(request.content))
        return httpx2.Response(200, content=whole(ANSWER))

    async def ask():
        replayer = Replayer(concurrency=1, timeout_s=240)
        replayer._wire = Wire(transport=httpx2.MockTransport(answered))
        await replayer.send(Target(f"https://{host}/v1/x"), json.dumps({"n": 1, **stated}).encode(), api=api)
        model = ModelClient(Model(base_url=f"https://{host}/v1", name="m"))
        model._wire = Wire(transport=httpx2.MockTransport(answered))
        await model.chat(ChatRequest("judge", ()))

    asyncio.run(ask())
    assert seen[0].get("store") is sent
    assert seen[1].get("store") is (False if "api.openai.com" in host else None)


@pytest.mark.parametrize(
    ("taken", "sent"),
    [
        ({"max_tokens"}, ["max_tokens", "max_tokens"]),
        ({"max_completion_tokens"}, ["max_tokens", "max_completion_tokens", "max_completion_tokens"]),
        (set(), ["max_tokens", "max_completion_tokens", None, None]),
    ],
)
def test_an_answer_is_bounded_under_the_name_that_the_upstream_takes(taken, sent):
    """A 400 that names the limit costs nothing, and what works is remembered."""
    seen = []

    def answer(asked):
        limits = set(asked) & {"max_tokens", "max_completion_tokens"}
        seen.append(next(iter(limits), None))
        assert not limits or asked[seen[-1]] == 1042
        if limits - taken:
            return 400, json.dumps({"error": "Bad", "message": [f"no {seen[-1]}"]}).encode()
        return 200, ANSWER

    body, budget = b'{"messages": []}', NotedBudget()
    quote = Quote(Prices({"m": ModelPrice(1.0, 2.0)}), ["m"], body, None, 6)
    assert [got.answer.text for got in twice(answer, body, budget=budget, quote=quote)] == ["hi", "hi"]
    assert seen == sent
    assert budget.settled == [Spend(0, 0.0)] * (len(sent) - 2) + [quote.estimate] * 2


@pytest.mark.parametrize("refused", [2, 3])
def test_a_request_that_is_too_long_takes_no_limit_from_others(refused):
    """What cures one request, or cures nothing, is not remembered."""
    seen = []

    def answer(asked):
        seen.append(next(iter(set(asked) - {"messages"}), None))
        too_long = b'{"error": {"message": "The maximum context length is 4096 tokens."}}'
        return (400, too_long) if len(seen) <= refused else (200, ANSWER)

    body = b'{"messages": []}'
    twice(answer, body, quote=Quote(Prices(), ["m"], body, None, 6))
    assert seen == ["max_tokens", "max_completion_tokens", None, "max_tokens"]


@pytest.mark.parametrize(("knows", "sent"), [(True, [True, True]), (False, [True, False, False])])
def test_a_stream_is_asked_for_its_token_counts_where_the_upstream_takes_it(knows, sent):
    """A replay of a streamed request asks for them unless the upstream has rejected that before."""
    seen = []
    events = (
        {"model": "m", "choices": [{"delta": {"content": "Nine."}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}},
        "[DONE]",
    )
    stream = "".join(
        f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events
    )

    def answer(asked):
        options = asked.get("stream_options")
        assert options in ({"include_usage": True}, None)
        seen.append(bool(options))
        if options and not knows:
            return 400, b'{"error": "stream_options is not permitted"}'
        return 200, stream.encode()

    answers = twice(answer, b'{"messages": [], "stream": true}')
    assert [got.answer.completion_tokens for got in answers] == [2, 2]
    assert seen == sent

"""The official openai SDK for Python, direct and through the proxy."""

import asyncio
import contextlib
import io

import openai
import pytest
from pydantic import BaseModel

from tests.clients.scripted import AUDIO, WORDS, Scripted, sent

pytestmark = pytest.mark.system

TEXT = "".join(WORDS)
ASK = {"model": "scripted-1", "messages": [{"role": "user", "content": "caf\u00e9 \U0001f600?"}]}
TOOL = {"type": "function", "function": {"name": "restart", "parameters": {"type": "object"}}}
STATUSES = [400, 401, 403, 404, 409, 422, 429, 500, 503]


def upload():
    return ("a.jsonl", io.BytesIO(AUDIO), "application/jsonl")


CALLS = {
    "chat": lambda c: c.chat.completions.create(**ASK),
    "chat with everything": lambda c: c.chat.completions.create(
        **ASK,
        temperature=0.0,
        seed=7,
        logit_bias={"50256": -100},
        response_format={"type": "json_object"},
        extra_body={"unknown": {"a": [1, None]}},
        extra_headers={"X-Extra": "caf"},
        extra_query={"api-version": "2024/10 21"},
    ),
    "chat stream": lambda c: c.chat.completions.create(**ASK, stream=True),
    "chat stream with usage": lambda c: c.chat.completions.create(
        **ASK, stream=True, stream_options={"include_usage": True}
    ),
    "tools": lambda c: c.chat.completions.create(**ASK, tools=[TOOL]),
    "tools stream": lambda c: c.chat.completions.create(**ASK, tools=[TOOL], stream=True),
    "headers": lambda c: c.chat.completions.with_raw_response.create(**ASK),
    "completions": lambda c: c.completions.create(model="m", prompt="p"),
    "responses": lambda c: c.responses.create(model="m", input="i"),
    "responses stream": lambda c: c.responses.create(model="m", input="i", stream=True),
    "embeddings": lambda c: c.embeddings.create(model="m", input="i"),
    "embeddings as floats": lambda c: c.embeddings.create(model="m", input=["i"], encoding_format="float"),
    "moderations": lambda c: c.moderations.create(input="i"),
    "file upload": lambda c: c.files.create(file=upload(), purpose="batch"),
    "file content": lambda c: c.files.content("file-1"),
    "file deletion": lambda c: c.files.delete("file-1"),
    "transcription": lambda c: c.audio.transcriptions.create(model="m", file=upload(), language="de"),
    "speech": lambda c: c.audio.speech.create(model="m", voice="alloy", input="i"),
    "image": lambda c: c.images.generate(model="m", prompt="p"),
    "image edit": lambda c: c.images.edit(model="m", prompt="p", image=upload()),
    "batches": lambda c: c.batches.list(limit=2),
    "models": lambda c: c.models.list(),
    "unknown": lambda c: c.get("/unknown/endpoint", cast_to=object),
} | {
    f"error {status}": lambda c, status=status: c.chat.completions.create(
        **ASK | {"model": f"error-{status}"}
    )
    for status in STATUSES
}


def plain(value):
    """Return what an application sees of a result, as data that can be compared."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, openai.APIStatusError):
        headers = sorted(value.response.headers.multi_items())
        return [type(value).__name__, value.status_code, value.body, value.request_id, value.message, headers]
    if hasattr(value, "http_response"):  # with_raw_response
        return [value.status_code, sorted(value.headers.multi_items()), value.text, plain(value.parse())]
    if hasattr(value, "content"):
        return value.content
    return value


def observe(client, call):
    """The result of a call, streams and pages read to their end."""
    try:
        result = call(client)
        if isinstance(result, openai.Stream) or hasattr(result, "iter_pages"):
            return [plain(item) for item in result]
        return plain(result)
    except openai.APIStatusError as error:
        return plain(error)


@pytest.fixture
def endpoint(upstream):
    upstream.handler = Scripted()
    return upstream.handler


@pytest.fixture
def clients(paths):
    """Two SDK clients: one that knows the upstream, and one that knows the proxy."""
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(
                openai.OpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="k", max_retries=0, timeout=240)
            )
            for port in (paths.upstream.port, paths.proxy.port)
        ]


def async_client(port):
    return openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="k", max_retries=0, timeout=240)


def same_request(upstream):
    """Check that the second half of the upstream's requests equals the first; return how many that are."""
    requests = sent(upstream.requests)
    half = len(requests) // 2
    assert requests[half:] == requests[:half]
    return half


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_a_call_gives_and_sends_the_same(upstream, endpoint, clients, call):
    """Results, errors and headers are equal in the application, and requests are at the endpoint."""
    direct, proxied = [observe(client, call) for client in clients]
    assert proxied == direct
    assert same_request(upstream) >= 1


def test_what_is_compared_is_what_was_meant(endpoint, clients):
    """The canned endpoint is understood by the SDK: text, tool call, vector, bytes, pages and headers."""
    proxied = clients[1]
    stream = proxied.chat.completions.create(**ASK, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == TEXT
    assert proxied.chat.completions.create(**ASK, tools=[TOOL]).choices[0].message.tool_calls
    assert proxied.responses.create(model="m", input="i").output_text == TEXT
    assert proxied.embeddings.create(model="m", input="i").data[0].embedding == [0.25, -1.5, 3.0]
    assert proxied.audio.speech.create(model="m", voice="alloy", input="i").content == AUDIO
    assert proxied.files.create(file=upload(), purpose="batch").bytes > len(AUDIO)
    assert [batch.id for batch in proxied.batches.list(limit=2)] == [f"batch_{n}" for n in range(6)]
    raw = proxied.chat.completions.with_raw_response.create(**ASK)
    assert raw.headers["x-request-id"] == "req_123"
    assert raw.headers["content-encoding"] == "gzip"
    assert raw.headers.get_list("set-cookie") == ["a=1; Path=/", "b=2; Path=/"]
    assert "server" not in raw.headers
    with pytest.raises(openai.RateLimitError) as caught:
        proxied.chat.completions.create(**ASK | {"model": "error-429"})
    assert (caught.value.code, caught.value.response.headers["retry-after"]) == ("c429", "1")


def test_azure_paths_and_versions_pass(paths, upstream, endpoint):
    """Deployment paths, `api-version` and `api-key` reach the endpoint as sent."""

    def talk(port):
        with openai.AzureOpenAI(
            azure_endpoint=f"http://127.0.0.1:{port}", api_key="k", api_version="2024-10-21", max_retries=0
        ) as client:
            return client.chat.completions.create(**ASK).model_dump()

    direct, proxied = paths.both(talk)
    assert proxied == direct
    assert same_request(upstream) == 1
    assert upstream.requests[1].target == (
        b"/openai/deployments/scripted-1/chat/completions?api-version=2024-10-21"
    )


def test_the_sdks_own_retries_are_the_only_ones(upstream, endpoint, clients):
    """Two rate limits and a success are three requests at the endpoint, numbered by the SDK."""

    def talk(client):
        endpoint.failures = 0
        return client.with_options(max_retries=2).chat.completions.create(**ASK | {"model": "fails-twice"})

    direct, proxied = map(talk, clients)
    assert proxied == direct
    assert same_request(upstream) == 3
    retries = [request.field(b"x-stainless-retry-count") for request in upstream.requests[3:]]
    assert retries == [b"0", b"1", b"2"]


def test_the_sdks_timeout_ends_the_upstream_call(upstream, endpoint, clients):
    """The application's own timeout is kept, and the endpoint sees that nobody waits any more.

    On a busy machine a short one may end before the endpoint has the request; then a longer one is tried.
    """
    for timeout in (1, 10, 100):
        with pytest.raises(openai.APITimeoutError):
            clients[1].with_options(timeout=timeout).chat.completions.create(**ASK | {"model": "silent"})
        if upstream.requests:
            break
    upstream.eventually(lambda: upstream.wires[-1].ended)
    assert len(upstream.requests) == 1


def test_a_stream_that_is_closed_ends_the_upstream_call(upstream, endpoint, clients):
    """The endpoint sees at once that the application has heard enough."""
    for client in clients:
        for _ in range(3):
            upstream.call(endpoint.permits.release)
        stream = client.chat.completions.create(**ASK | {"model": "gated"}, stream=True)
        next(stream)
        next(stream)
        stream.close()
        upstream.eventually(lambda: upstream.wires[-1].ended)


@pytest.mark.parametrize("model", ["silent", "gated"])
def test_a_cancelled_task_ends_the_upstream_call(paths, upstream, endpoint, model):
    """Cancelling works while the application waits for an answer and while it reads one."""

    async def talk(port):
        async with async_client(port) as client:
            reading = asyncio.Event()

            async def read():
                stream = await client.chat.completions.create(**ASK | {"model": model}, stream=True)
                async for _ in stream:
                    reading.set()

            if model == "gated":
                for _ in range(3):
                    upstream.call(endpoint.permits.release)
            before = len(upstream.requests)
            task = asyncio.create_task(read())
            if model == "gated":
                await reading.wait()
            else:
                await asyncio.to_thread(upstream.eventually, lambda: len(upstream.requests) > before)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await asyncio.to_thread(upstream.eventually, lambda: upstream.wires[-1].ended)

    paths.both(lambda port: asyncio.run(talk(port)))


def test_many_streams_at_once_stay_apart(paths, endpoint):
    """Sixty concurrent streams and answers each get their own text, whole."""

    async def main():
        async with async_client(paths.proxy.port) as client:

            async def ask(number):
                if number % 3 == 0:
                    answer = await client.files.create(
                        file=("n", b"x" * number * 1000, "text/plain"), purpose="batch"
                    )
                    return number * 1000 < answer.bytes < number * 1000 + 1000
                stream = await client.chat.completions.create(**ASK, stream=True)
                text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
                return text == TEXT

            return await asyncio.gather(*map(ask, range(60)))

    assert all(asyncio.run(main()))

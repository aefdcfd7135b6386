"""One call of a simulated model, from its body to the last byte of the answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from evenkeel.simulate.faults import WireError, check_key, on_demand, read_fault
from evenkeel.simulate.judge import JUDGE_MODEL, judge
from evenkeel.simulate.model import prompt_digest, read, say
from evenkeel.simulate.requests import ModelRequest, read_object
from evenkeel.simulate.rewriter import REWRITER_MODEL, rewrite
from evenkeel.simulate.tools import call_tool, requested_tool
from evenkeel.simulate.wire import Completion, count_prompt_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.types import HTTPScope, Receive, Send

    from evenkeel.simulate.apis import Api
    from evenkeel.simulate.simulation import ModelState, Simulation

BREAK: Final = "evenkeel.simulate.break"
"""ASGI extension that the server must offer: `cut` ends the connection at once, `reset` resets it."""

_JSON: Final = (b"content-type", b"application/json")
_EVENTS: Final = (b"content-type", b"text/event-stream; charset=utf-8")
_SHORTEST_WAIT_S: Final = 0.001


class _ClientLeftError(Exception):
    """The client closed the connection before the end."""


class ModelCall:
    """One call under one of the APIs, from its body to the last byte of the answer."""

    def __init__(
        self, simulation: Simulation, api: Api, scope: HTTPScope, receive: Receive, send: Send
    ) -> None:
        self._api = api
        self._simulation = simulation
        self._scope = scope
        self._receive = receive
        self._send = send
        self._watch: asyncio.Future[Any] | None = None
        self._state = simulation.find(None)
        self._due = 0.0

    async def run(self) -> None:
        """Answer the call, or break it off as asked. Counts it for the model that answers."""
        counts = self._simulation.counts(self._state)
        try:
            request = await self._request()
            self._state = self._simulation.serving(request.model)
            counts = self._simulation.counts(self._state)
            counts.calls += 1
            counts.streamed += request.stream
            await self._answer(request)
        except WireError as error:
            counts.errors += 1
            await self._start(error.status, [_JSON, *error.headers()], self._api.error(error))
        except _ClientLeftError:
            counts.abandoned += 1
        finally:
            if self._watch is not None:
                self._watch.cancel()

    async def _request(self) -> ModelRequest:
        if self._scope["method"] != "POST":
            raise WireError(405, f"Not allowed: {self._scope['method']} {self._scope['path']}")
        check_key(self._simulation.settings.api_key, self._scope["headers"])
        return self._api.read(read_object(await self._body()))

    async def _answer(self, request: ModelRequest) -> None:
        state, simulation = self._state, self._simulation
        fault = read_fault(self._scope["headers"])
        if isinstance(fault, WireError):
            raise fault
        if fault == "stall":
            simulation.counts(state).errors += 1
            await self._wait(None)
        if fault == "reset":
            simulation.counts(state).errors += 1
            await self._break("reset")
            return
        if state.error_rate and simulation.rng.random() < state.error_rate:
            raise on_demand(500, "its error rate")
        completion = complete(simulation, state, request, self._api.id_prefix)
        self._due = asyncio.get_running_loop().time()
        if request.stream:
            events = self._api.events(
                completion,
                include_usage=request.include_usage,
                tokens_per_event=simulation.settings.tokens_per_event,
            )
            await self._stream(completion, list(events), cut=fault == "cut")
            return
        await self._spend(state.latency_s)
        content = self._api.body(completion)
        headers = [_JSON, (b"x-request-id", completion.id.encode())]
        if fault == "cut":
            headers.append((b"content-length", str(len(content)).encode()))
            await self._head(200, headers)
            await self._part(content[: len(content) // 2])
            await self._break("cut")
            return
        await self._start(200, headers, content)

    async def _stream(self, completion: Completion, events: list[bytes], *, cut: bool) -> None:
        latency_s = self._state.latency_s
        await self._spend(latency_s / 2)
        headers = [_EVENTS, (b"cache-control", b"no-cache"), (b"x-request-id", completion.id.encode())]
        await self._head(200, headers)
        pause_s = latency_s / 2 / len(events)
        for event in events[: len(events) // 2] if cut else events[:-1]:
            await self._spend(pause_s)
            await self._part(event)
        if cut:
            await self._break("cut")
            return
        await self._send({"type": "http.response.body", "body": events[-1], "more_body": False})

    async def _body(self) -> bytes:
        chunks = []
        while True:
            message = await self._receive()
            if message["type"] != "http.request":
                raise _ClientLeftError
            chunks.append(message["body"])
            if not message["more_body"]:
                return b"".join(chunks)

    async def _start(self, status: int, headers: list[tuple[bytes, bytes]], content: bytes) -> None:
        """A whole answer."""
        await self._head(status, [*headers, (b"content-length", str(len(content)).encode())])
        await self._send({"type": "http.response.body", "body": content, "more_body": False})

    async def _head(self, status: int, headers: list[tuple[bytes, bytes]]) -> None:
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    async def _part(self, content: bytes) -> None:
        await self._send({"type": "http.response.body", "body": content, "more_body": True})

    async def _spend(self, seconds: float) -> None:
        """Let time pass. Short pauses add up until they are worth a timer."""
        if not seconds:
            return
        self._due += seconds
        left = self._due - asyncio.get_running_loop().time()
        if left >= _SHORTEST_WAIT_S:
            await self._wait(left)

    async def _wait(self, seconds: float | None) -> None:
        """Wait that long, None = for ever, but not longer than the client."""
        if self._watch is None:
            self._watch = asyncio.ensure_future(self._receive())
        done, _ = await asyncio.wait((self._watch,), timeout=seconds)
        if done:
            raise _ClientLeftError

    async def _break(self, how: Literal["cut", "reset"]) -> None:
        extension = (self._scope.get("extensions") or {}).get(BREAK)
        if extension is None:
            raise ConnectionResetError("this server cannot break a connection: use `run` or `serving`")
        cast("Callable[[], None]", extension[how])()
        # The server learns of the loss a moment later, and takes an earlier return for a bug.
        await self._receive()


def complete(simulation: Simulation, state: ModelState, request: ModelRequest, id_prefix: str) -> Completion:
    """The answer of a model to a request. Counts its condition, if it has one."""
    function = None
    if state.name == REWRITER_MODEL:
        text = rewrite(request.messages)
    elif state.name == JUDGE_MODEL:
        text = judge(request.messages, simulation.rng, state.judge_noise)
    else:
        condition = simulation.model(state).condition(request.messages, simulation.rng)
        simulation.counts(state).conditions[condition] += 1
        reading = read(request.messages, request.form)
        function = requested_tool(request)
        text = "" if function else say(reading, condition)
    return Completion(
        id=simulation.completion_id(prompt_digest(request.messages), id_prefix),
        created=simulation.now(),
        model=state.returned_name or request.model,
        system_fingerprint=state.system_fingerprint,
        text=text,
        tool_call=call_tool(function, reading, condition) if function else None,
        prompt_tokens=count_prompt_tokens(sum(len(message.text) for message in request.messages)),
    )

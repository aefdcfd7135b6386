"""The batches of providers: OpenAI's batch files and Anthropic's message batches, over HTTP.

A batch that may have arrived is looked for before it is sent again, since one that runs twice costs twice. It
is found by a name that only evenkeel can have given: others may use the same workspace, and their batches are
neither read nor changed. No URL that a provider names is followed, and a name of theirs is part of a path
only if it looks like one: the credential belongs to the route's own endpoint.

Source: the API references of both providers, and the types of OpenAI's SDK.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import httpx2

from evenkeel.core.verdict import Failure
from evenkeel.shadow.answer import elements, fields, read_answer, string
from evenkeel.shadow.encodings import UnreadableBody
from evenkeel.shadow.limits import LONGEST_ANSWER_CHARS, is_too_long
from evenkeel.shadow.replay import VERSION, Replay, excerpt

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Sequence

    from evenkeel.core.tiers import TierApi
    from evenkeel.shadow.prompt import Api
    from evenkeel.shadow.replay import Target
    from evenkeel.stores.batches import Batch

ENDPOINTS: Final[dict[Api, str]] = {
    "chat": "/chat/completions",
    "completions": "/completions",
    "responses": "/responses",
    "messages": "/messages",
}
"""Path of each API behind the version."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,199}")
_JSON: Final = {"content-type": "application/json"}
_LISTED: Final = 100
_MOST_PAGES: Final = 50
_FIRST_ERROR: Final = 400
_FIRST_SERVER_ERROR: Final = 500
_NOT_FOUND: Final = 404
_LATER: Final = frozenset({401, 403, 408, 409, 425, 429})
"""A key may be put right, a limit may be over."""
_OVERLOADED: Final = frozenset({503, 529})
_LONGEST_LINE: Final = 4 << 20
"""Bytes of an answer and what is around it; a longer one is left out."""
MOST_BYTES: Final = 32_000_000
"""Of one batch: both providers take more, but the worker holds it in memory."""
_NOT_SENT: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class BatchError(Exception):
    """A call about a batch that failed. Its text is for people and holds no credential."""

    def __init__(self, said: str, *, again: bool, arrived: bool = True, missing: bool = False) -> None:
        """Say what happened.

        Args:
            said: In a few words.
            again: Whether it may go better later.
            arrived: False if it certainly had no effect.
            missing: Whether the provider does not know what was asked for.
        """
        super().__init__(said)
        self.again = again
        self.arrived = arrived
        self.missing = missing


class BatchRequest(NamedTuple):
    """One request of a batch."""

    id: str
    body: str
    """JSON text."""


class Answered(NamedTuple):
    """What came of one request of a batch."""

    id: str
    outcome: Replay | Failure
    free: bool
    """Whether it certainly cost nothing."""


class Progress(NamedTuple):
    """How far a batch is."""

    ended: bool
    outputs: tuple[str, ...] = ()
    ending: str = ""
    """Why some answers may be missing, in snake case."""
    detail: str = ""
    full: bool = False
    """Whether it was not begun because the provider has too much of this account queued."""


@dataclass(frozen=True, slots=True)
class BatchCalls:
    """Calls to one endpoint, with the credential of a route's replays."""

    client: httpx2.AsyncClient
    target: Target
    """Its URL is the root of the API, up to and including the version."""

    async def send(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        """The JSON object that a call is answered with. Raises: BatchError."""
        try:
            response = await self.client.request(
                method,
                f"{self.target.url}{path}",
                headers=[*self.target.headers, *more.pop("headers", {}).items()],
                **more,
            )
        except httpx2.HTTPError as error:
            raise _lost(error) from error
        self._check(response.status_code, dict(response.headers), response.content)
        try:
            return fields(response.json())
        except ValueError as error:
            raise BatchError("the answer is not JSON", again=True) from error

    async def lines(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """The JSON objects of a file, a line each; what is none is left out. Raises: BatchError."""
        try:
            async with self.client.stream(
                "GET", f"{self.target.url}{path}", headers=list(self.target.headers)
            ) as response:
                if response.status_code >= _FIRST_ERROR:
                    self._check(response.status_code, dict(response.headers), await response.aread())
                async for line in _bounded_lines(response.aiter_bytes()):
                    yield _object(line)
        except httpx2.HTTPError as error:
            raise _lost(error) from error

    def _check(self, status: int, headers: dict[str, str], body: bytes) -> None:
        if status < _FIRST_ERROR:
            return
        said = excerpt(headers, body, [value for _, value in self.target.headers])
        raise BatchError(
            f"the endpoint answered {status}{f' ({said})' if said else ''}",
            again=status in _LATER or status >= _FIRST_SERVER_ERROR,
            arrived=status >= _FIRST_SERVER_ERROR and status not in _OVERLOADED,
            missing=status == _NOT_FOUND,
        )


class BatchApi(Protocol):
    """A provider's way with batches. Every method raises BatchError."""

    most_requests: int

    async def upload(self, calls: BatchCalls, batch: Batch, requests: Sequence[BatchRequest]) -> str:
        """Send the file with the requests; returns its name, "" where there are no files."""
        ...

    async def uploaded(self, calls: BatchCalls, batch: Batch) -> str | None:
        """The file that an earlier `upload` made, of which no answer came; None if it made none."""
        ...

    async def create(self, calls: BatchCalls, batch: Batch, requests: Sequence[BatchRequest]) -> str:
        """Have it begun; returns its name."""
        ...

    async def created(self, calls: BatchCalls, batch: Batch) -> str | None:
        """The batch that an earlier `create` began, of which no answer came; None if it began none."""
        ...

    async def progress(self, calls: BatchCalls, batch: Batch) -> Progress:
        """How far it is."""
        ...

    def answers(self, calls: BatchCalls, batch: Batch, api: Api) -> AsyncIterator[Answered]:
        """What came of its requests, in any order."""
        ...

    async def cancel(self, calls: BatchCalls, batch: Batch) -> None:
        """Have it stopped."""
        ...

    async def forget(self, calls: BatchCalls, batch: Batch) -> None:
        """Delete what the provider keeps of it."""
        ...


class OpenAiBatches:
    """Files of JSON lines and batches of OpenAI, and of all who offer the same."""

    most_requests = 50_000

    async def upload(self, calls: BatchCalls, batch: Batch, requests: Sequence[BatchRequest]) -> str:
        """As `BatchApi.upload`."""
        head = json.dumps({"method": "POST", "url": batch.endpoint})[1:-1]
        lines = "\n".join(f'{{"custom_id":"{one.id}",{head},"body":{one.body}}}' for one in requests)
        file = (_file_name(batch), lines.encode("utf-8", "replace"), "application/jsonl")
        reply = await calls.send("POST", "/files", data={"purpose": "batch"}, files={"file": file})
        return _name(reply.get("id"))

    async def uploaded(self, calls: BatchCalls, batch: Batch) -> str | None:
        """As `BatchApi.uploaded`: by the name of the file, which is ours."""
        return await _listed(calls, "/files?purpose=batch&", "filename", _file_name(batch))

    async def create(self, calls: BatchCalls, batch: Batch, requests: Sequence[BatchRequest]) -> str:
        """As `BatchApi.create`."""
        del requests
        body = {
            "input_file_id": batch.file,
            "endpoint": batch.endpoint,
            "completion_window": "24h",
            "metadata": {"evenkeel": batch.id},
        }
        reply = await calls.send("POST", "/batches", content=json.dumps(body), headers=_JSON)
        return _name(reply.get("id"))

    async def created(self, calls: BatchCalls, batch: Batch) -> str | None:
        """As `BatchApi.created`: by its file, which is ours."""
        return await _listed(calls, "/batches?", "input_file_id", batch.file)

    async def progress(self, calls: BatchCalls, batch: Batch) -> Progress:
        """As `BatchApi.progress`."""
        reply = await calls.send("GET", f"/batches/{batch.name}")
        status = reply.get("status")
        if status not in _OVER:
            return Progress(ended=False)
        files = (string(reply.get(name)) for name in ("output_file_id", "error_file_id"))
        first = fields(next(iter(elements(fields(reply.get("errors")).get("data"))), {}))
        code = string(first.get("code")) or ""
        detail = " ".join(filter(None, (code, string(first.get("message")))))
        return Progress(
            ended=True,
            outputs=tuple(_name(one) for one in files if one),
            ending=_OVER[status],
            detail=excerpt({}, json.dumps({"error": {"message": detail}}).encode()),
            full=status == "failed" and code in _FULL,
        )

    async def answers(self, calls: BatchCalls, batch: Batch, api: Api) -> AsyncIterator[Answered]:
        """As `BatchApi.answers`: of the output file, and of that with errors."""
        for output in batch.outputs:
            async for line in calls.lines(f"/files/{output}/content"):
                found = _openai_answer(line, api)
                if found:
                    yield found

    async def cancel(self, calls: BatchCalls, batch: Batch) -> None:
        """As `BatchApi.cancel`."""
        await calls.send("POST", f"/batches/{batch.name}/cancel")

    async def forget(self, calls: BatchCalls, batch: Batch) -> None:
        """As `BatchApi.forget`: its files; the batch itself holds no text."""
        for file in filter(None, (batch.file, *batch.outputs)):
            await _gone(calls.send("DELETE", f"/files/{file}"))


_OVER: Final = {
    "completed": "",
    "failed": "batch_rejected",
    "expired": "batch_expired",
    "cancelled": "batch_cancelled",
}
"""States that a batch of OpenAI ends in, and why answers are missing then."""
_FULL: Final = frozenset({"token_limit_exceeded", "request_limit_exceeded", "rate_limit_exceeded"})


def _openai_answer(line: dict[str, Any], api: Api) -> Answered | None:
    name, response, error = string(line.get("custom_id")), line.get("response"), fields(line.get("error"))
    if name is None:
        return None
    if not isinstance(response, dict):
        code = string(error.get("code")) or "error"
        reason = code if code in {"batch_expired", "batch_cancelled"} else "rejected"
        return Answered(name, _failure(reason, _said({"error": error})), free=True)
    status, body = response.get("status_code"), response.get("body")
    return _answered(name, status if isinstance(status, int) else 200, body, api)


class AnthropicBatches:
    """Message batches of Anthropic."""

    most_requests = 100_000

    async def upload(self, calls: BatchCalls, batch: Batch, requests: Sequence[BatchRequest]) -> str:
        """As `BatchApi.upload`: there are no files."""
        del calls, batch, requests
        return ""

    async def uploaded(self, calls: BatchCalls, batch: Batch) -> str | None:
        """As `BatchApi.uploaded`."""
        del calls, batch
        return ""

    async def create(self, calls: BatchCalls, batch: Batch, requests: Sequence[BatchRequest]) -> str:
        """As `BatchApi.create`."""
        del batch
        listed = ",".join(f'{{"custom_id":"{one.id}","params":{one.body}}}' for one in requests)
        content = f'{{"requests":[{listed}]}}'.encode("utf-8", "replace")
        reply = await calls.send("POST", "/messages/batches", content=content, headers=_JSON)
        return _name(reply.get("id"))

    async def created(self, calls: BatchCalls, batch: Batch) -> str | None:
        """As `BatchApi.created`: nobody knows, for it bears no name of ours."""
        del calls, batch
        raise BatchError("nobody knows whether it was begun", again=False)

    async def progress(self, calls: BatchCalls, batch: Batch) -> Progress:
        """As `BatchApi.progress`."""
        reply = await calls.send("GET", f"/messages/batches/{batch.name}")
        ended = reply.get("processing_status") == "ended"
        return Progress(ended, (batch.name,) if ended else ())

    async def answers(self, calls: BatchCalls, batch: Batch, api: Api) -> AsyncIterator[Answered]:
        """As `BatchApi.answers`."""
        async for line in calls.lines(f"/messages/batches/{batch.name}/results"):
            found = _anthropic_answer(line, api)
            if found:
                yield found

    async def cancel(self, calls: BatchCalls, batch: Batch) -> None:
        """As `BatchApi.cancel`."""
        await calls.send("POST", f"/messages/batches/{batch.name}/cancel")

    async def forget(self, calls: BatchCalls, batch: Batch) -> None:
        """As `BatchApi.forget`."""
        if batch.name:
            await _gone(calls.send("DELETE", f"/messages/batches/{batch.name}"))


def _anthropic_answer(line: dict[str, Any], api: Api) -> Answered | None:
    name, result = string(line.get("custom_id")), fields(line.get("result"))
    kind = result.get("type")
    if name is None:
        return None
    if kind == "succeeded":
        return _answered(name, 200, result.get("message"), api)
    if kind in {"expired", "canceled"}:
        reason = "batch_expired" if kind == "expired" else "batch_cancelled"
        return Answered(name, _failure(reason, "the batch ended before it"), free=True)
    return Answered(name, _failure("rejected", _said(fields(result.get("error")))), free=True)


APIS: Final[dict[TierApi, BatchApi]] = {"openai": OpenAiBatches(), "anthropic": AnthropicBatches()}


def _answered(name: str, status: int, body: Any, api: Api) -> Answered:
    """A response that stands in a line, read like any other."""
    if status >= _FIRST_ERROR:
        reason = "rejected" if status < _FIRST_SERVER_ERROR else "server_error"
        said = f"the endpoint answered {status} to the variant: {_said(fields(body))}"
        return Answered(name, _failure(reason, said), free=status < _FIRST_SERVER_ERROR)
    try:
        answer = read_answer(_JSON, json.dumps(body).encode(), api=api)
    except UnreadableBody as error:
        return Answered(name, _failure(error.reason, error.detail), free=False)
    if is_too_long(answer):
        said = f"the answer has more than {LONGEST_ANSWER_CHARS} characters"
        return Answered(name, _failure("answer_too_long", said), free=False)
    return Answered(name, Replay(answer, 0.0, "batch"), free=False)


def _said(body: dict[str, Any]) -> str:
    return excerpt({}, json.dumps(body).encode()) or "no reason is given"


def _failure(reason: str, detail: str) -> Failure:
    return Failure("replay", VERSION, reason, detail)


def _object(line: bytes) -> dict[str, Any]:
    try:
        return fields(json.loads(line))
    except (ValueError, RecursionError):
        return {}


async def _bounded_lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines of a stream; one that is too long is left out, and held in memory no further."""
    line, is_too_long = bytearray(), False
    async for piece in pieces:
        *ended, rest = piece.split(b"\n")
        for end in ended:
            if not is_too_long and len(line) + len(end) <= _LONGEST_LINE:
                yield bytes(line + end)
            line.clear()
            is_too_long = False
        is_too_long = is_too_long or len(line) + len(rest) > _LONGEST_LINE
        if is_too_long:
            line.clear()
        else:
            line += rest
    if line:
        yield bytes(line)


async def _listed(calls: BatchCalls, path: str, member: str, value: str) -> str | None:
    """The id of what a list has under a value; None if it is not there. Raises: BatchError."""
    after = ""
    for _ in range(_MOST_PAGES):
        reply = await calls.send("GET", f"{path}limit={_LISTED}{after}")
        found = [fields(one) for one in elements(reply.get("data"))]
        for one in found:
            if one.get(member) == value:
                return _name(one.get("id"))
        if not (found and reply.get("has_more")):
            return None
        after = f"&after={_name(found[-1].get('id'))}"
    raise BatchError("the endpoint lists too many to find ours", again=False)


def _file_name(batch: Batch) -> str:
    return f"evenkeel-{batch.id}.jsonl"


def _name(value: Any) -> str:
    """A provider's name of something, fit for a path. Raises: BatchError."""
    if not isinstance(value, str) or not _NAME.fullmatch(value) or ".." in value:
        raise BatchError("the endpoint names something in a way that no path can hold", again=False)
    return value


async def _gone(deleting: Awaitable[object]) -> None:
    """Wait for a deletion; what is not there is deleted."""
    try:
        await deleting
    except BatchError as error:
        if not error.missing:
            raise


def _lost(error: httpx2.HTTPError) -> BatchError:
    return BatchError(
        f"{type(error).__name__}: {error}", again=True, arrived=not isinstance(error, _NOT_SENT)
    )

"""The simulated endpoint's batches: OpenAI's files and batches, and Anthropic's message batches.

A batch is answered when its time is over, all of it at once. Field names and states are those of the
providers' references.
"""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from litestar import Response, delete, get, post

from evenkeel.simulate.apis import APIS
from evenkeel.simulate.requests import WireError, check_key, read_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from litestar.connection import Request
    from litestar.handlers import HTTPRouteHandler
    from litestar.params import FromPath

    from evenkeel.simulate.apis import Api

    Check = Callable[[Request[Any, Any, Any]], None]
_GOOD: Final = 200
_DAY_S: Final = 86_400
_MOST_REQUESTS: Final = 50_000
_MOST_BYTES: Final = 200_000_000
_BY_PATH: Final = {api.path: api for api in APIS}
_MESSAGES: Final = _BY_PATH["/v1/messages"]

Outcome = Literal["answered", "expired", "cancelled"]


@dataclass(slots=True)
class StoredFile:
    """A file as the files API has it."""

    id: str
    name: str
    content: bytes
    created_at: int
    purpose: str = "batch"

    def card(self) -> dict[str, Any]:
        """What is said of it."""
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.content),
            "created_at": self.created_at,
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        }


@dataclass(slots=True)
class StoredBatch:
    """A batch of either provider."""

    id: str
    api: Api
    requests: list[dict[str, Any]]
    """Each with its `custom_id` and `body`."""
    created_at: float
    input_file: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    outcome: Outcome | None = None
    """None while it runs."""
    failed: dict[str, str] | None = None
    """Why it was not begun."""
    lines: list[dict[str, Any]] = field(default_factory=list)
    output_file: str | None = None
    error_file: str | None = None


class BatchDesk:
    """Takes files and batches, and answers batches when they are due."""

    def __init__(
        self,
        answer: Callable[[Api, dict[str, Any]], bytes],
        clock: Callable[[], float],
        *,
        takes_s: float = 0.0,
    ) -> None:
        """Open it.

        Args:
            answer: Answers one request. Raises: WireError.
            clock: Unix time in seconds.
            takes_s: Seconds from a batch's creation to its answers.
        """
        self.takes_s = takes_s
        self.files: dict[str, StoredFile] = {}
        self.batches: dict[str, StoredBatch] = {}
        self.refuse: dict[str, str] | None = None
        """Code and message with which the next batch fails its validation; None = none does."""
        self.leave_out: set[str] = set()
        """Requests, by `custom_id`, that a batch ends without."""
        self.expire = False
        """Whether batches run out of time."""
        self._answer = answer
        self._clock = clock
        self._count = 0

    def add_file(self, name: str, content: bytes) -> StoredFile:
        """Keep a file."""
        file = StoredFile(self._id("file-simulated"), name, content, int(self._clock()))
        self.files[file.id] = file
        return file

    def file(self, file_id: str) -> StoredFile:
        """A file. Raises: WireError (404)."""
        if file_id not in self.files:
            raise WireError(404, f"No such File object: {file_id}", param="id")
        return self.files[file_id]

    def begin(self, raw: dict[str, Any]) -> StoredBatch:
        """Begin a batch of a file. Raises: WireError."""
        api = _BY_PATH.get(str(raw.get("endpoint")))
        if api is None or api is _MESSAGES:
            raise WireError(400, f"Invalid value: {raw.get('endpoint')!r}.", param="endpoint")
        if raw.get("completion_window") != "24h":
            raise WireError(400, "Invalid value: supported is '24h'.", param="completion_window")
        file = self.file(str(raw.get("input_file_id")))
        batch = StoredBatch(self._id("batch_simulated"), api, [], self._clock(), file.id)
        batch.metadata = dict(raw.get("metadata") or {})
        try:
            batch.requests = _read_lines(file, str(raw["endpoint"]))
        except WireError as error:
            batch.failed = {"code": error.code or "invalid_json_line", "message": str(error)}
        batch.failed, self.refuse = self.refuse or batch.failed, None
        self.batches[batch.id] = batch
        return batch

    def begin_messages(self, raw: dict[str, Any]) -> StoredBatch:
        """Begin a message batch. Raises: WireError."""
        listed = raw.get("requests")
        if not isinstance(listed, list) or not listed:
            raise WireError(400, "requests: Field required")
        requests = []
        for one in listed:
            if not isinstance(one, dict) or not isinstance(one.get("params"), dict):
                raise WireError(400, "requests.params: Field required")
            name = one.get("custom_id")
            if not isinstance(name, str) or not name.replace("_", "a").replace("-", "a").isalnum():
                raise WireError(400, "requests.custom_id: must match ^[a-zA-Z0-9_-]{1,64}$")
            if one["params"].get("stream"):
                raise WireError(400, "requests.params.stream: not supported in a batch")
            requests.append({"custom_id": name, "body": one["params"]})
        _check_names(requests)
        batch = StoredBatch(self._id("msgbatch_simulated"), _MESSAGES, requests, self._clock())
        self.batches[batch.id] = batch
        return batch

    def batch(self, batch_id: str, *, messages: bool) -> StoredBatch:
        """A batch, as far as it is by now. Raises: WireError (404)."""
        found = self.batches.get(batch_id)
        if found is None or (found.api is _MESSAGES) != messages:
            raise WireError(404, f"No batch found with id '{batch_id}'.")
        if found.failed is None and found.outcome is None and self._is_over(found):
            self._end(found, "expired" if self.expire else "answered")
        return found

    def cancel(self, batch: StoredBatch) -> None:
        """Stop a batch that runs: half of it is answered by then."""
        if batch.outcome is None:
            self._end(batch, "cancelled")

    def _is_over(self, batch: StoredBatch) -> bool:
        return self._clock() - batch.created_at >= self.takes_s

    def _end(self, batch: StoredBatch, outcome: Outcome) -> None:
        batch.outcome = outcome
        enough = len(batch.requests) if outcome == "answered" else len(batch.requests) // 2
        for number, request in enumerate(batch.requests):
            if request["custom_id"] in self.leave_out:
                continue
            batch.lines.append(
                self._line(batch, request) if number < enough else _unanswered(request, outcome)
            )
        if batch.api is _MESSAGES:
            return
        good = [line for line in batch.lines if line["response"] and line["response"]["status_code"] == _GOOD]
        bad = [line for line in batch.lines if line not in good]
        batch.output_file = self._file_of(batch, "output", good)
        batch.error_file = self._file_of(batch, "error", bad)

    def _file_of(self, batch: StoredBatch, kind: str, lines: list[dict[str, Any]]) -> str | None:
        if not lines:
            return None
        # The order of the answers is not that of the requests.
        content = "".join(json.dumps(line) + "\n" for line in reversed(lines)).encode()
        return self.add_file(f"{batch.id}_{kind}.jsonl", content).id

    def _line(self, batch: StoredBatch, request: dict[str, Any]) -> dict[str, Any]:
        try:
            status, body = _GOOD, json.loads(self._answer(batch.api, request["body"]))
        except WireError as error:
            status, body = error.status, json.loads(batch.api.error(error))
        response = {"status_code": status, "request_id": self._id("req"), "body": body}
        return {
            "id": self._id("batch_req"),
            "custom_id": request["custom_id"],
            "response": response,
            "error": None,
        }

    def _id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._count:08x}"


def _unanswered(request: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    code = f"batch_{outcome}"
    error = {"code": code, "message": "This request could not be executed in time."}
    return {"id": "batch_req", "custom_id": request["custom_id"], "response": None, "error": error}


def _read_lines(file: StoredFile, endpoint: str) -> list[dict[str, Any]]:
    if len(file.content) > _MOST_BYTES:
        raise WireError(400, "The file is larger than 200 MB.", code="file_too_large")
    requests = []
    for line in file.content.splitlines():
        raw = read_object(line)
        if raw.get("method") != "POST" or raw.get("url") != endpoint:
            raise WireError(400, f"The URL must be {endpoint}.", code="mismatched_url")
        if not isinstance(raw.get("custom_id"), str) or not isinstance(raw.get("body"), dict):
            raise WireError(400, "custom_id and body are required.", code="missing_required_parameter")
        requests.append({"custom_id": raw["custom_id"], "body": raw["body"]})
    if not 0 < len(requests) <= _MOST_REQUESTS:
        raise WireError(400, "A file has 1 to 50,000 requests.", code="empty_file")
    if len({request["body"].get("model") for request in requests}) > 1:
        raise WireError(400, "All requests must be to one model.", code="mismatched_model")
    _check_names(requests)
    return requests


def _check_names(requests: list[dict[str, Any]]) -> None:
    if len({request["custom_id"] for request in requests}) < len(requests):
        raise WireError(400, "custom_id must be unique.", code="duplicate_custom_id")


def _card(batch: StoredBatch) -> dict[str, Any]:
    """A batch as OpenAI's API says it."""
    status = "in_progress"
    if batch.failed:
        status = "failed"
    elif batch.outcome:
        status = "completed" if batch.outcome == "answered" else batch.outcome
    done = sum(line["response"] is not None for line in batch.lines)
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.api.path,
        "errors": {"object": "list", "data": [batch.failed]} if batch.failed else None,
        "input_file_id": batch.input_file,
        "completion_window": "24h",
        "status": status,
        "output_file_id": batch.output_file,
        "error_file_id": batch.error_file,
        "created_at": int(batch.created_at),
        "expires_at": int(batch.created_at) + _DAY_S,
        "request_counts": {
            "total": len(batch.requests),
            "completed": done,
            "failed": len(batch.lines) - done,
        },
        "metadata": batch.metadata,
    }


def _message_card(batch: StoredBatch) -> dict[str, Any]:
    """A batch as Anthropic's API says it."""
    kinds = [_result(line)["type"] for line in batch.lines]
    counts = {kind: kinds.count(kind) for kind in ("succeeded", "errored", "canceled", "expired")}
    ended = batch.outcome is not None

    def time(at: float) -> str:
        return dt.datetime.fromtimestamp(at, tz=dt.UTC).isoformat()

    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "ended" if ended else "in_progress",
        "request_counts": {"processing": len(batch.requests) - len(kinds), **counts},
        "created_at": time(batch.created_at),
        "expires_at": time(batch.created_at + _DAY_S),
        "ended_at": time(batch.created_at) if ended else None,
        "cancel_initiated_at": None,
        "archived_at": None,
        # Where nobody may send a credential to: the results are asked for at the endpoint itself.
        "results_url": f"http://127.0.0.1:9/v1/messages/batches/{batch.id}/results" if ended else None,
    }


def _result(line: dict[str, Any]) -> dict[str, Any]:
    if line["response"] is None:
        return {"type": "expired" if line["error"]["code"] == "batch_expired" else "canceled"}
    body = line["response"]["body"]
    if line["response"]["status_code"] == _GOOD:
        return {"type": "succeeded", "message": body}
    return {"type": "errored", "error": body}


def _lines(texts: list[dict[str, Any]]) -> Response[bytes]:
    content = "".join(json.dumps(one) + "\n" for one in texts).encode()
    return Response(content, media_type="application/x-jsonl")


def _page(request: Request[Any, Any, Any], cards: list[dict[str, Any]]) -> dict[str, Any]:
    """A page of a list of OpenAI's: at most `limit` cards, those behind the one called `after`."""
    names = [card["id"] for card in cards]
    after = request.query_params.get("after")
    first = names.index(after) + 1 if after in names else 0
    last = first + int(request.query_params.get("limit", 20))
    return {"object": "list", "data": cards[first:last], "has_more": last < len(cards)}


def batch_handlers(desk: BatchDesk, api_key: str | None) -> list[HTTPRouteHandler]:
    """The calls of both APIs, in front of a desk."""

    def check(request: Request[Any, Any, Any]) -> None:
        check_key(api_key, request.scope["headers"])

    return [*_file_handlers(desk, check), *_openai_handlers(desk, check), *_message_handlers(desk, check)]


def _file_handlers(desk: BatchDesk, check: Check) -> list[HTTPRouteHandler]:
    @post("/v1/files", status_code=200)
    async def upload(request: Request[Any, Any, Any]) -> dict[str, Any]:
        check(request)
        form = await request.form()
        if form.get("purpose") != "batch" or form.get("file") is None:
            raise WireError(400, "purpose must be batch, and a file sent.", param="purpose")
        return desk.add_file(form["file"].filename, await form["file"].read()).card()

    @get("/v1/files", sync_to_thread=False)
    def files(request: Request[Any, Any, Any]) -> dict[str, Any]:
        check(request)
        return _page(request, [one.card() for one in reversed(desk.files.values())])

    @get("/v1/files/{name:str}/content", sync_to_thread=False)
    def content(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[bytes]:
        check(request)
        return Response(desk.file(name).content, media_type="application/octet-stream")

    @delete("/v1/files/{name:str}", status_code=200, sync_to_thread=False)
    def remove(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        check(request)
        del desk.files[desk.file(name).id]
        return {"id": name, "object": "file", "deleted": True}

    return [upload, files, content, remove]


def _openai_handlers(desk: BatchDesk, check: Check) -> list[HTTPRouteHandler]:
    @post("/v1/batches", status_code=200)
    async def begin(request: Request[Any, Any, Any]) -> dict[str, Any]:
        check(request)
        return _card(desk.begin(read_object(await request.body())))

    @get("/v1/batches", sync_to_thread=False)
    def batches(request: Request[Any, Any, Any]) -> dict[str, Any]:
        check(request)
        listed = [one for one in reversed(desk.batches.values()) if one.api is not _MESSAGES]
        return _page(request, [_card(one) for one in listed])

    @get("/v1/batches/{name:str}")
    async def batch(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        check(request)
        return _card(desk.batch(name, messages=False))

    @post("/v1/batches/{name:str}/cancel", status_code=200, sync_to_thread=False)
    def cancel(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        check(request)
        found = desk.batch(name, messages=False)
        desk.cancel(found)
        return _card(found)

    return [begin, batches, batch, cancel]


def _message_handlers(desk: BatchDesk, check: Check) -> list[HTTPRouteHandler]:
    @post("/v1/messages/batches", status_code=200)
    async def begin_messages(request: Request[Any, Any, Any]) -> dict[str, Any]:
        check(request)
        return _message_card(desk.begin_messages(read_object(await request.body())))

    @get("/v1/messages/batches", sync_to_thread=False)
    def message_batches(request: Request[Any, Any, Any]) -> dict[str, Any]:
        check(request)
        listed = [one for one in reversed(desk.batches.values()) if one.api is _MESSAGES]
        return {"data": [_message_card(one) for one in listed], "has_more": False}

    @get("/v1/messages/batches/{name:str}")
    async def message_batch(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        check(request)
        return _message_card(desk.batch(name, messages=True))

    @get("/v1/messages/batches/{name:str}/results")
    async def results(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[bytes]:
        check(request)
        found = desk.batch(name, messages=True)
        if found.outcome is None:
            raise WireError(404, "The batch has no results yet.")
        lines = [{"custom_id": line["custom_id"], "result": _result(line)} for line in reversed(found.lines)]
        return _lines(lines)

    @post("/v1/messages/batches/{name:str}/cancel", status_code=200, sync_to_thread=False)
    def cancel_messages(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        check(request)
        found = desk.batch(name, messages=True)
        desk.cancel(found)
        return _message_card(found)

    @delete("/v1/messages/batches/{name:str}", status_code=200, sync_to_thread=False)
    def remove_messages(request: Request[Any, Any, Any], name: FromPath[str]) -> dict[str, Any]:
        check(request)
        del desk.batches[desk.batch(name, messages=True).id]
        return {"id": name, "type": "message_batch_deleted"}

    return [begin_messages, message_batches, message_batch, results, cancel_messages, remove_messages]

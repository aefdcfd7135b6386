"""A model endpoint with canned answers: the shapes of the API, none of its intelligence.

It runs on the recording upstream, so what it was sent can be compared. The requested model chooses odd
behaviour: `error-429` and the like fail, `silent` never answers, `gated` streams one event for each
permission, `fails-twice` succeeds at the third attempt.
"""

import asyncio
import base64
import gzip
import json
import re
import struct

from tests.clients.recording import PATIENCE_S

AUDIO = bytes(range(256)) * 37
WORDS = ["Keep", " an", " even", " keel", ",", " caf\u00e9", " \U0001f600", "\n", '"quoted"']
VECTOR = [0.25, -1.5, 3.0]
STAMP = 1_700_000_000
CREATED = {"created": STAMP, "model": "scripted-1"}
COMMON = (
    "x-request-id: req_123\r\nopenai-processing-ms: 7\r\nx-ratelimit-remaining-requests: 59\r\n"
    "openai-organization: org\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2; Path=/\r\n"
)


class Scripted:
    """The endpoint's handler and what tests can do to it while it runs."""

    def __init__(self):
        self.permits = asyncio.Semaphore(0)
        """Events a `gated` stream may still send; release it in the server's thread."""
        self.failures = 0

    async def __call__(self, wire, request):
        """Answer one request."""
        body = await wire.body()
        path = request.target.partition(b"?")[0].decode("ascii")
        path = re.sub(r"^(/openai)?(/deployments/[^/]+)?(/v1)?", "", path)
        key = f"{request.method.decode('ascii')} {path}"
        if request.field(b"content-type").startswith(b"application/json"):
            given = json.loads(body or b"{}")
            model = given.get("model", "")
        else:
            given, model = {}, ""
        if model.startswith("error-"):
            wire.write(_error(int(model.removeprefix("error-"))))
        elif model == "silent":
            await asyncio.sleep(2 * PATIENCE_S)
        elif model == "fails-twice" and self.failures < 2:
            self.failures += 1
            wire.write(_error(429, "retry-after-ms: 1\r\n"))
        elif given.get("stream"):
            await self._stream(wire, key, given, gated=model == "gated")
        elif key in _JSON:
            packed = b"gzip" in request.field(b"accept-encoding")
            wire.write(_json(_JSON[key](given, request), packed=packed))
        elif key in _BINARY:
            wire.write(_answer("200 OK", "audio/mpeg", _BINARY[key]))
        else:
            wire.write(_error(404))

    async def _stream(self, wire, key, given, *, gated):
        kind = f"Content-Type: text/event-stream; charset=utf-8\r\n{COMMON}"
        wire.write(f"HTTP/1.1 200 OK\r\n{kind}Transfer-Encoding: chunked\r\n\r\n".encode())
        for event in _events(key, given):
            if gated:
                await self.permits.acquire()
            wire.write(b"%x\r\n%b\r\n" % (len(event), event))
            await asyncio.sleep(0)
        wire.write(b"0\r\n\r\n")


def _answer(status, kind, body, more=""):
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{COMMON}{more}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _json(value, *, packed):
    body = json.dumps(value, indent=1, ensure_ascii=False).encode()
    if packed:
        body = gzip.compress(body, mtime=0)
    return _answer("200 OK", "application/json", body, "Content-Encoding: gzip\r\n" if packed else "")


def _error(status, more=""):
    error = {"message": f"No: {status}.", "type": "scripted", "param": "model", "code": f"c{status}"}
    body = json.dumps({"error": error}).encode()
    return _answer(f"{status} Error", "application/json", body, f"retry-after: 1\r\n{more}")


def _sse(event, name=None):
    text = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


def _tool_call(given):
    function = {"name": given["tools"][0]["function"]["name"], "arguments": '{"host": "db-01"}'}
    return {"id": "call_1", "type": "function", "function": function}


def _chat(given, _):
    message = {"role": "assistant", "content": "".join(WORDS), "refusal": None}
    if given.get("tools"):
        message |= {"content": None, "tool_calls": [_tool_call(given)]}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}
    return {"id": "c1", "object": "chat.completion", "choices": [choice], "usage": usage, **CREATED}


def _response(_, __, status="completed"):
    content = [{"type": "output_text", "text": "".join(WORDS), "annotations": []}]
    message = {"id": "m1", "type": "message", "role": "assistant", "status": "completed", "content": content}
    output = [message] if status == "completed" else []
    response = {"id": "r1", "object": "response", "created_at": STAMP, "status": status, "output": output}
    return response | {"model": "scripted-1", "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def _events(key, given):
    if key == "POST /responses":
        events = [("created", {"response": _response({}, None, "in_progress")})]
        where = {"item_id": "m1", "output_index": 0, "content_index": 0, "logprobs": []}
        events += [("output_text.delta", {"delta": word, **where}) for word in WORDS]
        events.append(("completed", {"response": _response({}, None)}))
        for number, (name, members) in enumerate(events):
            kind = f"response.{name}"
            yield _sse({"type": kind, "sequence_number": number, **members}, kind)
        return
    yield b": a comment\n\n"
    deltas = [{"role": "assistant"}, *({"content": word} for word in WORDS)]
    if given.get("tools"):
        call = _tool_call(given)
        deltas = [{"tool_calls": [{"index": 0, **call}]}]
    for delta in deltas:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        yield _sse({"id": "c1", "object": "chat.completion.chunk", "choices": [choice], **CREATED})
    if (given.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 3, "completion_tokens": 9, "total_tokens": 12}
        yield _sse({"id": "c1", "object": "chat.completion.chunk", "choices": [], "usage": usage, **CREATED})
    yield _sse("[DONE]")


def _completion(_, __):
    choice = {"index": 0, "text": "".join(WORDS), "finish_reason": "stop", "logprobs": None}
    return {"id": "c2", "object": "text_completion", "choices": [choice], **CREATED}


def _embeddings(given, _):
    packed = base64.b64encode(struct.pack("<3f", *VECTOR)).decode()
    vector = packed if given.get("encoding_format") == "base64" else VECTOR
    data = [{"object": "embedding", "index": 0, "embedding": vector}]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    return {"object": "list", "data": data, "model": "scripted-1", "usage": usage}


def _file(_, request):
    kept = {"id": "file-1", "object": "file", "bytes": len(request.body), "created_at": STAMP}
    return kept | {"filename": "a.jsonl", "purpose": "batch", "status": "processed"}


def _batches(_, request):
    """Three pages of two."""
    after = re.search(rb"[?&]after=batch_(\d)", request.target)
    first = int(after[1]) + 1 if after else 0
    batch = {"object": "batch", "endpoint": "/v1/chat/completions", "input_file_id": "file-1"}
    batch |= {"completion_window": "24h", "status": "completed", "created_at": STAMP}
    data = [{"id": f"batch_{number}", **batch} for number in (first, first + 1)]
    return {"object": "list", "data": data, "last_id": data[-1]["id"], "has_more": first < 4}


def _models(_, __):
    data = [{"id": f"m{n}", "object": "model", "created": STAMP, "owned_by": "us"} for n in (1, 2)]
    return {"object": "list", "data": data}


def _images(_, __):
    return {"created": STAMP, "data": [{"b64_json": base64.b64encode(AUDIO * 20).decode()}]}


def _moderation(_, __):
    return {"id": "modr-1", "model": "m", "results": []}


_JSON = {
    "POST /chat/completions": _chat,
    "POST /responses": _response,
    "POST /completions": _completion,
    "POST /embeddings": _embeddings,
    "POST /files": _file,
    "GET /batches": _batches,
    "GET /models": _models,
    "POST /images/generations": _images,
    "POST /images/edits": _images,
    "POST /moderations": _moderation,
    "POST /audio/transcriptions": lambda *_: {"text": "".join(WORDS)},
    "DELETE /files/file-1": lambda *_: {"id": "file-1", "object": "file", "deleted": True},
}
_BINARY = {"POST /audio/speech": AUDIO, "GET /files/file-1/content": AUDIO}


def sent(requests):
    """Return what an endpoint was sent: request lines, end-to-end fields in order, and bodies.

    Multipart boundaries are random; they are all named alike.
    """
    received = []
    for request in requests:
        fields = [field for field in request.fields if field[0].lower() != b"connection"]
        plain = [(name, _unbounded(value, request)) for name, value in fields]
        received.append((request.line, plain, _unbounded(request.body, request)))
    return received


def _unbounded(text, request):
    boundary = re.search(rb'boundary="?([^";]+)', request.field(b"content-type"))
    return text.replace(boundary[1], b"BOUNDARY") if boundary else text

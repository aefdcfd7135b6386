"""Conversations over a WebSocket: the Responses API sends many requests and answers over one.

Each `response.create` with its events up to `response.completed` becomes an exchange like one over HTTP, so
that nothing behind the hand-off knows of WebSockets. On the path a `Tap` refers to the bytes that pass, and
no more. Frames are read in the hand-off's thread.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from evenkeel.core.endpoint import api_path
from evenkeel.core.exchange import Exchange
from evenkeel.proxy.capture import KEPT_HEADERS
from evenkeel.proxy.credentials import redacted
from evenkeel.proxy.frames import FrameError, MessageReader, compression_of
from evenkeel.proxy.headers import selected, selector
from evenkeel.proxy.lanes import request_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkeel.proxy.clients import ClientNames
    from evenkeel.proxy.counters import RouteCounters
    from evenkeel.proxy.handoff import HandOff
    from evenkeel.proxy.headers import Fields
    from evenkeel.proxy.request_head import RequestHead
    from evenkeel.proxy.response_head import ResponseHead

_UPGRADE = selector([b"upgrade"])
_EXTENSIONS = selector([b"sec-websocket-extensions"])
_RESPONSES = "responses"
# Bytes that a piece takes in memory besides its data.
_PIECE_BYTES = 200
# Most requests of a conversation that wait for their answers.
_MOST_OPEN = 64
# Members that a request has over a WebSocket alone, or that mean nothing there.
_ONLY_HERE = ("type", "generate", "stream_id", "background", "response")
_CREATE = "response.create"
# A message to the model while it answers: what it answers to is then no single request.
_STEER = "response.steer"
_ANSWERED = frozenset({"response.completed", "response.incomplete"})
_FAILED = frozenset({"response.failed", "response.cancelled", "error"})

# Reasons for which nothing of a conversation, or an exchange in it, is sampled. The event loop counts other
# reasons, so that each number has one writer.
UNREAD = "websocket_unread"
CUT = "websocket_cut"
FAILED = "websocket_failed"
STEERED = "websocket_steered"
TOO_LARGE = "websocket_too_large"


def is_conversation(head: RequestHead, answer: ResponseHead) -> bool:
    """Return whether a tunnel is a WebSocket of the Responses API. Realtime has another path."""
    upgrade = selected(answer.raw[: answer.end], _UPGRADE)
    return (
        head.method == b"GET"
        and any(value.lower() == "websocket" for _, value in upgrade)
        and api_path(head.target.decode("latin-1")) == _RESPONSES
    )


class Tap:
    """Hands the bytes of a tunnel over as they pass, until one piece finds no room."""

    __slots__ = ("_clock", "_conversation", "_handoff", "_open")

    def __init__(self, conversation: Conversation, handoff: HandOff, clock: Callable[[], float]) -> None:
        self._conversation = conversation
        self._handoff = handoff
        self._clock = clock
        self._open = True

    def passed(self, data: bytes, *, by_client: bool, ends: bool = False) -> None:
        """Hand over what has passed. Frames behind a gap cannot be read, so the first gap is the end."""
        if self._open:
            piece = TunnelPiece(self._conversation, data, self._clock(), by_client=by_client, ends=ends)
            self._open = self._handoff.offer(piece) and not ends


@dataclass(frozen=True, slots=True)
class TunnelPiece:
    """Bytes of a tunnel, as they passed."""

    conversation: Conversation
    data: bytes
    at: float
    """Unix time in seconds."""
    by_client: bool
    ends: bool
    """True if nothing follows in either direction."""

    @property
    def route(self) -> str:
        """Name of the route."""
        return self.conversation.route

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""
        return len(self.data) + _PIECE_BYTES

    def exchanges(self, names: ClientNames | None) -> list[Exchange]:
        """Return the exchanges that this piece completes."""
        return list(self.conversation.read(self, names))


class _Message(msgspec.Struct):
    """Members of a message that say which one it is."""

    type: str = ""
    stream_id: str | None = None


class _Response(msgspec.Struct):
    id: str = ""
    output: list[msgspec.Raw] = []


class _End(msgspec.Struct):
    response: _Response


class _Item(msgspec.Struct):
    """Members of an item of an answer that say whether it can stand in a request."""

    type: str = ""
    encrypted_content: str | None = None


@dataclass(slots=True)
class _Turn:
    """A request and what has come of its answer."""

    request: dict[str, msgspec.Raw]
    at: float
    events: list[bytes] = field(default_factory=list)
    size_bytes: int = 0
    fault: str = ""
    """Reason for which it is no exchange; "" if it may be one."""


class Conversation:
    """Reader of both sides of a WebSocket, piece by piece, in the hand-off's thread."""

    def __init__(
        self,
        drawn: int,
        route: str,
        head: RequestHead,
        answer: ResponseHead,
        max_bytes: int,
        counters: RouteCounters,
        *,
        upstream: int = 0,
        client: Callable[[ClientNames], str] = lambda _: "",
    ) -> None:
        """Begin behind the heads of the request for the WebSocket and of its answer.

        Args:
            drawn: 64 random bits, below the lane's bound; the ids of the exchanges follow from them.
            route: Name of the route.
            head: Head of the request.
            answer: Head of its answer.
            max_bytes: Limit for one exchange, and for what is remembered of earlier ones.
            counters: Counters of the route.
            upstream: Index of the upstream that answers.
            client: Function that names the client.
        """
        self.route = route
        self._drawn = drawn
        self._head = head
        self._raw = head.raw[: head.end]
        self._answer_headers = selected(answer.raw[: answer.end], KEPT_HEADERS)
        self._max_bytes = max_bytes
        self._counters = counters
        self._upstream = upstream
        self._client = client
        self._number = 0
        # Requests that wait for their answers, by the conversation's lane (`stream_id`).
        self._turns: dict[str | None, deque[_Turn]] = {}
        # All items up to the end of a response that the provider does not store, by its id.
        self._told: OrderedDict[str, list[msgspec.Raw]] = OrderedDict()
        self._told_bytes = 0
        extensions = selected(answer.raw[: answer.end], _EXTENSIONS)
        self._extensions = b",".join(value.encode("latin-1") for _, value in extensions)
        # Readers of what the server says and of what the client says; None before the first piece.
        self._readers: tuple[MessageReader, MessageReader] | None = None
        self._ended = False

    def read(self, piece: TunnelPiece, names: ClientNames | None) -> Iterator[Exchange]:
        """Yield the exchanges that a piece completes. Nothing is read behind what cannot be read."""
        if self._ended:
            return
        try:
            readers = self._readers = self._readers or self._begin()
            for message in readers[piece.by_client].feed(piece.data):
                if piece.by_client:
                    self._asked(message, piece.at)
                else:
                    yield from self._answered(message, piece.at, names)
        except (FrameError, msgspec.MsgspecError, RecursionError):
            self._ended = True
            self._counters.skip(UNREAD)
        if piece.ends or self._ended:
            self._ended = True
            for _ in range(sum(map(len, self._turns.values()))):
                self._counters.skip(CUT)
            self._readers = None
            self._turns.clear()
            self._told.clear()

    def _begin(self) -> tuple[MessageReader, MessageReader]:
        compression = compression_of(self._extensions)
        compressed = compression is not None
        client_keeps, server_keeps = compression or (True, True)
        return (
            MessageReader(self._max_bytes, compressed=compressed, keeps_window=server_keeps),
            MessageReader(self._max_bytes, compressed=compressed, keeps_window=client_keeps),
        )

    def _asked(self, message: bytes, at: float) -> None:
        kind = msgspec.json.decode(message, type=_Message)
        if kind.type == _STEER and kind.stream_id in self._turns:
            # The answer now follows from more than its request.
            self._turns[kind.stream_id][0].fault = STEERED
        if kind.type != _CREATE:
            return
        request = _members(message)
        if "response" in request:
            request = {"type": request["type"], **_members(bytes(request["response"]))}
        turn = _Turn(request, at, size_bytes=len(message))
        if _value(request, "generate") is not False:
            self._counters.conversed += 1
        self._turns.setdefault(kind.stream_id, deque()).append(turn)
        if sum(map(len, self._turns.values())) > _MOST_OPEN:
            raise FrameError("too many requests wait for answers")

    def _answered(self, message: bytes, at: float, names: ClientNames | None) -> Iterator[Exchange]:
        kind = msgspec.json.decode(message, type=_Message)
        turns = self._turns.get(kind.stream_id)
        if not turns:
            return
        turn = turns[0]
        turn.size_bytes += len(message)
        if turn.size_bytes > self._max_bytes:
            turn.fault, turn.events = turn.fault or TOO_LARGE, []
        elif not turn.fault:
            turn.events.append(message)
        if kind.type in _FAILED:
            turn.fault = turn.fault or FAILED
        if kind.type in _ANSWERED or kind.type in _FAILED:
            turns.popleft()
            if not turns:
                del self._turns[kind.stream_id]
            if turn.fault:
                self._counters.skip(turn.fault)
                return
            request = self._on_its_own(turn.request)
            self._remember(turn.request, request, message)
            # A request to warm up has no answer to compare.
            if _value(turn.request, "generate") is not False:
                yield self._exchange(request, turn, at, names)

    def _on_its_own(self, request: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
        """Return a request as it is sent over HTTP, where it cannot refer to what this connection knows."""
        members = {}
        for key, value in request.items():
            if key not in _ONLY_HERE:
                members[key] = value
        before = self._told.get(str(_value(request, "previous_response_id")))
        if before is not None:
            del members["previous_response_id"]
            members["input"] = msgspec.Raw(msgspec.json.encode([*before, *_items(request)]))
        return {**members, "stream": msgspec.Raw(b"true")}

    def _remember(
        self, asked: dict[str, msgspec.Raw], request: dict[str, msgspec.Raw], message: bytes
    ) -> None:
        """Keep the items of a response that only this connection knows, for requests that continue it."""
        if _value(asked, "store") is not False or "previous_response_id" in request:
            return
        response = msgspec.json.decode(message, type=_End).response
        # Copies, since a raw value keeps the whole message in memory.
        items = []
        for item in (*_items(request), *filter(_can_be_sent, response.output)):
            items.append(item.copy())
        self._told[response.id] = items
        self._told_bytes += _size(items)
        while self._told_bytes > self._max_bytes:
            self._told_bytes -= _size(self._told.popitem(last=False)[1])

    def _exchange(
        self, request: dict[str, msgspec.Raw], turn: _Turn, at: float, names: ClientNames | None
    ) -> Exchange:
        head = self._head
        number, self._number = self._number, self._number + 1
        return Exchange(
            id=f"{request_id((self._drawn + number) & (2**64 - 1)):016x}",
            route=self.route,
            received_at=turn.at,
            duration_s=at - turn.at,
            method="POST",
            path=redacted(head.target),
            status=200,
            upstream=self._upstream,
            request_headers=(*_without_socket(selected(self._raw, KEPT_HEADERS)), _JSON),
            request_body=msgspec.json.encode(request),
            response_headers=(*self._answer_headers, _EVENTS),
            response_body=b"".join(map(_event, turn.events)),
            task=head.note(b"task"),
            prompt_version=head.note(b"prompt-version"),
            session=head.note(b"session") or (names.session(self._raw) if names else None),
            client=self._client(names) if names else "",
        )


_JSON = ("content-type", "application/json")
_EVENTS = ("content-type", "text/event-stream")


def _members(message: bytes) -> dict[str, msgspec.Raw]:
    return msgspec.json.decode(message, type=dict[str, msgspec.Raw])


def _value(members: dict[str, msgspec.Raw], key: str) -> Any:
    return msgspec.json.decode(members[key]) if key in members else None


def _items(request: dict[str, msgspec.Raw]) -> list[msgspec.Raw]:
    # A text stands for one item, a message of the user.
    value = _value(request, "input")
    if isinstance(value, str):
        return [msgspec.Raw(msgspec.json.encode({"role": "user", "content": value}))]
    return msgspec.json.decode(request["input"], type=list[msgspec.Raw]) if value else []


def _can_be_sent(item: msgspec.Raw) -> bool:
    """Return whether an item of an answer can stand in a request: reasoning that the server keeps can't."""
    parsed = msgspec.json.decode(item, type=_Item)
    return parsed.type != "reasoning" or bool(parsed.encrypted_content)


def _size(items: list[msgspec.Raw]) -> int:
    return sum(len(bytes(item)) for item in items)


def _event(message: bytes) -> bytes:
    """Return a message as an event of a stream, whose lines each need their mark."""
    return b"data: " + message.replace(b"\r", b"").replace(b"\n", b"\ndata: ") + b"\n\n"


def _without_socket(kept: Fields) -> Fields:
    """Leave out the beta that asks for the WebSocket, which HTTP may not know."""
    fields: list[tuple[str, str]] = []
    for name, value in kept:
        if not (name == "openai-beta" and value.startswith("responses_websockets")):
            fields.append((name, value))
    return tuple(fields)

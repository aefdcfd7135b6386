"""Capture of a sampled exchange while it passes, and its conversion to an `Exchange`."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from evenkeel.core.endpoint import OTHER_API, api_path, is_embeddings, unread_api
from evenkeel.core.exchange import API_HEADERS, Exchange
from evenkeel.proxy.credentials import redacted
from evenkeel.proxy.framing import ChunkReader, Framing
from evenkeel.proxy.headers import selected, selector

if TYPE_CHECKING:
    from evenkeel.proxy.clients import ClientNames
    from evenkeel.proxy.headers import Fields
    from evenkeel.proxy.request_head import RequestHead
    from evenkeel.proxy.response_head import ResponseHead

# Longer paths are no API's, and would be kept with every exchange.
_LONGEST_PATH: Final = 1024

KEPT_HEADERS = selector(
    [
        b"content-type",
        b"content-encoding",
        *(name.encode() for name in API_HEADERS),
        b"openai-version",
        b"openai-model",
        b"x-request-id",
        b"traceparent",
        b"tracestate",
    ]
)
"""Header fields that leave the data plane, and no others do: none of them carries a credential."""

# Other answers are errors, or have no body that could be compared.
CAPTURED_STATUS = 200

_CHUNKED = Framing.CHUNKED


def capturable(method: bytes, target: bytes) -> bool:
    """Return whether an exchange can be replayed at all, judged by its request line.

    The path is judged as the upstream may read it, see `api_path`; what is forwarded stays as it is.
    """
    if method != b"POST":
        return False
    path = target.partition(b"?")[0] if b"?" in target else target
    return len(path) <= _LONGEST_PATH and _of_an_api(path)


@lru_cache(maxsize=512)
def _of_an_api(path: bytes) -> bool:
    # A replay's URL is the upstream's address with this behind it: "@elsewhere/v1/completions" would be
    # sent elsewhere, with the shadow credential. Only a path can do no such thing.
    return path.startswith(b"/") and api_path(path.decode("latin-1")) is not None


def unread(target: bytes) -> str:
    """Return the name of the API of a POST that is not captured."""
    path = target.partition(b"?")[0]
    return _unread(path) if len(path) <= _LONGEST_PATH else OTHER_API


@lru_cache(maxsize=512)
def _unread(path: bytes) -> str:
    return unread_api(path.decode("latin-1"))


@lru_cache(maxsize=512)
def of_embeddings(target: bytes) -> bool:
    """Return whether a POST is one for embeddings, of which a few are kept as reference prompts."""
    return (
        target.startswith(b"/") and len(target) <= _LONGEST_PATH and is_embeddings(target.decode("latin-1"))
    )


class Capture:
    """References to the bytes of one sampled exchange, in hand anyway because they are forwarded.

    The event loop only refers to them; `exchange` does the work, in the hand-off's thread.
    """

    __slots__ = (
        "_address",
        "_answer",
        "_answer_chunked",
        "_answer_head",
        "_head",
        "_known_by_key",
        "_raw",
        "_received_at",
        "_request",
        "_request_id",
        "_response",
        "_room",
        "_upstream",
        "duration_s",
        "route",
        "size_bytes",
    )

    _answer_head: ResponseHead

    def __init__(
        self,
        request_id: int,
        route: str,
        head: RequestHead,
        received_at: float,
        max_bytes: int,
        *,
        stop: int | None = None,
        address: str = "",
        known_by_key: bool = True,
    ) -> None:
        """Begin with what has arrived.

        Args:
            request_id: 64 bits; the exchange's id.
            route: Name of the route.
            head: The request as received.
            received_at: Unix time in seconds.
            max_bytes: Limit on the size of both bodies together, including their framing.
            stop: End in `head.raw` of the part of the body that has arrived; None for no body yet.
            address: Address that the connection comes from; "" if unknown.
            known_by_key: See `ClientNames.name`.
        """
        self.route = route
        self.size_bytes = size = head.end if stop is None else stop
        """Bytes that the capture holds in memory, heads included."""
        self.duration_s = 0.0
        self._request_id = request_id
        self._head = head
        # The head lets go of a large body once that is sent; what follows the body is another request's.
        self._raw = head.raw[:size]
        self._received_at = received_at
        self._room = max_bytes - size + head.end
        self._address = address
        self._known_by_key = known_by_key
        # Pieces of the request body that arrived after the head.
        self._request: list[bytes] = []
        self._response: list[bytes] = []
        # Head of the answer, and the bytes that arrived with it.
        self._answer = b""
        self._answer_chunked = False
        self._upstream = 0

    @property
    def fits(self) -> bool:
        """Return whether the bodies are still within the size limit."""
        return self._room >= 0

    def add_request(self, payload: bytes) -> bool:
        """Keep a further piece of the request body, as it is sent. Returns False if it is too large now."""
        self._request.append(payload)
        self.size_bytes += len(payload)
        self._room -= len(payload)
        return self._room >= 0

    def add_answer(self, head: ResponseHead, payload: bytes | None, *, chunked: bool, upstream: int) -> bool:
        """Keep the response head and what came with it. Returns False if the bodies are too large now.

        Args:
            head: Head as received.
            payload: A piece of the body, as it is sent; None for all that follows the head in `head.raw`.
            chunked: True if the pieces of its body will be sent in chunks.
            upstream: Which of the route's upstreams answers.
        """
        self._upstream = upstream
        self._answer_chunked = chunked
        self._answer_head = head
        end = head.end
        if payload is not None:
            self._answer = head.raw[:end]
            self.size_bytes += end
            return self.add_response(payload)
        self._answer = raw = head.raw
        self.size_bytes += len(raw)
        self._room += end - len(raw)
        return self._room >= 0

    def add_response(self, payload: bytes) -> bool:
        """Keep a piece of the response body, as it is sent. Returns False if it is too large now."""
        self._response.append(payload)
        self.size_bytes += len(payload)
        self._room -= len(payload)
        return self._room >= 0

    def exchanges(self, names: ClientNames | None = None) -> list[Exchange]:
        """Return the exchange; names make one of the client."""
        return [self.exchange(names)]

    def exchange(self, names: ClientNames | None = None) -> Exchange:
        """Join the pieces and drop everything that is not on the allow-list; names make one of the client."""
        # Both heads may have been read again meanwhile, which changes nothing but their length.
        head, answer_head, known_by_key = self._head, self._answer_head, self._known_by_key
        start, answer_end = head.end, answer_head.end
        raw = self._raw[:start]
        client = names.name(raw, self._address, known_by_key=known_by_key) if names else ""
        return Exchange(
            id=f"{self._request_id:016x}",
            route=self.route,
            received_at=self._received_at,
            duration_s=self.duration_s,
            method=head.method.decode("ascii"),
            path=redacted(head.target),
            status=answer_head.status,
            upstream=self._upstream,
            request_headers=_kept(head, raw),
            request_body=_body([self._raw[start:], *self._request], chunked=head.framing is _CHUNKED),
            response_headers=_kept(answer_head, self._answer[:answer_end]),
            response_body=_body([self._answer[answer_end:], *self._response], chunked=self._answer_chunked),
            task=head.note(b"task"),
            prompt_version=head.note(b"prompt-version"),
            session=head.note(b"session") or (names.session(raw) if names else None),
            client=client,
        )


def _kept(head: RequestHead | ResponseHead, raw: bytes) -> Fields:
    if head.kept is None:
        head.kept = selected(raw, KEPT_HEADERS)
    return head.kept


def _body(pieces: list[bytes], *, chunked: bool) -> bytes:
    whole = b"".join(pieces)
    # Chunks were checked when they passed, so that this can't fail.
    return ChunkReader().feed(whole) if chunked else whole

"""Hand-off of exchanges from the data plane to the replay plane, and the queue that carries them.

The data plane imports this module, so it imports nothing but the standard library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

LOOP_GUARD_HEADER = b"x-evenkeel-replay"
"""Header that marks a replay, so that an evenkeel behind the upstream forwards it but never samples it."""


API_HEADERS = ("anthropic-version", "anthropic-beta", "openai-beta")
"""Request headers that select a version or a beta of an API. They are stored with the request and sent again
with its replays, because the API would refuse the body without them."""


class ProcessorTimeError(Exception):
    """An exchange that took more processor time than it may."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A forwarded request and the answer to it, as raw bytes.

    Bodies are what the application and the upstream sent, after removal of the transfer coding
    only: still compressed where `content-encoding` says so, still server-sent events where the
    answer was streamed. Credentials are never part of an exchange: `request_headers` and
    `response_headers` hold an allow-list (content type and encoding, and the like).
    """

    id: str
    """16 hex digits; decides sampling and seeds every random choice made about this exchange."""
    route: str
    received_at: float
    """Unix time in seconds when the request head arrived."""
    duration_s: float
    method: str
    path: str
    """Path and query as received, credentials in the query removed."""
    status: int
    request_headers: tuple[tuple[str, str], ...]
    """Lower-case names."""
    request_body: bytes
    response_headers: tuple[tuple[str, str], ...]
    """Lower-case names."""
    response_body: bytes
    upstream: int = 0
    """Index of the upstream that answered: 0 for the route's first, above it a fallback."""
    task: str | None = None
    """Value of the `x-evenkeel-task` header."""
    prompt_version: str | None = None
    """Value of the `x-evenkeel-prompt-version` header."""
    session: str | None = None
    """Value of the `x-evenkeel-session` header, else a hash of the header that the settings name."""
    client: str = ""
    """Name of the client: a keyed hash of its key or address; "" if unknown."""

    @property
    def size_bytes(self) -> int:
        """Bytes of both bodies."""
        return len(self.request_body) + len(self.response_body)


@dataclass(frozen=True, slots=True)
class Lease:
    """An exchange handed to one worker for some time; afterwards another may take it."""

    exchange: Exchange
    attempt: int
    """Number of the delivery, from 1."""
    fault: str = ""
    """Reason why the exchange cannot be read: "expired", "undecryptable" or "damaged". Only `exchange.id`
    is filled in then."""


@dataclass(frozen=True, slots=True)
class Lag:
    """Backlog of the replay plane."""

    waiting: int
    """Exchanges no worker holds."""
    leased: int
    dead: int
    """Exchanges given up, each with a reason."""
    oldest_s: float
    """Age of the oldest exchange that is waiting or leased, 0 if none."""


class DeadLetter(NamedTuple):
    """An exchange that was given up."""

    exchange_id: str
    reason: str
    at: float
    """Unix time in seconds."""


@dataclass(frozen=True, slots=True)
class QueueBounds:
    """Bounds of a queue of exchanges: a worker in trouble must not fill disk or memory."""

    exchanges: int = 20_000
    """Most exchanges, which are hours of a worker's work."""
    bytes: int = 1 << 30
    """Most bytes that their payloads take together."""
    kept_s: float = 86_400.0
    """Seconds after which the bodies of an exchange are deleted."""


class ExchangeSink(Protocol):
    """Data plane's end of the queue. Blocks on storage: never call it on the hot path."""

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """Store exchanges durably.

        Returns: the number of exchanges taken. An exchange is not taken if its id is known, or if a
        bounded queue is full.
        """
        ...


class ExchangeQueue(ExchangeSink, Protocol):
    """A durable queue of exchanges. Calls block on storage."""

    def reserve(self, limit: int, lease_s: float) -> list[Lease]:
        """Lease up to `limit` exchanges, oldest first, those with an expired lease included."""
        ...

    def extend(self, ids: Collection[str], lease_s: float) -> None:
        """Renew leases that are still being worked on."""
        ...

    def acknowledge(self, ids: Collection[str]) -> None:
        """Remove finished exchanges. Unknown ids are ignored."""
        ...

    def release(self, ids: Collection[str]) -> None:
        """Give leases back at once, as at a shutdown. The attempt is not counted."""
        ...

    def bury(self, exchange_id: str, reason: str) -> None:
        """Move an exchange to the dead letters, with the reason and without its bodies."""
        ...

    def dead_letters(self, limit: int) -> list[DeadLetter]:
        """Return the newest dead letters, newest first."""
        ...

    def lag(self) -> Lag:
        """Count what is waiting, leased and dead."""
        ...

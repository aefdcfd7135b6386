"""Archive of sampled exchanges, from which goldens can be approved later."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenkeel.core.pair import Answer  # noqa: TC001 - read by msgspec
from evenkeel.core.records import from_json, to_json
from evenkeel.stores.sealing import check_name

if TYPE_CHECKING:
    from evenkeel.stores.sealing import Seal

# Enough to draw a hundred goldens from, and to say what share they represent.
KEPT_PER_ROUTE = 1_000
KEPT_BYTES = 64 << 20
LARGEST_BYTES = 1 << 20
"""Most bytes of a packed exchange; larger ones, such as those with pictures, are not archived."""
KEPT_S = 30 * 86_400.0
_PLACE = "archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedExchange:
    """Sampled request and its answer, both readable. Credentials are never part of it."""

    id: str
    """The exchange's id, as in its verdicts."""
    route: str
    path: str
    """Path of the API, without the route's prefix; a query with its credentials removed."""
    request: str
    """Body of the request, decoded: the JSON text that the client wrote."""
    answer: Answer
    model: str
    """Model name returned, else the one requested."""
    prompt_version: str | None = None
    task: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of the request among `API_HEADERS`."""
    received_at: float
    """Unix time in seconds."""


class ExchangeArchive(Protocol):
    """Bounded archive of exchanges. Calls block on storage."""

    def put(self, exchange: ArchivedExchange) -> bool:
        """Keep an exchange. Return False, changing nothing, if its id exists already or it is too large."""
        ...

    def find(self, exchange_id: str) -> ArchivedExchange | None:
        """Return one exchange; None if it was never kept or has been dropped."""
        ...

    def latest(self, limit: int | None = None, *, route: str | None = None) -> list[ArchivedExchange]:
        """Return the exchanges of one route or of all, newest first."""
        ...


def pack_archived(exchange: ArchivedExchange, seal: Seal) -> bytes:
    """Pack an archived exchange into compressed bytes, encrypted if there is a key."""
    return seal.close(zlib.compress(to_json(exchange).encode(), 1), _PLACE)


def unpack_archived(packed: bytes, seal: Seal, asked_for: str | None = None) -> ArchivedExchange:
    """Unpack the result of `pack_archived`. Raises: SealError if it cannot be opened or has another id."""
    exchange = from_json(zlib.decompress(seal.open(packed, _PLACE)), ArchivedExchange)
    if asked_for is not None:
        check_name(exchange.id, asked_for, _PLACE)
    return exchange

"""Archive of sampled exchanges, from which goldens can be approved later."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.pair import Answer  # noqa: TC001 - read by msgspec
from evenkeel.stores.documents import Collection, sealed

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.stores.documents import Change, Documents

KEPT_PER_ROUTE: Final = 1_000
"""Enough to draw a hundred goldens from, and to say what share they represent."""
KEPT_CHARS: Final = 200_000_000
"""Characters of all requests and answers; packed they take about a third as many bytes."""
LARGEST_CHARS: Final = 1_000_000
"""Most characters of a request and its answer; larger ones, such as those with pictures, are not archived."""
KEPT_S: Final = 30 * 86_400.0
# Exchanges, and seconds, between two prunings. A pruning reads all names.
_PRUNE_EVERY: Final = 50
_PRUNE_EVERY_S: Final = 600.0


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


@dataclass(frozen=True, slots=True)
class _ArchiveEntry:
    """Exchange in the archive, and when it came there."""

    id: str
    kept_at: float
    exchange: ArchivedExchange


class ExchangeArchive:
    """Bounded archive of exchanges, shared by any number of processes. Calls block on storage.

    Up to 50 more than the limits say are kept between two prunings, which are at most ten minutes apart as
    long as exchanges come.
    """

    def __init__(
        self,
        documents: Documents,
        *,
        per_route: int = KEPT_PER_ROUTE,
        total_chars: int = KEPT_CHARS,
        kept_s: float = KEPT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Open the archive.

        Args:
            documents: Where the exchanges are.
            per_route: Exchanges kept of each route, the newest; 0 keeps none, and `prune` drops all.
            total_chars: Characters of all requests and answers.
            kept_s: Seconds for which an exchange is kept.
            clock: Unix time in seconds.
        """
        self._documents = documents
        self._per_route = per_route
        self._total_chars = total_chars
        self._kept_s = kept_s
        self._clock = clock
        self._since_pruned = 0
        self._pruned_at = -math.inf
        documents.open(_ARCHIVE)

    def put(self, exchange: ArchivedExchange) -> bool:
        """Keep an exchange. Return False, changing nothing, if its id exists already or it is too large."""
        if self._per_route == 0 or _chars(exchange) > LARGEST_CHARS:
            return False
        added = self._documents.add(_ARCHIVE, _ArchiveEntry(exchange.id, self._clock(), exchange))
        self._since_pruned += added
        # Without new exchanges nothing would ever be pruned by age, so time counts beside their number.
        is_due = self._clock() - self._pruned_at > min(_PRUNE_EVERY_S, self._kept_s)
        if self._since_pruned >= _PRUNE_EVERY or is_due:
            self.prune()
        return added

    def prune(self) -> int:
        """Drop exchanges beyond the limits, oldest first. Return how many were dropped."""
        self._since_pruned = 0
        self._pruned_at = self._clock()
        oldest_ms = (self._pruned_at - self._kept_s) * 1_000
        rows: set[tuple[Any, ...]] = self._documents.values(_ARCHIVE, "kept_ms", "id", "route", "chars")
        dropped: list[str] = []
        of_route: Counter[str] = Counter()
        held_chars = 0
        # Each row begins with its time, so the newest come first and what is beyond a limit is the oldest.
        for kept_ms, exchange_id, route, chars in sorted(rows, reverse=True):
            of_route[route] += 1
            held_chars += chars
            beyond = of_route[route] > self._per_route or held_chars > self._total_chars
            if beyond or kept_ms <= oldest_ms:
                dropped.append(exchange_id)

        # All in one change: a transaction for each would take the write lock as often.
        def drop(change: Change) -> None:
            for exchange_id in dropped:
                change.drop(_ARCHIVE, exchange_id)

        if dropped:
            self._documents.change(_ARCHIVE, drop)
        return len(dropped)

    def find(self, exchange_id: str) -> ArchivedExchange | None:
        """Return one exchange; None if it was never kept or has been dropped.

        Raises: SealError if it cannot be opened.
        """
        kept = self._documents.find(_ARCHIVE, exchange_id)
        return None if kept is None else kept.exchange

    def latest(self, limit: int | None = None, *, route: str | None = None) -> list[ArchivedExchange]:
        """Return the exchanges of one route or of all, the last kept first."""
        exchanges: list[ArchivedExchange] = []
        for kept in self._documents.select(_ARCHIVE, {"route": route}, limit):
            exchanges.append(kept.exchange)
        return exchanges


def _chars(exchange: ArchivedExchange) -> int:
    return len(exchange.request) + len(exchange.answer.text)


_ARCHIVE: Final = Collection(
    name="archived_exchanges",
    key=("id",),
    fields=("route", "kept_ms", "id", "chars"),
    fields_of=lambda kept: (
        kept.exchange.route,
        int(kept.kept_at * 1_000),
        kept.id,
        _chars(kept.exchange),
    ),
    body=sealed(_ArchiveEntry, "archive", lambda kept: kept.id),
)

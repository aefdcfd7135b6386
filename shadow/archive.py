"""Keeps sampled exchanges, so that their answers can be approved as goldens later."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from evenkeel.stores.archive import ArchivedExchange

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.shadow.original import Original
    from evenkeel.stores.archive import ExchangeArchive
    from evenkeel.stores.counters import Tally

log = logging.getLogger("evenkeel.worker")


class Archivist:
    """Puts exchanges that could be read into the archive."""

    def __init__(self, archive: ExchangeArchive, prefixes: Mapping[str, str], *, tally: Tally) -> None:
        """Wire it.

        Args:
            archive: Where exchanges go.
            prefixes: Path prefix of each route, which is no part of the API's path; "" for none.
            tally: Counters of this process.
        """
        self._archive = archive
        self._prefixes = prefixes
        self._tally = tally

    def keep(self, original: Original) -> None:
        """Keep one exchange. A store in trouble is logged and counted: trials do not wait for it."""
        exchange = original.exchange
        try:
            kept = self._archive.put(
                ArchivedExchange(
                    id=exchange.id,
                    route=exchange.route,
                    path=_without(self._prefixes.get(exchange.route, ""), exchange.path),
                    request=original.view.body().decode(),
                    answer=original.answer,
                    model=original.model,
                    prompt_version=original.prompt_version,
                    task=original.task,
                    received_at=exchange.received_at,
                )
            )
        except Exception:  # the boundary of the archive: it is a convenience, scoring is the purpose
            log.exception("exchange %s cannot be archived", exchange.id)
            self._tally.add("worker_errors", where="archive")
            return
        if kept:
            self._tally.add("exchanges_archived", route=exchange.route)


def _without(prefix: str, path: str) -> str:
    rest = path.removeprefix(prefix)
    return rest if rest.startswith("/") else path

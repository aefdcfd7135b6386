"""The way from the data plane to the queue, with redaction on it."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.exchange import Exchange, ExchangeSink
    from evenkeel.shadow.protection.redaction import Redactor
    from evenkeel.stores.counters import Tally

log = logging.getLogger("evenkeel.proxy")


class RedactedSink:
    """Redacts exchanges and passes them on. Called in the hand-off's thread, never on the event loop."""

    def __init__(self, sink: ExchangeSink, redactor: Redactor, tally: Tally) -> None:
        """Wire it.

        Args:
            sink: Where exchanges go.
            redactor: Redacts.
            tally: Counts values by kind, and bodies that had to be emptied by reason.
        """
        self._sink = sink
        self._redactor = redactor
        self._tally = tally

    def put(self, exchanges: Sequence[Exchange]) -> int:
        """As `ExchangeSink.put`. An exchange that cannot be redacted goes on without its bodies."""
        return self._sink.put([self._redacted(exchange) for exchange in exchanges])

    def _redacted(self, exchange: Exchange) -> Exchange:
        try:
            redacted = self._redactor.redact(exchange)
        except Exception as error:  # noqa: BLE001 - named boundary: what a detector stumbles over stays here
            # The error itself may hold text.
            log.error("exchange %s is queued without bodies: %s", exchange.id, type(error).__name__)  # noqa: TRY400
            self._tally.add("redaction_failures", reason="error")
            return replace(
                exchange, request_body=b"", response_body=b"", task=None, prompt_version=None, session=None
            )
        for kind, count in redacted.replaced.items():
            self._tally.add("redactions", count, kind=kind)
        for reason in redacted.emptied:
            self._tally.add("redaction_failures", reason=reason)
        return redacted.exchange

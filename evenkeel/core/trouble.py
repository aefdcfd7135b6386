"""Trouble that evenkeel works on through: errors that a loop survives, and a judge that cannot be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import logging
    from types import TracebackType


class Trouble:
    """Context manager around one turn of a loop that must go on even if a store or an endpoint fails.

        trouble = Trouble(log, "counters cannot be published (%s)")
        while not stop.wait(1.0):
            with trouble:
                counters.publish(source, snapshot())

    An exception ends the block and is suppressed. The first of several failed turns in a row is logged as a
    warning. Keyboard interrupts, exits and cancellation are not suppressed.
    """

    def __init__(self, log: logging.Logger, sentence: str) -> None:
        """Wrap turns of one loop.

        Args:
            log: Logger for the warning.
            sentence: What goes wrong, with a %s for the error.
        """
        self._log = log
        self._sentence = sentence
        self.ongoing = False
        """True if the last turn failed."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if error is None:
            self.ongoing = False
            return False
        if not isinstance(error, Exception):
            return False
        if not self.ongoing:
            self._log.warning(self._sentence, error)
        self.ongoing = True
        return True


class JudgeTrouble(NamedTuple):
    """Why exchanges wait for the judge."""

    reason: str
    """Reason of its failed calls in snake case, "" if it only wants a pause."""
    said: str
    """Problem as a sentence without its full stop."""
    step: str
    """Remedy, as sentences."""

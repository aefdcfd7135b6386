"""Observers of exchanges and trials: the seam for tracing. The default observes nothing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol

from evenkeel.llm.observer import CallObserver, Unobserved

if TYPE_CHECKING:
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.verdict import Verdict
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.planner import Trial

ExchangeOutcome = Literal["scored", "skipped", "dead"]
"""How the work on an exchange ends."""


class Judged(NamedTuple):
    """The endpoint's ids of the answers that a verdict is about, None where it gave none."""

    candidate: str | None = None
    """Of the answer to the variant."""
    reference: str | None = None
    """Of the answer that the user got."""


NOTHING_JUDGED: Final = Judged()


class ExchangeReport(Protocol):
    """One delivery of an exchange under observation."""

    @property
    def trace_id(self) -> str:
        """The trace of what is made of the exchange, 32 hex digits; "" without one."""
        ...

    def read(self, original: Original) -> None:
        """The exchange could be read."""
        ...

    def ended(self, outcome: ExchangeOutcome, reason: str = "") -> None:
        """It leaves the queue. Without this, an exception is what came of it."""
        ...


class TrialReport(Protocol):
    """One trial under observation."""

    @property
    def trace_id(self) -> str:
        """32 hex digits of the trace that holds it, "" if it is in none."""
        ...

    def within(self) -> AbstractContextManager[object]:
        """Open around what is done for this trial alone: calls that are made there belong to it."""
        ...

    def skipped(self, reason: str) -> None:
        """The trial is not made."""
        ...

    def logged(self, verdict: Verdict, judged: Judged = NOTHING_JUDGED) -> None:
        """Its verdict is in the log; `judged` names the answers that it is about."""
        ...


class ShadowObserver(CallObserver, Protocol):
    """Observes exchanges, their trials, and the calls made for them. Its methods are quick and do not raise.

    What is opened within an exchange, in the same task or one started there, belongs to it.
    """

    def exchange(self, exchange: Exchange, attempt: int) -> AbstractContextManager[ExchangeReport]:
        """Open around all work on a delivered exchange; `attempt` is 1 on the first delivery."""
        ...

    def trial(self, trial: Trial) -> AbstractContextManager[TrialReport]:
        """Open around one trial, from the reservation of its cost to its verdict in the log.

        Several are open at once: an exchange's trials are replayed side by side and judged together.
        """
        ...


class _NoExchangeReport:
    """An exchange that nobody observes."""

    trace_id = ""

    def read(self, original: Original) -> None:
        del original

    def ended(self, outcome: ExchangeOutcome, reason: str = "") -> None:
        del outcome, reason


class _NoTrialReport:
    """A trial that nobody observes."""

    trace_id = ""

    def within(self) -> AbstractContextManager[object]:
        return nullcontext()

    def skipped(self, reason: str) -> None:
        del reason

    def logged(self, verdict: Verdict, judged: Judged = NOTHING_JUDGED) -> None:
        del verdict, judged


_NO_EXCHANGE_REPORT: Final[ExchangeReport] = _NoExchangeReport()
_NO_TRIAL_REPORT: Final[TrialReport] = _NoTrialReport()


class _Nobody(Unobserved):
    """Observes nothing."""

    def exchange(self, exchange: Exchange, attempt: int) -> AbstractContextManager[ExchangeReport]:
        """As `ShadowObserver.exchange`."""
        del exchange, attempt
        return nullcontext(_NO_EXCHANGE_REPORT)

    def trial(self, trial: Trial) -> AbstractContextManager[TrialReport]:
        """As `ShadowObserver.trial`."""
        del trial
        return nullcontext(_NO_TRIAL_REPORT)


NOBODY: Final[ShadowObserver] = _Nobody()

"""Observers of exchanges and trials: the seam for tracing."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.llm.observer import CallObserver

if TYPE_CHECKING:
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.verdict import Verdict
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.planner import Trial

WorkOutcome = Literal["scored", "skipped", "dead"]
"""Ways in which work on an exchange can end; a trial can be skipped."""


class WorkReport:
    """Report on one delivery of an exchange, or on one of its trials. This base class notes nothing."""

    @property
    def trace_id(self) -> str:
        """Id of the trace that holds the work, 32 hex digits; "" without a trace."""
        return ""

    def within(self) -> AbstractContextManager[object]:
        """Open a block around work for this trial alone. Calls made inside it belong to the trial."""
        return nullcontext()

    def read(self, original: Original) -> None:
        """Note that the exchange could be read."""

    def ended(self, outcome: WorkOutcome, reason: str = "") -> None:
        """Note the outcome of an exchange that leaves the queue, or of a trial that is not made.

        Not called if an exception ended the work.
        """

    def logged(self, verdict: Verdict, candidate: str | None = None, reference: str | None = None) -> None:
        """Note that the trial's verdict is in the log.

        The endpoint's ids of the answers that it compares follow; None where the endpoint gave none.
        """


class ShadowObserver(CallObserver):
    """Observer of exchanges, their trials, and the calls made for them. This base class observes nothing.

    Its methods are quick and do not raise. What is opened within an exchange, in the same task or one started
    there, belongs to it.
    """

    def exchange(self, exchange: Exchange, attempt: int) -> AbstractContextManager[WorkReport]:
        """Open around all work on a delivered exchange; `attempt` is 1 on the first delivery."""
        del exchange, attempt
        return nullcontext(WorkReport())

    def trial(self, trial: Trial) -> AbstractContextManager[WorkReport]:
        """Open around one trial, from the reservation of its cost to its verdict in the log.

        Several are open at once: an exchange's trials are replayed side by side and judged together.
        """
        del trial
        return nullcontext(WorkReport())


NOBODY: Final = ShadowObserver()

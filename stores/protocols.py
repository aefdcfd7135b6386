"""The seams between scoring, monitoring and the console. Implementations block on storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.verdict import Evidence, Verdict
    from evenkeel.monitor.approval import Approval


@dataclass(frozen=True, slots=True)
class LoggedVerdict:
    """A verdict and its place in the log."""

    offset: int
    """Strictly growing; reading after it gives the next ones."""
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class LoggedApproval:
    """An approval of baselines and its place among the verdicts of the log."""

    offset: int
    """Of the same sequence as those of verdicts: no verdict has it."""
    approval: Approval


@dataclass(frozen=True, slots=True)
class Narrow:
    """What a log can look for by itself; None = anything."""

    route: str | None = None
    perturbation: str | None = None
    category: str | None = None
    """What stands before the dot of the perturbation."""
    ratings: tuple[int | None, ...] | None = None
    """Any of these; None among them = no rating."""

    def admits(self, verdict: Verdict) -> bool:
        """Whether this is one of the verdicts looked for."""
        return (
            self.route in {None, verdict.route}
            and self.perturbation in {None, verdict.perturbation}
            and self.category in {None, verdict.perturbation.partition(".")[0]}
            and (self.ratings is None or verdict.rating in self.ratings)
        )


ANYTHING: Final = Narrow()


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of the log, read backwards."""

    verdicts: list[LoggedVerdict]
    """Newest first."""
    reached: int
    """The offset before which nothing was looked at; 0 = the log's start was reached."""
    looked_at: int
    """How many verdicts were read to find these."""


class VerdictLog(Protocol):
    """An append-only log in which every verdict id occurs once; approvals stand among the verdicts.

    Who reads verdicts sees none of the approvals but gaps in the offsets; `entries_after` gives both.
    """

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """Store a verdict durably. Returns False, changing nothing, if its id is there already."""
        ...

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """Verdicts already logged for an exchange, oldest first."""
        ...

    def read_after(self, offset: int, limit: int) -> list[LoggedVerdict]:
        """Up to `limit` verdicts after `offset` (0 = from the start), in log order."""
        ...

    def approve(self, approval: Approval) -> bool:
        """Store an approval durably, behind all entries so far. False, changing nothing, if it is there."""
        ...

    def entries_after(self, offset: int, limit: int) -> list[LoggedVerdict | LoggedApproval]:
        """Up to `limit` verdicts and approvals after `offset` (0 = from the start), in log order."""
        ...

    def approvals(self) -> list[LoggedApproval]:
        """Every approval, in log order. They are kept for good."""
        ...

    def read_before(self, offset: int | None, limit: int, narrow: Narrow = ...) -> Stretch:
        """Verdicts before `offset` (None = from the newest) that are looked for, newest first.

        Reads up to `limit` verdicts. A log that has no index to find them by gives fewer than that, perhaps
        none, though there are older ones: go on before `reached`.
        """
        ...

    def latest(
        self, limit: int, *, route: str | None = None, perturbation: str | None = None
    ) -> list[Verdict]:
        """The newest verdicts, newest first."""
        ...

    def find(self, verdict_id: str) -> Verdict | None:
        """The verdict with this id."""
        ...

    def evidence(self, verdict_id: str) -> Evidence | None:
        """Prompts and answers behind a verdict, None once they have been pruned."""
        ...


@dataclass(frozen=True, slots=True)
class AlertEvent:
    """An alert was raised or resolved. `id` makes delivery idempotent for receivers."""

    id: str
    at: float
    """Unix time in seconds of the verdict that decided it."""
    kind: str
    """"raised" or "resolved"."""
    route: str
    model: str
    perturbation: str
    offset: int
    """Place in the verdict log of the deciding verdict."""
    trials: int
    """Trials of the cell so far."""
    excess: float | None
    """Estimated paired excess at that time."""
    summary: str
    """One sentence for people."""
    what: str = "excess"
    """"excess": above the threshold. "drift": away from what it was."""
    direction: str = ""
    """Of a drift: "risen" or "fallen"; "" otherwise and once it is over."""
    verdict: str = ""
    """Id of the deciding verdict; "" if an approval decided."""
    trace_id: str = ""
    """Of the trace in which that verdict was made; "" if it was not traced."""
    run_trials: int = 0
    """Trials (for an excess, pairs) since the change seems to have begun; `evenkeel.monitor.evidence` finds them."""


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """A cell's estimates at one time, for trend lines. None = fewer trials than the minimum."""

    at: float
    trials: int
    content_delta: float | None
    excess: float | None
    excess_lower: float | None
    excess_upper: float | None
    robustness: float | None
    evidence_log10: float
    alert: bool


class MonitorStore(Protocol):
    """The monitor's durable state. `commit` is atomic: state, offset and events, or nothing."""

    def load(self) -> tuple[bytes | None, int]:
        """The last committed checkpoint and the log offset it includes; (None, 0) at first."""
        ...

    def parts(self) -> dict[str, bytes]:
        """Every part of the checkpoint as it was last committed, by name."""
        ...

    def is_current(self) -> bool:
        """Whether the checkpoint is still the one that was read or written last.

        It is not once another has been written, or the store has lost the last: a Redis that failed over.
        """
        ...

    def commit(
        self,
        state: bytes,
        offset: int,
        events: Sequence[AlertEvent],
        trend: Sequence[tuple[str, str, str, TrendPoint]],
        *,
        parts: Mapping[str, bytes] = ...,
        whole: bool = ...,
    ) -> None:
        """Store a checkpoint with the events and trend points (route, model, perturbation, point) since.

        Args:
            state: the checkpoint but for its parts; replaces the previous one.
            offset: in the verdict log, up to which it counts.
            events: in log order.
            trend: in log order.
            parts: those that changed, by name; the others stay as they are.
            whole: whether these are all, so that any others are removed.
        """
        ...

    def events(self, limit: int) -> list[AlertEvent]:
        """The newest alert events, newest first."""
        ...

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """Events not yet notified, oldest first."""
        ...

    def mark_delivered(self, event_id: str) -> None:
        """Remember that an event was notified."""
        ...

    def trend(self, route: str, model: str, perturbation: str, limit: int) -> list[TrendPoint]:
        """The newest `limit` points of one cell, oldest first."""
        ...

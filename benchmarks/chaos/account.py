"""Account of every request and every exchange after a run, with the numbers that must be zero."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.chaos.faults import FaultRecord
    from benchmarks.chaos.traffic import Cut, Request
    from benchmarks.chaos.upstream import ControlLog
    from benchmarks.chaos.witness import StoreContents

# Seconds between a fault and its effect on clients.
_MARGIN_S: Final = 1.0
# Seconds within which an answered request is in the queue, if the queue can be reached.
_HANDED_OFF_S: Final = 2.0
# Longest wait of a proxy for a store in trouble: a batch takes up to ten seconds, and batches queue up.
_PATIENCE_S: Final = 40.0
# Targets of faults that keep proxies from queueing.
_STORES: Final = frozenset({"redis", "primary", "replica", "disk"})
# Reasons for which proxies do not queue an answered request.
_DROPS: Final = frozenset({"store_error", "store_full", "queue_full"})

Blame = Literal["nobody", "model", "killed proxy", "evenkeel"]


class Line(NamedTuple):
    """Line of the account."""

    what: str
    number: int
    bad: bool = False
    """True if the number has to be zero and is not."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class RunEvidence:
    """Evidence collected during and after a run."""

    requests: Sequence[Request]
    model_log: ControlLog
    faults: Sequence[FaultRecord]
    stored: StoreContents
    waiting: Sequence[str] = ()
    """Ids of the exchanges that are still in the queue."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Requests that proxies did not queue, by reason."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """Exchanges that workers left alone, by reason."""
    folded: Mapping[str, int] = field(default_factory=dict)
    """Ratings that each monitor counts at the end."""
    deaths: Mapping[str, int] = field(default_factory=dict)
    """Number of times that a process ended without being told to, by process."""

    @property
    def unsettled(self) -> set[str]:
        """Accepted exchanges without a verdict and without a dead letter."""
        scored = {verdict.exchange for verdict in self.stored.verdicts}
        return set(self.stored.accepted) - scored - set(self.stored.dead)


def blame(request: Request, evidence: RunEvidence) -> Blame:
    """Return the worst culprit for the cuts of a request's connections and for its outcome."""
    blamed = {_blame_for_cut(cut, request, evidence) for cut in request.cuts}
    if request.outcome == "failed" and request.status:
        as_answered = evidence.model_log.answered.get(request.id) == request.status
        blamed.add("model" if as_answered or _model_killed(request, evidence) else "evenkeel")
    for worst in ("evenkeel", "killed proxy", "model"):
        if worst in blamed:
            return worst
    return "evenkeel" if request.outcome == "failed" else "nobody"


def _blame_for_cut(cut: Cut, request: Request, evidence: RunEvidence) -> Blame:
    for fault in evidence.faults:
        if fault.kills(cut.proxy, "up") and fault.overlaps(cut.at, cut.at, _MARGIN_S):
            return "killed proxy"
    if cut.what == "within the answer" and _model_killed(request, evidence):
        return "model"
    return "evenkeel"


def _model_killed(request: Request, evidence: RunEvidence) -> bool:
    """Return True if the model was killed while the request waited for its answer."""
    for fault in evidence.faults:
        if fault.kills("upstream") and fault.overlaps(request.began, request.ended, _MARGIN_S):
            return True
    return False


def of_requests(evidence: RunEvidence) -> tuple[list[Line], list[Request]]:
    """Return the account of the requests, and the requests that evenkeel itself failed."""
    outcomes = Counter(request.outcome for request in evidence.requests)
    ours = []
    model_failed = proxy_killed = answered_again = doubled = 0
    for request in evidence.requests:
        blamed = blame(request, evidence)
        failed = request.outcome == "failed"
        if blamed == "evenkeel":
            ours.append(request)
        elif blamed == "killed proxy":
            proxy_killed += 1
            answered_again += not failed
        elif blamed == "model":
            model_failed += failed
        # A client sends a request once, and again for each connection that was cut.
        sent = 1 + sum(cut.what != "refused" for cut in request.cuts)
        doubled += evidence.model_log.arrivals[request.id] > sent
    return [
        Line("requests", len(evidence.requests)),
        Line("answered in full", outcomes["answered"]),
        Line("faults asked of the model, passed on", outcomes["fault passed on"]),
        Line("left by the client on purpose", outcomes["left on purpose"]),
        Line(
            "failed by the model's faults, passed on",
            model_failed,
            note="as its control log says, or while it was killed",
        ),
        Line("cut or refused by the kill of their proxy", proxy_killed, note="of these, in the end:"),
        Line("  answered when sent once more", answered_again),
        Line("  failed", proxy_killed - answered_again),
        Line("sent to the model more often than by the client", doubled, note="the proxy's own retries"),
        Line("failed by evenkeel itself", len(ours), bad=bool(ours)),
    ], ours


def of_exchanges(evidence: RunEvidence) -> tuple[list[Line], list[str]]:
    """Return the account of the exchanges, and the ids of those that are not settled."""
    stored = evidence.stored
    accepted = set(stored.accepted)
    scored = {verdict.exchange for verdict in stored.verdicts}
    twice = sum(count > 1 for count in Counter(verdict.id for verdict in stored.verdicts).values())
    waiting = accepted & set(evidence.waiting)
    unsettled = evidence.unsettled - waiting
    # Workers count the exchanges that they left alone, by reason, but do not name them.
    lost = max(0, len(unsettled) - sum(evidence.skipped.values()))
    lines = []
    for name, count in evidence.deaths.items():
        lines.append(Line(f"{name} ended by itself", count, bad=True))
    lines.append(Line("exchanges accepted by the queue", len(accepted)))
    lines.append(Line("scored: in the verdict log", len(scored & accepted)))
    for reason, count in sorted(Counter(stored.dead.values()).items()):
        partly = sum(why == reason and exchange in scored for exchange, why in stored.dead.items())
        note = f"{partly} of them with some of their verdicts" if partly else ""
        lines.append(Line(f"dead letters: {reason}", count, note=note))
    for reason, count in sorted(evidence.skipped.items()):
        lines.append(Line(f"left alone by workers: {reason}", count))
    lines.append(Line("still waiting at the end", len(waiting), bad=bool(waiting)))
    lines.append(Line("neither scored nor a dead letter", lost, bad=lost > 0))
    lines.append(Line("verdicts in the log", len(stored.verdicts)))
    lines.append(Line("verdicts logged twice", twice, bad=twice > 0))
    lines.append(Line("  of them with a rating", stored.rated))
    failures = Counter(verdict.failure for verdict in stored.verdicts if verdict.failure)
    for reason, count in sorted(failures.items()):
        lines.append(Line(f"  of them without: {reason}", count))
    for name, count in sorted(evidence.folded.items()):
        lines.append(Line(f"ratings counted by {name}", count, bad=count != stored.rated))
    return lines, sorted(unsettled)


def of_drops(evidence: RunEvidence) -> list[Line]:
    """Return the account of the answered requests that never reached the queue."""
    queued = set(evidence.stored.accepted.values())
    missing = in_memory = 0
    for request in evidence.requests:
        if request.outcome == "answered" and request.id not in queued:
            missing += 1
            in_memory += _died_with_its_proxy(request, evidence.faults)
    counted = {reason: count for reason, count in evidence.dropped.items() if reason in _DROPS}
    # A server that is copied anew rewrites its log. The log then no longer shows that exchanges were accepted
    # if workers have left them alone since.
    settled = max(0, sum(evidence.skipped.values()) - len(evidence.unsettled))
    unexplained = max(0, missing - in_memory - sum(counted.values()) - settled)
    lines = [
        Line("answered, and not accepted by the queue", missing),
        Line(
            "  of these answered shortly before their proxy was killed",
            in_memory,
            note="gone with its memory, or counted since its counters were last read",
        ),
    ]
    for reason, count in sorted(counted.items()):
        lines.append(Line(f"counted as dropped: {reason}", count))
    lines.append(Line("left alone by workers, of which no log shows that they were accepted", settled))
    lines.append(Line("drops without an explanation", unexplained, bad=unexplained > 0))
    return lines


def _died_with_its_proxy(request: Request, faults: Sequence[FaultRecord]) -> bool:
    """Return True if its proxy was killed before it could have queued the answer.

    That takes longer if a store has been in trouble since the answer.
    """
    for fault in faults:
        if fault.kills(request.proxy, "up") and fault.ended >= request.ended:
            waited_s = fault.began - request.ended
            if waited_s <= _HANDED_OFF_S:
                return True
            for other in faults:
                if other.target in _STORES and other.overlaps(request.ended, fault.began, _HANDED_OFF_S):
                    return waited_s <= _PATIENCE_S
    return False


def table(title: str, lines: Sequence[Line]) -> str:
    """Format lines as Markdown; mark the numbers that have to be zero and are not."""
    rows = [f"| {title} | number | |", "|---|---:|---|"]
    for line in lines:
        note = "**must be zero**" if line.bad and not line.note else line.note
        rows.append(f"| {line.what} | {line.number} | {note} |")
    return "\n".join(rows)

"""The account after a chaos run: every request and every exchange, and what must be zero."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.chaos.faults import Happened
    from benchmarks.chaos.traffic import Cut, Request
    from benchmarks.chaos.upstream import Answers
    from benchmarks.chaos.witness import Seen

_MARGIN_S: Final = 1.0
"""Between a fault and what clients see of it."""
_HANDED_OFF_S: Final = 2.0
"""In so many seconds an answered request is in the queue, where the queue can be reached."""
_PATIENCE_S: Final = 40.0
"""A proxy's with a store in trouble: ten seconds for a batch, and batches wait for one another."""
_STORES: Final = frozenset({"redis", "primary", "replica", "disk"})

Blame = Literal["nobody", "model", "killed proxy", "evenkeel"]
ENDINGS: Final = frozenset({"kill"})
"""Faults that end a process."""


class Line(NamedTuple):
    """One line of the account."""

    what: str
    number: int
    bad: bool = False
    """Whether it had to be zero and is not."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known after a run."""

    requests: Sequence[Request]
    answers: Answers
    happened: Sequence[Happened]
    seen: Seen
    waiting: Sequence[str] = ()
    """Exchanges that are in the queue still."""
    dropped: Mapping[str, int] = field(default_factory=dict)
    """What proxies counted as not queued, by reason."""
    skipped: Mapping[str, int] = field(default_factory=dict)
    """What workers counted as left alone, by reason."""
    folded: Mapping[str, int] = field(default_factory=dict)
    """Ratings that each monitor counts at the end."""
    deaths: Mapping[str, int] = field(default_factory=dict)
    """Processes that ended without being told to."""


def blame(request: Request, answers: Answers, happened: Sequence[Happened]) -> Blame:
    """Who is to blame for what a client saw: for the cuts of its connections, and for the end."""
    blamed = {_of_cut(cut, request, answers, happened) for cut in request.cuts}
    if request.outcome == "failed" and request.status:
        blamed.add(_of_status(request, answers, happened))
    for worst in ("evenkeel", "killed proxy", "model"):
        if worst in blamed:
            return worst
    return "evenkeel" if request.outcome == "failed" else "nobody"


def _of_cut(cut: Cut, request: Request, answers: Answers, happened: Sequence[Happened]) -> Blame:
    killed = any(
        one.name in ENDINGS and one.target in {cut.door, "up"} and one.during(cut.at, cut.at, _MARGIN_S)
        for one in happened
    )
    if killed:
        return "killed proxy"
    return (
        "model"
        if cut.what == "within the answer" and _model_ended(request, answers, happened)
        else "evenkeel"
    )


def _of_status(request: Request, answers: Answers, happened: Sequence[Happened]) -> Blame:
    if answers.answered.get(request.id) == request.status or _model_ended(request, answers, happened):
        return "model"
    return "evenkeel"


def _model_ended(request: Request, answers: Answers, happened: Sequence[Happened]) -> bool:
    """Whether the model was killed while it should have answered this."""
    del answers
    return any(
        one.name in ENDINGS
        and one.target == "upstream"
        and one.during(request.began, request.ended, _MARGIN_S)
        for one in happened
    )


def of_requests(evidence: Evidence) -> tuple[list[Line], list[Request]]:
    """What became of the requests, and those that evenkeel itself failed."""
    requests, answers, happened = evidence.requests, evidence.answers, evidence.happened
    outcomes = Counter(one.outcome for one in requests)
    blamed = {one.id: blame(one, answers, happened) for one in requests}
    killed = [one for one in requests if blamed[one.id] == "killed proxy"]
    ours = [one for one in requests if blamed[one.id] == "evenkeel"]
    doubled = sum(
        answers.came.get(one.id, 0) > 1 + sum(cut.what != "refused" for cut in one.cuts) for one in requests
    )
    return [
        Line("requests", len(requests)),
        Line("answered in full", outcomes["answered"]),
        Line("faults asked of the model, passed on", outcomes["fault passed on"]),
        Line("left by the client on purpose", outcomes["left on purpose"]),
        Line(
            "failed by the model's faults, passed on",
            sum(one.outcome == "failed" and blamed[one.id] == "model" for one in requests),
            note="as its control log says, or while it was killed",
        ),
        Line("cut or refused by the kill of their proxy", len(killed), note="of these, in the end:"),
        Line("  answered when sent once more", sum(one.outcome != "failed" for one in killed)),
        Line("  failed", sum(one.outcome == "failed" for one in killed)),
        Line("sent to the model more often than by the client", doubled, note="the proxy's own retries"),
        Line("failed by evenkeel itself", len(ours), bad=bool(ours)),
    ], ours


def of_exchanges(evidence: Evidence) -> tuple[list[Line], list[str]]:
    """What became of the exchanges, and the ids of those that were lost."""
    seen = evidence.seen
    scored = {one.exchange for one in seen.verdicts}
    twice = sum(count > 1 for count in Counter(one.id for one in seen.verdicts).values())
    rated = len({one.id for one in seen.verdicts if not one.failure})
    waiting = set(evidence.waiting) & set(seen.accepted)
    open_ends = set(seen.accepted) - scored - set(seen.dead) - waiting
    # Workers say how many they left alone, by reason, not which.
    explained = min(len(open_ends), sum(evidence.skipped.values()))
    lost = len(open_ends) - explained
    lines = [
        *(Line(f"{name} ended by itself", count, bad=True) for name, count in evidence.deaths.items()),
        Line("exchanges accepted by the queue", len(seen.accepted)),
        Line("scored: in the verdict log", len(scored & set(seen.accepted))),
        *(
            Line(f"dead letters: {reason}", count, note=_partly(seen, reason, scored))
            for reason, count in sorted(Counter(seen.dead.values()).items())
        ),
        *(
            Line(f"left alone by workers: {reason}", count)
            for reason, count in sorted(evidence.skipped.items())
        ),
        Line("still waiting at the end", len(waiting), bad=bool(waiting)),
        Line("neither scored nor a dead letter", lost, bad=lost > 0),
        Line("verdicts in the log", len(seen.verdicts)),
        Line("verdicts logged twice", twice, bad=twice > 0),
        Line("  of them with a rating", rated),
        *(
            Line(f"  of them without: {reason}", count)
            for reason, count in sorted(Counter(one.failure for one in seen.verdicts if one.failure).items())
        ),
        *(
            Line(f"ratings counted by {name}", count, bad=count != rated)
            for name, count in sorted(evidence.folded.items())
        ),
    ]
    return lines, sorted(open_ends)


def _partly(seen: Seen, reason: str, scored: set[str]) -> str:
    partly = sum(one in scored for one, why in seen.dead.items() if why == reason)
    return f"{partly} of them with some of their verdicts" if partly else ""


def of_drops(evidence: Evidence) -> list[Line]:
    """Answered requests that never came to the queue."""
    kept = set(evidence.seen.accepted.values())
    gone = [one for one in evidence.requests if one.outcome == "answered" and one.id not in kept]
    in_memory = [one for one in gone if _died_with_its_proxy(one, evidence.happened)]
    counted = {
        reason: count
        for reason, count in evidence.dropped.items()
        if reason in {"store_error", "store_full", "queue_full"}
    }
    # A server that is copied anew rewrites its log, so nothing shows any more that an exchange was accepted
    # that workers left alone since.
    seen = evidence.seen
    open_ends = set(seen.accepted) - {one.exchange for one in seen.verdicts} - set(seen.dead)
    settled = max(0, sum(evidence.skipped.values()) - len(open_ends))
    unexplained = max(0, len(gone) - len(in_memory) - sum(counted.values()) - settled)
    return [
        Line("answered, and not accepted by the queue", len(gone)),
        Line(
            "  of these answered shortly before their proxy was killed",
            len(in_memory),
            note="gone with its memory, or counted since its counters were last read",
        ),
        *(Line(f"counted as dropped: {reason}", count) for reason, count in sorted(counted.items())),
        Line("left alone by workers, of which no log shows that they were accepted", settled),
        Line("drops without an explanation", unexplained, bad=unexplained > 0),
    ]


def _died_with_its_proxy(request: Request, happened: Sequence[Happened]) -> bool:
    """Whether its proxy was killed right after the answer, or while the store had been in trouble since."""
    for one in happened:
        if one.name in ENDINGS and one.target in {request.door, "up"} and one.ended >= request.ended:
            waited_s = one.began - request.ended
            if waited_s <= _HANDED_OFF_S:
                return True
            if any(
                other.target in _STORES and other.during(request.ended, one.began, _HANDED_OFF_S)
                for other in happened
            ):
                return waited_s <= _PATIENCE_S
    return False


def table(title: str, lines: Sequence[Line]) -> str:
    """Lines as Markdown; what had to be zero and is not says so."""
    rows = [f"| {title} | number | |", "|---|---:|---|"]
    for line in lines:
        note = "**must be zero**" if line.bad and not line.note else line.note
        rows.append(f"| {line.what} | {line.number} | {note} |")
    return "\n".join(rows)

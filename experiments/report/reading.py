"""Finding a period in the verdict log without reading all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.experiments.report.period import Period

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkeel.stores.protocols import LoggedVerdict, VerdictLog

BATCH: Final = 2_000
_VOTES: Final = 9
_SLACK_S: Final = 86_400.0
"""The log is in the order of writing, which is that of time but for workers whose clocks differ."""


def read_period(
    log: VerdictLog, period: Period, *, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> Iterator[LoggedVerdict]:
    """The verdicts of a period, in log order.

    Read is the stretch from a day before the period to a day after it, by the median time of neighbours: a
    verdict whose time is further out of order is not found.

    Args:
        log: The verdict log.
        period: From when to when.
        progress: Told how many places of the log are read, and about how many there are.
    """
    end = _end(log)
    start = at = _place(log, period.since - _SLACK_S, end)
    stop = _place(log, period.until + _SLACK_S, end)
    while True:
        batch = log.read_after(at, BATCH)
        yield from (one for one in batch if period.covers(one.verdict.scored_at))
        if not batch:
            break
        at = batch[-1].offset
        progress(min(at, stop) - start, stop - start)
        if at >= stop and _median(batch[-_VOTES:]) > period.until + _SLACK_S:
            break


def span_of(log: VerdictLog) -> Period | None:
    """From the log's first verdict to its last, None if it is empty."""
    first, last = log.read_after(0, 1), log.latest(1)
    if not first or not last:
        return None
    return Period(first[0].verdict.scored_at, last[0].scored_at)


def _end(log: VerdictLog) -> int:
    """An offset after which there is nothing, at most twice that of the last verdict."""
    end = 1
    while log.read_after(end, 1):
        end *= 2
    return end


def _place(log: VerdictLog, at: float, end: int) -> int:
    """An offset up to which everything is older than a time."""
    low, high = 0, end
    while high - low > BATCH:
        middle = (low + high) // 2
        batch = log.read_after(middle, _VOTES)
        if batch and _median(batch) < at:
            low = middle
        else:
            high = middle
    return low


def _median(batch: list[LoggedVerdict]) -> float:
    times = sorted(one.verdict.scored_at for one in batch)
    return times[len(times) // 2]

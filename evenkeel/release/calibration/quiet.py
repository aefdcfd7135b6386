"""Quiet traffic: trials of a route since its last change, and limits that it stays below.

The limit of a measure is the smallest of the grid that no cell's mean is above, with 95 % for all cells
together. Trials in a row resemble each other, so means of blocks of twenty are what is averaged. The alert
raises at most the stated number of false alarms of cells whose mean is below the limit, so this is all that
has to be known; a cell with few trials has a wide interval and asks for a high limit, or has no say yet.

What this says is about traffic like that seen: another mix of prompts has other losses.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from scipy.special import stdtrit

from evenkeel.core.cells import is_unrated
from evenkeel.core.figures import number
from evenkeel.core.verdict import BASELINE, Verdict
from evenkeel.monitor.detect import Measure
from evenkeel.monitor.estimate import outcome_of
from evenkeel.monitor.fold import MonitorState
from evenkeel.monitor.fold.measures import observations
from evenkeel.stores.verdict_log import logged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.monitor.fold import MonitorSettings
    from evenkeel.stores.monitor_state import AlertEvent
    from evenkeel.stores.verdict_log import Entry

Watched = Literal["content", "similarity", "quality", "invalid", "drift"]
"""A quantity with a limit: a measure of the alert, or the distance of a drift, which is only set by hand."""

# Measures with a limit of their own; that of segments follows from content's.
_NAMES: Final[dict[Measure, Watched]] = {
    Measure.CONTENT: "content",
    Measure.SIMILARITY: "similarity",
    Measure.QUALITY: "quality",
    Measure.INVALID: "invalid",
}

GRID: Final = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
"""Limits that are tried."""
# Trials of a route.
_FEWEST: Final = 300
# Trials whose mean is one observation.
_BLOCK: Final = 20
# Below five blocks an interval of their mean says nothing.
_FEWEST_OF_CELL: Final = 5 * _BLOCK
# Probability with which any cell's mean is above a limit that was placed.
_ERROR_RATE: Final = 0.05
# Trials remembered of a cell, the latest.
_MOST_KEPT: Final = 20_000
# The rule of three: after n blocks without an event its rate is below 3/n with 95 % confidence.
_OF_THREE: Final = 3.0


@dataclass(slots=True)
class QuietTraffic:
    """The trials of a route without a change and without an alert."""

    trials: int = 0
    """All of them."""
    _cells: dict[tuple[str, str], deque[Mapping[Measure, float]]] = field(default_factory=dict)
    """Losses of the latest trials, by model and perturbation."""

    def add(self, verdict: Verdict) -> None:
        """Take a verdict of the route; the control and trials that need no rating are passed over."""
        if verdict.perturbation == BASELINE or verdict.is_contrast:
            return
        outcome = outcome_of(verdict)
        # A judge fails where answers differ: what it did not rate may have moved, and got worse.
        losses: Mapping[Measure, float] = {Measure.CONTENT: 1.0, Measure.QUALITY: 1.0}
        if not isinstance(outcome, str):
            losses = observations(verdict, outcome)
        elif not is_unrated(outcome):
            return
        self.trials += 1
        cell = self._cells.setdefault((verdict.model, verdict.perturbation), deque(maxlen=_MOST_KEPT))
        cell.append(losses)

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> QuietTraffic:
        """Collect the verdicts of one route, in the order of the log."""
        traffic = cls()
        for verdict in verdicts:
            traffic.add(verdict)
        return traffic

    def upper_ends(self, measure: Measure) -> list[float]:
        """Return the upper end of the mean of each cell with enough trials, from means of blocks in a row.

        All of them hold together with a probability of at least 95 %.
        """
        cells = []
        for trials in self._cells.values():
            # Not every trial has every measure: quality is known of shifted answers only.
            losses = []
            for trial in trials:
                if measure in trial:
                    losses.append(trial[measure])
            if len(losses) >= _FEWEST_OF_CELL:
                cells.append(losses)
        return [_upper_end(losses, _ERROR_RATE / len(cells)) for losses in cells]


def _upper_end(losses: Sequence[float], alpha: float) -> float:
    """Return the one-sided upper end of a mean: Student's, of the means of blocks in a row."""
    blocks = []
    for at in range(0, len(losses) - _BLOCK + 1, _BLOCK):
        blocks.append(fmean(losses[at : at + _BLOCK]))
    reach = float(stdtrit(len(blocks) - 1, 1 - alpha)) * stdev(blocks) / sqrt(len(blocks))
    # Where nothing ever happened the blocks do not spread: the rule of three.
    return fmean(losses) + max(reach, _OF_THREE / len(losses))


@dataclass(frozen=True, slots=True)
class RouteQuiet:
    """The quiet part of a route's traffic."""

    traffic: QuietTraffic
    """Trials since the last change, and since the last alert was over."""
    alert: bool
    """True if an alert is up, so that nothing is quiet."""


# Entries after which changes are looked for: so many trials after a change are passed over at most.
_LOOKED_AFTER: Final = 100


def quiet_routes(
    entries: Iterable[Entry], settings: MonitorSettings, *, since: float | None = None
) -> dict[str, RouteQuiet]:
    """The quiet traffic of every route of a log, found by the monitor's own fold.

    Args:
        entries: In the order of the log.
        settings: Of the monitor: what is no alert under them is quiet.
        since: Unix time from when on somebody says that traffic is quiet, whatever alerts there were; None =
            nobody does. A change begins it anew all the same.
    """
    state = MonitorState(settings)
    quiet: dict[str, QuietTraffic] = {}
    up: dict[str, set[str]] = {}
    changed: dict[str, int] = {}
    for offset, entry in enumerate(entries, start=1):
        events = state.apply(logged(offset, entry)).events
        if not isinstance(entry, Verdict):
            continue
        for event in events:
            _note(up.setdefault(event.route, set()), event)
            if since is None:
                quiet[event.route] = QuietTraffic()
        if offset % _LOOKED_AFTER == 0:
            for route in state.changes():
                newest = max((mark.offset for mark in route.latest), default=0)
                if changed.get(route.route, 0) < newest:
                    changed[route.route] = newest
                    quiet[route.route] = QuietTraffic()
        if since is None or entry.scored_at >= since:
            quiet.setdefault(entry.route, QuietTraffic()).add(entry)
    routes = {}
    for name, traffic in sorted(quiet.items()):
        # Whoever states since when traffic is quiet overrules an alert that is up.
        routes[name] = RouteQuiet(traffic, alert=since is None and bool(up.get(name)))
    return routes


def _note(alerts: set[str], event: AlertEvent) -> None:
    """Note that an alert of a route was raised, or is over."""
    name = f"{event.model} {event.perturbation} {event.what}"
    if event.kind == "raised":
        alerts.add(name)
    else:
        alerts.discard(name)


class QuietLimits(NamedTuple):
    """The limits that were placed, and notes on the others."""

    limits: dict[Watched, float]
    notes: list[str]


def quiet_limits(quiet: QuietTraffic) -> QuietLimits:
    """Return the smallest limits that the means of all cells are below."""
    if quiet.trials < _FEWEST:
        return QuietLimits({}, [f"{number(quiet.trials)} trials are quiet; {_FEWEST} are needed for limits"])
    limits: dict[Watched, float] = {}
    notes: list[str] = []
    for measure, name in _NAMES.items():
        ends = quiet.upper_ends(measure)
        if not ends:
            continue
        smallest = next((limit for limit in GRID if limit >= max(ends)), None)
        if smallest is None:
            notes.append(f"{measure}: quiet traffic may be above every limit up to {GRID[-1]:g}")
        else:
            limits[name] = smallest
    if not limits and not notes:
        notes.append(f"no cell has {_FEWEST_OF_CELL} quiet trials yet")
    return QuietLimits(limits, notes)

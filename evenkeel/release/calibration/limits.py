"""Limits of the live alert, placed by what a route's own quiet traffic shows; `limits.json`.

A limit is the largest mean of a measure that is tolerated (`evenkeel.monitor.detect.Measure`), or the
distance from its baseline that is no drift.

Quiet are the trials of a route since its last change. The limit of a measure is the smallest of the grid that
no cell's mean is above, with 95 % for all cells together. Trials in a row resemble each other, so means of
blocks of twenty are what is averaged. The alert raises at most the stated number of false alarms of cells
whose mean is below the limit, so this is all that has to be known; a cell with few trials has a wide interval
and asks for a high limit, or has no say yet. What this says is about traffic like that seen: another mix of
prompts has other losses.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from scipy.special import stdtrit

from evenkeel.core.cells import is_unrated
from evenkeel.core.figures import number
from evenkeel.core.verdict import BASELINE, Verdict
from evenkeel.monitor.detect import Measure
from evenkeel.monitor.estimate import CONDITION, outcome_of
from evenkeel.monitor.fold import MonitorState
from evenkeel.monitor.fold.measures import observations
from evenkeel.release.kit.arguments import InputError
from evenkeel.stores.verdict_log import logged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from evenkeel.monitor.fold import MonitorSettings
    from evenkeel.stores.monitor_state import AlertEvent
    from evenkeel.stores.verdict_log import Entry

Watched = Literal["content", "similarity", "quality", "invalid", "drift"]
"""A quantity with a limit: a measure of the alert, or the distance of a drift, which is only set by hand."""
# Measures with a limit of their own; that of segments follows from content's.
_PLACED: Final[dict[Watched, Measure]] = {
    "content": Measure.CONTENT,
    "similarity": Measure.SIMILARITY,
    "quality": Measure.QUALITY,
    "invalid": Measure.INVALID,
}
VERSION: Final = 1
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteLimit:
    """A calibrated limit."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    route: str
    measure: Watched
    value: float = Field(ge=0, lt=1)
    source: str
    """Evidence behind it, in a line for people."""
    trials_between_false_alerts: float
    """The stated rate: trials of all cells between two false alerts, on average."""


class LimitsError(InputError):
    """A file of limits cannot be used. The message names the field and says what to do."""


@dataclass(frozen=True, slots=True)
class _File:
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    version: int
    limits: list[RouteLimit]


_FILE: Final = TypeAdapter(_File)


def limits_to_json(limits: Iterable[RouteLimit]) -> str:
    """The text of `limits.json`, by route and then in the order of the measures."""
    data = _FILE.dump_python(_File(VERSION, sorted(limits, key=lambda limit: limit.route)), mode="json")
    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n"


def read_limits(text: str) -> tuple[RouteLimit, ...]:
    """Read what `limits_to_json` wrote.

    Raises: LimitsError if it is no such text, of another version, or names a limit twice.
    """
    try:
        stored = _FILE.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise LimitsError(f"{field}: {first['msg'].lower()}: correct it, or calibrate again") from error
    if stored.version != VERSION:
        raise LimitsError(f"version: must be {VERSION}, not {stored.version}: calibrate again")
    # The later of two limits would win silently.
    counted = Counter((limit.route, limit.measure) for limit in stored.limits)
    for (route, measure), count in counted.items():
        if count > 1:
            raise LimitsError(f"limits: {measure} of route {route} occurs {count} times: keep one")
    return tuple(stored.limits)


@dataclass(frozen=True, slots=True)
class PlacedLimits:
    """The limits of one route."""

    route: str
    limits: tuple[RouteLimit, ...]
    notes: tuple[str, ...]
    """Limits that could not be placed, and why, in sentences."""


@dataclass(slots=True)
class QuietTraffic:
    """The trials of a route without a change and without an alert."""

    trials: int = 0
    """All of them."""
    alert: bool = False
    """True if an alert is up, so that nothing is quiet."""
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


# Entries after which changes are looked for: so many trials after a change are passed over at most.
_LOOKED_AFTER: Final = 100


def quiet_routes(
    entries: Iterable[Entry], settings: MonitorSettings, *, since: float | None = None
) -> dict[str, QuietTraffic]:
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
    for name, traffic in quiet.items():
        # Whoever states since when traffic is quiet overrules an alert that is up.
        traffic.alert = since is None and bool(up.get(name))
    return quiet


def _note(alerts: set[str], event: AlertEvent) -> None:
    """Note that an alert of a route was raised, or is over."""
    name = f"{event.model} {event.perturbation} {event.what}"
    if event.kind == "raised":
        alerts.add(name)
    else:
        alerts.discard(name)


def place_all(
    quiet: Mapping[str, QuietTraffic],
    *,
    route: str | None,
    trials_between_false_alerts: float,
    today: date,
) -> list[PlacedLimits]:
    """Place the limits of every route that has quiet traffic, or of one of them."""
    placed = []
    for name, traffic in sorted(quiet.items()):
        if route not in {None, name}:
            continue
        source = (
            f"calibrated on {number(traffic.trials)} quiet trials, {today}, "
            f"≤ 1 false alert in {number(round(trials_between_false_alerts))} trials {CONDITION}"
        )
        limits, notes = [], []
        if traffic.alert:
            notes.append("an alert is up, so its traffic is not quiet; --quiet-from says from when on it is")
        elif traffic.trials < _FEWEST:
            notes.append(f"{number(traffic.trials)} trials are quiet; {_FEWEST} are needed for limits")
        else:
            for watched, measure in _PLACED.items():
                ends = traffic.upper_ends(measure)
                # The smallest limit that the means of all cells are below.
                value = next((limit for limit in GRID if limit >= max(ends, default=0.0)), None)
                if value is None:
                    notes.append(f"{measure}: quiet traffic may be above every limit up to {GRID[-1]:g}")
                elif ends:
                    limit = RouteLimit(
                        route=name, measure=watched, value=value, source=source,
                        trials_between_false_alerts=trials_between_false_alerts,
                    )  # fmt: skip
                    limits.append(limit)
            if not limits and not notes:
                notes.append(f"no cell has {_FEWEST_OF_CELL} quiet trials yet")
        placed.append(PlacedLimits(name, tuple(limits), tuple(notes)))
    return placed


def lines_of(placed: PlacedLimits) -> Iterator[str]:
    """Yield lines that tell people the limits."""
    values = []
    for limit in placed.limits:
        values.append(f"{limit.measure} {limit.value:g}")
    yield f"route {placed.route}: {', '.join(values) or 'no limits'}"
    if placed.limits:
        yield f"  {placed.limits[0].source}"
    for note in placed.notes:
        yield f"  {note}"


def merged(before: Iterable[RouteLimit], placed: Iterable[PlacedLimits]) -> list[RouteLimit]:
    """Return the limits of a file after some routes were calibrated again: those of other routes stay."""
    limits = list(before)
    for again in placed:
        limits = [limit for limit in limits if limit.route != again.route]
        limits += again.limits
    return limits

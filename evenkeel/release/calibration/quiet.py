"""Quiet traffic: trials of a route since its last change, and the smallest limits that leave it quiet.

**Limits of the alert.** Every cell's trials are resampled by block of twenty in a row: a *world* is a draw of
the cell's blocks with replacement, so worlds differ as much as is left open by what is known of the cell, and
a stream is a draw of trials from a world. A cell of few trials borrows from the others, the less the more
their means differ. All streams go through the e-detector of the alert; the limit of a measure is the smallest
of the grid under which all cells together raise at most the stated number of alarms. Limits that pass one by
one are tried together, and raised by a step until that passes, too.

**Tolerance of drift.** Traffic wanders in time, so blocks of 100 trials are drawn instead of trials, and go
through the detector of drift.

What this says is about traffic like that seen: another mix of prompts has other losses.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import numpy as np

from evenkeel.core.figures import number
from evenkeel.core.verdict import BASELINE, Verdict
from evenkeel.monitor.detect import DriftAlert, DriftRules, Measure, bets_against
from evenkeel.monitor.estimate import BLOCK, outcome_of
from evenkeel.monitor.fold import MonitorState
from evenkeel.monitor.fold.measures import observations, stratum_of
from evenkeel.stores.verdict_log import logged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenkeel.monitor.detect.drift import Stratum
    from evenkeel.monitor.fold import MonitorSettings
    from evenkeel.stores.verdict_log import Entry

    _Floats = NDArray[np.float64]

Watched = Literal["content", "similarity", "quality", "invalid", "drift"]
"""A quantity with a limit: a measure of the alert, or the distance of a drift."""

_OfTrial = Literal[Measure.CONTENT, Measure.SIMILARITY, Measure.QUALITY, Measure.INVALID]
_NAMES: Final[dict[_OfTrial, Watched]] = {
    Measure.CONTENT: "content",
    Measure.SIMILARITY: "similarity",
    Measure.QUALITY: "quality",
    Measure.INVALID: "invalid",
}
"""Measures with a limit of their own; that of segments follows from content's."""
_MEASURES: Final = tuple(_NAMES)

GRID: Final = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
"""Limits that are tried."""
_TOLERANCES: Final = (0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3)
_FEWEST: Final = 300
"""Trials of a route."""
_FEWEST_OF_CELL: Final = 30
_WORLDS: Final = 24
"""Worlds of each cell."""
_LONG: Final = 20_000
"""Trials of a stream: as many as are between two alarms, else what is slow to build up would not be seen."""
_BLOCK: Final = 100
_BLOCKS: Final = 3
"""Blocks that a cell needs for its wandering to be seen."""
_DRIFT_LONG: Final = 4_000
_DRIFT_TRIALS: Final = 40_000
"""Trials that one tolerance is tried on."""
_MOST_KEPT: Final = 20_000
"""Trials remembered of a cell, the latest."""


class _Trial(NamedTuple):
    """Trial of a cell."""

    observed: tuple[float, ...]
    """Losses in the order of `_MEASURES`; NaN where it was not measured."""
    shifted: bool | None
    """True if the content shifted; None if it is not known, since there was no judge."""
    stratum: Stratum


@dataclass(slots=True)
class QuietTraffic:
    """The trials of a route without a change and without an alert."""

    trials: int = 0
    """All of them."""
    _cells: dict[tuple[str, str], deque[_Trial]] = field(default_factory=dict)

    def add(self, verdict: Verdict) -> None:
        """Take a verdict of the route; the control and trials without an outcome are passed over."""
        if verdict.perturbation == BASELINE or verdict.is_contrast:
            return
        outcome = outcome_of(verdict)
        if isinstance(outcome, str):
            return
        observed = observations(verdict, outcome)
        self.trials += 1
        cell = self._cells.setdefault((verdict.model, verdict.perturbation), deque(maxlen=_MOST_KEPT))
        row = tuple(observed.get(measure, np.nan) for measure in _MEASURES)
        cell.append(_Trial(row, None if outcome.unsure else outcome.shifted, stratum_of(verdict, "")))

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> QuietTraffic:
        """Collect the verdicts of one route, in the order of the log."""
        found = cls()
        for verdict in verdicts:
            found.add(verdict)
        return found

    def cells(self) -> dict[tuple[str, str], tuple[_Trial, ...]]:
        """The trials of every cell that has enough of them."""
        return {key: tuple(trials) for key, trials in self._cells.items() if len(trials) >= _FEWEST_OF_CELL}


@dataclass(frozen=True, slots=True)
class RouteQuiet:
    """The quiet part of a route's traffic."""

    traffic: QuietTraffic
    """Trials since the last change, and since the last alert was over."""
    alert: bool
    """True if an alert is up, so that nothing is quiet."""


_LOOKED_AFTER: Final = 100
"""Entries after which changes are looked for: so many trials after a change are passed over at most."""


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
            names = up.setdefault(event.route, set())
            name = f"{event.model} {event.perturbation} {event.what}"
            (names.add if event.kind == "raised" else names.discard)(name)
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
    return {
        route: RouteQuiet(traffic, alert=since is None and bool(up.get(route)))
        for route, traffic in sorted(quiet.items())
    }


class QuietLimits(NamedTuple):
    """The limits that were placed, and notes on the others."""

    limits: dict[Watched, float]
    notes: list[str]


def quiet_limits(
    quiet: QuietTraffic, trials_between_false_alerts: float, rng: np.random.Generator
) -> QuietLimits:
    """The smallest limits under which quiet traffic raises at most the stated number of false alerts.

    Args:
        quiet: Of one route.
        trials_between_false_alerts: The stated rate, over all cells and both detectors; each gets half.
        rng: Draws worlds and streams.
    """
    if quiet.trials < _FEWEST:
        return QuietLimits({}, [f"{number(quiet.trials)} trials are quiet; {_FEWEST} are needed for limits"])
    level = 2 * trials_between_false_alerts
    sources = _sources(quiet)
    limits: dict[_OfTrial, float] = {}
    notes: list[str] = []
    for place, measure in enumerate(_MEASURES):
        streams = _Streams.of(sources, [place], rng)
        if streams is None:
            continue
        found = _smallest(streams, measure, level)
        if found is None:
            notes.append(f"{measure}: quiet traffic is above every limit up to {GRID[-1]:g}; none is placed")
        else:
            limits[measure] = found
    watched = [measure for measure in _MEASURES if measure in limits]
    joint = _Streams.of(sources, [_MEASURES.index(measure) for measure in watched], rng)
    while joint and joint.alarms(watched, [limits[measure] for measure in watched], level) > 1 / level:
        raised = {measure: _next(limits[measure]) for measure in watched}
        if raised == limits:
            break
        limits = raised
    placed: dict[Watched, float] = {_NAMES[measure]: value for measure, value in limits.items()}
    tolerance = _tolerance(quiet, level, rng)
    if tolerance is not None:
        placed["drift"] = tolerance
    return QuietLimits(placed, notes)


def _next(limit: float) -> float:
    return next((one for one in GRID if one > limit), limit)


@dataclass(frozen=True, slots=True)
class _Source:
    """A cell's trials, and those of all cells that it borrows from."""

    own: _Floats
    """Shape (trials, measures)."""
    everyone: _Floats
    weight: float
    trusted: Sequence[float]
    """Weight of the cell's own mean by measure, in [0, 1]."""

    def streams(self, places: Sequence[int], rng: np.random.Generator) -> NDArray[np.float32] | None:
        """Resampled trials, of shape (trials, worlds, measures); None if no measure was taken of the cell."""
        own, everyone = self.own[:, places], self.everyone[:, places]
        if np.isnan(own).all():
            return None
        trusted = max(self.trusted[place] for place in places)
        blocks = np.arange(len(own)) // BLOCK
        count = int(blocks[-1]) + 1
        drawn = rng.multinomial(
            max(1, round(trusted * count)), np.full(count, 1 / count), size=_WORLDS
        )  # (worlds, blocks)
        streams = np.empty((_LONG, _WORLDS, len(places)), dtype=np.float32)
        for world in range(_WORLDS):
            weights = drawn[world][blocks].astype(float)
            rows = rng.choice(len(own), size=_LONG, p=weights / weights.sum())
            others = rng.integers(len(everyone), size=_LONG)
            mine = rng.random(_LONG) < trusted
            streams[:, world] = np.where(mine[:, None], own[rows], everyone[others])
        return streams


class _Streams(NamedTuple):
    """Resampled trials of all cells."""

    observed: NDArray[np.float32]
    """Shape (trials, worlds of all cells, measures)."""
    weights: _Floats
    """Weight of each world: its cell's share of the trials."""

    @classmethod
    def of(
        cls, sources: Sequence[_Source], places: Sequence[int], rng: np.random.Generator
    ) -> _Streams | None:
        """Streams of some measures; None if none of the cells has any."""
        found = [
            (source.weight, streams)
            for source in sources
            if (streams := source.streams(places, rng)) is not None
        ]
        if not places or not found:
            return None
        weights = np.repeat([weight for weight, _ in found], _WORLDS)
        return cls(np.concatenate([streams for _, streams in found], axis=1), weights / weights.sum())

    def alarms(self, measures: Sequence[Measure], limits: Sequence[float], level: float) -> float:
        """Alarms for each trial; evidence starts from nothing at each."""
        bets = [
            bets_against(limit, "above", measure.low, 1.0)
            for measure, limit in zip(measures, limits, strict=True)
        ]
        stakes = np.array([bet.stakes for bet in bets], dtype=np.float32)
        lines = np.array(limits, dtype=np.float32)
        shares = np.array([measure.weight for measure in measures], dtype=np.float32)
        shares /= shares.sum()
        entering = np.float32(1 / stakes.shape[1])
        wealth = np.zeros((len(self.weights), *stakes.shape), dtype=np.float32)
        gains = self.observed - lines
        whole = not np.isnan(gains).any()
        alarms = 0.0
        for gain in gains:
            grown = (entering + wealth) * (1 + stakes * gain[:, :, None])
            wealth = grown if whole else np.where(np.isnan(grown), wealth, grown)
            over = wealth.sum(axis=2) @ shares >= level
            if over.any():
                alarms += float(self.weights[over].sum())
                wealth[over] = 0.0
        return alarms / len(gains)


def _sources(quiet: QuietTraffic) -> list[_Source]:
    cells = quiet.cells()
    total = sum(map(len, cells.values()))
    arrays = [np.array([trial.observed for trial in trials]) for trials in cells.values()]
    everyone = np.concatenate(arrays)
    trusted = _trusted(arrays)
    return [
        _Source(own, everyone, len(own) / total, trust) for own, trust in zip(arrays, trusted, strict=True)
    ]


def _trusted(arrays: Sequence[_Floats]) -> list[list[float]]:
    """Return the weight of each cell's own mean against that of all cells, by measure."""
    found = np.ones((len(arrays), len(_MEASURES)))
    for place in range(len(_MEASURES)):
        known = [trials[:, place][~np.isnan(trials[:, place])] for trials in arrays]
        sizes = np.array([len(one) for one in known])
        usable = np.flatnonzero(sizes > 1)
        if len(usable) < 2:  # noqa: PLR2004 - one cell has nobody to borrow from
            continue
        means = np.array([known[cell].mean() for cell in usable])
        chance = np.array([known[cell].var(ddof=1) / sizes[cell] for cell in usable])
        # Chance is not taken off: where it is all of the difference, cells are trusted by half.
        between = float(means.var(ddof=1))
        # A cell in which nothing ever happened is not known to be so.
        chance = np.maximum(chance, 1 / sizes[usable] ** 2)
        found[usable, place] = between / (between + chance)
    return found.tolist()


def _smallest(streams: _Streams, measure: Measure, level: float) -> float | None:
    """The smallest limit of the grid with at most the stated rate of alarms; None if there is none."""
    low, high = 0, len(GRID)
    while low < high:
        middle = (low + high) // 2
        if streams.alarms([measure], [GRID[middle]], level) <= 1 / level:
            high = middle
        else:
            low = middle + 1
    return GRID[low] if low < len(GRID) else None


def _tolerance(quiet: QuietTraffic, level: float, rng: np.random.Generator) -> float | None:
    """The smallest tolerance of drift with at most the stated rate; None if all cells are short."""
    rated = [[trial for trial in trials if trial.shifted is not None] for trials in quiet.cells().values()]
    cells = [trials for trials in rated if len(trials) >= _BLOCKS * _BLOCK]
    if not cells:
        return None
    total = sum(map(len, cells))
    streams: list[list[_Trial]] = []
    for trials in cells:
        count = round(_DRIFT_TRIALS * len(trials) / total / _DRIFT_LONG) or 1
        for _ in range(count):
            starts = rng.integers(len(trials) - _BLOCK + 1, size=_DRIFT_LONG // _BLOCK)
            streams.append([trial for start in starts for trial in trials[start : start + _BLOCK]])
    low, high = 0, len(_TOLERANCES) - 1
    while low < high:
        middle = (low + high) // 2
        if _drifts(streams, _TOLERANCES[middle], level) <= 1 / level:
            high = middle
        else:
            low = middle + 1
    return _TOLERANCES[low]


def _drifts(streams: Sequence[Sequence[_Trial]], tolerance: float, level: float) -> float:
    """Alarms of drift for each trial."""
    alarms = trials = 0
    rules = DriftRules(tolerance, level)
    for stream in streams:
        detector = DriftAlert(rules)
        for trial in stream:
            change = detector.observe(int(trial.shifted is True), trial.stratum)
            alarms += change is not None and change.kind != "recovered"
        trials += len(stream)
    return alarms / trials if trials else 0.0

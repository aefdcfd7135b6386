"""Limits of the live alert, placed by what a route's own traffic and degraded answers show; `limits.json`.

A limit is the largest mean of a measure that is tolerated (`evenkeel.monitor.detect.Measure`), or the
distance from its baseline that is no drift. It lies where quiet traffic stays below at the stated rate of
false alerts (`quiet`), and not below a third of what answers lose that were degraded by 30 %, so that such a
degradation is well above. Degradations are synthetic: no limit says how bad a real answer is.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from evenkeel.core.figures import number
from evenkeel.monitor.detect import Measure
from evenkeel.release.calibration.quiet import GRID, QuietTraffic, Watched, quiet_limits
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date
    from random import Random


DRIFT: Final[Watched] = "drift"
VERSION: Final = 1
MODERATE: Final = 0.3
"""Share of a golden that is degraded."""
_TOLERATED: Final = 1 / 3
"""Of what such answers lose: as much as a degradation of 10 % would, if losses were in proportion."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteLimit:
    """One calibrated limit."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    route: str
    measure: Watched
    value: float = Field(ge=0, lt=1)
    source: str
    """What it rests on, in a line for people."""
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
    data = _FILE.dump_python(_File(VERSION, sorted(limits, key=lambda one: one.route)), mode="json")
    return f"{json.dumps(data, indent=2, ensure_ascii=False)}\n"


def read_limits(text: str) -> tuple[RouteLimit, ...]:
    """Read what `limits_to_json` wrote.

    Raises: LimitsError if it is no such text, of another version, or names a limit twice.
    """
    try:
        found = _FILE.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"])) or "the file"
        raise LimitsError(f"{field}: {first['msg'].lower()}: correct it, or calibrate again") from error
    if found.version != VERSION:
        raise LimitsError(f"version: must be {VERSION}, not {found.version}: calibrate again")
    counted = Counter((one.route, one.measure) for one in found.limits)
    for (route, measure), count in counted.items():
        if count > 1:
            raise LimitsError(f"limits: {measure} of route {route} occurs {count} times: keep one")
    return tuple(found.limits)


@dataclass(frozen=True, slots=True)
class Loss:
    """What answers degraded by 30 % lose in a measure."""

    mean: float
    lower: float
    """End of its 95 % interval, by golden."""


@dataclass(frozen=True, slots=True)
class DegradedGoldens:
    """What degrading a route's goldens showed."""

    goldens: int
    loss: Mapping[Measure, Loss]


LOSSES: Final[dict[Watched, Measure]] = {
    "content": Measure.CONTENT,
    "similarity": Measure.SIMILARITY,
}
"""What degraded answers say something about: for qualities a judge is needed."""


@dataclass(frozen=True, slots=True)
class PlacedLimits:
    """The limits of one route, and what they can and cannot do."""

    route: str
    limits: tuple[RouteLimit, ...]
    catches: tuple[Measure, ...]
    """Measures that a degradation of 30 % puts above their limit."""
    notes: tuple[str, ...]
    """What could not be placed, and why, in sentences."""


def place_limits(
    route: str,
    quiet: QuietTraffic | None,
    goldens: DegradedGoldens | None,
    *,
    trials_between_false_alerts: float,
    today: date,
    rng: Random,
) -> PlacedLimits:
    """Place the limits of a route.

    Args:
        route: Its name.
        quiet: Its traffic without a change and without an alert; None if there is none.
        goldens: What degrading its goldens showed; None without goldens.
        trials_between_false_alerts: The stated rate.
        today: For the source.
        rng: Draws the resamples.
    """
    notes: list[str] = []
    found: dict[Watched, float] = {}
    if quiet is not None:
        placed = quiet_limits(quiet, trials_between_false_alerts, np.random.default_rng(rng.getrandbits(64)))
        found |= placed.limits
        notes += placed.notes
    catches: list[Measure] = []
    for name, measure in LOSSES.items() if goldens else ():
        assert goldens is not None
        # A resend that is itself unlike the original has less to lose.
        share = 1.0 if quiet is None else quiet.left_to_lose(measure)
        loss = goldens.loss[measure]
        roof = share * loss.lower
        tolerated = _stepped(_TOLERATED * roof)
        if tolerated < roof and (name in found or quiet is None):
            found[name] = max(found.get(name, 0.0), tolerated)
        if name in found and found[name] < roof:
            catches.append(measure)
    if goldens is not None and not catches:
        notes.append("no limit catches answers degraded by 30 %: this traffic loses as much when it is quiet")
    source = _source(quiet, goldens, trials_between_false_alerts, today)
    return PlacedLimits(
        route,
        tuple(
            RouteLimit(
                route=route, measure=measure, value=found[measure], source=source,
                trials_between_false_alerts=trials_between_false_alerts,
            )
            for measure in (*_IN_ORDER, DRIFT)
            if measure in found
        ),
        tuple(catches),
        tuple(notes),
    )  # fmt: skip


_IN_ORDER: Final[tuple[Watched, ...]] = ("content", "similarity", "quality", "invalid")


def _stepped(value: float) -> float:
    """The smallest limit of the grid that is at least so large."""
    return next((one for one in GRID if one >= value), GRID[-1])


def _source(quiet: QuietTraffic | None, goldens: DegradedGoldens | None, rate: float, today: date) -> str:
    on = []
    if quiet is not None:
        on.append(f"{number(quiet.trials)} quiet trials ({number(quiet.clusters)} clusters)")
    if goldens is not None:
        on.append(f"{number(goldens.goldens)} goldens")
    return f"calibrated on {' and '.join(on)}, {today}, ≤ 1 false alert in {number(round(rate))} trials"

"""Limits of the live alert, placed by what a route's own traffic shows; `limits.json`.

A limit is the largest mean of a measure that is tolerated (`evenkeel.monitor.detect.Measure`), or the
distance from its baseline that is no drift. It lies where the means of quiet traffic are below (`quiet`).
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from evenkeel.core.figures import number
from evenkeel.monitor.estimate import CONDITION
from evenkeel.release.calibration.quiet import RouteQuiet, Watched, quiet_limits
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import date


VERSION: Final = 1


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


def place_all(
    quiet: Mapping[str, RouteQuiet],
    *,
    route: str | None,
    trials_between_false_alerts: float,
    today: date,
) -> list[PlacedLimits]:
    """Place the limits of every route that has quiet traffic, or of one of them."""
    placed = []
    for name, route_quiet in sorted(quiet.items()):
        if route not in {None, name}:
            continue
        if route_quiet.alert:
            why = "an alert is up, so its traffic is not quiet; --quiet-from says from when on it is"
            placed.append(PlacedLimits(name, (), (why,)))
            continue
        source = (
            f"calibrated on {number(route_quiet.traffic.trials)} quiet trials, {today}, "
            f"≤ 1 false alert in {number(round(trials_between_false_alerts))} trials {CONDITION}"
        )
        quiet_ends = quiet_limits(route_quiet.traffic)
        limits = []
        for measure, value in quiet_ends.limits.items():
            limit = RouteLimit(
                route=name, measure=measure, value=value, source=source,
                trials_between_false_alerts=trials_between_false_alerts,
            )  # fmt: skip
            limits.append(limit)
        placed.append(PlacedLimits(name, tuple(limits), tuple(quiet_ends.notes)))
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

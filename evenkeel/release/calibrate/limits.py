"""Limits of the live alert, placed by what a route's own traffic and degraded answers show; `limits.json`.

A limit is the largest mean of a measure that is tolerated (`evenkeel.monitor.detect.Measure`), or the
distance from its baseline that is no drift. It lies where quiet traffic stays below at the stated rate of
false alerts (`quiet`), and not below a third of what answers lose that were degraded by 30 %, so that such a
degradation is well above. Degradations are synthetic: no limit says how bad a real answer is.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from dataclasses import dataclass, replace
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from evenkeel.core.figures import number
from evenkeel.core.verdict import SAME_CONTENT, Failure, Verdict
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.monitor.detect import Measure
from evenkeel.release.calibrate.candidates import Candidate, made, source_of
from evenkeel.release.calibrate.degrade import Damage, form_of
from evenkeel.release.calibrate.quiet import GRID, QuietTraffic, Watched, quiet_limits
from evenkeel.release.calibrate.score_table import DEGRADED, Condition
from evenkeel.release.goldens.files import newest_versions
from evenkeel.release.goldens.prompts import prompt_text
from evenkeel.release.kit.arguments import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from evenkeel.core.verdict import Judgement
    from evenkeel.release.calibrate.quiet import RouteQuiet
    from evenkeel.stores.goldens import Golden

DRIFT: Final[Watched] = "drift"
VERSION: Final = 1
MODERATE: Final = 0.3
"""Share of a golden that is degraded."""
_TOLERATED: Final = 1 / 3
"""Of what such answers lose: as much as a degradation of 10 % would, if losses were in proportion."""
_FEWEST_GOLDENS: Final = 20
_CONFIDENCE: Final = 0.95


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


def degraded(goldens: Sequence[Golden], *, seed: int = 0) -> DegradedGoldens | None:
    """Degrade goldens by 30 % and score them as live answers are scored without a judge.

    Only degradations that make an answer worse count. None if fewer than 20 goldens can be degraded.
    """
    used = [one for one in newest_versions(goldens) if one.retired_at is None]
    found = [losses for one in used if (losses := losses_of(one, seed=seed))]
    if len(found) < _FEWEST_GOLDENS:
        return None
    return DegradedGoldens(
        len(found), {measure: _loss([one[measure] for one in found]) for measure in _LOSSES.values()}
    )


_LOSSES: Final[dict[Watched, Measure]] = {
    "content": Measure.CONTENT,
    "similarity": Measure.SIMILARITY,
}
"""What degraded answers say something about: for qualities a judge is needed."""


def losses_of(golden: Golden, *, seed: int = 0) -> dict[Measure, float]:
    """Mean losses of a golden over the ways to degrade it by 30 %, by measure; {} if there are none."""
    form = form_of(golden.answer, golden.task)
    if isinstance(form, Failure):
        return {}
    damage = Damage(form, frozenset(DEGRADED), published=False)
    source = source_of(golden, prompt_text(golden.request))
    worse = {Condition(one.mode, MODERATE) for one in damage.degradations if one.expected(MODERATE) < 1}
    scorer = heuristic_scorer()
    found: dict[Measure, list[float]] = {}
    for one in made(source, damage, seed, {}, worse):
        if isinstance(one, Candidate):
            judgement = asyncio.run(scorer.score(one.pair, qualities=False))
            lost = _lost(judgement)
            if lost is not None:
                found.setdefault(Measure.SIMILARITY, []).append(lost)
                found.setdefault(Measure.CONTENT, []).append(float(bool(judgement.shifted)))
    return {measure: sum(values) / len(values) for measure, values in found.items()}


def _lost(judgement: Judgement) -> float | None:
    """The graded loss of an answer whose resend would have been equal."""
    return replace(
        _EQUAL, rating=judgement.rating, similarity=judgement.similarity, invalid=judgement.invalid
    ).graded_loss


_EQUAL: Final = Verdict(
    *("", "", 0.0, "", "", "", 1, 0.0, 0, "metrics", None, SAME_CONTENT), baseline_similarity=1.0
)


def _loss(values: Sequence[float]) -> Loss:
    mean = float(np.mean(values))
    reach = NormalDist().inv_cdf(0.5 + _CONFIDENCE / 2) * float(np.std(values, ddof=1)) / sqrt(len(values))
    return Loss(mean, mean - reach)


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
    for name, measure in _LOSSES.items() if goldens else ():
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


def place_all(
    quiet: Mapping[str, RouteQuiet],
    goldens: Sequence[Golden],
    *,
    route: str | None,
    trials_between_false_alerts: float,
    today: date,
    seed: int,
) -> list[PlacedLimits]:
    """Place the limits of every route that has quiet traffic or goldens.

    Args:
        quiet: By route.
        goldens: Of all routes.
        route: Only this one; None = all.
        trials_between_false_alerts: The stated rate.
        today: For the sources.
        seed: Of every draw.
    """
    placed = []
    for name in sorted({*quiet, *(one.route for one in goldens)}):
        if route not in {None, name}:
            continue
        found = quiet.get(name)
        if found is not None and found.alert:
            why = "an alert is up, so its traffic is not quiet; --quiet-from says from when on it is"
            placed.append(PlacedLimits(name, (), (), (why,)))
            continue
        placed.append(
            place_limits(
                name,
                found.traffic if found is not None and found.traffic.trials else None,
                degraded([one for one in goldens if one.route == name], seed=seed),
                trials_between_false_alerts=trials_between_false_alerts,
                today=today,
                rng=Random(seed),
            )
        )
    return placed


def lines_of(placed: PlacedLimits) -> Iterator[str]:
    """What was placed, for people."""
    values = ", ".join(f"{one.measure} {one.value:g}" for one in placed.limits)
    yield f"route {placed.route}: {values or 'no limits'}"
    if placed.limits:
        yield f"  {placed.limits[0].source}"
    if placed.catches:
        yield f"  answers degraded by 30 % are above the limit of {' and '.join(placed.catches)}"
    yield from (f"  {note}" for note in placed.notes)


def merged(before: Iterable[RouteLimit], placed: Iterable[PlacedLimits]) -> Iterator[RouteLimit]:
    """The limits of a file after some routes were calibrated again: those of other routes stay."""
    again = {one.route: one for one in placed}
    yield from (one for one in before if one.route not in again)
    for one in again.values():
        yield from one.limits

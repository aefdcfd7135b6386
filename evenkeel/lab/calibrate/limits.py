"""Limits of live alerts by quiet traffic and by what degraded goldens lose: `calibrate --limits`."""

from __future__ import annotations

import asyncio
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import structs

from evenkeel.core.verdict import SAME_CONTENT, Control, Failure, Scoring, Verdict
from evenkeel.lab.calibrate.candidates import Candidate, made, source_of
from evenkeel.lab.calibrate.degrade import Damage
from evenkeel.lab.calibrate.score_table import DEGRADED, Condition
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.monitor.detect import Measure
from evenkeel.release.calibration.forms import form_of
from evenkeel.release.calibration.limits import (
    LOSSES,
    MODERATE,
    DegradedGoldens,
    Loss,
    PlacedLimits,
    place_limits,
)
from evenkeel.release.goldens.files import newest_versions
from evenkeel.release.goldens.prompts import prompt_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from evenkeel.core.verdict import Judgement
    from evenkeel.release.calibration.limits import RouteLimit
    from evenkeel.release.calibration.quiet import RouteQuiet
    from evenkeel.stores.goldens import Golden


_FEWEST_GOLDENS: Final = 20
_CONFIDENCE: Final = 0.95


def degraded(goldens: Sequence[Golden], *, seed: int = 0) -> DegradedGoldens | None:
    """Degrade goldens by 30 % and score them as live answers are scored without a judge.

    Only degradations that make an answer worse count. None if fewer than 20 goldens can be degraded.
    """
    used = [one for one in newest_versions(goldens) if one.retired_at is None]
    found = [losses for one in used if (losses := losses_of(one, seed=seed))]
    if len(found) < _FEWEST_GOLDENS:
        return None
    return DegradedGoldens(
        len(found), {measure: _loss([one[measure] for one in found]) for measure in LOSSES.values()}
    )


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
    for one in made(source, damage, seed, worse):
        if isinstance(one, Candidate):
            judgement = asyncio.run(scorer.score(one.pair, qualities=False))
            lost = _lost(judgement)
            if lost is not None:
                found.setdefault(Measure.SIMILARITY, []).append(lost)
                found.setdefault(Measure.CONTENT, []).append(float(bool(judgement.shifted)))
    return {measure: sum(values) / len(values) for measure, values in found.items()}


def _lost(judgement: Judgement) -> float | None:
    """The graded loss of an answer whose resend would have been equal."""
    return structs.replace(
        _EQUAL, rating=judgement.rating, similarity=judgement.similarity, invalid=judgement.invalid
    ).graded_loss


_EQUAL: Final = Verdict(
    id="",
    exchange_id="",
    scored_at=0.0,
    route="",
    model="",
    perturbation="",
    perturbation_version=1,
    severity=0.0,
    seed=0,
    scoring=Scoring("metrics"),
    rating=None,
    control=Control(rating=SAME_CONTENT, similarity=1.0),
)


def _loss(values: Sequence[float]) -> Loss:
    mean = float(np.mean(values))
    reach = NormalDist().inv_cdf(0.5 + _CONFIDENCE / 2) * float(np.std(values, ddof=1)) / sqrt(len(values))
    return Loss(mean, mean - reach)


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

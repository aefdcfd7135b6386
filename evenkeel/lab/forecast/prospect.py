"""When half of the falls are found under a budget, when most of them, and what a quiet day costs.

The plays of a fall begin at hours spread over the day, with baselines learned before, each with another
rewording that falls. On the way there a day without a fall is walked through, for all routes that share the
budget: what each has spent by when.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import ceil, floor
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.budget import NOTHING, Spend, beyond_share, passed
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.forecast.play import (
    DAY_S,
    HOUR_S,
    STEPS,
    USUAL,
    Answers,
    Beside,
    Fall,
    Play,
    Prompts,
)
from evenkeel.shadow.groups import roots_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.budget import Budget
    from evenkeel.core.verdict import Verdict
    from evenkeel.lab.forecast.play import Route
    from evenkeel.shadow.perturbations import Perturbation

FALLS: Final = (Fall(0.15), Fall(0.05, "all"))
"""What a forecast is about unless somebody asks for something else."""
MOST_DAYS: Final = 30
PLAYS: Final = 96
"""Of a fall. The median of so many delays is off by a tenth or two."""
_LEARNED: Final = 16
"""Baselines, each learned from other exchanges, with which the plays begin in turn."""
_QUIET: Final = 800
"""Exchanges after each baseline by which it is measured how many trials one has while nothing is wrong."""
_BEFORE: Final = 600
"""Trials before a fall that are played, about; what was earlier that day is left out."""
_FEWEST_TRIALS: Final = 0.05
"""Of an exchange, as far as that is about."""
_HOPELESS: Final = 10
"""So many plays in which a fall is not found, and none in which it is, are enough."""
_AMPLE: Final = 24
"""Plays that are enough where they take long, so that a forecast takes seconds."""
_MOST_TRIALS: Final = 40_000
"""Played for a fall; from then on that is so."""
_FEWEST: Final = 30
"""Fewer verdicts of a kind say nothing."""
_KNOWN: Final = 100.0
"""Trials that what all rewordings and prompts have in common weighs in what is said of one of them."""
_SEED: Final = 20_261_123
_MIDDLE: Final = (0.1, 0.5, 0.9)
"""Quantiles: four of five falls are found between the first and the last."""


class Finding(NamedTuple):
    """How soon a fall is found. Hours; None = not within a month."""

    fall: Fall
    soon: float | None
    """One in ten is found sooner."""
    half: float | None
    """Half of them are."""
    late: float | None
    """Nine in ten are."""


class Prospect(NamedTuple):
    """What a budget does on a route."""

    findings: tuple[Finding, ...]
    """Of each fall."""
    usd_per_day: float
    """Spent on trials of the route on a day on which nothing happens."""
    tokens_per_day: float
    limited: bool
    """Whether a budget leaves out trials that the plan would make on such a day."""


class _Walk(NamedTuple):
    """A quiet day of a route."""

    trials: float
    """Of an exchange, without a limit."""
    spent: tuple[Spend, ...]
    """By the end of each step."""
    limited: bool


def prospects(
    routes: Sequence[Route], budget: Budget, falls: Sequence[Fall] = FALLS, plays: int = PLAYS
) -> dict[str, Prospect]:
    """By route, what a budget of all routes finds. Takes about a second for each fall of a route.

    Args:
        routes: All that share it.
        budget: Of the day.
        falls: What may happen.
        plays: Of each.
    """
    learned = {route.name: _learned(route) for route in routes}
    walks = _walked(routes, budget, {route.name: _trials(route, learned[route.name]) for route in routes})
    found = {}
    for route in routes:
        walk = walks[route.name]
        beside = Beside(budget, {name: other.spent for name, other in walks.items() if name != route.name})
        findings = tuple(_found(route, fall, learned[route.name], walk, beside, plays) for fall in falls)
        spent = walk.spent[-1]
        found[route.name] = Prospect(findings, spent.usd, spent.tokens, walk.limited)
    return found


def _learned(route: Route) -> list[Play]:
    ready = []
    for number in range(_LEARNED):
        play = Play(route, _SEED + number)
        play.learn()
        ready.append(play)
    return ready


def _trials(route: Route, ready: Sequence[Play]) -> float:
    """Trials of an exchange while nothing is wrong."""
    if route.plan.settled_rate is None:
        return 1 + min(route.plan.trials_per_exchange, len(route.plan.perturbations))
    shares = []
    for play in ready:
        other = play.copy(_SEED)
        other.learn(_QUIET, enough=False)
        shares.append((other.trials - play.trials) / (other.exchanges - play.exchanges))
    # A false alarm in one of them is not what a day usually costs.
    return median(shares)


def _walked(routes: Sequence[Route], budget: Budget, trials: Mapping[str, float]) -> dict[str, _Walk]:
    """A quiet day of all routes, in steps in which each asks for what it usually needs."""
    used = {route.name: NOTHING for route in routes}
    spent: dict[str, list[Spend]] = {route.name: [] for route in routes}
    limited: set[str] = set()
    waits = dict.fromkeys(used, 0.0)
    for step in range(STEPS):
        at = (step + 1) / STEPS
        bounds = budget.bounds(at)
        # The route that has had the least comes first.
        for route in sorted(routes, key=lambda one: used[one.name]):
            name = route.name
            waits[name] += route.hourly[step * 24 // STEPS] * 24 / STEPS * trials[name]
            own = used[name].plus(route.trial.times(int(waits[name])))
            total = own
            for one, other in used.items():
                total = total.plus(other) if one != name else total
            taken: dict[str | None, Spend] = {None: total}
            taken.update(used | {name: own})
            others = [one for one in used if one != name]
            refused = (
                any(passed(total, bound.limit) for bound in bounds)
                or any(passed(own, bound.limit) for bound in route.budget.bounds(at))
                or (bool(others) and beyond_share(taken, name, others, bounds[-1].limit))
            )
            if refused:
                limited.add(name)
            else:
                used[name] = own
            waits[name] -= int(waits[name])
            spent[name].append(used[name])
    return {name: _Walk(trials[name], tuple(steps), name in limited) for name, steps in spent.items()}


def _found(
    route: Route, fall: Fall, ready: Sequence[Play], walk: _Walk, beside: Beside, plays: int
) -> Finding:
    delays: list[float | None] = []
    trials, each = 0, ceil(plays / len(ready))
    busiest = max(route.played)
    if not busiest:
        return Finding(fall, None, None, None)
    before_s = _BEFORE / max(walk.trials, _FEWEST_TRIALS) / busiest * HOUR_S
    for place, learned in enumerate(ready):
        quiet = learned.copy(0)
        quiet.begin(_SEED + _LEARNED + place, beside)
        for turn in range(each):
            at = (turn + (place + 0.5) / len(ready)) / each * DAY_S
            step = int((at - before_s) / DAY_S * STEPS)
            quiet.skip(at - before_s, walk.spent[step - 1] if step > 0 else NOTHING)
            quiet.run(at)
            number = place * each + turn
            play = quiet.copy(_SEED + 2 * _LEARNED + number)
            found = play.run(at + MOST_DAYS * DAY_S, fall, number)
            delays.append(None if found is None else (found - at) / HOUR_S)
            trials += play.trials - quiet.trials
        trials += quiet.trials - learned.trials
        enough = len(delays) >= _AMPLE and trials > _MOST_TRIALS
        if enough or (len(delays) >= _HOPELESS and not any(delays)):
            break
    known = sorted(delay for delay in delays if delay is not None)
    soon, half, late = (_quantile(known, len(delays), share) for share in _MIDDLE)
    return Finding(fall, soon, half, late)


def _quantile(found: Sequence[float], number: int, share: float) -> float | None:
    """Of so many delays, of which the sorted ones are known and all others are longer."""
    place = share * (number - 1)
    below, above = floor(place), ceil(place)
    if above >= len(found):
        return None
    return found[below] + (place - below) * (found[above] - found[below])


def measured(
    verdicts: Sequence[Verdict], kinds: Sequence[Perturbation], fallback: Answers = USUAL
) -> Answers:
    """How answers move, as some verdicts of a route on which nothing happened have it.

    Args:
        verdicts: The latest, of one model.
        kinds: The route's rewordings.
        fallback: Taken where there are too few of them.
    """
    # Trials that follow from answers are no sample of their own.
    rated = [one for one in verdicts if one.shifted is not None and not one.split_of]
    by_prompt = Counter(one.prompt_version or "" for one in rated if one.tells_of_exchange)
    common = [name for name, count in by_prompt.most_common(8) if count >= _FEWEST] or [""]
    rated = [one for one in rated if not one.reused]
    controls = [one for one in rated if one.perturbation == BASELINE]
    changed = [one for one in rated if one.perturbation != BASELINE]
    noise = _rate(controls, fallback.prompts[0].noise)
    roots = {root.perturbation.name: root for root in roots_of(tuple(kinds))}
    sizes = {name: len(root.kinds) for name, root in roots.items()}
    usual = fallback.usually_moved
    if len(changed) >= _FEWEST:
        # As if each rewording of a trial moved as much.
        together = fmean(sizes.get(one.perturbation, 1) for one in changed)
        usual = _beyond(_rate(changed, noise), noise, together)
    moved: dict[str, float] = {}
    for name, root in roots.items():
        size = len(root.kinds)
        own = [one for one in rated if one.perturbation == name]
        if size > 1 and len(own) >= _FEWEST:
            # What a group moves is divided evenly among its rewordings.
            moved |= dict.fromkeys((kind.name for kind in root.kinds), _moved(own, noise, usual, size))
            continue
        for kind in root.kinds:
            own = [one for one in rated if one.perturbation == kind.name]
            if len(own) >= _FEWEST:
                moved[kind.name] = _moved(own, noise, usual, 1)
    usual = fmean(moved.values()) if moved else fallback.usually_moved
    whole = _beyond(_rate(changed, noise), noise, 1)
    total = sum(by_prompt[name] for name in common) or 1
    prompts = []
    for name in common:
        own_noise = _likely([one for one in controls if name in {"", one.prompt_version}], noise)
        others = [one for one in changed if name in {"", one.prompt_version}]
        factor = _moved(others, own_noise, whole, 1) / whole if whole else 1.0
        prompts.append(Prompts(by_prompt[name] / total if name else 1.0, own_noise, min(4.0, factor)))
    alike, spread = zip(*(_similar(rated, fallback, moved=bool(kind)) for kind in (0, 1)), strict=True)
    shifted = [one for one in rated if one.shifted]
    known = len(shifted) >= _FEWEST
    return replace(
        fallback,
        prompts=tuple(prompts),
        moved=moved,
        usually_moved=usual,
        alike=alike,
        spread=spread,
        partly=fmean(one.rating != 1 for one in shifted) if known else fallback.partly,
        worse=fmean(bool(one.worse) for one in shifted) if known else fallback.worse,
        verbatim=len(controls) >= _FEWEST and all(one.is_same for one in controls),
    )


def _rate(verdicts: Sequence[Verdict], otherwise: float) -> float:
    """The share that moved, with half a trial of each kind added."""
    if len(verdicts) < _FEWEST:
        return otherwise
    return (sum(bool(one.shifted) for one in verdicts) + 0.5) / (len(verdicts) + 1)


def _likely(verdicts: Sequence[Verdict], usual: float) -> float:
    """The share that moved, drawn towards the usual one: few trials say little of rare moves."""
    if len(verdicts) < _FEWEST:
        return usual
    moved = sum(bool(one.shifted) for one in verdicts)
    return (moved + 0.5 + _KNOWN * usual) / (len(verdicts) + 1 + _KNOWN)


def _moved(verdicts: Sequence[Verdict], noise: float, usual: float, size: int) -> float:
    """How often each of so many rewordings moves an answer by itself, beyond the noise."""
    otherwise = 1 - (1 - noise) * (1 - usual) ** size
    return _beyond(_likely(verdicts, otherwise), noise, size)


def _beyond(rate: float, noise: float, size: float) -> float:
    left: float = (1 - max(0.0, (rate - noise) / (1 - noise))) ** (1 / size)
    return 1 - left


def _similar(rated: Sequence[Verdict], fallback: Answers, *, moved: bool) -> tuple[float, float]:
    found = [one.similarity for one in rated if one.similarity is not None and one.shifted is moved]
    if len(found) < _FEWEST:
        return fallback.alike[moved], fallback.spread[moved]
    return fmean(found), pstdev(found)

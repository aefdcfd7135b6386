"""Are changes noticed, and is the right cause named? `python -m benchmarks.changes [--runs 10 --seed 1]`.

Verdicts of the form that the worker writes are made by a seeded simulator and fed into the monitor's fold;
goldens are asked every 50 exchanges of a route, by a simulated model too. No server, no clock: an exchange
takes 30 seconds of simulated time. A run has 4 routes of 10 kinds of trials (40 cells) and 20,000 trials; in
all but the first case one route changes half-way.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from evenkeel.core.verdict import BANDS_RATING, BASELINE, DECIDED_BY, QualityScore, Verdict
from evenkeel.monitor.changes.goldens import history_of
from evenkeel.monitor.changes.report import Cause, reports_of
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.changes import GoldenResult, GoldenRun
from evenkeel.stores.verdict_log import LoggedVerdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.monitor.changes.report import ChangeReport

ROUTES = ("triage", "summaries", "replies", "search")
KINDS = tuple(f"general.kind{number}" for number in range(9))
TRIALS = 20_000
PER_EXCHANGE = 4
GOLDENS = 30
CANARY_EVERY = 50
SECONDS = 30.0
START = 1_790_000_000.0
_SAME, _OTHER = 0.85, 0.25
"""Likeness beyond which the bands decide."""
_AUDITED = 0.05
_JUDGE_ERRS = 0.03
_WORSE = 0.4
_SHIFTED = 2
_RIGHT = 0.9
_SHORT = {
    "prompt_edited": "prompt",
    "model_swapped": "model",
    "provider_changed_silently": "provider",
    "traffic_moved": "traffic",
    "judge_drifted": "judge",
    "settings_changed": "settings",
}
CASES: dict[str, Cause | None] = {
    "no change": None,
    "model swap": Cause.MODEL,
    "prompt edit": Cause.PROMPT,
    "silent swap": Cause.PROVIDER,
    "traffic mix": Cause.TRAFFIC,
    "judge drift": Cause.JUDGE,
}


@dataclass(frozen=True)
class World:
    """What is true of a route at one time."""

    requested: str = "large"
    returned: str = "large-2026-05-01"
    fingerprints: tuple[str, ...] = ("fp_a", "fp_b")
    prompt: str = "v1"
    prompt_chars: float = 1800.0
    template_share: float = 0.62
    languages: tuple[tuple[str, float], ...] = (("en", 0.8), ("de", 0.15), ("fr", 0.05))
    noise: float = 0.05
    fragility: float = 0.06
    golden_breach: float = 0.06
    answer_chars: float = 700.0
    judge_strictness: float = 0.0
    """Share of pairs that the judge calls shifted though they are not."""


CHANGES: dict[str, dict[str, object]] = {
    "no change": {},
    "model swap": {
        "requested": "small",
        "returned": "small-2026-08-01",
        "fragility": 0.3,
        "golden_breach": 0.3,
        "answer_chars": 560.0,
    },
    "prompt edit": {"prompt": "v2", "prompt_chars": 2200.0, "template_share": 0.71, "fragility": 0.2},
    "silent swap": {"fragility": 0.35, "noise": 0.12, "golden_breach": 0.35, "answer_chars": 560.0},
    "traffic mix": {
        "languages": (("en", 0.4), ("de", 0.5), ("fr", 0.1)),
        "prompt_chars": 3000.0,
        "template_share": 0.45,
    },
    "judge drift": {"judge_strictness": 0.35},
}


@dataclass
class Run:
    """One run through the fold."""

    reports: tuple[ChangeReport, ...]
    alerts: list[str] = field(default_factory=list)
    """Routes of the alerts (excess, drift) that were raised, in order."""
    noticed_after: int | None = None
    """Exchanges of the changed route between the change and its report."""


def _similarity(rng: random.Random, *, shifted: bool) -> float:
    return rng.betavariate(3, 4) if shifted else rng.betavariate(9, 2)


def verdicts(case: str, seed: int, trials: int = TRIALS) -> Iterator[tuple[str, LoggedVerdict]]:
    """The log of a run with the route of each verdict; the first route changes half-way, not all at once."""
    rng = random.Random(f"{seed}:{case}")
    before = {route: World(noise=0.03 + 0.02 * place) for place, route in enumerate(ROUTES)}
    after = replace(before[ROUTES[0]], **CHANGES[case])
    count = offset = 0
    while offset < trials:
        route = ROUTES[count % len(ROUTES)]
        world = before[route]
        if route == ROUTES[0] and offset > trials / 2 and rng.random() < (offset - trials / 2) / 800:
            world = after
        for one in _exchange(rng, route, world, f"x{count}", START + SECONDS * count):
            offset += 1
            yield route, LoggedVerdict(offset, one)
        count += 1


def _exchange(rng: random.Random, route: str, world: World, name: str, at: float) -> Iterator[Verdict]:
    languages, weights = zip(*world.languages, strict=True)
    common = {
        "exchange_id": name,
        "scored_at": at,
        "route": route,
        "model": world.returned,
        "requested_model": world.requested,
        "system_fingerprint": rng.choice(world.fingerprints),
        "prompt_version": world.prompt,
        "prompt_chars": round(world.prompt_chars * math.exp(rng.gauss(0, 0.35))),
        "template_share": min(1.0, max(0.0, rng.gauss(world.template_share, 0.05))),
        "prompt_language": rng.choices(languages, weights)[0],
        "answer_chars": round(world.answer_chars * math.exp(rng.gauss(0, 0.4))),
        "task": "case_summary",
        "settings": "s1",
    }
    resend = _trial(rng, world, BASELINE, world.noise, None, common)
    yield resend
    for kind in rng.sample(KINDS, PER_EXCHANGE):
        rate = world.noise + world.fragility * (1 - world.noise)
        yield _trial(rng, world, kind, rate, resend.rating, common)


def _trial(
    rng: random.Random,
    world: World,
    kind: str,
    rate: float,
    noise_rating: int | None,
    common: dict[str, object],
) -> Verdict:
    shifted = rng.random() < rate
    likeness = _similarity(rng, shifted=shifted)
    clear = likeness > _SAME or likeness < _OTHER
    audited = rng.random() < _AUDITED
    details = {"rouge_l": likeness, DECIDED_BY: 1.0 if clear and not audited else 2.0}
    asked = not clear or audited
    truth = 2 if shifted else 3
    rating = truth
    if asked:
        if not shifted and rng.random() < _JUDGE_ERRS + world.judge_strictness:
            rating = 2
        elif shifted and rng.random() < _JUDGE_ERRS:
            rating = 3
        if clear:
            details[BANDS_RATING] = 3.0 if likeness > _SAME else 2.0
    elif clear:
        rating = 3 if likeness > _SAME else 2
    quality = (
        (QualityScore("faithfulness", 1, 3, 2 if rng.random() < _WORSE else 3),) if rating == _SHIFTED else ()
    )
    return Verdict(
        id=f"{common['exchange_id']}.{kind}",
        perturbation=kind,
        perturbation_version=1,
        severity=0.0,
        seed=0,
        scorer="judge",
        rating=rating,
        baseline_rating=noise_rating,
        quality=quality,
        details=details,
        rated_by="similarity@1" if asked else "",
        judge_model="judge-1" if asked else "",
        **common,
    )


def golden_run(
    rng: random.Random, route: str, at: float, breach: float, asked: str, number: int
) -> GoldenRun:
    """A canary: every golden has its own rate, of the stated mean."""
    results = []
    for golden in range(GOLDENS):
        rate = min(1.0, breach * (0.5 + golden / (GOLDENS - 1)))
        breached = rng.random() < rate
        results.append(
            GoldenResult(f"g{golden}@1", {"content_shift": breached}, {"rouge_l": 0.5 if breached else 0.95})
        )
    return GoldenRun(
        id=f"{route}{number}",
        route=route,
        at=at,
        trigger="canary",
        change="",
        asked=asked,
        model=asked,
        deciding=("content_shift",),
        scorer="rated by metrics",
        judged=False,
        results=tuple(results),
    )


def run(case: str, seed: int, trials: int = TRIALS) -> Run:
    """Feed one log into the fold, ask goldens meanwhile, and read the reports at the end."""
    rng = random.Random(f"{seed}:{case}:goldens")
    state = MonitorState(MonitorSettings())
    runs: list[GoldenRun] = []
    seen: Counter[str] = Counter()
    alerts: list[str] = []
    changed_at: int | None = None
    noticed: int | None = None
    for route, logged in verdicts(case, seed, trials):
        applied = state.apply(logged)
        alerts += [event.route for event in applied.events if event.kind == "raised"]
        one = logged.verdict
        if one.perturbation != BASELINE:
            continue
        seen[route] += 1
        moved = route == ROUTES[0] and logged.offset > trials / 2 and case != "no change"
        if moved and changed_at is None:
            changed_at = seen[route]
        if seen[route] % CANARY_EVERY == 0:
            world = replace(World(), **CHANGES[case]) if moved else World()
            runs.append(
                golden_run(
                    rng, route, one.scored_at, world.golden_breach, one.requested_model or "", len(runs)
                )
            )
        if (
            moved
            and noticed is None
            and any(
                mark.offset > trials / 2
                for change in state.changes()
                if change.route == route
                for mark in change.latest
            )
        ):
            noticed = seen[route] - (changed_at or 0)
    found = reports_of(state.change_records(), history_of(runs))
    return Run(found, alerts, noticed)


def judged(case: str, outcome: Run) -> tuple[str, int]:
    """The cause reported for the changed route ("-" for none), and the number of other reports."""
    telling = [report for report in outcome.reports if report.cause is not Cause.NOTHING]
    half = [report for report in telling if report.route == ROUTES[0] and case != "no change"]
    main = max(half, key=lambda report: len(report.marks), default=None)
    if main is None:
        return "-", len(telling)
    return main.cause.value, len(telling) - 1


def measure(runs: int, seed: int, cases: Sequence[str] = tuple(CASES)) -> bool:
    """Print the confusion table; says whether it is as stated."""
    names = ["-", *(cause.value for cause in Cause)]
    print("reported cause of the changed route; reports and raised alerts (excess, drift) of all others")
    print(f"{'case':<12}" + "".join(f"{_SHORT.get(name, name):>10}" for name in names), end="")
    print(f"{'reports':>9}{'alerts':>8}{'exchanges to notice':>21}", flush=True)
    fine = True
    for case in cases:
        row: Counter[str] = Counter()
        others = alerts = 0
        delays = []
        for number in range(runs):
            outcome = run(case, seed + number)
            cause, further = judged(case, outcome)
            row[cause] += 1
            others += further
            alerts += sum(route != ROUTES[0] or case == "no change" for route in outcome.alerts)
            if outcome.noticed_after is not None:
                delays.append(outcome.noticed_after)
        delay = f"{sorted(delays)[len(delays) // 2]}" if delays else "-"
        print(f"{case:<12}" + "".join(f"{row[name]:>10}" for name in names), end="")
        print(f"{others:>9}{alerts:>8}{delay:>21}", flush=True)
        wanted = CASES[case]
        right = row["-"] if wanted is None else row[wanted.value]
        stated = 2 * runs * TRIALS / MonitorSettings().mean_trials_between_false_alarms
        fine = fine and right >= _RIGHT * runs and others <= (1 - _RIGHT) * runs and alerts <= stated
    return fine


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Are changes noticed, and is the right cause named?")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", choices=tuple(CASES), action="append")
    given = parser.parse_args()
    started = time.perf_counter()
    fine = measure(given.runs, given.seed, tuple(given.case or CASES))
    print(f"{time.perf_counter() - started:.0f} s")
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()

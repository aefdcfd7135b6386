"""Cells, trends and trials that are consistent in themselves, drawn from a seed."""

import math

from evenkeel.core.cells import CellKey, Estimate
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import BASELINE, Control, Evidence, QualityScore, Scoring, TrialCost, Verdict
from evenkeel.stores.monitor_state import TrendPoint
from tests.cases import cases
from tests.kit.cells import cell_report, with_figures

NOW = 1_786_544_400.0
"""2026-08-12 14:20:00 UTC."""

ROUTES = ("case-summaries", "billing-replies", "ticket-triage", "faq-answers", "chat")
STEADY, FRAGILE = "steady-2026-05", "swift-2026-08"

_CHANGES = {
    "whitespace": lambda text: text.replace(" the ", "  the "),
    "punctuation": lambda text: text.replace(".", " ."),
    "casing": lambda text: text.replace(" the ", " The "),
    "spelling": lambda text: text.replace(" the ", " teh "),
}
PERTURBATIONS = (BASELINE, *(f"general.{kind}" for kind in _CHANGES))
_CASES = [tuple(case.values()) for case in cases(__file__)]
"""Cases with a good and a bad summary."""


def estimate(value, n, low=0.0):
    """A rate with an interval about as wide as a confidence sequence's."""
    half = 1.4 * math.sqrt(max(value * (1 - value), 0.02) / max(n, 1)) + 0.8 / max(n, 1)
    return Estimate(value, max(low, value - half), min(1.0, value + half), n)


def cell(route, model, perturbation, *, trials=214, moved=0.05, quality=0.6, alert=False, at=NOW - 4):
    """A report that is consistent in itself; below 30 trials without any estimate."""
    key = CellKey(route, model, perturbation)
    shifted = round(trials * moved)
    report = cell_report(
        key=key,
        scorer="metrics",
        trials=trials,
        effective=trials,
        ratings={3: trials - shifted, 2: shifted - shifted // 3, 1: shifted // 3},
        last_scored_at=at,
        threshold=0.10,
        alarm_log10=4.0,
        evidence_log10=5.2 if alert else -0.4,
        alert=alert,
    )
    if trials < 30:
        return report
    return with_figures(
        report,
        content_delta=estimate(moved, trials),
        quality_delta=estimate(quality, shifted) if shifted >= 5 else None,
        robustness=estimate(1 - moved * quality, trials),
        noise_floor=estimate(0.04, trials),
        excess=None if perturbation == BASELINE else estimate(moved - 0.04, trials, low=-1.0),
    )


def trend_points(rng, start, end, count, levels):
    """A line from one level to another with shrinking intervals."""
    points = []
    for place in range(count):
        share = place / (count - 1)
        trials = 30 + 3 * place
        value = levels[0] + (levels[1] - levels[0]) * (1 - math.exp(-4 * share)) + rng.gauss(0, 0.006)
        band = estimate(value, trials, low=-1.0) if value > 0 else estimate(0.0, trials, low=-1.0)
        points.append(TrendPoint(start + (end - start) * share, value, band.lower, band.upper))
    return points


def verdict(rng, place, *, model=STEADY, fragile=False, route=None):
    """Make a trial with its texts; on a fragile model most answers move."""
    case, good, bad = _CASES[place % len(_CASES)]
    prompt = f"Summarise the support case in at most three sentences. Keep numbers and names.\n\n{case}"
    perturbation = PERTURBATIONS[place % len(PERTURBATIONS)]
    kind = perturbation.partition(".")[2]
    baseline = perturbation == BASELINE
    moved = not baseline and rng.random() < (0.65 if fragile else 0.08)
    rating = (1 if rng.random() < 0.3 else 2) if moved else 3
    exchange_id = f"{place // len(PERTURBATIONS):016x}"
    found = Verdict(
        id=f"{exchange_id}.{perturbation}.{place}",
        exchange_id=exchange_id,
        scored_at=NOW - 6 - 7 * (200 - place),
        route=route or ROUTES[place % 3],
        model=model,
        perturbation=perturbation,
        perturbation_version=1,
        severity=0.0 if baseline else 0.3,
        seed=place,
        scoring=Scoring(
            "metrics",
            explanation="Numbers of the original are missing." if moved else "",
            details={"rouge_l": 0.46 if moved else 0.97, "numbers_kept": 0.5 if moved else 1.0},
        ),
        rating=rating,
        quality=(
            QualityScore("faithfulness", 1, 3, 2 if rating == 2 else 1),
            QualityScore("completeness", 1, 3, 2),
        )
        if moved
        else (),
        control=Control(rating=3),
        cost=TrialCost(replay_s=1.3, tokens=412, usd=0.0009),
    )
    variant = prompt if baseline else prompt[:80] + _CHANGES[kind](prompt[80:])
    return found, Evidence(prompt, variant, Answer(good), Answer(bad if moved else good))

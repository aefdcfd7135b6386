"""Verdicts of one route whose losses are known: kinds that lose more or less, in bursts or alone."""

from __future__ import annotations

from evenkeel.core.verdict import BASELINE, Control
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

RESEND = altered(
    VERDICT, route="support", perturbation=BASELINE, severity=0.0, seed=0, rating=None, control=Control()
)


def _rating(similarity):
    return 1 if similarity < 0.4 else 3


def quiet_log(trials, rng, *, floor=0.2, excess=0.0, kinds=4, burst=0.0, since=0):
    """A resend and a variant for each of so many exchanges.

    Args:
        trials: Exchanges.
        rng: Draws everything.
        floor: Share of resends that moved; easy and hard prompts differ in it, those of a burst do not.
        excess: By how much more often variants move, on average over the kinds; the first has none of it.
        kinds: Of perturbation.
        burst: Share of exchanges in bursts of twenty.
        since: Number of the first exchange.
    """
    verdicts = []
    number = since
    while number < since + trials:
        size = 20 if rng.random() < burst / 20 else 1
        hard = rng.betavariate(2, 8) / 0.2
        for _ in range(min(size, since + trials - number)):
            kind = rng.randrange(kinds)
            share = 0.5 if kinds == 1 else kind / (kinds - 1)
            alike = [
                0.3 if rng.random() < hard * (floor + more) else 0.85 + 0.15 * rng.random()
                for more in (0, 2 * excess * share)
            ]
            resend = altered(
                RESEND, id=f"c{number}", exchange_id=f"e{number}", scored_at=float(number),
                rating=_rating(alike[0]), similarity=alike[0],
            )  # fmt: skip
            variant = altered(
                resend, id=f"v{number}", perturbation=f"general.kind{kind}", severity=0.3,
                rating=_rating(alike[1]), similarity=alike[1],
                control_rating=_rating(alike[0]), control_similarity=alike[0],
            )  # fmt: skip
            verdicts += [resend, variant]
            number += 1
    return verdicts

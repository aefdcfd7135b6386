from __future__ import annotations

import asyncio
import json
from random import Random

import pytest

from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import Failure
from evenkeel.metrics.similarity.protocol import Rating
from evenkeel.monitor.estimate import paired_excess, proportion
from evenkeel.monitor.judge_audit_live import LiveAudit, Recheck, recheck

PAIR = Pair(Answer("left"), Answer("right"), "question", "chat")
REFUSED = Failure("similarity", 1, "refused")


class Script:
    """A rater that answers from a list and remembers what it saw."""

    def __init__(self, *outcomes):
        self.outcomes = list(outcomes)
        self.seen = []

    async def rate(self, pair):
        self.seen.append(pair)
        return Rating(self.outcomes.pop(0), tokens=10, cost_usd=0.5)


def test_a_pair_is_judged_as_it_was_and_with_its_sides_swapped():
    """Tokens and cost of both calls are kept."""
    judge = Script(3, 2)
    outcome = asyncio.run(recheck(PAIR, 3, judge))
    assert outcome == Recheck(3, 3, 2, tokens=20, cost_usd=1.0)
    assert judge.seen == [PAIR, Pair(Answer("right"), Answer("left"), "question", "chat")]


def test_counts_worked_by_hand():
    """Same both times; swapped differs; again differs; both differ; one failed."""
    audit = LiveAudit()
    for outcome in (
        Recheck(3, 3, 3),
        Recheck(3, 3, 2),
        Recheck(2, 3, 2),
        Recheck(1, 2, 2),
        Recheck(3, REFUSED, 1, tokens=5, cost_usd=0.25),
    ):
        audit.add(outcome)
    report = audit.report(min_rechecks=1)
    assert report.noise == proportion(2, 4)
    assert report.swap_consistency == proportion(2, 5)
    assert report.position_effect == paired_excess(1, 1, 2, alpha=0.05)
    assert (report.rechecks, report.failures) == (5, {"refused": 1})
    assert (report.tokens, report.cost_usd) == (5, 0.25)


def test_below_the_minimum_nothing_is_estimated():
    """The counts are there all the same."""
    audit = LiveAudit()
    for _ in range(19):
        audit.add(Recheck(3, 3, 3))
    report = audit.report(min_rechecks=20)
    assert (report.noise, report.swap_consistency, report.position_effect) == (None, None, None)
    assert report.rechecks == 19
    audit.add(Recheck(3, 3, 3))
    assert audit.report(min_rechecks=20).noise.value == 0


def test_nothing_counted_is_no_estimate_even_without_a_minimum():
    """Not a division by zero."""
    assert LiveAudit().report(min_rechecks=0).noise is None


def test_a_planted_judge_is_measured():
    """Noise 10 %; a liking for one side adds 20 points; the intervals hold both."""
    rng, audit = Random(5), LiveAudit()
    for _ in range(2000):
        again = 3 if rng.random() > 0.1 else 2
        swapped = 3 if rng.random() > 0.3 else 2
        audit.add(Recheck(3, again, swapped))
    report = audit.report()
    assert report.noise.lower < 0.1 < report.noise.upper
    assert report.swap_consistency.lower < 0.7 < report.swap_consistency.upper
    assert report.position_effect.lower < 0.2 < report.position_effect.upper
    assert report.position_effect.lower > 0


def test_the_share_that_is_picked_is_the_share_asked_for():
    """Binomial: 5 standard deviations around 2 % of 20,000; the same seed picks the same."""
    picked = [LiveAudit.picks(0.02, rng) for rng in [Random(1)] for _ in range(20_000)]
    assert sum(picked) == pytest.approx(400, abs=100)
    assert picked[:100] == [LiveAudit.picks(0.02, rng) for rng in [Random(1)] for _ in range(100)]
    assert not LiveAudit.picks(0, Random(1))
    assert LiveAudit.picks(1, Random(1))


def test_counts_survive_a_restart():
    """Through JSON."""
    audit = LiveAudit()
    audit.add(Recheck(3, 2, REFUSED, 7, 0.5))
    assert LiveAudit.from_json(json.loads(json.dumps(audit.to_json()))) == audit


def test_reasons_stay_bounded():
    """They become labels: beyond 32 they are counted together."""
    audit = LiveAudit()
    for number in range(40):
        audit.add(Recheck(3, Failure("similarity", 1, f"reason_{number}"), 3))
    assert len(audit.failures) == 33
    assert audit.failures["other"] == 8

"""The judge's own noise: measured, counted, folded, exported, and what it does to the score."""

import asyncio
from dataclasses import dataclass, field

import pytest
from prometheus_client import CollectorRegistry

from evenkeel.core.budget import Spend
from evenkeel.core.cells import CellKey
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import BASELINE, DECIDED_BY, JUDGED_AGAIN, JUDGED_SWAPPED, Failure
from evenkeel.metrics.judge.raters import JudgeNoise
from evenkeel.metrics.protocol import Rating
from evenkeel.monitor.estimate import proportion
from evenkeel.monitor.export import CellCollector
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

PAIR = Pair(Answer("left"), Answer("right"), "question")
SWAPPED = Pair(Answer("right"), Answer("left"), "question")
DOWN = Failure("similarity", 1, "timeout")


@dataclass
class Script:
    """A judge that answers from a list and remembers what it saw."""

    outcomes: list[int | Failure]
    seen: list[Pair] = field(default_factory=list)

    async def rate_all(self, pairs):
        """Rate each pair."""
        return [await self.rate(pair) for pair in pairs]

    async def rate(self, pair):
        """The next planted outcome, at ten tokens."""
        self.seen.append(pair)
        return Rating(self.outcomes.pop(0), "because", {"spread": 0.5}, spent=Spend(10, 0.5))


def measured(first, fresh, share=1.0):
    told = []
    noise = JudgeNoise(first, fresh=fresh, share=share, count=told.append)
    (rating,) = asyncio.run(noise.rate_all([PAIR]))
    return rating, told


def test_a_sampled_pair_is_judged_again_past_the_cache_and_with_its_sides_swapped():
    """The rating stays the first one; the others are its details, paid for with it."""
    first, fresh = Script([3]), Script([2, 1])
    rating, told = measured(first, fresh)
    assert (rating.outcome, rating.explanation) == (3, "because")
    assert rating.details == {"spread": 0.5, JUDGED_AGAIN: 2.0, JUDGED_SWAPPED: 1.0}
    assert rating.spent == Spend(30, 1.5)
    assert (first.seen, fresh.seen) == ([PAIR], [PAIR, SWAPPED])
    assert told == ["again", "swapped"]


def test_a_second_rating_that_fails_is_counted_and_no_change():
    """The details lack it, its tokens are counted, and the rating stands."""
    rating, told = measured(Script([3]), Script([DOWN, 3]))
    assert rating.outcome == 3
    assert rating.details == {"spread": 0.5, JUDGED_SWAPPED: 3.0}
    assert rating.spent.tokens == 30
    assert told == ["failed_timeout", "swapped"]


def test_what_is_not_sampled_or_not_rated_is_judged_once():
    """Share 0 asks nobody twice, and there is nothing to repeat about a failure."""
    assert measured(Script([3]), Script([]), share=0.0)[0].spent.tokens == 10
    assert measured(Script([DOWN]), Script([]))[0].outcome == DOWN
    with pytest.raises(ValueError, match="share"):
        JudgeNoise(Script([]), fresh=Script([]), share=2)


def verdict_of(rating, **details):
    failure = DOWN if rating is None else None
    return altered(VERDICT, rating=rating, failure=failure, details=details)


STREAM = (
    verdict_of(3, **{DECIDED_BY: 0.0}),
    verdict_of(3, **{DECIDED_BY: 1.0}),
    verdict_of(3, **{DECIDED_BY: 2.0}),
    verdict_of(2, **{DECIDED_BY: 2.0, JUDGED_AGAIN: 2.0, JUDGED_SWAPPED: 2.0}),
    verdict_of(2, **{DECIDED_BY: 2.0, JUDGED_AGAIN: 3.0, JUDGED_SWAPPED: 2.0}),
    verdict_of(1, **{DECIDED_BY: 2.0, JUDGED_SWAPPED: 3.0}),
    verdict_of(1),
    verdict_of(None),
    altered(verdict_of(3, **{DECIDED_BY: 0.0}), scorer="metrics"),
)
"""Of seven judged verdicts: one equal, one decided by rule, three rejudged in some way."""


def state_of(*verdicts, min_trials=1):
    state = MonitorState(MonitorSettings(min_trials=min_trials))
    for place, verdict in enumerate(verdicts, 1):
        state.apply(LoggedVerdict(place, altered(verdict, id=f"v{place}")))
    return state


def test_every_cell_of_a_route_and_model_reports_their_judge():
    """All perturbations feed one judge; another model has its own; heuristics have none."""
    resend = altered(STREAM[4], perturbation=BASELINE)
    other = altered(STREAM[3], model="n")
    cheap = altered(VERDICT, route="cheap", scorer="metrics")
    reports = {report.key: report for report in state_of(*STREAM, resend, other, cheap).reports()}
    spelling, baseline = (reports[CellKey("chat", "m", name)] for name in ("general.spelling", BASELINE))
    assert spelling.judge.noise == baseline.judge.noise == proportion(2, 3, alpha=1 - 0.95)
    assert spelling.judge.swap_consistency == proportion(3, 4, alpha=1 - 0.95)
    assert spelling.judge.decided == {"equality": 1, "empty": 1, "judge": 6}
    assert reports[CellKey("chat", "n", "general.spelling")].judge.noise == proportion(0, 1, alpha=1 - 0.95)
    alone = reports[CellKey("cheap", "m", "general.spelling")]
    assert (alone.judge.noise, alone.judge.swap_consistency) == (None, None)
    assert alone.judge.decided == {}


def test_the_judge_is_exported_once_for_each_route_and_model():
    """Noise and swap consistency with interval and number; the stages as a counter."""
    reports = state_of(*STREAM, altered(STREAM[4], perturbation=BASELINE)).reports()
    registry = CollectorRegistry()
    registry.register(CellCollector(lambda: reports, version="1"))
    place = {"route": "chat", "model": "m"}
    for name, expected in {
        "judge_noise": proportion(2, 3, alpha=1 - 0.95),
        "judge_swap_consistency": proportion(3, 4, alpha=1 - 0.95),
    }.items():
        for suffix, value in {
            "_ratio": expected.value,
            "_lower_ratio": expected.lower,
            "_upper_ratio": expected.upper,
            "_observations": expected.n,
        }.items():
            assert registry.get_sample_value(f"evenkeel_{name}{suffix}", place) == value, name
    decided = {
        stage: registry.get_sample_value("evenkeel_ratings_decided_total", place | {"stage": stage})
        for stage in ("equality", "empty", "judge")
    }
    assert decided == {"equality": 1, "empty": 1, "judge": 6}


def test_without_a_judge_nothing_of_it_is_exported():
    """There is no series, and no zero: a rule on judge noise has nothing to fire on."""
    reports = state_of(altered(VERDICT, scorer="metrics")).reports()
    registry = CollectorRegistry()
    registry.register(CellCollector(lambda: reports, version="1"))
    names = ("evenkeel_judge", "evenkeel_ratings_decided")
    assert [s.name for m in registry.collect() for s in m.samples if s.name.startswith(names)] == []

"""The judge's own noise: measured, counted, folded, exported, and what it does to the score."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from evenkeel.core.cells import CellKey
from evenkeel.core.pair import Answer, Pair
from evenkeel.core.verdict import (
    BANDS_RATING,
    BASELINE,
    DECIDED_BY,
    JUDGED_AGAIN,
    JUDGED_SWAPPED,
    PROVENANCE,
    Failure,
    Verdict,
)
from evenkeel.metrics.judge.raters import JudgeNoise
from evenkeel.metrics.protocol import Rating
from evenkeel.monitor.estimate import proportion
from evenkeel.monitor.export import CellCollector
from evenkeel.monitor.fold import CheckpointError, MonitorSettings, MonitorState
from evenkeel.monitor.noise import JudgeCounts, Judges
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.monitor.planted_verdicts import VERDICT

PAIR = Pair(Answer("left"), Answer("right"), "question")
SWAPPED = Pair(Answer("right"), Answer("left"), "question")
DOWN = Failure("similarity", 1, "timeout")


@dataclass
class Script:
    """A judge that answers from a list and remembers what it saw."""

    outcomes: list[int | Failure]
    seen: list[Pair] = field(default_factory=list)

    async def rate(self, pair: Pair) -> Rating:
        """The next planted outcome, at ten tokens."""
        self.seen.append(pair)
        return Rating(self.outcomes.pop(0), "because", {"spread": 0.5}, tokens=10, cost_usd=0.5)


def measured(first: Script, fresh: Script, share: float = 1.0) -> tuple[Rating, list[str]]:
    told: list[str] = []
    noise = JudgeNoise(first, fresh=fresh, share=share, count=told.append)
    return asyncio.run(noise.rate(PAIR)), told


def test_a_sampled_pair_is_judged_again_past_the_cache_and_with_its_sides_swapped():
    """The rating stays the first one; the others are its details, paid for with it."""
    first, fresh = Script([3]), Script([2, 1])
    rating, told = measured(first, fresh)
    assert (rating.outcome, rating.explanation) == (3, "because")
    assert rating.details == {"spread": 0.5, JUDGED_AGAIN: 2.0, JUDGED_SWAPPED: 1.0}
    assert (rating.tokens, rating.cost_usd) == (30, 1.5)
    assert (first.seen, fresh.seen) == ([PAIR], [PAIR, SWAPPED])
    assert told == ["again", "swapped"]


def test_a_second_rating_that_fails_is_counted_and_no_change():
    """It is missing in the details, its tokens are not, and the rating stands."""
    rating, told = measured(Script([3]), Script([DOWN, 3]))
    assert rating.outcome == 3
    assert rating.details == {"spread": 0.5, JUDGED_SWAPPED: 3.0}
    assert rating.tokens == 30
    assert told == ["failed_timeout", "swapped"]


def test_what_is_not_sampled_or_not_rated_is_judged_once():
    """Share 0 asks nobody twice, and there is nothing to repeat about a failure."""
    assert measured(Script([3]), Script([]), share=0.0)[0].tokens == 10
    assert measured(Script([DOWN]), Script([]))[0].outcome == DOWN
    with pytest.raises(ValueError, match="share"):
        JudgeNoise(Script([]), fresh=Script([]), share=2)


def test_the_sampled_share_is_about_the_share_asked_for():
    """Of 2,000 pairs about 200 are judged again; five standard deviations are 67."""
    first, fresh = Script([3] * 2000), Script([3] * 4000)
    noise = JudgeNoise(first, fresh=fresh, share=0.1)

    async def all_of_them():
        for number in range(2000):
            await noise.rate(Pair(Answer(f"a{number}"), Answer("b"), ""))

    asyncio.run(all_of_them())
    assert 133 < len(fresh.seen) / 2 < 267


def verdict_of(rating: int | None, **details: float) -> Verdict:
    failure = DOWN if rating is None else None
    return replace(VERDICT, rating=rating, failure=failure, details=details)


STREAM = (
    verdict_of(3, normalised=1.0),
    verdict_of(3, **{DECIDED_BY: 1.0}),
    verdict_of(3, **{DECIDED_BY: 2.0, BANDS_RATING: 3.0}),
    verdict_of(2, **{DECIDED_BY: 2.0, BANDS_RATING: 3.0, JUDGED_AGAIN: 2.0, JUDGED_SWAPPED: 2.0}),
    verdict_of(2, **{DECIDED_BY: 2.0, JUDGED_AGAIN: 3.0, JUDGED_SWAPPED: 2.0}),
    verdict_of(1, **{DECIDED_BY: 2.0, JUDGED_SWAPPED: 3.0}),
    verdict_of(1),
    verdict_of(None),
    replace(verdict_of(3, normalised=1.0), scorer="metrics"),
)
"""Of seven judged verdicts: one equal, one decided, two audited, three rejudged in some way."""


def test_counts_worked_by_hand():
    """One of two again the same; two of three swapped the same; one of two audits agrees."""
    counts = JudgeCounts()
    assert [counts.add(verdict) for verdict in STREAM] == [True] * 7 + [False] * 2
    assert counts.decided == {"equality": 1, "bands": 1, "judge": 5}
    known = counts.estimates(alpha=0.05, min_trials=1)
    assert known.noise == proportion(1, 2)
    assert known.swap_consistency == proportion(2, 3)
    assert known.agreement == proportion(1, 2)
    few = counts.estimates(alpha=0.05, min_trials=3)
    assert (few.noise, few.swap_consistency, few.agreement) == (None, proportion(2, 3), None)
    assert JudgeCounts.from_json(json.loads(json.dumps(counts.to_json()))) == counts


def state_of(*verdicts: Verdict, min_trials: int = 1) -> MonitorState:
    state = MonitorState(MonitorSettings(min_trials=min_trials))
    for place, verdict in enumerate(verdicts, 1):
        state.apply(LoggedVerdict(place, replace(verdict, id=f"v{place}")))
    return state


def test_every_cell_of_a_route_and_model_reports_their_judge():
    """All perturbations feed one judge; another model has its own; heuristics have none."""
    resend = replace(STREAM[4], perturbation=BASELINE)
    other = replace(STREAM[3], model="n")
    cheap = replace(VERDICT, route="cheap", scorer="metrics")
    reports = {report.key: report for report in state_of(*STREAM, resend, other, cheap).reports()}
    spelling, baseline = (reports[CellKey("chat", "m", name)] for name in ("general.spelling", BASELINE))
    assert spelling.judge_noise == baseline.judge_noise == proportion(2, 3, alpha=1 - 0.95)
    assert spelling.swap_consistency == proportion(3, 4, alpha=1 - 0.95)
    assert spelling.cascade_agreement == proportion(1, 2, alpha=1 - 0.95)
    assert spelling.decided == {"equality": 1, "bands": 1, "judge": 6}
    assert reports[CellKey("chat", "n", "general.spelling")].judge_noise == proportion(0, 1, alpha=1 - 0.95)
    alone = reports[CellKey("cheap", "m", "general.spelling")]
    assert (alone.judge_noise, alone.swap_consistency, alone.cascade_agreement) == (None, None, None)
    assert alone.decided == {}


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(STREAM), max_size=30), st.integers(0, 30))
def test_a_checkpoint_goes_on_like_a_fold_that_never_stopped(verdicts, stop):
    """Cut anywhere, read again, continued: the same state, byte for byte."""
    whole = state_of(*verdicts)
    part = MonitorState.from_bytes(state_of(*verdicts[:stop]).to_bytes(), whole.settings)
    for place, verdict in enumerate(verdicts, 1):
        part.apply(LoggedVerdict(place, replace(verdict, id=f"v{place}")))
    assert part.to_bytes() == whole.to_bytes()
    assert part.reports() == whole.reports()


def test_a_checkpoint_from_before_the_judge_was_watched_is_folded_anew():
    """Its counts would lack what the log still tells."""
    data = json.loads(state_of(*STREAM).to_bytes())
    assert data["head"]["judges"][0]["route"] == "chat"
    old = {key: value for key, value in data["head"].items() if key != "judges"} | {"version": 1}
    with pytest.raises(CheckpointError, match="version 1"):
        MonitorState.from_bytes(json.dumps({**data, "head": old}).encode(), MonitorSettings())


def test_the_judges_of_an_old_log_are_the_judges_all_the_same():
    """Verdicts logged before there was a cascade count as judged, and say nothing about noise."""
    line = json.loads(replace(VERDICT, details={"rouge_l": 0.5}).to_json())
    judges = Judges()
    judges.add("chat", "m", Verdict.from_json(json.dumps(line)))
    known = judges.estimates("chat", "m", alpha=0.05, min_trials=1)
    assert (known.noise, known.decided) == (None, {"equality": 0, "bands": 0, "judge": 1})
    assert judges.estimates("chat", "unheard of", alpha=0.05, min_trials=1).decided == {}


def test_the_judge_is_exported_once_for_each_route_and_model():
    """Noise, swap consistency and agreement with interval and number; the stages as a counter."""
    reports = state_of(*STREAM, replace(STREAM[4], perturbation=BASELINE)).reports()
    registry = CollectorRegistry()
    registry.register(CellCollector(lambda: reports, version="1"))
    place = {"route": "chat", "model": "m"}
    for name, expected in {
        "judge_noise_rate": proportion(2, 3, alpha=1 - 0.95),
        "judge_swap_consistency": proportion(3, 4, alpha=1 - 0.95),
        "cascade_agreement": proportion(1, 2, alpha=1 - 0.95),
    }.items():
        for suffix, value in {
            "": expected.value,
            "_lower": expected.lower,
            "_upper": expected.upper,
            "_observations": expected.n,
        }.items():
            assert registry.get_sample_value(f"evenkeel_{name}{suffix}", place) == value, name
    decided = {
        stage: registry.get_sample_value("evenkeel_ratings_decided_total", place | {"stage": stage})
        for stage in ("equality", "bands", "judge")
    }
    assert decided == {"equality": 1, "bands": 1, "judge": 6}


def test_without_a_judge_nothing_of_it_is_exported():
    """No series, not a zero: a rule on judge noise has nothing to fire on."""
    reports = state_of(replace(VERDICT, scorer="metrics")).reports()
    registry = CollectorRegistry()
    registry.register(CellCollector(lambda: reports, version="1"))
    names = ("evenkeel_judge", "evenkeel_cascade", "evenkeel_ratings_decided")
    assert [s.name for m in registry.collect() for s in m.samples if s.name.startswith(names)] == []


def test_the_monitor_counts_judges_without_their_code():
    """The fold loads no metric, no SDK and no audit."""
    heavy = (
        "openai",
        "pydantic",
        "evenkeel.metrics.similarity",
        "metrics.audit",
        "evenkeel.metrics.structured",
    )
    script = f"import sys, evenkeel.monitor.fold; print([name for name in {heavy!r} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_provenance_is_told_from_scores():
    """Whoever shows details can leave out what is no score."""
    assert {DECIDED_BY, BANDS_RATING, JUDGED_AGAIN, JUDGED_SWAPPED} == PROVENANCE


def test_false_alarms_raise_both_arms_and_cancel_in_the_excess():
    """A judge of 10 % false alarms and 90 % hits on true rates of 0 and 30 %: 10 %, 34 %, excess 24 %."""
    rng, false_alarms, hits, trials = random.Random(11), 0.1, 0.9, 20_000

    def seen(true_rate: float) -> float:
        shifted = (rng.random() < true_rate for _ in range(trials))
        return sum(rng.random() < (hits if one else false_alarms) for one in shifted) / trials

    baseline, perturbed = seen(0.0), seen(0.3)
    assert baseline == pytest.approx(0.1, abs=0.01)
    assert perturbed == pytest.approx(0.1 + 0.8 * 0.3, abs=0.015)
    assert perturbed - baseline == pytest.approx((hits - false_alarms) * 0.3, abs=0.02)
    again = (
        sum((rng.random() < false_alarms) != (rng.random() < false_alarms) for _ in range(trials)) / trials
    )
    assert again == pytest.approx(2 * false_alarms * (1 - false_alarms), abs=0.015)

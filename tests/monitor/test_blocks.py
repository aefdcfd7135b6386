"""Design effects: how many dependent trials tell as much as one that is independent."""

from random import Random

import msgspec
import pytest

from evenkeel.core.verdict import Control
from evenkeel.monitor.estimate import Counts, DesignEffect, bounded_mean, outcome_of
from evenkeel.monitor.estimate.blocks import BLOCK, CellEffects
from evenkeel.monitor.estimate.bounded_mean import weighted_mean
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT


def _effect(trials):
    effect = DesignEffect()
    for trial in trials:
        effect.add(trial)
    return effect


def _independent(count, seed):
    rng = Random(seed)
    return [float(rng.random() < 0.2) for _ in range(count)]


def _bursts(count, seed):
    """Every block of forty answers alike."""
    rng = Random(seed)
    return [value for _ in range(count // BLOCK) for value in [float(rng.random() < 0.2)] * BLOCK]


def test_nothing_is_known_at_first():
    """Intervals start as if twelve trials told as much as one; bets as if all did, for two stretches."""
    effect = DesignEffect()
    assert (effect.intervals, effect.bets) == (12.0, 1.0)
    for trial in _independent(160, 1):
        effect.add(trial)
    assert effect.bets == 5.0


def test_a_series_without_trials_says_nothing():
    """The cell's effect is that of its content where similarity is not measured."""
    effects = CellEffects()
    for trial in _independent(8_000, 1):
        effects.content.add(trial)
    assert (effects.bets, effects.intervals) == (effects.content.bets, effects.content.intervals)
    assert effects.bets < 2


def test_blocks_whose_resends_move_as_well_are_seen_to_depend_on_each_other():
    """Their pairs are all 0, but the share of moved answers is known no better than by blocks."""
    counts = Counts()
    for moved in _bursts(16_000, 1):
        rating = 2 if moved else 3
        verdict = altered(VERDICT, rating=rating, control=Control(rating=rating))
        counts.count(outcome_of(verdict), verdict)
    assert counts.effect == pytest.approx(_effect(_bursts(16_000, 1)).intervals)
    assert counts.effect > 20


def test_independent_trials_come_to_count_as_what_they_are():
    """The start is nearly forgotten after 16,000 trials, and no bet is lowered by much."""
    effect = _effect(_independent(16_000, 1))
    assert 1.0 <= effect.intervals < 1.6
    assert 1.0 <= effect.bets < 1.6


def test_blocks_that_answer_alike_count_once():
    """Forty trials of one outcome tell as much as one."""
    effect = _effect(_bursts(16_000, 1))
    assert effect.intervals == pytest.approx(40, abs=10)
    assert effect.bets == pytest.approx(40, abs=10)


def test_a_rate_that_rises_once_is_no_dependence():
    """Bets do not know of the latest pair of stretches, and one step is one difference of many."""
    quiet = [float(place % 20 == 0) for place in range(1_600)]
    risen = quiet + [float(place % 2) for place in range(80)]
    assert _effect(risen).bets <= _effect(quiet).bets


def test_an_interval_with_an_effect_is_that_of_so_many_fewer_trials():
    """400 trials at an effect of 4 have the ends of 100."""
    few = bounded_mean({0.0: 80, 1.0: 20})
    many = weighted_mean({(0.0, 1.0): 320, (1.0, 1.0): 80}, effect=4.0)
    assert few is not None
    assert many is not None
    assert (many.lower, many.upper) == pytest.approx((few.lower, few.upper), abs=1e-4)
    assert (many.value, many.n) == (0.2, 400)


def _runs(count, seed, *, alike):
    """Trials of thirty runs of twenty steps at a time; a step answers as its run does, or for itself."""
    rng = Random(seed)
    trials = []
    going = []
    begun = {}
    while len(trials) < count:
        while len(going) < 30:
            going.append([len(begun), 20])
            begun[len(begun)] = float(rng.random() < 0.2)
        run = rng.choice(going)
        run[1] -= 1
        if not run[1]:
            going.remove(run)
        value = begun[run[0]] if rng.random() < alike else float(rng.random() < 0.2)
        trials.append((value, f"run {run[0]}"))
    return trials


@pytest.mark.parametrize(("alike", "least", "most"), [(1.0, 18.0, 22.0), (0.0, 1.0, 4.0), (0.7, 6.0, 16.0)])
def test_runs_that_answer_alike_count_once_also_if_they_overlap(alike, least, most):
    """Twenty equal steps tell as much as one; with independent steps the effect of sessions fades."""
    effect, blind = DesignEffect(), DesignEffect()
    for value, session in _runs(6_000, 5, alike=alike):
        effect.add(value, session)
        blind.add(value)
    assert least <= effect.bets <= most
    assert blind.bets < 3
    assert msgspec.json.decode(msgspec.json.encode(effect), type=DesignEffect) == effect


def test_sessions_are_one_block_until_they_show_otherwise():
    """A session of twenty counts once before trials differ; traffic without sessions is as it was."""
    effect = DesignEffect()
    for step in range(2_000):
        effect.add(0.0, f"run {step // 20}")
    assert effect.bets == pytest.approx(20, abs=0.5)
    assert len(effect.sessions.latest) == 100
    assert DesignEffect().sessions.effect == 1.0

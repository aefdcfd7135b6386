"""The forecast: plays by the rules of the plan, the detectors and the budget."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evenkeel.core.budget import Budget, Spend
from evenkeel.core.verdict import BASELINE, DECIDED_BY, STAGES, Verdict
from evenkeel.lab.forecast import Answers, Fall, Play, Prompts, Route, measured, prospects
from evenkeel.lab.forecast.play import Beside
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan

KINDS = by_name(["general.whitespace", "general.casing", "format.json"])


def route(**changes):
    given = {
        "name": "a",
        "plan": RoutePlan(KINDS, (0.1,), 2, settled_rate=0.25),
        "monitor": MonitorSettings(),
        "hourly": (60.0,) * 24,
        "trial": Spend(1_000, 0.001),
        "answers": Answers((Prompts(noise=0.02),), usually_moved=0.01),
        "history": 150,
    }
    return Route(**(given | changes))


def learned(**changes):
    play = Play(route(**changes), seed=1)
    play.learn()
    return play


def test_learning_ends_when_every_baseline_has_its_trials():
    """First two rewordings an exchange, then every root: the group of two and the one that stands alone."""
    play = Play(route(), seed=1)
    assert set(route().groups) == {*(kind.name for kind in KINDS), "together.2_general"}
    play.learn()
    # 30 trials of three rewordings take 45 exchanges of two, about; then 150 of each root are to be made.
    assert 150 < play.exchanges < 600
    assert play.trials > 2 * 150


def test_a_large_fall_is_found_and_a_quiet_day_is_quiet():
    """All answers move from noon on: found before the day is over, and nothing is without a fall."""
    play = learned()
    play.begin(2, Beside())
    assert play.run(12 * 3_600.0) is None
    found = play.run(24 * 3_600.0, Fall(1.0, "all"))
    assert found is not None
    assert found > 12 * 3_600.0


def test_the_pace_of_the_budget_holds():
    """Ten cents pay for 100 trials: 25 of them at midnight, 62 by noon, none beyond."""
    play = learned(plan=RoutePlan(KINDS, (0.1,), 2))
    play.begin(3, Beside(Budget(usd_per_day=0.1, spread=True)))
    before = play.trials
    play.run(60.0)
    assert play.trials - before <= 25
    play.run(12 * 3_600.0)
    assert 56 <= play.trials - before <= 62
    play.run(24 * 3_600.0)
    assert 94 <= play.trials - before <= 100


def test_a_larger_budget_finds_the_same_sooner():
    """A tenth of what the uniform plan would spend: slower, and it says that the budget is what limits it."""
    uniform = route(plan=RoutePlan(KINDS, (0.1,), 2), history=100)
    whole = 24 * 60 * 3 * 0.001
    small, large = (
        prospects([uniform], Budget(usd_per_day=share * whole, spread=True), [Fall(0.5, "all")], plays=9)["a"]
        for share in (0.1, 2)
    )
    assert small.limited
    assert not large.limited
    assert small.usd_per_day == pytest.approx(0.1 * whole, rel=0.05)
    assert large.usd_per_day == pytest.approx(whole, rel=0.02)
    [slow], [quick] = small.findings, large.findings
    assert quick.half < slow.half
    assert quick.soon <= quick.half <= quick.late


def test_a_route_without_traffic_finds_nothing():
    """No exchange, no trial, no cost."""
    [found] = prospects([route(hourly=(0.0,) * 24)], Budget(), [Fall(0.5)], plays=9).values()
    assert found.usd_per_day == 0
    assert found.findings[0].half is None


def test_a_very_busy_route_is_played_with_fewer_exchanges():
    """By the hour as they are, 20,000 a day; what a quiet day costs is that of all of them."""
    busy, calm = route(hourly=(1e6, *(0.0,) * 22, 1e6)), route()
    assert busy.played == (10_000.0, *(0.0,) * 22, 10_000.0)
    assert calm.played == calm.hourly
    [found] = prospects([busy], Budget(), [], plays=1).values()
    assert found.usd_per_day >= 2e6 * 0.001


def test_two_routes_share_a_budget():
    """Both want it whole, so each gets about half."""
    plan = RoutePlan(KINDS, (0.1,), 2)
    two = [route(name=name, plan=plan, history=100) for name in ("a", "b")]
    found = prospects(two, Budget(usd_per_day=1.0, spread=True), [], plays=1)
    assert found["a"].usd_per_day == pytest.approx(0.5, rel=0.05)
    assert found["b"].usd_per_day == pytest.approx(0.5, rel=0.05)


def verdict(number, name, *, moved, version="v1"):
    return Verdict(
        id=f"{number}.{name}",
        exchange_id=str(number),
        scored_at=0.0,
        route="a",
        model="m",
        perturbation=name,
        perturbation_version=1,
        severity=0.1,
        seed=1,
        scorer="judge",
        rating=2 if moved else 3,
        baseline_rating=3,
        quality=(),
        similarity=0.5 if moved else 0.9,
        prompt_version=version,
    )


def test_what_is_measured_is_what_the_verdicts_show():
    """Of 99 resends 9 moved, of 99 answers to the group of two 27: 9.5 and 27.5 %, so 10.5 % for each."""
    verdicts = [
        *(verdict(number, BASELINE, moved=number < 9) for number in range(99)),
        *(verdict(number, "together.2_general", moved=number < 27) for number in range(99)),
    ]
    found = measured(verdicts, KINDS)
    [prompts] = found.prompts
    assert prompts.noise == pytest.approx(0.095)
    assert prompts.factor == pytest.approx(1.0)
    # 1 − (1 − (0.275 − 0.095) / 0.905)^½
    assert found.moved["general.casing"] == pytest.approx(0.1050, abs=1e-4)
    assert found.alike == pytest.approx((0.9, 0.5))
    assert found.partly == 1.0


def test_too_few_verdicts_leave_what_was_assumed():
    """Below 30 of a kind nothing is taken from them."""
    few = [verdict(number, BASELINE, moved=True) for number in range(29)]
    assert measured(few, KINDS).prompts[0].noise == Answers().prompts[0].noise


def test_a_deterministic_endpoint_is_tried_more_often_with_fewer_resends():
    """Twice as many exchanges, one in eight of them with a resend: a quarter of the resends."""
    made = {}
    for verbatim in (False, True):
        play = learned(
            history=600, answers=Answers((Prompts(noise=0.0),), usually_moved=0.0, verbatim=verbatim)
        )
        before = play.trials, play._cells[BASELINE].trials
        play.learn(4_000, enough=False)
        resends = play._cells[BASELINE].trials - before[1]
        made[verbatim] = resends, play.trials - before[0] - resends
    (resends, others), (few, more) = made[False], made[True]
    assert few / resends == pytest.approx(1 / 4, abs=0.05)
    assert more / others == pytest.approx(2, rel=0.1)


def test_resends_that_were_not_made_are_no_noise():
    """An endpoint is deterministic if those that were made came back word for word."""
    same = {"similarity": 1.0, "details": {DECIDED_BY: float(STAGES.index("equality"))}}
    made = [replace(verdict(number, BASELINE, moved=False), **same) for number in range(60)]
    assert measured(made, KINDS).verbatim
    spared = [replace(one, id=f"s{one.id}", reused=True) for one in made]
    other = [*made[:59], replace(made[59], similarity=0.9, rating=1)]
    found = measured([*other, *spared], KINDS)
    assert not found.verbatim
    assert found.prompts[0].noise == measured(other, KINDS).prompts[0].noise

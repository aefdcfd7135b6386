"""State of measuring: each way to measure nothing is named, with its time and what to do."""

import pytest

from evenkeel.core.budget import Budget, Spend
from evenkeel.core.exchange import Lag
from evenkeel.core.trouble import JudgeTrouble
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.measuring import MeasuringWatch


class Plant:
    """Counters, queue, judge, ledger and monitor in one, set by hand; time passes by hand, too."""

    def __init__(self):
        self.now = 1000.0
        self.rows = {}
        self.lag_found = Lag(0, 0, 0, 0.0)
        self.broken = False
        self.trouble = None
        self.stepped_at = 1000.0
        self.failure = ""
        self.figures = True
        self.budget, self.spent = Budget(1000, 0.5), Spend(20, 0.49)
        self.watch = MeasuringWatch(
            self,
            self,
            lambda: self.trouble,
            self,
            lambda: self.now,
            fold=self,
            figures_known=lambda: self.figures,
        )

    def lag(self):
        """The queue's."""
        if self.broken:
            raise ConnectionError
        return self.lag_found

    def read(self):
        """The counters of all processes."""
        return [{"counters": [[name, dict(labels), n] for (name, labels), n in self.rows.items()]}]

    def today(self):
        """The ledger's."""
        if self.broken:
            raise ConnectionError
        return self.spent

    def count(self, name, number=1, **labels):
        """Add to a counter of the route "shop"."""
        labels = {"route": "shop", "perturbation": "general.casing"} | labels
        key = name, tuple(labels.items())
        self.rows[key] = self.rows.get(key, 0) + number

    def later(self, seconds=10.0):
        """The state after some time in which the monitor stepped on."""
        self.now += seconds
        self.stepped_at = self.now
        return self.watch()


@pytest.fixture
def plant():
    return Plant()


def test_all_well_is_measuring_or_learning(plant):
    """Learning lasts until a cell has a figure; nothing is a problem meanwhile."""
    plant.figures = False
    assert (plant.watch().state, plant.watch().problems()) == ("learning", {})
    plant.figures = True
    found = plant.later()
    assert (found.state, found.since, found.sentences()) == ("measuring", 1010.0, [])


@pytest.mark.parametrize(
    ("counter", "reason", "number", "seconds", "said", "step"),
    [
        ("trials", "unauthorized", 5, 0, "The endpoint refuses the key of replays", "replays.api_key_env"),
        ("trials", "timeout", 50, 120, "No trial can be rated: timeout", "Pipeline and Trials"),
        ("trials_skipped", "unpriced", 5, 0, "no known price", "budget.prices"),
        (
            "trials_skipped",
            "budget",
            5,
            0,
            "budget is spent ($0.49 of $0.50 and 20 of 1,000 tokens)",
            "midnight",
        ),
        ("trials_skipped", "budget_pace", 50, 3600, "held back so that it lasts the day", "Nothing is wrong"),
        ("trials_skipped", "nothing_to_change", 50, 120, "can be tried: nothing to change", "Pipeline"),
        ("exchanges_skipped", "store_full", 50, 120, "The queue is full", "sampling_rate"),
        ("exchanges_skipped", "store_error", 5, 0, "cannot be written", "Redis"),
        ("exchanges_skipped", "status", 50, 120, "the upstream answers with errors", "users get"),
        ("exchanges_dead", "not_json", 50, 120, "No exchange can be measured: not json", "by reason"),
    ],
)
def test_trials_lost_in_a_row_hold_a_route_up(plant, counter, reason, number, seconds, said, step):
    """The route is held up and named from the first loss on, until a trial of a rewording is rated."""
    label = "outcome" if counter == "trials" else "reason"
    plant.count("trials", 3, outcome="rated_3")
    plant.watch()
    plant.count(counter, 1, **{label: reason})
    assert plant.later().state == "measuring"
    plant.count(counter, number - 1, **{label: reason})
    plant.count("trials", 9, outcome="rated_3", perturbation=BASELINE)
    assert seconds == 0 or plant.later().state == "measuring"
    held = plant.later(seconds or 10)
    (cause,) = held.causes
    assert (held.state, held.since, cause.since, cause.routes) == ("held_up", 1010.0, 1010.0, ("shop",))
    assert said in cause.sentence
    assert step in cause.sentence
    assert ["measuring", {"state": "held_up"}, 1] in held.snapshot()["gauges"]
    assert [name for name, *_ in held.snapshot()["gauges"]].count("held_up") == 1
    plant.count("trials", 1, outcome="rated_3")
    assert plant.later().state == "measuring"


@pytest.mark.parametrize(
    ("counter", "reason"), [("trials_skipped", "budget_pace"), ("exchanges_skipped", "store_full")]
)
def test_what_is_lost_beside_rated_trials_thins_measuring(plant, counter, reason):
    """Losses beside rated trials hold nothing up, and are said for ten minutes after the last one."""
    plant.watch()
    for _ in range(30):
        plant.count(counter, 40, reason=reason)
        plant.later(100)
        plant.count("trials", 1, outcome="rated_3")
    found = plant.later(100)
    assert (found.state, [cause.reason for cause in found.thinned]) == ("measuring", [reason])
    assert found.thinned[0].said.endswith(", or was in the last 10 min")
    assert plant.later(601).thinned == ()


def test_what_thinned_measuring_is_over_once_trials_are_rated_without_a_loss(plant):
    """A budget that was raised, or a burst that is over, is not told for ten minutes more."""
    plant.watch()
    plant.count("trials_skipped", 40, reason="budget_pace")
    plant.count("trials", 9, outcome="rated_3")
    assert plant.later().thinned
    plant.count("trials", 49, outcome="rated_3")
    assert plant.later().thinned
    plant.count("trials", 1, outcome="rated_3")
    assert plant.later().thinned == ()


def test_a_store_that_goes_away_while_the_budget_thins_measuring_is_said(plant):
    """The notice about the budget names figures of the store, which no longer answers."""
    plant.watch()
    plant.count("trials_skipped", 40, reason="budget_pace")
    plant.later(100)
    plant.count("trials", 1, outcome="rated_3")
    assert plant.later(10).thinned
    plant.broken = True
    found = plant.later(10)
    assert [cause.reason for cause in found.causes] == ["queue"]
    assert "$0.49 of $0.50" in found.thinned[0].said


def test_what_is_left_out_by_intention_holds_nothing_up(plant):
    """Settled cells are tried rarely, and replays never."""
    plant.watch()
    for reason in ("settled", "replay"):
        plant.count("exchanges_skipped", 500, reason=reason)
    plant.later()
    assert plant.later(900).causes == ()


def test_a_budget_that_is_too_small_for_an_exchange_is_not_called_spent(plant):
    """Nothing was spent of it: the words would send people to the wrong place."""
    plant.budget, plant.spent = Budget(1500, None), Spend(0, 0.0)
    plant.watch()
    plant.count("trials_skipped", 9, reason="budget")
    (cause,) = plant.later().causes
    said = "What is left of the day's budget is for changes, or too small for an exchange (0 of 1,500 tokens)"
    assert cause.said == said


def test_a_budget_whose_limits_were_lifted_has_no_figures(plant):
    """Figures end; what it held back before is still counted."""
    plant.budget = Budget(None, None)
    plant.watch()
    plant.count("trials_skipped", 9, reason="budget")
    (cause,) = plant.later().causes
    assert "(" not in cause.said


def test_a_judge_in_trouble_holds_everything_up(plant):
    """All that waits or was lost meanwhile is its doing; a refused key is told apart."""
    plant.trouble = JudgeTrouble("timeout", "The judge j cannot be used (timeout)", "Check judge.base_url.")
    plant.lag_found = Lag(9, 0, 0, 900.0)
    plant.count("trials", 9, outcome="timeout")
    (cause,) = plant.watch().causes
    assert cause.sentence == (
        "The judge j cannot be used (timeout). Check judge.base_url. Exchanges wait meanwhile."
    )
    plant.trouble = plant.trouble._replace(reason="unauthorized")
    assert list(plant.later().problems()) == ["judge_key"]


def test_a_store_that_is_away_is_named(plant):
    plant.broken = True
    found = plant.watch()
    assert "cannot be reached (ConnectionError)" in found.problems()["queue"]
    assert found.problems()["queue"].endswith("Since 1970-01-01T00:16:40Z.")
    plant.broken = False
    assert plant.later().state == "measuring"


def test_a_worker_that_takes_nothing_is_told_from_one_that_is_behind(plant):
    """A long queue is only a backlog as long as trials are made."""
    plant.lag_found = Lag(40, 2, 0, 300.0)
    plant.watch()
    plant.later(50)
    plant.count("trials", 1, outcome="rated_3")
    assert plant.later(20).state == "measuring"
    assert "the oldest of 42 has waited 5 min" in plant.later(70).problems()["worker"]


def test_a_monitor_that_stands_still_is_named(plant):
    plant.later()
    plant.now += 200
    assert "has not read verdicts for 3 min. Check the disk" in plant.watch().problems()["monitor"]


def test_a_monitor_that_says_why_it_stands_still_is_named_sooner(plant):
    """One step that fails is chance; a full disk stays full."""
    plant.later()
    plant.failure = "database or disk is full"
    plant.now += 10
    assert plant.watch().state == "measuring"
    plant.now += 20
    assert "for 30 s (database or disk is full). Check the disk" in plant.watch().problems()["monitor"]


def test_it_looks_every_two_seconds_and_outlives_a_clock_set_back(plant):
    plant.watch()
    plant.broken = True
    assert plant.later(1).state == "measuring"
    assert plant.later(-500).state == "held_up"

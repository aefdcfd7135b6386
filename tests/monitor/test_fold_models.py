"""Which models of a route still answer: those that are replaced leave at once, rare ones wait as is usual."""

from __future__ import annotations

import pytest

from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.stores.verdict_log import logged
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

SETTINGS = MonitorSettings(threshold=0.1, mean_trials_between_false_alarms=500, min_trials=5)


class Log:
    """A route, one exchange a second."""

    def __init__(self):
        self.state = MonitorState(SETTINGS)
        self.place = 0
        self.now = 1_000_000.0
        self.events = []

    def ask(self, model, *, step_s=1.0, broken=False):
        """One more exchange with a trial."""
        self.now += step_s
        for kind in (BASELINE, "general.spelling"):
            self.place += 1
            verdict = altered(
                VERDICT,
                id=f"v{self.place}",
                exchange_id=f"x{self.now}",
                scored_at=self.now,
                model=model,
                perturbation=kind,
                rating=1 if broken and kind != BASELINE else 3,
                control_rating=None if kind == BASELINE else 3,
            )
            self.events += self.state.apply(logged(self.place, verdict)).events

    def retired(self):
        """The models that do not answer any more."""
        return {report.key.model for report in self.state.reports() if report.retired}


@pytest.fixture
def log():
    return Log()


def mixed(log, exchanges, every, **said):
    """A common model, and a rare one every so many exchanges; the states of the rare one in between."""
    seen = set()
    for number in range(exchanges):
        log.ask("rare" if number % every == every - 1 else "often", **said)
        if number > 2 * every:
            seen.add(frozenset(log.retired()))
    return seen


def test_a_model_that_few_requests_reach_stays(log):
    """One request in two hundred, that is every 200 seconds: never gone between them."""
    assert mixed(log, 1_200, 200) == {frozenset()}


def test_a_rare_model_that_nobody_replaced_leaves_after_seven_of_its_gaps(log):
    """200 exchanges and seconds are usual: after 1,400 of both it is gone, and there again with its next."""
    mixed(log, 1_000, 200)
    for _ in range(1_400):
        log.ask("often")
    assert log.retired() == set()
    log.ask("often")
    assert log.retired() == {"rare"}
    log.ask("rare")
    assert log.retired() == set()


def test_a_surge_of_the_others_and_a_quiet_night_retire_nobody(log):
    """Two thousand exchanges within a minute; or a day without any, and then the common model first."""
    mixed(log, 1_000, 200)
    for _ in range(2_000):
        log.ask("often", step_s=0.03)
    assert log.retired() == set()
    log.ask("rare")
    log.ask("often", step_s=86_400.0)
    assert log.retired() == set()


def test_a_model_that_was_tried_for_a_moment_leaves_with_its_rollback(log):
    """With the fortieth exchange of the old model, which says that the change was reversed."""
    for _ in range(200):
        log.ask("m1")
    for _ in range(60):
        log.ask("m2", broken=True)
    assert log.retired() == {"m1"}
    for _ in range(39):
        log.ask("m1")
    assert log.retired() == set()
    log.ask("m1")
    assert log.retired() == {"m2"}


def test_a_model_that_another_took_the_place_of_leaves_with_the_change(log):
    """It was in every exchange, and is in none of twelve."""
    for _ in range(100):
        log.ask("m1")
    for _ in range(11):
        log.ask("m2")
    assert log.retired() == set()
    log.ask("m2")
    assert log.retired() == {"m1"}


def test_a_model_that_still_answers_beside_the_new_one_stays(log):
    """A rollout to four fifths."""
    for _ in range(100):
        log.ask("m1")
    for number in range(200):
        log.ask("m1" if number % 5 == 0 else "m2")
        assert log.retired() == set()


def test_in_the_first_minute_nobody_is_gone(log):
    """Two models ask in turns for some seconds; of one that asked once, nothing is known for a minute."""
    log.ask("once")
    for number in range(59):
        log.ask(("m1", "m2")[number % 2])
        assert log.retired() == set()
    for number in range(10):
        log.ask(("m1", "m2")[number % 2])
    assert log.retired() == {"once"}


def test_the_alert_of_a_rare_model_is_not_ended_between_its_requests(log):
    """It is broken, one request in 250: its incident is open until evidence or a person ends it."""
    for number in range(7_000):
        log.ask("rare" if number % 250 == 249 else "often", broken=number % 250 == 249)
    assert [event.kind for event in log.events if event.model == "rare"] == ["raised"]

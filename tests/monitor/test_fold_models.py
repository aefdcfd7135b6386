"""Which models of a route still answer: those that are replaced leave at once, rare ones wait as is usual."""

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

    def ask(self, model, count=1, *, step_s=1.0, broken=False):
        """Add exchanges, each with a trial."""
        for _ in range(count):
            self.now += step_s
            own = {"exchange_id": f"x{self.now}", "scored_at": self.now, "model": model}
            self._add(altered(VERDICT, perturbation=BASELINE, control_rating=None, **own))
            self._add(altered(VERDICT, rating=1 if broken else 3, **own))

    def _add(self, verdict):
        self.place += 1
        self.events += self.state.apply(logged(self.place, altered(verdict, id=f"v{self.place}"))).events

    def retired(self):
        """The models that do not answer any more."""
        return {report.key.model for report in self.state.reports() if report.retired}


@pytest.fixture
def log():
    return Log()


def mixed(log, times):
    """Every hundredth exchange is of a rare model."""
    for _ in range(times):
        log.ask("often", 99)
        log.ask("rare")


def test_a_model_that_few_requests_reach_stays(log):
    """A model with one request in a hundred, that is every 100 seconds, is never gone between them."""
    mixed(log, 3)
    for _ in range(8):
        for _ in range(3):
            log.ask("often", 33)
            assert log.retired() == set()
        log.ask("rare")


def test_a_rare_model_that_nobody_replaced_leaves_after_seven_of_its_gaps(log):
    """100 exchanges are usual: after 700 it is gone, and there again with its next."""
    mixed(log, 5)
    log.ask("often", 699)
    assert log.retired() == set()
    log.ask("often")
    assert log.retired() == {"rare"}
    log.ask("rare")
    assert log.retired() == set()


def test_a_model_that_was_tried_for_a_moment_leaves_with_its_rollback(log):
    """The fortieth exchange of the old model says that the change was reversed."""
    log.ask("m1", 200)
    log.ask("m2", 60, broken=True)
    assert log.retired() == {"m1"}
    log.ask("m1", 39)
    assert log.retired() == set()
    log.ask("m1")
    assert log.retired() == {"m2"}


def test_a_model_that_another_took_the_place_of_leaves_with_the_change(log):
    """The old model was in every exchange, and is in none of twelve."""
    log.ask("m1", 100)
    log.ask("m2", 11)
    assert log.retired() == set()
    log.ask("m2")
    assert log.retired() == {"m1"}


def test_a_model_that_still_answers_beside_the_new_one_stays(log):
    """A rollout to four fifths."""
    log.ask("m1", 100)
    for _ in range(40):
        log.ask("m1")
        log.ask("m2", 4)
        assert log.retired() == set()


def test_a_model_that_was_asked_once_stays_for_two_hundred_exchanges(log):
    """Its usual gap is not known."""
    log.ask("once")
    log.ask("often", 199)
    assert log.retired() == set()
    log.ask("often")
    assert log.retired() == {"once"}


def test_the_alert_of_a_rare_model_is_not_ended_between_its_requests(log):
    """The incident of a broken model with one request in 250 is open until evidence or a person ends it."""
    for _ in range(24):
        log.ask("often", 249)
        log.ask("rare", broken=True)
    assert [event.kind for event in log.events if event.model == "rare"] == ["raised"]

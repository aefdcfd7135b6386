"""No client alone raises an alert while others are there, and where they all change nothing waits for it."""

from __future__ import annotations

import random

import pytest

from evenkeel.monitor.detect import Clients
from evenkeel.monitor.detect.clients import MOST, REST
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.notify import incident_json, summary
from evenkeel.monitor.notify.notices import Writer
from evenkeel.stores.verdict_log import LoggedVerdict
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

HOUR = 3600.0
ALONE = MonitorSettings(other_clients=0.0)
SETTINGS = MonitorSettings()


class Log:
    """A monitor's state that verdicts are folded into, and the alerts that were raised or resolved."""

    def __init__(self, settings=SETTINGS, seed=1):
        self.state = MonitorState(settings)
        self.rng = random.Random(seed)
        self.at = 0.0
        self.events = []
        self.trials = 0

    def add(self, client, *, effect=0.0, noise=0.1, pause_s=1.0):
        """One trial of a client: it and its resend shift with the noise, and it with the effect as well."""
        self.at += pause_s
        self.trials += 1
        moved, control = self.rng.random() < noise + effect, self.rng.random() < noise
        one = altered(
            VERDICT,
            id=f"v{self.trials}",
            exchange_id=f"e{self.trials}",
            scored_at=self.at,
            client=client,
            rating=1 if moved else 3,
            control_rating=1 if control else 3,
            similarity=0.3 if moved else 0.95,
            control_similarity=0.3 if control else 0.95,
        )
        applied = self.state.apply(LoggedVerdict(self.trials, one))
        self.events += applied.events
        return applied.events

    def mix(self, counts, *, effects=None):
        """Trials of clients in an order drawn by chance, with an effect for some of them."""
        drawn = [client for client, count in counts.items() for _ in range(count)]
        self.rng.shuffle(drawn)
        for client in drawn:
            self.add(client, effect=(effects or {}).get(client, 0.0))

    def delay(self, shares, effect, most=5000):
        """Trials until an alert is raised once all clients have an effect."""
        names, weights = list(shares), list(shares.values())
        for number in range(1, most):
            if any(
                one.measure != "drift" for one in self.add(*self.rng.choices(names, weights), effect=effect)
            ):
                return number
        return most

    @property
    def report(self):
        [found] = self.state.reports()
        return found


HOSTILE = {"hostile": 0.9}


@pytest.mark.parametrize("count", [40, 400])
@pytest.mark.parametrize("burst", [False, True])
@pytest.mark.parametrize("others", [["one"], ["one", "two", "three"]])
def test_a_client_whose_answers_are_fragile_by_design_raises_no_alert(count, burst, others):
    """40 or 400 requests among 400 of others, mixed or all at once; without the rule each alert is raised."""
    for settings, raised in ((SETTINGS, False), (ALONE, True)):
        log = Log(settings)
        log.mix(dict.fromkeys(others, 400 // len(others)))
        assert not log.events
        if burst:
            log.mix({"hostile": count}, effects=HOSTILE)
        else:
            log.mix({"hostile": count} | dict.fromkeys(others, 40 // len(others)), effects=HOSTILE)
        kinds = {(one.kind, one.what) for one in log.events}
        assert (("raised", "excess") in kinds) is raised
        assert ("raised", "drift") not in kinds or not settings.other_clients
        assert log.report.detection.held_by == ("" if raised else "hostile")


def test_who_does_it_is_shown_while_the_alert_is_held():
    """The report of the cell names the client and the shares; evidence stays just below the level."""
    log = Log()
    log.mix({"ours": 300})
    log.mix({"hostile": 100}, effects=HOSTILE)
    report = log.report
    assert report.detection.held_by == "hostile"
    assert not report.detection.alert
    assert report.detection.evidence_log10 < report.detection.alarm_log10
    # 300 trials of weight 0.999^100 to 0.999^399, and 100 of 0.999^0 to 0.999^99: Σ = (1 − 0.999^n)/0.001.
    assert report.clients == pytest.approx({"ours": 0.711, "hostile": 0.289}, abs=0.001)


def test_a_real_change_is_found_while_a_hostile_client_goes_on():
    """It cannot hide one either: what the others' trials say is enough."""
    log = Log()
    log.mix({"a": 200, "b": 200})
    log.mix({"hostile": 60}, effects=HOSTILE)
    assert not log.events
    delay = log.delay({"a": 0.4, "b": 0.4, "hostile": 0.2}, 0.6)
    assert delay < 60
    [event] = [one for one in log.events if one.what == "excess"]
    assert set(event.clients) == {"a", "b", "hostile"}


@pytest.mark.parametrize(
    "shares",
    [
        {"a": 1.0},
        {"a": 0.5, "b": 0.5},
        {"a": 0.9, "b": 0.1},
        {"a": 0.98, "b": 0.02},
        dict.fromkeys("abcde", 0.2),
    ],
    ids=["one", "two equal", "one large", "nearly one", "five"],
)
def test_a_change_of_all_clients_is_found_as_fast_as_before(shares):
    """The mean delay of ten runs is within a quarter of that without the rule; of one client the same."""
    delays = []
    for settings in (SETTINGS, ALONE):
        logs = [Log(settings, seed) for seed in range(10)]
        for log in logs:
            log.mix({name: round(300 * share) for name, share in shares.items()})
        delays.append(sum(log.delay(shares, 0.5) for log in logs))
    with_rule, without = delays
    assert with_rule <= (1.25 if len(shares) > 1 else 1.0) * without


def test_with_a_single_client_nothing_differs():
    """Same events, same evidence, to the last digit, as if nobody were known."""
    named, unknown = Log(), Log()
    for log, name in ((named, "ours"), (unknown, "")):
        for number in range(400):
            log.add(name, effect=0.3 if 150 < number < 300 else 0.0)
    assert [altered(one, clients={}) for one in named.events] == unknown.events
    assert named.report.detection.evidence_log10 == unknown.report.detection.evidence_log10
    assert named.events[0].clients == {"ours": named.events[0].run_trials}


def test_a_new_key_is_the_route_again_after_a_day():
    """Once the old one has not come for a day, nobody is there to wait for."""
    log = Log()
    log.mix({"old": 300})
    for _ in range(60):
        log.add("new", effect=0.8, pause_s=60.0)
    assert log.report.detection.held_by == "new"
    assert not log.events
    log.add("new", effect=0.8, pause_s=25 * HOUR)
    for _ in range(60):
        log.add("new", effect=0.8)
    assert [one.kind for one in log.events if one.what == "excess"] == ["raised"]


def test_leaving_for_a_day_does_not_make_evidence_that_of_others():
    """A client that comes back begins anew: what it left behind is gone with it."""
    log = Log()
    log.mix({"ours": 300})
    log.mix({"hostile": 60}, effects=HOSTILE)
    log.add("ours", pause_s=25 * HOUR)
    for _ in range(10):
        log.add("ours")
    log.mix({"hostile": 12}, effects=HOSTILE)
    assert not log.events
    assert log.report.detection.held_by == ""


def test_an_alert_says_whose_trials_are_behind_it():
    """In the event, in its sentence, in what the webhook gets and on the console's page."""
    log = Log()
    log.mix({"a": 150, "b": 150})
    log.delay({"a": 0.7, "b": 0.3}, 0.6)
    [event] = [one for one in log.events if one.what == "excess"]
    assert sum(event.clients.values()) == event.run_trials
    assert set(event.clients) == {"a", "b"}
    said = f"{event.clients['a']} of {event.run_trials} trials come from client a"
    assert said in summary(event)
    [incident] = log.state.incidents()
    shown = {one["what"]: one for one in incident_json(incident)["alerts"]}
    assert shown["excess"]["clients"] == event.clients
    told = Writer(reports=lambda: [log.report]).facts(incident)
    assert any(one.startswith(said) for one in told)


def test_clients_beyond_eight_count_as_one():
    """Keys without number make no state without bound, and no witnesses."""
    clients = Clients()
    names = {clients.observe(f"c{number}", float(number)) for number in range(100)}
    assert names == {*(f"c{number}" for number in range(MOST)), REST}
    assert len(clients.shares) == MOST + 1
    assert clients.shares[REST] > 0.9

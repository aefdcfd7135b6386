"""The whole chain: evenkeel, a real Prometheus with our rules, a real Alertmanager, a receiver."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import httpx2
import pytest
import yaml

from evenkeel.simulate import (
    JUDGE_MODEL,
    ModelState,
    Simulation,
    SimulationSettings,
    serving,
)
from tests.alerting import alertmanager, watching
from tests.kit.relaying import token_in
from tests.services import receiver, wait_for

pytestmark = pytest.mark.system

INCIDENT, JUDGE = "EvenkeelIncident", "EvenkeelJudgeUnusable"
PLAIN = ["general.spelling", "general.casing"]


@dataclass
class Chain:
    """The running services, and what they say."""

    simulation: Simulation
    running: object
    manager: str
    watching: str
    messages: list
    seeds: object = field(default_factory=itertools.count)

    def send(self, count):
        """Requests of an application, none like another."""
        self.running.ask(itertools.islice(self.seeds, count))

    def send_until(self, question, at_most=20):
        """Traffic in portions until the answer is true."""
        for _ in range(at_most):
            self.send(15)
            self.running.settle()
            if question():
                return
        raise AssertionError("waited in vain")

    def told(self, alert, status):
        """Alertmanager's messages with that alert in that state."""
        return [
            message
            for message in list(self.messages)
            for one in message.get("alerts", ())
            if (one["labels"]["alertname"], one["status"]) == (alert, status)
        ]

    def notified(self):
        """Titles of the messages that evenkeel sent by itself."""
        return [message["title"] for message in list(self.messages) if "title" in message]

    def posted(self):
        """What the webhook got about incidents."""
        return [one for one in list(self.messages) if one.get("schema") == "evenkeel.incident/1"]

    def firing(self):
        """Names of the alerts that fire in Prometheus."""
        alerts = httpx2.get(f"{self.watching}/api/v1/alerts").json()["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}

    def state_of(self, alert):
        """Whether Alertmanager lets it through, and whether another alert holds it back."""
        found = httpx2.get(f"{self.manager}/api/v2/alerts", params={"filter": f"alertname={alert}"}).json()
        return {(one["status"]["state"], bool(one["status"]["inhibitedBy"])) for one in found}


@pytest.fixture
def chain(start, tmp_path):
    """Evenkeel before a healthy model, scraped, and watched over by our rules."""
    simulation = Simulation([ModelState("simulated-1")], SimulationSettings(deterministic=True))
    with receiver() as (url_of_receiver, messages), serving(simulation) as url:
        config = tmp_path / "evenkeel.yaml"
        route = {"upstream": url, "sampling_rate": 1.0, "trials": {"perturbations": PLAIN, "per_exchange": 2}}
        settings = {
            "routes": [route],
            "judge": {"base_url": f"{url}/v1", "model": JUDGE_MODEL, "concurrency": 16},
            # With reference prompts the repaired model would be a silent change, with an incident.
            "replays": {"concurrency": 16, "references": {"calls_per_day": 0}},
            "alerts": {
                "mean_trials_between_false_alarms": 200,
                "min_trials": 10,
                "notify": ["CHAT_URL"],
                "notify_window_s": 2,
                "webhook": f"{url_of_receiver}hook",
            },
        }
        config.write_text(yaml.safe_dump(settings))
        chat = url_of_receiver.replace("http://", "json://")
        keys = {"EVENKEEL_JUDGE_API_KEY": "any", "CHAT_URL": f"{chat}secret-token"}
        with (
            start("--config", str(config), environment=keys) as running,
            alertmanager(tmp_path, url_of_receiver) as manager,
            watching(tmp_path, running, manager) as scraped,
        ):
            yield Chain(simulation, running, manager, scraped, messages)
        assert "secret-token" not in running.log.read_text()


@pytest.mark.service("prometheus", "prometheus-alertmanager")
def test_from_a_fragile_model_to_a_message_and_back_with_a_broken_judge_in_between(chain):
    """A fragile model is told once, muted while the judge is broken, and resolved after the fix."""
    pytest.importorskip("apprise", reason='pip install "evenkeel-proxy[notify]"')
    # 1. A healthy model: nothing about robustness or the judge.
    chain.send(20)
    chain.running.settle()
    query = f"{chain.watching}/api/v1/query?query=evenkeel_cell_evidence_ratio"
    wait_for(lambda: httpx2.get(query).json()["data"]["result"])
    assert not chain.firing() & {INCIDENT, JUDGE}

    # 2. It turns fragile: one message for the route, to both receivers of critical alerts.
    chain.simulation.change("simulated-1", {"fragility": 0.7, "returned_name": "simulated-2"})
    chain.send_until(lambda: chain.running.metric("evenkeel_incident_open") >= 1)
    wait_for(lambda: {one["receiver"] for one in chain.told(INCIDENT, "firing")} >= {"on-call", "team-chat"})
    message = chain.told(INCIDENT, "firing")[0]
    assert message["groupLabels"] == {"job": "evenkeel", "case": "default/1"}
    (alert,) = message["alerts"]
    assert (alert["labels"]["change"], alert["labels"]["severity"]) == ("model", "critical")
    assert alert["annotations"]["summary"] == (
        "default: answers became fragile, after a change of model: simulated-1 → simulated-2"
    )
    assert "points above noise [" in alert["annotations"]["description"]
    assert not {name for name in alert["labels"] if name.startswith("evenkeel_")}
    assert alert["annotations"]["runbook_url"].endswith(f"/{INCIDENT}.md")
    page = httpx2.get(
        alert["annotations"]["console_url"],
        auth=("anyone", token_in(chain.running.data)),
    )
    assert page.is_success
    assert "answers became fragile" in page.text
    assert chain.state_of(INCIDENT) == {("active", False)}
    wait_for(lambda: any("default: answers became fragile" in title for title in chain.notified()))
    raised = [event for event in chain.running.get("/api/alerts")["events"] if event["kind"] == "raised"]
    assert {event["model"] for event in raised} == {"simulated-2"}
    (opened,) = wait_for(chain.posted)
    assert (opened["phase"], opened["number"]) == ("opened", 1)
    (incident,) = chain.running.get("/api/incidents")["incidents"]
    assert opened["incident"]["id"] == incident["id"]
    assert [(mark["before"], mark["after"]) for mark in incident["marks"] if mark["kind"] == "model"] == [
        ("simulated-1", "simulated-2")
    ]
    assert "ALERT" in chain.running.log.read_text()

    # 3. The judge breaks: its alert is told, the one on robustness is held back by it.
    chain.simulation.change(JUDGE_MODEL, {"error_rate": 1.0})
    chain.send(12)
    wait_for(lambda: chain.told(JUDGE, "firing"))
    wait_for(lambda: chain.state_of(INCIDENT) == {("suppressed", True)})

    # 4. The judge is repaired: the other alert is on again once new ratings outweigh the missing ones.
    chain.simulation.change(JUDGE_MODEL, {"error_rate": 0.0})
    wait_for(lambda: chain.told(JUDGE, "resolved"))
    chain.send_until(lambda: chain.state_of(INCIDENT) == {("active", False)})

    # 5. The model is fixed: the evidence ends the alert, and that is told.
    chain.simulation.change("simulated-1", {"fragility": 0.0})
    chain.send_until(lambda: chain.running.metric("evenkeel_incident_open") == 0)
    wait_for(lambda: chain.told(INCIDENT, "resolved"))
    wait_for(lambda: INCIDENT not in chain.firing())
    wait_for(lambda: any("default: over after" in title for title in chain.notified()))
    wait_for(lambda: [one["phase"] for one in chain.posted()][-1] == "resolved")
    assert len(chain.posted()) <= 3
    (incident,) = chain.running.get("/api/incidents?state=resolved")["incidents"]

"""Incidents as an operator meets them: console, webhook, Alertmanager and Prometheus say the same."""

import contextlib
import itertools
import time
from dataclasses import dataclass, field

import httpx2
import pytest

from evenkeel.core.verdict import BASELINE
from evenkeel.simulate import JUDGE_MODEL, ModelState, Simulation, SimulationSettings, serving
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.alerting import alertmanager, watching
from tests.kit.chromium import browser
from tests.kit.records import altered
from tests.kit.relaying import settings_file, token_in
from tests.monitor.planted_verdicts import VERDICT
from tests.services import receiver, wait_for
from tests.up.starting import up

pytestmark = [pytest.mark.system, pytest.mark.service("chromium", "prometheus", "prometheus-alertmanager")]

SECRET = "a secret of the receiver"
EIGHT = tuple(f"team-{number}" for number in range(8))
OTHERS = ("mail", "legacy", *EIGHT)
ROUTES = ("support", *OTHERS)


@dataclass
class Deployment:
    """The running services, and what they say of each route."""

    simulation: Simulation
    running: object
    manager: str
    prometheus: str
    posts: list
    log: SqliteVerdictLog
    seeds: object = field(default_factory=itertools.count)

    def ask(self, count):
        """Requests of the application "support", none like another, until all of them are scored."""
        self.running.ask(itertools.islice(self.seeds, count), route="/support")
        self.running.settle()

    def ask_until(self, question, count=15, at_most=20):
        """Traffic in portions until the answer is true."""
        for _ in range(at_most):
            self.ask(count)
            if question():
                return
        raise AssertionError("waited in vain")

    def swap(self, after, fragility):
        """Let another model answer "support" under the name that is asked for."""
        self.simulation.change("simulated-1", {"fragility": fragility, "returned_name": after})

    def score(self, count, model, *routes, broken=False, prompt="v1"):
        """Exchanges of other routes, so many, as the worker would have scored them: the resend is alike."""
        for number in itertools.islice(self.seeds, count):
            for route in routes:
                exchange = f"{route}-{number}"
                for kind in (BASELINE, "general.spelling"):
                    resend = kind == BASELINE
                    verdict = altered(
                        VERDICT,
                        id=f"{exchange}-{kind}",
                        exchange_id=exchange,
                        scored_at=time.time(),
                        route=route,
                        model=model,
                        prompt_version=prompt,
                        perturbation=kind,
                        rating=1 if broken and not resend else 3,
                        control_rating=None if resend else 3,
                    )
                    self.log.append(verdict, None)

    def incidents(self, *routes, state=""):
        """Return what the API lists of some routes."""
        found = self.running.get(f"/api/incidents?state={state}")["incidents"]
        return [incident for incident in found if set(incident["routes"]) & set(routes)]

    def posted(self, *routes):
        """Return the messages to the webhook about these routes."""
        found = [post for post in list(self.posts) if post.get("schema") == "evenkeel.incident/1"]
        return [post for post in found if set(post["incident"]["routes"]) & set(routes)]

    def said(self, *routes):
        """Return their phases."""
        return [post["phase"] for post in self.posted(*routes)]

    def firing(self, *routes):
        """Route and slot of the incidents that fire in Prometheus."""
        alerts = httpx2.get(f"{self.prometheus}/api/v1/alerts").json()["data"]["alerts"]
        return {
            (alert["labels"]["route"], alert["labels"]["slot"])
            for alert in alerts
            if alert["labels"]["alertname"] == "EvenkeelIncident" and alert["labels"]["route"] in routes
        }

    def managed(self, *routes):
        """Route and state of the incidents that Alertmanager knows."""
        query = {"filter": "alertname=EvenkeelIncident"}
        alerts = httpx2.get(f"{self.manager}/api/v2/alerts", params=query).json()
        return {
            (alert["labels"]["route"], alert["status"]["state"])
            for alert in alerts
            if alert["labels"]["route"] in routes
        }

    def notified(self, status, *routes):
        """Routes about whose incidents Alertmanager has sent a message in that state."""
        return {
            alert["labels"]["route"]
            for post in list(self.posts)
            for alert in post.get("alerts", ())
            if (alert["labels"]["alertname"], alert["status"]) == ("EvenkeelIncident", status)
            and alert["labels"]["route"] in routes
        }

    def groups(self, *routes):
        """Alertmanager's messages about incidents of these routes: by receiver and case, their routes."""
        found = {}
        for post in list(self.posts):
            named = {
                alert["labels"]["route"]
                for alert in post.get("alerts", ())
                if alert["labels"]["alertname"] == "EvenkeelIncident"
            }
            if named & set(routes):
                key = post["receiver"], post["groupLabels"]["case"]
                found[key] = found.get(key, set()) | named
        return found

    def over(self, *routes):
        """Tell whether nothing fires any more, and everybody who heard of it heard that."""
        return (
            {phases[-1] for route in routes if (phases := self.said(route))} == {"resolved"}
            and self.notified("resolved", *routes) == set(routes)
            and not self.firing(*routes)
            and not self.managed(*routes)
        )


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    """One route before a simulated model, and ten more; scraped, and watched over by our rules."""
    folder = tmp_path_factory.mktemp("deployment")
    simulation = Simulation([ModelState("simulated-1")], SimulationSettings(deterministic=True))
    with receiver() as (url_of_receiver, posts), serving(simulation) as url:
        routes = [
            {
                "name": name,
                "match": {"prefix": f"/{name}"},
                "upstream": url,
                "sampling_rate": 1.0,
                "trials": {"perturbations": ["general.spelling"]},
                "contact": {"owner": f"@{name}", "rollback": f"helm rollback {name}"},
            }
            for name in ROUTES
        ]
        settings = {
            "routes": routes,
            "judge": {"base_url": f"{url}/v1", "model": JUDGE_MODEL},
            "replays": {"concurrency": 16, "references": {"calls_per_day": 0}},
            "alerts": {
                "mean_trials_between_false_alarms": 200,
                "min_trials": 10,
                "webhook": f"{url_of_receiver}hook",
            },
            "simulated": True,  # messages wait 8 s: longer than a busy machine stands still
        }
        config = settings_file(folder, **settings)
        keys = {"EVENKEEL_JUDGE_API_KEY": "any", "EVENKEEL_WEBHOOK_SECRET": SECRET}
        with (
            up(folder, "--config", str(config), environment=keys) as running,
            alertmanager(folder, url_of_receiver) as manager,
            watching(folder, running, manager) as scraped,
            contextlib.closing(Database(running.data / DATABASE_FILE)) as database,
        ):
            log = SqliteVerdictLog(database)
            yield Deployment(simulation, running, manager, scraped, posts, log)


def acknowledge(running, incident):
    """Act on the page of an incident; returns what it says then."""
    with browser() as chromium:
        page = chromium.new_context(base_url=running.admin).new_page()
        page.goto(f"/incidents/{incident}")
        page.fill("input[name=token]", token_in(running.data))
        page.click("form[action='/login'] button")
        page.fill("input[name=by]", "ana")
        page.click("button[value=acknowledged]")
        page.wait_for_url("**/incidents/*decided=1*")
        wait_for(lambda: running.get(f"/api/incidents/{incident}")["incident"]["acknowledged_by"])
        page.goto(f"/incidents/{incident}")
        return page.inner_text("main")


def test_from_a_swap_to_its_rollback_everything_says_the_same(deployment):
    """Swapped, told, held back while the judge is broken, acknowledged, rolled back, over by itself."""
    deployment.ask(24)
    assert deployment.incidents("support") == []

    deployment.swap("helpdesk-2", 0.5)
    deployment.ask_until(lambda: deployment.incidents("support", state="open"))
    [opened] = wait_for(lambda: deployment.posted("support"))
    assert opened["incident"]["effect"] == "fragile"
    assert "Roll back: helm rollback support" in opened["text"]
    name = opened["incident"]["id"]
    wait_for(lambda: deployment.notified("firing", "support"))
    assert deployment.firing("support") == {("support", "1")}
    deployment.ask_until(lambda: deployment.incidents("support")[0]["marks"])
    assert deployment.incidents("support")[0]["headline"].endswith(", after simulated-1 → helpdesk-2.")

    deployment.simulation.change(JUDGE_MODEL, {"error_rate": 1.0})
    deployment.running.ask(itertools.islice(deployment.seeds, 12), route="/support")
    wait_for(lambda: deployment.managed("support") == {("support", "suppressed")})
    deployment.simulation.change(JUDGE_MODEL, {"error_rate": 0.0})
    deployment.ask_until(lambda: deployment.managed("support") == {("support", "active")})

    page = acknowledge(deployment.running, name)
    assert "acknowledged by ana" in page.lower()
    wait_for(lambda: deployment.managed("support") == {("support", "suppressed")})
    assert deployment.said("support") == ["opened"]

    deployment.swap("simulated-1", 0.0)
    deployment.ask_until(lambda: deployment.incidents("support", state="resolved"), count=21)
    wait_for(lambda: deployment.over("support"))
    [incident] = deployment.incidents("support")
    assert (incident["id"], incident["ending"], incident["state"]) == (name, "reversed", "resolved")
    assert deployment.said("support") == ["opened", "resolved"]
    page = deployment.running.page(f"/incidents/{name}")
    assert "the change simulated-1 → helpdesk-2 was reversed" in page
    assert 'value="acknowledged"' not in page


def test_eight_routes_two_changes_and_a_retired_model_at_once(deployment):
    """Each route is one incident, each cause at most three messages, and every one ends by itself."""
    deployment.score(24, "shared-1", *EIGHT)
    deployment.score(24, "post-1", "mail")
    deployment.score(24, "old-1", "legacy")

    deployment.score(24, "shared-2", *EIGHT, broken=True)
    deployment.score(24, "old-2", "legacy", broken=True)
    deployment.score(3, "post-2", "mail", broken=True)
    deployment.score(24, "post-2", "mail", broken=True, prompt="v2")
    wait_for(lambda: len(deployment.incidents(*OTHERS, state="open")) == len(OTHERS))
    assert sorted(incident["routes"] for incident in deployment.incidents(*OTHERS)) == sorted(
        [route] for route in OTHERS
    )
    [mail] = wait_for(lambda: deployment.posted("mail"))
    assert mail["headline"].endswith(", after post-1 → post-2 and prompt version v1 → v2.")
    [legacy] = wait_for(lambda: deployment.posted("legacy"))
    assert legacy["headline"].endswith(", after old-1 → old-2.")
    [shared] = wait_for(lambda: deployment.posted(*EIGHT))
    assert sorted(shared["incident"]["routes"]) == sorted(EIGHT)
    assert len(shared["incidents"]) == len(EIGHT)
    wait_for(lambda: deployment.notified("firing", *OTHERS) == set(OTHERS))
    assert deployment.firing(*OTHERS) == {(route, "1") for route in OTHERS}
    (together,) = {case for (_, case), routes in deployment.groups(*EIGHT).items() if routes}
    assert deployment.groups(*OTHERS) == {
        (receiver, case): routes
        for receiver in ("on-call", "team-chat")
        for case, routes in ((together, set(EIGHT)), ("mail/1", {"mail"}), ("legacy/1", {"legacy"}))
    }

    deployment.score(42, "shared-1", *EIGHT, prompt="v1")
    deployment.score(42, "post-1", "mail", prompt="v1")
    deployment.score(205, "old-3", "legacy")
    wait_for(lambda: not deployment.incidents(*OTHERS, state="open"))
    endings = {
        incident["routes"][0]: incident["ending"]
        for incident in deployment.incidents(*OTHERS, state="resolved")
    }
    assert endings == {**dict.fromkeys((*EIGHT, "mail"), "reversed"), "legacy": "retired"}
    wait_for(lambda: deployment.over(*OTHERS))
    assert [deployment.said(route) for route in ("mail", "legacy", EIGHT[0])] == [["opened", "resolved"]] * 3
    assert len(deployment.posted(*EIGHT)) == 2

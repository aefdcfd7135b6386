"""From a swap to its rollback: one incident, two messages, and it closes by itself."""

from __future__ import annotations

import itertools
import json

import httpx2
import pytest

from evenkeel.simulate import JUDGE_MODEL, ModelState, Simulation, SimulationSettings, serving
from testing.relaying import token_in
from tests.services import receiver, wait_for

pytestmark = pytest.mark.system

SECRET = "a secret of the receiver"


def test_a_swap_is_one_incident_until_it_is_rolled_back(start, tmp_path):
    """Two rewordings of a route break: one message; acknowledged; rolled back: one more, and it is over."""
    simulation = Simulation([ModelState("simulated-1")], SimulationSettings(deterministic=True))
    with receiver() as (url_of_receiver, messages), serving(simulation) as url:
        route = {
            "name": "support",
            "upstream": url,
            "sampling_rate": 1.0,
            "perturbations": ["general.spelling", "general.casing"],
            "owner": "@support-ml",
            "rollback": "helm rollback support",
        }
        settings = {
            "routes": [route],
            "judge": {"base_url": f"{url}/v1", "model": JUDGE_MODEL, "concurrency": 16},
            "shadow": {"concurrency": 16},
            "references": {"calls_per_day": 0},
            "alert": {
                "mean_trials_between_false_alarms": 200,
                "min_trials": 10,
                "notify_window_s": 2,
                "webhook": f"{url_of_receiver}hook",
                "webhook_secret_env": "HOOK_SECRET",
            },
        }
        config = tmp_path / "evenkeel.yaml"
        config.write_text(json.dumps(settings))
        keys = {"EVENKEEL_JUDGE_API_KEY": "any", "HOOK_SECRET": SECRET}
        with start("--config", str(config), environment=keys) as running:
            seeds = itertools.count()

            def send_until(question, at_most=20):
                for _ in range(at_most):
                    running.ask(itertools.islice(seeds, 15))
                    running.settle()
                    found = question()
                    if found:
                        return found
                raise AssertionError("waited in vain")

            def incidents(state):
                return running.get(f"/api/incidents?state={state}")["incidents"]

            running.ask(itertools.islice(seeds, 60))
            running.settle()
            assert running.get("/api/incidents")["incidents"] == []

            simulation.change("simulated-1", {"fragility": 0.7, "returned_name": "helpdesk-2"})
            send_until(lambda: len(incidents("open") and incidents("open")[0]["alerts"]) == 2)
            (opened,) = wait_for(lambda: list(messages))
            assert opened["headline"].startswith("support: answers became fragile at ")
            assert opened["headline"].endswith(", after simulated-1 → helpdesk-2.")
            assert "Roll back: helm rollback support" in opened["text"]
            name = opened["incident"]["id"]

            decision = {"decided": "acknowledged", "by": "ana"}
            signed_in = {"authorization": f"Bearer {token_in(running.data)}"}
            answer = httpx2.post(f"{running.admin}/api/incidents/{name}", json=decision, headers=signed_in)
            assert answer.status_code == 200
            wait_for(lambda: [one["id"] for one in incidents("acknowledged")] == [name])
            page = running.page(f"/incidents/{name}")
            for said in ("acknowledged by", "The worst trials whose control held", "Answer to the original"):
                assert said in page, said

            simulation.change("simulated-1", {"fragility": 0.0, "returned_name": "simulated-1"})
            (over,) = send_until(lambda: incidents("resolved"))
            assert (over["id"], over["ending"]) == (name, "reversed")
            _, last = wait_for(lambda: list(messages) if len(messages) > 1 else None)
            assert (last["phase"], last["number"], last["incident"]["id"]) == ("resolved", 2, name)
            running.becomes(0, "evenkeel_incident_open")
            assert len(messages) == 2

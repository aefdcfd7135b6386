"""From a model swap to an alert: the gauges, the API, the log and a webhook say the same."""

from __future__ import annotations

import subprocess

import pytest
import yaml

from tests.services import receiver, wait_for

pytestmark = pytest.mark.system


@pytest.mark.service("promtool")
def test_a_model_swap_raises_an_alert_everywhere(start, simulation, upstream, tmp_path):
    """Quiet before; after the swap the gauge, the API, the log and the webhook all say so."""
    simulation.change("simulated-1", {"fragility": 0.0})
    config = tmp_path / "evenkeel.yaml"
    kinds = ["general.whitespace", "general.punctuation", "general.casing", "general.spelling"]
    route = {
        "upstream": upstream,
        "sampling_rate": 1.0,
        "perturbations": kinds,
        "trials_per_exchange": len(kinds),
    }
    with receiver() as (url, received):
        config.write_text(yaml.safe_dump({"routes": [route], "alert": {"webhook": url}}))
        with start("--config", str(config)) as running:
            running.ask(range(40))
            running.settle()
            assert running.metric("evenkeel_robustness_score", perturbation="general.spelling") == 1
            assert running.metric("evenkeel_alert") == 0
            assert received == []

            simulation.change("simulated-1", {"fragility": 0.6, "returned_name": "simulated-2"})
            running.ask(range(40, 110))
            running.settle()
            raised = [event for event in running.get("/api/alerts")["events"] if event["kind"] == "raised"]
            assert raised
            assert running.metric("evenkeel_alert", model="simulated-2") == len(raised)
            assert {event["model"] for event in raised} == {"simulated-2"}
            wait_for(lambda: len(received) >= len(raised))
            assert {post["id"] for post in received} == {event["id"] for event in raised}
            assert "ALERT" in running.log.read_text()
            exposition = running.page("/metrics")
    checked = subprocess.run(
        ["promtool", "check", "metrics"], input=exposition, capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")

"""`evenkeel up` in front of an endpoint that answers differently one day, under the same name."""

import itertools
import random
import subprocess
import sys

import pytest

from tests.kit.relaying import START_S, settings_file
from tests.scripted_chat import ScriptedChat
from tests.services import receiver, wait_for

pytestmark = pytest.mark.system


class Endpoint:
    """Answers a case by its words: in prose first, as a list since it was changed; never twice the same."""

    def __init__(self):
        self.changed = False
        self._asked = itertools.count()

    def __call__(self, prompt):
        rng = random.Random(next(self._asked))
        words = [word.strip(".,;:-#*") for word in prompt.split() if word.isascii()][-60:]
        kept = [word for word in words if rng.random() < 0.9]
        if self.changed:
            lines = (" ".join(kept[place : place + 6]) for place in range(0, 30, 6))
            return "\n".join(f"- **{line}**" for line in lines)
        opening = rng.choice(("Here is what the case says", "In short", "The case in a few sentences"))
        text = f"{' '.join(kept[:24])}. The customer adds: {' '.join(kept[24:])}"
        return f"{opening}: {text}. Please look into it."


@pytest.fixture
def endpoint():
    """The model, before it is changed."""
    return Endpoint()


def test_a_silent_change_is_suspected_then_found_then_reported_and_delivered(start, endpoint, tmp_path):
    """Ordinary answers look different, reference prompts confirm it: one report, one event."""
    with receiver() as (url_of_receiver, messages), ScriptedChat(endpoint) as chat:
        upstream = chat.url.removesuffix("/v1")
        route = {"name": "desk", "upstream": upstream, "sampling_rate": 1.0, "trials": {"per_exchange": 0}}
        path = settings_file(
            tmp_path,
            routes=[route],
            budget={"tokens_per_day": None, "usd_per_day": None},
            alerts={"webhook": f"{url_of_receiver}hook"},
            simulated=True,  # messages wait 8 s, not 30
        )

        with start("--config", str(path)) as running:
            running.ask(range(100), x_evenkeel_prompt_version="p1")
            running.settle()
            assert running.get("/api/changes")["changes"] == []
            assert running.get("/api/references")["routes"][0]["references"] == 24

            endpoint.changed = True
            numbers = itertools.count(1000)

            def reports():
                return [
                    change
                    for change in running.get("/api/changes")["changes"]
                    if change["silent"] is not None
                ]

            def scored():
                running.ask(itertools.islice(numbers, 20), x_evenkeel_prompt_version="p1")
                running.settle()
                return [report for report in reports() if report["silent"]["scores"]]

            (report,) = wait_for(scored, "for references to show it")
            assert (report["cause"], report["effect"]) == ("provider", "different")
            assert "references" in {mark["kind"] for mark in report["marks"]}
            answers = report["silent"]["references"]
            assert answers["calls"] > 0
            assert answers["likeness"] < answers["own"]
            assert not report["silent"]["scores"]["judged"]

            whole = running.get(f"/api/changes/{report['id']}")
            assert whole["examples"]
            # The change is placed too early rather than too late: an answer after it may be an old one.
            assert any(example["after"].startswith("- **") for example in whole["examples"])
            assert not any(example["before"].startswith("- **") for example in whole["examples"])
            page = running.page(f"/changes/{report['id']}")
            for said in ("silent change by the provider", "the same request"):
                assert said in page, said
            command = ("changes", "show", report["id"], "--examples", "--data-dir", str(tmp_path / "data"))
            shown = subprocess.run(
                [sys.executable, "-m", "evenkeel", *command],
                check=True,
                capture_output=True,
                timeout=START_S,
            ).stdout.decode()
            assert "\nA change that nobody announced\n" in shown
            assert "\nExample 1: desk\n" in shown

            sent = wait_for(lambda: [message for message in list(messages) if message.get("schema")])
            assert [(message["phase"], message["incident"]["id"]) for message in sent] == [
                ("opened", report["id"])
            ]
            assert sent[0]["headline"].startswith("desk: answers are different since ")
            assert [alert["measure"] for alert in sent[0]["incident"]["alerts"]] == ["references"]
            (incident,) = running.get("/api/incidents")["incidents"]
            assert (incident["id"], incident["effect"]) == (report["id"], "different")

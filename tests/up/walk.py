"""Walk as a newcomer and as an operator through a running `evenkeel up`, and print when each thing was there.

python -m tests.up.walk               # model swap, rollback, prompt edit, judge swap, as a table in Markdown
python -m tests.up.walk --rate 1      # at a request a second

Model and judge are simulated. Prometheus, its rules and Alertmanager are real and have the shipped times.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from evenkeel.monitor.changes import kinds
from evenkeel.simulate import JUDGE_MODEL, ModelState, Simulation, SimulationSettings, serving
from tests.alerting import alertmanager, watching
from tests.kit.relaying import Load, Running, running
from tests.services import receiver

if TYPE_CHECKING:
    from collections.abc import Callable

ROUTE = "desk"
# Longer than Alertmanager's five minutes between two messages about one group.
PATIENCE_S = 420.0
FIRST_PROMPT = "You are the help desk of a bank."
OTHER_JUDGE = "other-judge"
EDITED_PROMPT = "You are the friendly help desk of a bank."


@dataclass
class Walk:
    """The running services, the traffic, and what was heard of them."""

    simulation: Simulation
    evenkeel: Running
    prometheus: str
    posts: list[dict[str, Any]]
    settings: Path
    load: Load
    began: float = field(default_factory=time.monotonic)

    def row(self, what: str, question: Callable[[], object]) -> None:
        """Print after how many seconds the question had an answer, and the answer."""
        answer = None
        while answer is None and time.monotonic() < self.began + PATIENCE_S:
            with contextlib.suppress(httpx2.HTTPError):
                answer = question() or None
            time.sleep(0.2)
        seconds = f"{time.monotonic() - self.began:.0f} s" if answer else "not in seven minutes"
        print(f"| {what} | {seconds} | {'' if answer in {None, True} else answer} |", flush=True)

    def restart(self, title: str) -> None:
        """Begin a part of the walk: its times count from now."""
        print(f"\n## {title}\n\n| what | after | words |\n|---|--:|---|", flush=True)
        self.began = time.monotonic()

    def swap(self, name: str, fragility: float) -> None:
        """Let another model answer under the name that is asked for."""
        self.simulation.change("simulated-1", {"fragility": fragility, "returned_name": name})

    def incident(self, state: str) -> str:
        """Return the headline of the incident in a state; "" for none."""
        incidents = self.evenkeel.get(f"/api/incidents?state={state}")["incidents"]
        return str(incidents[0]["headline"]) if incidents else ""

    def change(self, kind: str) -> str:
        """Return old and new value of the last change of a kind; "" for none."""
        for change in self.evenkeel.get("/api/changes")["changes"]:
            for mark in change["marks"]:
                if mark["kind"] == kind:
                    return f"{mark['before']} → {mark['after']}"
        return ""

    def message(self, phase: str) -> str:
        """Return the headline of a message of evenkeel's own in that phase; "" for none."""
        for post in list(self.posts):
            if post.get("schema") == "evenkeel.incident/1" and post["phase"] == phase:
                return str(post["headline"])
        return ""

    def notified(self, status: str) -> bool:
        """Return whether Alertmanager has sent a message about the incident in that status."""
        for post in list(self.posts):
            for alert in post.get("alerts", ()):
                if (alert["labels"]["alertname"], alert["status"]) == ("EvenkeelIncident", status):
                    return True
        return False

    def firing(self) -> bool:
        """Return whether the incident's alert fires in Prometheus."""
        alerts = httpx2.get(f"{self.prometheus}/api/v1/alerts").json()["data"]["alerts"]
        return "EvenkeelIncident" in [alert["labels"]["alertname"] for alert in alerts]


class TwoJudges(Simulation):
    """A simulation in which another name is a judge as well."""

    def complete(self, state: ModelState, request: Any, id_prefix: str) -> Any:
        """Answer as the judge under either name."""
        if state.name == OTHER_JUDGE:
            state = replace(state, name=JUDGE_MODEL, returned_name=OTHER_JUDGE)
        return super().complete(state, request, id_prefix)


def swap(walk: Walk) -> None:
    """Swap the model under its name, and roll back."""
    walk.restart("The provider swaps the model under its name (fragile by 50 %)")
    walk.swap("helpdesk-2", 0.5)
    walk.row("incident is open", lambda: walk.incident("open"))
    walk.row("message is there", lambda: walk.message("opened"))
    walk.row("the alert fires in Prometheus", walk.firing)
    walk.row("Alertmanager has sent it", lambda: walk.notified("firing"))
    walk.restart("The swap is rolled back")
    walk.swap("simulated-1", 0.0)
    walk.row("incident is resolved", lambda: walk.incident("resolved"))
    walk.row("message is there", lambda: walk.message("resolved"))
    walk.row("the alert fires no more", lambda: not walk.firing())
    walk.row("Alertmanager has said so", lambda: walk.notified("resolved"))


def edit(walk: Walk) -> None:
    """Edit the prompt by a word."""
    walk.restart("A cosmetic edit of the prompt (one word more)")
    walk.load.system = EDITED_PROMPT
    walk.row("the change is listed", lambda: walk.change(kinds.PROMPT))


def judge(walk: Walk) -> None:
    """Name another judge in the settings."""
    walk.restart("Another judge in the settings, read again while evenkeel runs")
    settings = json.loads(walk.settings.read_text())
    settings["judge"]["model"] = OTHER_JUDGE
    walk.settings.write_text(json.dumps(settings))
    walk.evenkeel.process.send_signal(signal.SIGHUP)
    # Answers that are identical need no judge, so it is the settings that tell.
    walk.row("the change of settings is listed", lambda: walk.change(kinds.SETTINGS))


PARTS = {"swap": swap, "edit": edit, "judge": judge}


def main() -> None:
    """Walk once and print the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rate", type=float, default=3.0, help="requests a second, all of them sampled")
    parser.add_argument("parts", nargs="*", choices=PARTS, default=list(PARTS), help="default: all of them")
    options = parser.parse_args()
    rate = options.rate
    models = [ModelState("simulated-1"), ModelState(JUDGE_MODEL), ModelState(OTHER_JUDGE)]
    simulation = TwoJudges(models, SimulationSettings(deterministic=True))
    with contextlib.ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="walk-")))
        upstream = opened.enter_context(serving(simulation))
        hook, posts = opened.enter_context(receiver())
        path = folder / "evenkeel.yaml"
        settings = {
            "routes": [
                {"name": ROUTE, "match": {"prefix": f"/{ROUTE}"}, "upstream": upstream, "sampling_rate": 1.0}
            ],
            "judge": {"base_url": f"{upstream}/v1", "model": JUDGE_MODEL},
            # Free replays of every request at this rate would use the default budget of a day within minutes.
            "budget": {"tokens_per_day": 500_000_000},
            "alerts": {"webhook": f"{hook}hook"},
        }
        path.write_text(json.dumps(settings))
        began = time.monotonic()
        started = running(
            "up", folder, "--config", str(path), admin=True, environment={"EVENKEEL_JUDGE_API_KEY": "any"}
        )
        evenkeel = opened.enter_context(started)
        manager = opened.enter_context(alertmanager(folder, hook, hurry=False))
        prometheus = opened.enter_context(watching(folder, evenkeel, manager, hurry=False))
        load = Load(f"{evenkeel.url}/{ROUTE}", pause_s=1 / rate, clients=1)
        load.system = FIRST_PROMPT
        walk = Walk(simulation, evenkeel, prometheus, posts, path, load)
        walk.restart(f"A newcomer starts it ({rate:g} requests a second, all sampled)")
        walk.began = began
        opened.enter_context(load)
        walk.row("first request counted", lambda: evenkeel.metric("evenkeel_proxy_requests_total") > 0)
        walk.row("first trial rated", lambda: evenkeel.metric("evenkeel_trials_total") > 0)
        walk.row("a cell has a figure", lambda: evenkeel.metric("evenkeel_trials_total") > 60)
        if options.parts == list(PARTS):
            walk.row("a cell is within its limit", lambda: '"within"' in evenkeel.page("/api/cells"))
        else:
            # A prompt version that is learned among the first 150 exchanges is taken as there from the start.
            walk.row("600 trials are rated", lambda: evenkeel.metric("evenkeel_trials_total") > 600)
        for part in options.parts:
            PARTS[part](walk)
        # Neither an edit without effect nor another judge is an incident.
        print(f"\nOpen incidents at the end: {walk.incident('open') or 'none'}")


if __name__ == "__main__":
    main()

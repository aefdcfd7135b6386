"""dedrift: a suite of canaries run several times a cycle, a battery of tests against two baselines.

Driven by its commands `init`, `embedder pin hash`, `canary run`, `baseline set` and `check`, with its default
configuration: seven repetitions of twelve canaries a cycle, a cycle a day, the first three cycles frozen as
the golden baseline. Latency is given as constant. An alarm is exit code 2 of `check`; after it a new project
is begun, as its baselines are never updated by themselves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks.upgrades.detectors import Alarm
from benchmarks.upgrades.rivals.endpoint import served
from benchmarks.upgrades.rivals.environment import Environment
from benchmarks.upgrades.simple import probes, rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.upgrades.scenes import Scene

_DRIFT: Final = 2
_INCOMPLETE: Final = 3
_GOLDEN: Final = 3
"""Cycles of the golden baseline."""
_AGENT: Final = """
import json
import urllib.request


def ask(given):
    body = json.dumps({"model": "recorded", "messages": given["messages"]}).encode()
    request = urllib.request.Request(
        "URL/chat/completions", body, {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answered:
        read = json.load(answered)
    usage = read["usage"]
    return {
        "text": read["choices"][0]["message"]["content"],
        "latency_ms": 1000,
        "tokens_in": usage["prompt_tokens"],
        "tokens_out": usage["completion_tokens"],
    }
"""


@dataclass(frozen=True, slots=True)
class Dedrift:
    """A cycle every day."""

    python: str
    count: int = 12
    every_days: float = 1.0
    only_suspects: bool = False

    @property
    def name(self) -> str:
        """As tables have it."""
        return f"dedrift: {self.count} canaries, daily"

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Alarms of the daily checks."""
        tool = Environment("dedrift", self.python)
        tool.command()
        days = rounds(scene, self.every_days)
        places = probes(scene, self.count)
        while (alarm := self._until_alarm(tool, scene, places, days)) is not None:
            yield alarm

    def _until_alarm(
        self, tool: Environment, scene: Scene, places: list[int], days: Iterator[float]
    ) -> Alarm | None:
        """A project from its first cycle to its first alarm; None if the traffic is over before."""
        with TemporaryDirectory() as home, served(scene) as endpoint:
            folder = Path(home)
            _write(folder, scene, endpoint.url, places)
            tool.run(tool.command("init", "."), folder)
            tool.run(tool.command("embedder", "pin", "hash"), folder)
            cycle = tool.command(
                "canary", "run", "--suite", "canaries.yaml", "--agent", "agent:ask", "--model", "recorded"
            )
            for number, at in enumerate(days, start=1):
                endpoint.at = at
                tool.run(cycle, folder, variables={"PYTHONPATH": str(folder)})
                if number == _GOLDEN:
                    tool.run(tool.command("baseline", "set", "--first", str(_GOLDEN)), folder)
                elif number > _GOLDEN:
                    done = tool.run(tool.command("check"), folder, fine=(0, _DRIFT, _INCOMPLETE))
                    if done.returncode == _DRIFT:
                        return Alarm(at, about=_first_line(done.stdout))
        return None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if "drift" in line.lower()), "")[:100]


def _write(folder: Path, scene: Scene, url: str, places: list[int]) -> None:
    """The suite, JSON, which is YAML as well, and the agent."""
    canaries = []
    for number, place in enumerate(places):
        prompt = scene.prompt(place)
        messages = [{"role": message.role, "content": message.text} for message in prompt.messages]
        given = {"text": prompt.messages[-1].text, "messages": messages}
        canaries.append({"id": f"canary-{number}", "family": "happy_path", "input": given})
    suite = {"version": "1", "canaries": canaries}
    (folder / "canaries.yaml").write_text(json.dumps(suite), encoding="utf-8")
    (folder / "agent.py").write_text(_AGENT.replace("URL", url), encoding="utf-8")

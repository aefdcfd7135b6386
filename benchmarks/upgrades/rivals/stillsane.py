"""stillsane: probes asked on a schedule, each with a band learnt from its own baseline.

Driven by its commands `baseline` and `check` against an endpoint, with its default of five baseline samples
and three a check, twenty probes (its default for probes from logs), a check a day. Its embedding model comes
from a hub on first use; offline its own `hashing` embedder is used. A drift of any probe is an alarm, what it
calls a warning a suspicion; drifts of latency, which is this machine's own, do not count. After an alarm it
captures a new baseline, as its manual says.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks.upgrades.detectors import Alarm, Kind
from benchmarks.upgrades.rivals.endpoint import served
from benchmarks.upgrades.rivals.environment import Environment
from benchmarks.upgrades.simple import probes, rounds

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.upgrades.scenes import Scene

_DRIFT: Final = 1
_WARNING: Final = 2


@dataclass(frozen=True, slots=True)
class Stillsane:
    """A check every day."""

    python: str
    count: int = 20
    every_days: float = 1.0
    only_suspects: bool = False

    @property
    def name(self) -> str:
        """As tables have it."""
        return f"stillsane: {self.count} probes, daily"

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Alarms of the daily checks."""
        tool = Environment("stillsane", self.python)
        baseline, check = tool.command("baseline"), tool.command("check", "--json")
        with TemporaryDirectory() as home, served(scene) as endpoint:
            folder = Path(home)
            _write(folder, scene, endpoint.url, probes(scene, self.count))
            captured = False
            for at in rounds(scene, self.every_days):
                endpoint.at = at
                if not captured:
                    tool.run(baseline, folder)
                    captured = True
                    continue
                done = tool.run(check, folder, fine=(0, _DRIFT, _WARNING))
                moved = _moved(done.stdout)
                if moved:
                    kind: Kind = "found" if "drift" in moved.values() else "suspected"
                    yield Alarm(at, kind, ", ".join(sorted(moved)))
                    captured = kind != "found"


def _moved(report: str) -> dict[str, str]:
    """The worst level of each signal that moved; latency, which is this machine's own, is left out."""
    moved: dict[str, str] = {}
    for probe in json.loads(report)["probes"]:
        for signal in probe["moved"]:
            if signal["signal"] != "latency_ms" and moved.get(signal["signal"]) != "drift":
                moved[signal["signal"]] = signal["level"]
    return moved


def _write(folder: Path, scene: Scene, url: str, places: list[int]) -> None:
    """The configuration: JSON, which is YAML as well."""
    asked = []
    for number, place in enumerate(places):
        messages = scene.prompt(place).messages
        probe = {"id": f"probe_{number}", "prompt": messages[-1].text}
        if len(messages) > 1:
            probe["system"] = messages[0].text
        asked.append(probe)
    config = {
        "targets": [{"name": "prod", "base_url": url, "model": "recorded"}],
        "probes": asked,
        "embedder": "hashing",
    }
    (folder / "stillsane.yaml").write_text(json.dumps(config), encoding="utf-8")

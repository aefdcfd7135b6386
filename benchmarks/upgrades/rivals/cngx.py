"""cngx: fingerprints of how answers reason, with streaming tests of each measure.

Driven by its own classes, which its proxy uses for live traffic: `FingerprintExtractor`, and the
`StreamingDriftMonitor` seeded with the first day's answers. An alarm is what its rule of corroboration lets
through; the monitor is seeded anew with the sixty that follow. Its commands act on single captures of
coding sessions and need a provider's key to capture; its semantic half needs a model from a hub: both are
left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks.upgrades.detectors import Alarm
from benchmarks.upgrades.rivals.environment import Environment
from benchmarks.upgrades.scenes import DAY_S, START

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.upgrades.scenes import Scene

_SCRIPT: Final = """
import json
import sys

from cngx.core.models import ReasoningTrace
from cngx.drift.streaming import StreamingDriftMonitor
from cngx.fingerprint.extractor import FingerprintExtractor

extractor = FingerprintExtractor()
first = int(sys.argv[1])
monitor, seeds = None, []
for number, line in enumerate(sys.stdin):
    row = json.loads(line)
    trace = ReasoningTrace(id=str(number), task_id="route", model="recorded", **row)
    fingerprint = extractor.extract(trace)
    if monitor is None:
        seeds.append(fingerprint)
        if len(seeds) >= first:
            monitor = StreamingDriftMonitor()
            monitor.seed_from_history(seeds)
        continue
    alert, details = monitor.combine_streaming_signals(monitor.update(fingerprint))
    if alert:
        print(json.dumps([number, [one["metric"] for one in details]]))
        monitor, seeds, first = None, [], 60
"""


@dataclass(frozen=True, slots=True)
class Cngx:
    """Its live monitor on the traffic."""

    python: str
    name: str = "cngx: live monitor"
    only_suspects: bool = False

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Alarms of the monitor."""
        tool = Environment("cngx", self.python)
        lines = "\n".join(
            json.dumps({"prompt": scene.prompt(one.place).text, "output": one.answer})
            for one in scene.requests
        )
        first = sum(request.at < START + DAY_S for request in scene.requests)
        with TemporaryDirectory() as home:
            source = Path(home) / "monitor.py"
            source.write_text(_SCRIPT, encoding="utf-8")
            done = tool.run(tool.script(source, str(first)), Path(home), stdin=lines)
        for line in done.stdout.splitlines():
            number, measures = json.loads(line)
            yield Alarm(scene.requests[number].at, about=", ".join(measures))

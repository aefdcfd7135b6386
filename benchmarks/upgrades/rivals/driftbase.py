"""driftbase: runs of an agent, compared version by version along twelve dimensions.

It reads traces of Langfuse. They are put where its connector puts them, by its own classes, because what its
`import` writes is not read by its `diff` (0.15.1: "Not enough runs"; it also needs sqlmodel 0.0.24, as later
ones refuse its dates). The comparison is its command `diff` with its default thresholds. The traffic of each
day is a version of its own and the first three days are the version compared with, for nobody announces one.
An alarm is the verdict REVIEW or BLOCK, MONITOR a suspicion; after an alarm the day becomes the version
compared with. Of an answer it is given the text, the tokens and a constant latency.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from benchmarks.upgrades.detectors import Alarm, Kind
from benchmarks.upgrades.rivals.environment import Environment
from benchmarks.upgrades.scenes import DAY_S, DAYS, START
from evenkeel.llm.price import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.upgrades.scenes import Request, Scene

_FIRST_DAYS: Final = 3
_KINDS: Final[dict[str, Kind]] = {"MONITOR": "suspected", "REVIEW": "found", "BLOCK": "found"}
"""What its verdicts are; the other one is SHIP."""
_SCRIPT: Final = """
import json
import sys
from datetime import UTC, datetime

from sqlmodel import Session

from driftbase.backends.factory import get_backend
from driftbase.backends.sqlite import RunRaw

backend = get_backend()
with Session(backend._engine) as session:
    for number, run in enumerate(json.load(sys.stdin)):
        name = f"{sys.argv[1]}-{number}"
        at = datetime.fromtimestamp(run.pop("at"), UTC).replace(tzinfo=None)
        session.add(
            RunRaw(
                id=name,
                external_id=name,
                source="langfuse",
                ingestion_source="connector",
                session_id="recorded",
                deployment_version=sys.argv[1],
                version_source="release",
                environment="production",
                timestamp=at,
                latency_ms=1000,
                raw_status="success",
                **run,
            )
        )
    session.commit()
"""


@dataclass(frozen=True, slots=True)
class Driftbase:
    """A comparison every day."""

    python: str
    name: str = "driftbase: traffic, daily"
    only_suspects: bool = False

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Alarms of the daily comparisons."""
        tool = Environment("driftbase", self.python)
        diff = tool.command("diff")
        with TemporaryDirectory() as home:
            folder = Path(home)
            baseline = "first"
            self._import(tool, folder, scene, 0, _FIRST_DAYS, baseline)
            for day in range(_FIRST_DAYS, DAYS):
                version = f"day-{day}"
                self._import(tool, folder, scene, day, day + 1, version)
                done = tool.run([*diff, baseline, version, "--format", "json"], folder, fine=(0, 1))
                report = json.loads(done.stdout)
                kind = _KINDS.get(report["verdict"])
                if kind:
                    score = f"score {report['composite_score']}"
                    yield Alarm(START + (day + 1) * DAY_S, kind, f"{report['verdict']}, {score}")
                if kind == "found":
                    baseline = version

    def _import(
        self, tool: Environment, folder: Path, scene: Scene, first: int, end: int, version: str
    ) -> None:
        runs = [
            _run(scene, request)
            for request in scene.requests
            if START + first * DAY_S <= request.at < START + end * DAY_S
        ]
        source = folder / "traces.py"
        source.write_text(_SCRIPT, encoding="utf-8")
        tool.run(tool.script(source, version), folder, stdin=json.dumps(runs))


def _run(scene: Scene, request: Request) -> dict[str, Any]:
    """What a trace holds of an exchange."""
    prompt = scene.prompt(request.place).text
    tokens = estimate_tokens(prompt), estimate_tokens(request.answer)
    return {
        "at": request.at,
        "input": prompt,
        "output": request.answer,
        "tokens_prompt": tokens[0],
        "tokens_completion": tokens[1],
        "tokens_total": sum(tokens),
    }

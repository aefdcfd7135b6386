"""ADWIN of river on the length of answers, with its default confidence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from benchmarks.upgrades.detectors import Alarm
from benchmarks.upgrades.rivals.environment import Environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.upgrades.scenes import Scene

_SCRIPT: Final = """
import json
import math
import sys

from river.drift import ADWIN

test = ADWIN()
for number, length in enumerate(json.load(sys.stdin)):
    test.update(math.log1p(length))
    if test.drift_detected:
        print(number)
"""


@dataclass(frozen=True, slots=True)
class AdwinOnLength:
    """The logarithm of each answer's length."""

    python: str
    name: str = "ADWIN on length"
    only_suspects: bool = False

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Every drift that it detects."""
        tool = Environment("river", self.python)
        with TemporaryDirectory() as home:
            source = Path(home) / "lengths.py"
            source.write_text(_SCRIPT, encoding="utf-8")
            lengths = json.dumps([len(request.answer) for request in scene.requests])
            done = tool.run(tool.script(source), Path(home), stdin=lengths)
        for line in done.stdout.splitlines():
            yield Alarm(scene.requests[int(line)].at, about="length")

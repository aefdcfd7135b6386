"""What a supervisor tells the processes that it starts."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evenkeel.monitor.detect import Measure
from evenkeel.runtime.limits import monitor_settings
from evenkeel.runtime.supervisor import Briefing
from evenkeel.settings import Settings


def test_a_process_knows_which_limits_were_set():
    """Settings pass whole, but what nobody set is still a default: alerts say where their limit is from."""
    settings = Settings(
        routes=[{"upstream": "http://127.0.0.1:9/v1"}], alerts={"quality_loss": 0.2, "min_trials": 5}
    )
    told = Briefing.from_line(Briefing("worker", "worker.1", settings, (3,)).to_line())
    assert told.settings == settings
    limits = monitor_settings(told.settings).limits_of("default")
    assert (limits[Measure.QUALITY].value, limits[Measure.QUALITY].source) == (0.2, "settings")
    assert (limits[Measure.CONTENT].value, limits[Measure.CONTENT].source) == (0.1, "default")


@pytest.mark.parametrize("begun", [b"", b'{"role": "worker", "sou'])
def test_a_process_whose_supervisor_is_gone_before_it_was_told_ends_quietly(begun):
    """A supervisor that is killed while it starts its processes leaves no traceback of theirs."""
    command = [sys.executable, "-m", "evenkeel", "child", "worker"]
    done = subprocess.run(command, input=begun, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (1, b"", b"")

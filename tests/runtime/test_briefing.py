"""Messages between a supervisor and the processes that it starts tell each other."""

import asyncio
import json
import os
import subprocess
import sys

import pytest

from evenkeel.monitor.detect import Measure
from evenkeel.runtime.limits import monitor_settings
from evenkeel.runtime.supervisor import Briefing, Child, Supervisor
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


def test_a_supervisor_adds_up_what_its_processes_count():
    """One that ended keeps its counters, but no gauge and no line that it could not finish."""
    children = [Child("proxy", None), Child("worker", None)]

    def counted(number):
        return {"counters": [["requests", {}, number]], "gauges": [["in_flight", {}, number]]}

    async def said():
        supervisor = Supervisor(children)
        for child, number in ((children[0], 1), (children[1], 2), (children[0], 4)):
            lines = "".join(f"{json.dumps(counted(seen))}\n" for seen in (0, number)) + '{"counters": [['
            process = await asyncio.create_subprocess_exec("printf", "%s", lines, stdout=-1)
            await supervisor._listen(child, process)
            await process.wait()
            if number == 1:
                supervisor._retire(child)
        return supervisor.snapshot()

    total = asyncio.run(said())
    assert total["counters"] == [["requests", {}, 7]]
    assert total["gauges"] == [["in_flight", {}, 6]]


def test_counters_of_any_length_arrive_whole():
    """A line that is longer than the pipe is written in pieces."""
    reading, writing = os.pipe()
    settings = Settings(routes=[{"upstream": "http://127.0.0.1:9/v1"}])
    briefing = Briefing("worker", "", settings, (), counters=writing)
    long = {"counters": [["requests", {"route": "r" * 300_000}, 1]]}
    with subprocess.Popen(["wc", "-c"], stdin=reading, stdout=subprocess.PIPE) as reader:
        os.close(reading)
        briefing.report(long)
        os.close(writing)
        assert int(reader.stdout.read()) == len(json.dumps(long)) + 1

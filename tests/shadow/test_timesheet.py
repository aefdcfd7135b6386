"""The processor time of exchanges: noted by the worker, read by its supervisor, bounded in either."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from evenkeel.core.exchange import ProcessorTimeError
from evenkeel.runtime.supervisor import Child, Supervisor
from evenkeel.shadow.timesheet import Deadline, Timesheet

PAST_S, LATER_S = -1.0, 1e9


@pytest.fixture
def sheet():
    """An empty one."""
    return Timesheet.blank()


def compute(seconds):
    """Use processor time, and nothing else."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_a_thread_is_over_once_it_has_computed_longer_than_it_may(sheet):
    """Only its own processor time counts; at rest it is never over, nor is one of a process that is gone."""
    sheet.begin(1, PAST_S, "late")
    sheet.begin(2, LATER_S, "early")
    assert sheet.over(os.getpid()) == ["late"]
    assert sheet.over(2**22 + 1) == []
    sheet.end(1)
    assert sheet.over(os.getpid()) == []


def test_another_process_reads_what_is_noted(sheet):
    """The supervisor reads through the descriptor that both have."""
    sheet.begin(1, PAST_S, "late")
    script = (
        "import sys; from evenkeel.shadow.timesheet import Timesheet;"
        "sheet = Timesheet(int(sys.argv[1])); print(sheet.over(int(sys.argv[2])))"
    )
    seen = subprocess.run(
        [sys.executable, "-c", script, str(sheet.descriptor), str(os.getpid())],
        pass_fds=[sheet.descriptor],
        capture_output=True,
        text=True,
        check=True,
    )
    assert seen.stdout == "['late']\n"


def test_the_next_worker_learns_what_was_over(sheet):
    """Once for each exchange; nothing of others, nor of the event loop, which computes for none."""
    sheet.begin(0, PAST_S, "")
    for row, exchange_id in enumerate(("one", "three", "three"), 1):
        sheet.begin(row, PAST_S, exchange_id)
    sheet.mark(["three", "", "four"])
    assert sheet.left() == ["three"]
    sheet.clear()
    assert sheet.left() == []


def bounded(sheet, work, limit_s=0.05):
    """Do work for an exchange under a deadline; returns what came of it."""

    async def run():
        deadline = Deadline(sheet, limit_s)
        with deadline("slow"):
            return await work()

    return asyncio.run(run())


def test_an_exchange_may_not_take_too_much_in_slices(sheet):
    """However short each of them is; those of tasks that it started count."""

    async def slices():
        while True:
            await asyncio.gather(*(asyncio.to_thread(compute, 0.01) for _ in range(2)))

    with pytest.raises(ProcessorTimeError):
        bounded(sheet, slices)
    assert sheet.left() == []


def test_what_others_compute_is_not_counted(sheet):
    """Waiting does not count either."""

    async def quick():
        other = threading.Thread(target=compute, args=(0.1,))
        other.start()
        await asyncio.to_thread(other.join)
        return "done"

    assert bounded(sheet, quick) == "done"


def test_an_exchange_that_is_cancelled_from_outside_is_not_over(sheet):
    """A shutdown cancels so."""

    async def cancelled():
        asyncio.current_task().cancel()
        await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        bounded(sheet, cancelled)


def test_a_worker_whose_loop_stands_still_is_killed(sheet, monkeypatch):
    """A worker that beats lives on; one that stopped beating, without computing, does not."""
    monkeypatch.setattr("evenkeel.runtime.supervisor._WATCH_S", 0.02)
    monkeypatch.setattr("evenkeel.runtime.supervisor._HANGS_S", 0.1)
    child = Child("worker", None, sheet=sheet)

    async def watched():
        supervisor = Supervisor([child])
        process = await asyncio.create_subprocess_exec("sleep", "60")
        watching = asyncio.create_task(supervisor._watch(child, process))
        for _ in range(20):
            sheet.beat()
            await asyncio.sleep(0.02)
        alive = process.returncode is None
        await watching
        return alive, await process.wait(), supervisor.snapshot()["counters"]

    alive, code, counted = asyncio.run(watched())
    assert (alive, code) == (True, -signal.SIGKILL)
    assert counted == [["worker_errors", {"where": "hang"}, 1]]

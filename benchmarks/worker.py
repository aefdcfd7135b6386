"""How many pairs a second one worker scores without a judge, and how long scoring blocks its event loop.

Run from the root of the repository: python -m benchmarks.worker [--exchanges 200]

Real queue, store, perturbations and heuristics; the upstream is *scripted*: the simulated model
answers without a connection, in a thread, as its work is not the worker's. One core. Lag is what a sleep
of 5 ms beside the worker takes longer: by the clock, to which whatever else runs on the core adds, and in
processor time of this process alone, which other work does not lengthen.

Afterwards one pair of answers as long as models write them, of 20,000 words each, beside an idle loop.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import string
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.kit import captured
from evenkeel.core.budget import Budget
from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, Pair
from evenkeel.llm.price import Prices
from evenkeel.metrics.heuristic import HeuristicRater
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.runtime.data_plane import new_event_loop
from evenkeel.runtime.process import stay_responsive
from evenkeel.runtime.replays import load_languages, load_prices
from evenkeel.shadow.original import Reader
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.replay import Replay, Target
from evenkeel.shadow.trials import TrialMaker
from evenkeel.shadow.worker import Worker
from evenkeel.simulate import make_prompt
from evenkeel.simulate.model import Message, SimulatedModel
from evenkeel.stores.counters import Tally
from evenkeel.stores.sqlite.budget import SqliteCostTracker
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from evenkeel.core.exchange import Exchange
    from evenkeel.shadow.prompt import Api

TASKS = ("case_summary", "chat_summary", "question_answering", "slot_filling")
KINDS = ("general.whitespace", "general.punctuation", "general.casing", "general.spelling", "general.tone")
TRIALS = 4
TICK_S = 0.005
LONG_WORDS, VOCABULARY = 20_000, 4_000
KEPT = 0.8


class Scripted:
    """An upstream that answers at once."""

    def __init__(self) -> None:
        self._model = SimulatedModel(fragility=0.2, noise=0.1)
        self._sent = itertools.count()

    def answer(self, messages: list[Message]) -> str:
        """What the simulated model says, another time something else."""
        return self._model.answer(messages, random.Random(next(self._sent)))

    async def send(self, _target: Target, body: bytes, *, api: Api = "chat", **_: object) -> Replay:
        """The answer to a variant. Whoever observes attempts sees none."""
        assert api == "chat"
        asked = [Message(one["role"], one["content"]) for one in json.loads(body)["messages"]]
        said = await asyncio.to_thread(self.answer, asked)
        return Replay(Answer(said, model="simulated-1"), 0.0)


def exchanges(count: int, upstream: Scripted) -> list[Exchange]:
    """Captured requests of four tasks in turn."""
    made: list[Exchange] = []
    for number in range(count):
        messages = make_prompt(TASKS[number % len(TASKS)], number)
        said = upstream.answer([Message(one["role"], one["content"]) for one in messages])
        made.append(captured(number, messages, said, route=TASKS[number % len(TASKS)]))
    return made


class Lags(NamedTuple):
    """How late the event loop was, in milliseconds, one number for each tick."""

    by_the_clock: list[float]
    own: list[float]
    """In processor time of this process."""

    def __str__(self) -> str:
        both = (("by the clock", sorted(self.by_the_clock)), ("in own processor time", sorted(self.own)))
        return ", ".join(
            f"{name} p99 {lags[int(0.99 * len(lags))]:.0f} ms, most {lags[-1]:.0f} ms" for name, lags in both
        )


async def watched(work: Awaitable[object]) -> Lags:
    """How late the event loop is while something else is done."""
    lags = Lags([], [])

    async def watch() -> None:
        while True:
            before, spent = time.perf_counter(), time.process_time()
            await asyncio.sleep(TICK_S)
            lags.by_the_clock.append((time.perf_counter() - before - TICK_S) * 1e3)
            lags.own.append(max(0.0, time.process_time() - spent - TICK_S) * 1e3)

    watching = asyncio.create_task(watch())
    await work
    # Whatever held up the loop until now is seen by the tick that is under way.
    await asyncio.sleep(2 * TICK_S)
    watching.cancel()
    return lags


def long_pair(words: int) -> Pair:
    """Two long answers of made-up words, a fifth of them other ones."""
    rng = random.Random(1)
    known = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 9))) for _ in range(VOCABULARY)]
    said = rng.choices(known, k=words)
    again = [word if rng.random() < KEPT else rng.choice(known) for word in said]
    return Pair(Answer(" ".join(said)), Answer(" ".join(again)), "")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--exchanges", type=int, default=200, help="captured requests (default 200)")
    count = parser.parse_args().exchanges
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    upstream = Scripted()
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "evenkeel.db")
        queue = SqliteExchangeQueue(database, time.time)
        tally = Tally()
        trials = TrialMaker(
            SqliteVerdictLog(database),
            heuristic_scorer(HeuristicRater(language_of=language_of)),
            upstream,  # scripted: it answers without a connection
            SqliteCostTracker(database, Budget(), time.time),
            Prices(),
            target=lambda exchange: Target(exchange.path),
            tally=tally,
            clock=time.time,
        )
        plan = {task: RoutePlan(by_name(KINDS), (0.1, 0.3, 0.5), TRIALS, task) for task in TASKS}
        worker = Worker(queue, SqliteVerdictLog(database), Reader(plan), trials, tally=tally)
        made = exchanges(count, upstream)
        load_prices(Prices())
        load_languages()
        stay_responsive()
        for start in range(0, count, 50):
            queue.put(made[start : start + 50])
        started, spent = time.perf_counter(), time.process_time()
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            lags = runner.run(watched(worker.drain()))
        elapsed_s, spent_s = time.perf_counter() - started, time.process_time() - spent
        pairs = sum(
            int(number)
            for name, labels, number in tally.snapshot()["counters"]
            if name == "trials" and labels["outcome"].startswith("rated_")
        )
        database.close()
    print(f"{pairs} pairs of {count} exchanges in {elapsed_s:.1f} s: {pairs / elapsed_s:.0f} pairs/s")
    print(f"{spent_s / pairs * 1e3:.2f} ms of processor a pair: {pairs / spent_s:.0f} pairs/s per core")
    print(f"lag of the event loop: {lags}")
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        lags = runner.run(watched(HeuristicRater().rate(long_pair(LONG_WORDS))))
    print(f"lag beside one pair of {LONG_WORDS:,} words: {lags}")


if __name__ == "__main__":
    main()

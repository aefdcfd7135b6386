"""How many pairs a second one worker scores without a judge, and how long scoring blocks its event loop.

Run from the root of the repository: python -m bench.worker [--exchanges 200]

Real queue, store, perturbations and cheap metrics; the upstream is *scripted*: the simulated model
answers at once and without a connection. One core. Lag is what a sleep of 5 ms beside the worker
takes longer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel.replays import warm_up
from evenkeel.simulate import make_prompt
from evenkeel.simulate.model import Message, SimulatedModel
from metrics.pair import Answer
from metrics.scoring import cheap_scorer
from metrics.stores.counters import Tally
from metrics.stores.sqlite import Database, SqliteVerdictLog
from shadow.handoff import Exchange
from shadow.languages import language_of
from shadow.original import Reader
from shadow.perturbations import by_name
from shadow.planner import RoutePlan
from shadow.queues.sqlite import SqliteExchangeQueue
from shadow.replay import Replay, Target
from shadow.spend import Budget, Prices, SpendLedger
from shadow.trials import TrialMaker
from shadow.worker import Worker

if TYPE_CHECKING:
    from shadow.prompt import Api

TASKS = ("case_summary", "chat_summary", "question_answering", "slot_filling")
KINDS = ("general.whitespace", "general.punctuation", "general.casing", "general.spelling", "general.tone")
TRIALS = 4
TICK_S = 0.005


class Scripted:
    """An upstream that answers at once."""

    def __init__(self) -> None:
        self._model = SimulatedModel(fragility=0.2, noise=0.1)
        self._rng = random.Random(1)

    def answer(self, messages: list[Message]) -> str:
        """What the simulated model says."""
        return self._model.answer(messages, self._rng)

    async def send(self, _target: Target, body: bytes, *, api: Api = "chat") -> Replay:
        """The answer to a variant."""
        assert api == "chat"
        asked = [Message(one["role"], one["content"]) for one in json.loads(body)["messages"]]
        return Replay(Answer(self.answer(asked), model="simulated-1"), 0.0)


def exchanges(count: int, upstream: Scripted) -> list[Exchange]:
    """Captured requests of four tasks in turn."""
    made: list[Exchange] = []
    for number in range(count):
        messages = make_prompt(TASKS[number % len(TASKS)], number)
        said = upstream.answer([Message(one["role"], one["content"]) for one in messages])
        made.append(
            Exchange(
                id=f"{number:016x}",
                route=TASKS[number % len(TASKS)],
                received_at=0.0,
                duration_s=0.0,
                method="POST",
                path="/v1/chat/completions",
                status=200,
                request_headers=(),
                request_body=json.dumps({"model": "simulated-1", "messages": messages}).encode(),
                response_headers=(),
                response_body=json.dumps(
                    {
                        "model": "simulated-1",
                        "choices": [{"index": 0, "message": {"content": said}, "finish_reason": "stop"}],
                    }
                ).encode(),
            )
        )
    return made


async def watched(worker: Worker) -> list[float]:
    """Work until nothing is left. Returns the lags of the event loop, in milliseconds."""
    lags: list[float] = []

    async def watch() -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(TICK_S)
            lags.append((time.perf_counter() - before - TICK_S) * 1e3)

    watching = asyncio.create_task(watch())
    await worker.drain()
    watching.cancel()
    return lags


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
            cheap_scorer(language_of=language_of),
            upstream,  # type: ignore[arg-type] - scripted: it answers without a connection
            SpendLedger(database, Budget(), time.time),
            Prices(),
            target=lambda exchange: Target(exchange.path),
            tally=tally,
            clock=time.time,
        )
        plan = {task: RoutePlan(by_name(KINDS), (0.1, 0.3, 0.5), TRIALS, task) for task in TASKS}
        worker = Worker(queue, SqliteVerdictLog(database), Reader(plan), trials, tally=tally)
        made = exchanges(count, upstream)
        warm_up(Prices())
        for start in range(0, count, 50):
            queue.put(made[start : start + 50])
        started, spent = time.perf_counter(), time.process_time()
        lags = sorted(asyncio.run(watched(worker)))
        elapsed_s, spent_s = time.perf_counter() - started, time.process_time() - spent
        pairs = sum(
            int(number)
            for name, labels, number in tally.snapshot()["counters"]
            if name == "trials" and labels["outcome"].startswith("rated_")
        )
        database.close()
    print(f"{pairs} pairs of {count} exchanges in {elapsed_s:.1f} s: {pairs / elapsed_s:.0f} pairs/s")
    print(f"{spent_s / pairs * 1e3:.2f} ms of processor a pair: {pairs / spent_s:.0f} pairs/s per core")
    print(f"lag of the event loop: p99 {lags[int(0.99 * len(lags))]:.0f} ms, most {lags[-1]:.0f} ms")


if __name__ == "__main__":
    main()

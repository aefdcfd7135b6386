"""A worker and a dispatcher over a store of either kind, and a simulated provider with batches."""

from __future__ import annotations

import asyncio
import json

import httpx2

from evenkeel.core.budget import Budget
from evenkeel.core.exchange import Exchange
from evenkeel.core.verdict import BASELINE
from evenkeel.llm.price import ModelPrice, Prices
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.shadow.batches import BatchDispatcher, BatchLimits, Parking
from evenkeel.shadow.original import Reader
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import Need, Needs, RoutePlan
from evenkeel.shadow.replay import Replayer, Target
from evenkeel.shadow.trials import TrialMaker
from evenkeel.shadow.worker import Worker
from evenkeel.simulate import make_case, summary_prompt
from evenkeel.stores.batches import BatchStore
from evenkeel.stores.counters import Tally
from evenkeel.stores.lease import SoleLease

JSON = (("content-type", "application/json"),)
KINDS = by_name(["general.whitespace", "general.punctuation", "general.casing", "general.spelling"])
KNOWN = Needs({name: Need(500, 30) for name in (BASELINE, *(kind.name for kind in KINDS))})
"""Enough is known of the route's model for answers to wait."""
PRICES = Prices({"simulated-1": ModelPrice(1.0, 2.0, tier_share=0.5)})
PATHS = {"openai": "/v1/chat/completions", "anthropic": "/v1/messages"}
NOON = 1_000 * 86_400.0 + 43_200


class Plane:
    """Everything behind a queue, as often begun anew as a test wants."""

    def __init__(self, backend, simulation, url, api="openai"):
        self.backend = backend
        self.simulation = simulation
        self.url = url
        self.api = api
        self.budget = Budget(usd_per_day=1.0)
        self.needs = KNOWN
        self.tally = Tally()
        self.batches = True
        self.routes = {"default"}
        self.held = False
        self.limits = BatchLimits(900.0, 1000)
        self.plan = RoutePlan(KINDS, (0.3,), 2, "case_summary")
        self.scorer = heuristic_scorer()
        self.queue = backend.queue()
        self.log = backend.verdicts()
        self.store = BatchStore(backend.documents(), total_bytes=10**7)
        self.costs = backend.Costs(backend.place, self.budget, lambda: self.now)
        self.sent = []
        self.begin()

    @property
    def now(self):
        """The time, which is the provider's as well."""
        return self.simulation.time[0]

    @now.setter
    def now(self, value):
        self.simulation.time[0] = value

    @property
    def desk(self):
        return self.simulation.desk

    def begin(self):
        """Start the worker, or start it again: what it had in memory is gone."""
        self.replayer = Replayer(concurrency=4, timeout_s=240)
        trials = TrialMaker(
            *(self.log, self.scorer, self.replayer, self.costs, PRICES),
            target=self.target,
            tally=self.tally,
            clock=lambda: self.now,
        )
        self.worker = Worker(
            *(self.queue, self.log, Reader({"default": self.plan}), trials),
            tally=self.tally,
            needs=lambda _route, _model: self.needs,
            parking=Parking(self.store, trials, target=self.target, clock=lambda: self.now),
        )
        self.dispatcher = BatchDispatcher(
            self.store,
            SoleLease(),
            routes=self.routes,
            target=self.target,
            rate=self.worker.rate,
            costs=self.costs,
            prices=PRICES,
            tally=self.tally,
            clock=lambda: self.now,
            limits=self.limits,
            hold=lambda: self.held,
        )

    def target(self, exchange):
        headers = (("authorization", "Bearer shadow-key-7"), ("anthropic-version", "2023-06-01"))
        batches = self.api if self.batches else None
        return Target(f"{self.url}{exchange.path}", headers, route=exchange.route, batches=batches)

    def work(self):
        """Take everything off the queue."""
        asyncio.run(self._work())

    async def _work(self):
        self.replayer = Replayer(concurrency=4, timeout_s=240)
        self.worker._stages._trials._replayer = self.replayer
        await self.worker.drain()
        await self.replayer.close()

    def step(self, later_s=0.0):
        """One step of the dispatcher, so many seconds later."""
        self.now += later_s

        async def go():
            try:
                await self.dispatcher.step()
            finally:
                for client in self.dispatcher._clients.values():
                    await client.aclose()
                self.dispatcher._clients.clear()

        asyncio.run(go())

    def capture(self, number, *, text=None, model="simulated-1", **changes):
        """An exchange as the data plane would capture it."""
        message = {"role": "user", "content": text or summary_prompt(make_case(number))}
        raw = {"model": model, "messages": [message]}
        if self.api == "anthropic":
            raw["max_tokens"] = 800
        path, body = PATHS[self.api], json.dumps(raw).encode()
        response = httpx2.post(f"{self.url}{path}", content=body)
        fields = {
            "id": f"{number:016x}",
            "route": "default",
            "received_at": self.now,
            "duration_s": 0.1,
            "method": "POST",
            "path": path,
            "status": 200,
            "request_headers": JSON,
            "request_body": body,
            "response_headers": JSON,
            "response_body": response.content,
        }
        return Exchange(**{**fields, **changes})

    def queue_up(self, *numbers):
        self.queue.put([self.capture(number) for number in numbers])
        self.work()

    def verdicts(self, *, late=True):
        found = [logged.verdict for logged in self.log.read_after(0, 1000)]
        return [verdict for verdict in found if (verdict.perturbation != BASELINE) == late]

    def counted(self, name, **labels):
        return self.tally.value(name, route="default", **labels)

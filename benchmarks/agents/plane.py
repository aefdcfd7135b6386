"""Replay plane and monitor over a scripted model: steps go in, cells and incidents come out."""

from __future__ import annotations

import json
from itertools import chain
from random import Random
from typing import TYPE_CHECKING, Final

from benchmarks.agents.runs import tools_of
from evenkeel.core.budget import Budget
from evenkeel.core.exchange import Exchange
from evenkeel.llm.price import Prices
from evenkeel.metrics.identity import same_calls
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.scoring import TwoStageScorer, heuristic_scorer
from evenkeel.metrics.similarity.likeness import likeness
from evenkeel.monitor.fold import MonitorSettings, MonitorState
from evenkeel.monitor.notify.notices import Writer
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.original import Reader
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt.apis import CHAT
from evenkeel.shadow.quoted_replays import QuotedReplays
from evenkeel.shadow.replay import Replay, Target
from evenkeel.shadow.trial_log import TrialLog
from evenkeel.shadow.trial_maker import TrialMaker
from evenkeel.shadow.worker import Worker
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.counters import Tally
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from benchmarks.agents.models import StepModel
    from benchmarks.agents.runs import AgentRun, AgentStep, Message
    from evenkeel.core.cells import CellReport, ChangeMark
    from evenkeel.core.pair import Pair
    from evenkeel.monitor.incidents import Incident

PERTURBATIONS: Final = ("general.spelling", "general.casing", "general.punctuation")
_JSON: Final = (("content-type", "application/json"),)
_START: Final = 1_793_527_200.0  # Unix time of the first step
# Seconds between two steps.
_STEP_S: Final = 30.0
# Steps that are put into the queue together.
_BATCH: Final = 200
# Lowest similarity at which the scripted judge rates two texts as the same.
_SIMILAR: Final = 0.5


class StepJudge:
    """Scripted judge that rates other tools as 1, other arguments as 2, and the same calls as 3."""

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Implement `Rater`."""
        return [Rating(self._rating(pair), prompt_version="scripted@1") for pair in pairs]

    def _rating(self, pair: Pair) -> int:
        before, after = pair.reference.tool_calls, pair.candidate.tool_calls
        if [call.name for call in before] != [call.name for call in after]:
            return 1
        if not same_calls(before, after):
            return 2
        return 3 if likeness(pair.reference.text, pair.candidate.text) >= _SIMILAR else 2


class ModelReplayer:
    """Replayer that asks a scripted model."""

    def __init__(self, name: str, model: StepModel) -> None:
        self._name = name
        self._model = model
        self._asked = 0

    async def send(self, _target: Target, body: bytes, **_options: object) -> Replay:
        """Return the model's answer to a variant; every call has a seed of its own."""
        self._asked += 1
        response = self.respond(body, f"replay/{self._asked}")
        return Replay(read_answer(dict(_JSON), response, CHAT.answer_reader()), 0.1)

    def respond(self, body: bytes, seed: str) -> bytes:
        """Return the body of the model's answer to a request."""
        message = self._model.answer(body, Random(seed))
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return json.dumps({"model": self._name, "choices": [choice]}).encode()


class AgentPlane:
    """Replay plane and monitor of a route of agents."""

    def __init__(self, folder: Path, *, judge: bool) -> None:
        """Open an empty store in a folder."""
        self._scorer = TwoStageScorer("judge", StepJudge(), {}) if judge else heuristic_scorer()
        self.state = MonitorState(MonitorSettings())
        self.steps = 0
        self.raised = 0
        """Number of alerts."""
        self._database = Database(folder / "evenkeel.db")
        self._now = _START
        self._queue = SqliteExchangeQueue(self._database, self._clock)
        self._log = SqliteVerdictLog(self._database, evidence_kept=0)
        self._reader = Reader({"agent": RoutePlan(by_name(PERTURBATIONS), 2)})

    def _clock(self) -> float:
        return self._now

    async def play(
        self, steps: Iterable[AgentStep], runs: Sequence[AgentRun], name: str, model: StepModel
    ) -> None:
        """Serve the steps by a model, make their trials, and fold the verdicts."""
        replayer = ModelReplayer(name, model)
        tally = Tally()
        target = Target("http://model/v1/chat/completions")
        trials = TrialMaker(
            TrialLog(self._log, self._scorer.scorer, clock=self._clock),
            self._scorer,
            QuotedReplays(replayer, Prices(), lambda _: target, tally=tally),
            SharedCostTracker(SqliteDocuments(self._database), Budget(), self._clock),
            tally=tally,
        )
        worker = Worker(self._queue, self._reader, trials, tally=tally)
        tools = tools_of(runs)
        batch: list[Exchange] = []
        for step in steps:
            batch.append(self._exchange(step, tools, name, replayer))
            if len(batch) == _BATCH:
                await self._measure(worker, batch)
                batch = []
        await self._measure(worker, batch)

    async def _measure(self, worker: Worker, batch: Sequence[Exchange]) -> None:
        self._queue.put(batch)
        await worker.drain()
        self._now += _STEP_S * len(batch)
        while logged := self._log.entries_after(self.state.offset, 500):
            for entry in logged:
                events = self.state.apply(entry).events
                self.raised += sum(event.kind == "raised" for event in events)

    def _exchange(
        self, step: AgentStep, tools: list[Message], name: str, replayer: ModelReplayer
    ) -> Exchange:
        self.steps += 1
        body = json.dumps({"model": name, "messages": list(step.before), "tools": tools}).encode()
        return Exchange(
            id=f"{self.steps:016x}",
            route="agent",
            received_at=self._now,
            duration_s=1.0,
            method="POST",
            path="/v1/chat/completions",
            status=200,
            request_headers=_JSON,
            request_body=body,
            response_headers=_JSON,
            response_body=replayer.respond(body, f"original/{self.steps}"),
            client="shop",
        )

    @property
    def cells(self) -> list[CellReport]:
        """Cells of the route."""
        return self.state.reports()

    @property
    def incidents(self) -> list[Incident]:
        """Incidents of the route."""
        return list(self.state.incidents())

    @property
    def changes(self) -> list[ChangeMark]:
        """Changes of the route that the monitor noticed."""
        return list(chain.from_iterable(route.latest for route in self.state.changes()))

    def facts(self, incident: Incident) -> tuple[str, ...]:
        """Return the sentences of the message about an incident."""
        return Writer(reports=self.state.reports).facts(incident)

    def close(self) -> None:
        """Close the store."""
        self._database.close()

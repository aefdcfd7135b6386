"""Replay of a route's goldens with its current model and system prompt, and scores of the answers."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import RouteBudget, scoring_paid_by
from evenkeel.core.pair import Pair
from evenkeel.core.verdict import Failure
from evenkeel.llm.price import Quote, estimate_tokens
from evenkeel.release.gate.sides import NewSystemPrompt, PreparedGoldens, Side, prepare, task_of
from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, api_of
from evenkeel.stores.changes import GoldenResult, GoldenRun
from evenkeel.stores.goldens import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.budget import CostTracker
    from evenkeel.llm.price import Prices
    from evenkeel.release.gate.scoring import GateScoring, ScoredAnswer
    from evenkeel.release.gate.sides import SideEndpoint, SideTask
    from evenkeel.shadow.replay import Replayer
    from evenkeel.stores.archive import ExchangeArchive
    from evenkeel.stores.goldens import Golden, GoldenStore
    from evenkeel.stores.verdict_log import VerdictLog

SIMILARITY: Final = "similarity"
"""Name of the score that is made of the rating: 3 → 1, 2 → 0.5, 1 → 0."""
# Concurrent calls. Few, because live replays share the endpoint.
_AT_ONCE: Final = 4
# Number of the latest exchanges that are searched for the current prompt.
_LOOKED_AT: Final = 20
_SYSTEM: Final = frozenset({"system", "developer"})
_WORST_RATING: Final = 1


@dataclass(frozen=True, slots=True)
class GoldenRoute:
    """Route whose goldens are replayed."""

    endpoint: SideEndpoint
    task: str | None = None


@dataclass(slots=True)
class GoldenReplayer:
    """Replays goldens and scores the answers. Needs an event loop."""

    routes: Mapping[str, GoldenRoute]
    """Routes whose goldens are replayed, by name."""
    store: GoldenStore
    archive: ExchangeArchive
    """Source of the current prompt."""
    log: VerdictLog
    """Source of the current model."""
    replayer: Replayer
    """Sends the requests."""
    scoring: GateScoring
    """Compares answers with the approved ones."""
    costs: CostTracker
    """Tracks the daily budgets."""
    prices: Prices
    _: KW_ONLY
    most: int
    """Most goldens of a route that are replayed in one run."""
    clock: Callable[[], float]
    """Unix time in seconds."""

    async def run(self, route: str, change: str) -> GoldenRun | None:
        """Replay a route's goldens; returns None if it has none."""
        goldens = await asyncio.to_thread(self._goldens, route) if route in self.routes else ()
        if not goldens:
            return None
        prepared = await asyncio.to_thread(self._prepared, route, goldens)
        slots = asyncio.Semaphore(_AT_ONCE)
        asking = [self._ask(task, route, slots) for task in prepared.tasks]
        results = await asyncio.gather(*asking)
        left_out = Counter(failure.reason for failure in prepared.left_out)
        models = Counter(model for _, model in results if model)
        at = self.clock()
        digest = hashlib.sha256(f"{route}\0{change}\0{at!r}".encode()).hexdigest()
        rating = self.scoring.rating
        return GoldenRun(
            id=digest[:16],
            route=route,
            at=at,
            change=change,
            model=max(sorted(models), key=models.__getitem__) if models else "",
            deciding=tuple(measure.name for measure in self.scoring.measures() if measure.decides),
            judged=rating.scorer == "judge",
            results=tuple(result for result, _ in results),
            left_out=dict(sorted(left_out.items())),
        )

    def _goldens(self, route: str) -> tuple[Golden, ...]:
        """Return up to `most` goldens with a request, by hash of id: the same ones in every run."""
        goldens = []
        for golden in self.store.select(route=route):
            if golden.request is not None:
                goldens.append(golden)
        goldens.sort(key=lambda golden: hashlib.sha256(golden.id.encode("utf-8", "replace")).digest())
        return tuple(goldens[: self.most])

    def _prepared(self, route: str, goldens: Sequence[Golden]) -> PreparedGoldens:
        """Return the goldens' requests to the model that traffic asks for now, under its system message."""
        latest = self.log.latest(1, route=route)
        model = latest[0].origin.requested_model if latest else None
        version = latest[0].origin.prompt_version if latest else None
        side = Side(name="candidate", endpoints={route: self.routes[route].endpoint}, model=model)
        prepared = prepare(goldens, [side])
        system = self._system(route, version) if version else None
        if system is None:
            return prepared
        # Goldens of an older prompt are asked under today's, as users are. One without a system message to
        # replace is replayed unchanged: its prompt is all input.
        stale = []
        for golden in goldens:
            if golden.prompt_version != version:
                stale.append(golden)
        edited = prepare(stale, [replace(side, edit=NewSystemPrompt(system))])
        tasks = {task.golden.id: task for task in (*prepared.tasks, *edited.tasks)}
        return PreparedGoldens(list(tasks.values()), prepared.left_out)

    def _system(self, route: str, version: str) -> str | None:
        """Return the one system message of the latest exchange with a prompt version; None without one."""
        for exchange in self.archive.latest(_LOOKED_AT, route=route):
            api = api_of(exchange.path)
            if exchange.prompt_version != version or api is None:
                continue
            try:
                view = PromptView.parse(exchange.request.encode("utf-8", "surrogatepass"), api=api)
            except UnreadablePrompt:
                continue
            texts = []
            for segment in view.segments:
                if segment.role in _SYSTEM:
                    texts.append(segment.text)
            return texts[0] if len(texts) == 1 and texts[0].strip() else None
        return None

    async def _ask(
        self, task: SideTask, route: str, slots: asyncio.Semaphore
    ) -> tuple[GoldenResult, str | None]:
        golden, request = task.golden, task.requests["candidate"]
        key = key_of(golden.id, golden.version)
        async with slots:
            # A model without a price cannot be held to a budget in dollars.
            if self.prices.refuses(request.model, golden.answer.model):
                return GoldenResult(key, failure="unpriced"), None
            replay = await self.replayer.send(
                request.target,
                request.body,
                api=request.api,
                budget=RouteBudget(self.costs, route, "golden", urgent=True),
                quote=await asyncio.to_thread(self._quote, task),
            )
            if isinstance(replay, Failure):
                return GoldenResult(key, failure=replay.reason), None
            answer, name = replay.answer, task_of(golden, {}, self.routes[route].task)
            with scoring_paid_by(RouteBudget(self.costs, route, "judge", urgent=True)):
                scored = await self.scoring.score(Pair(golden.answer, answer, task.context, name))
        return result_of(key, scored), answer.model or request.model or None

    def _quote(self, task: SideTask) -> Quote:
        """Estimate the cost of asking a golden. Blocks, for a long prompt."""
        answer, request = task.golden.answer, task.requests["candidate"]
        tokens = answer.completion_tokens or estimate_tokens(answer.text)
        return Quote(self.prices, (request.model, answer.model), request.body, answer.prompt_tokens, tokens)


def result_of(key: str, scored: ScoredAnswer) -> GoldenResult:
    """Return the result for a golden: its breaches and scores, or the first failure if nothing was scored."""
    breaches: dict[str, bool] = {}
    failures: list[str] = []
    for name, breach in scored.breaches.items():
        if isinstance(breach, Failure):
            failures.append(breach.reason)
        else:
            breaches[name] = breach
    judgement = scored.judgement
    scores: dict[str, float] = {}
    if judgement.rating is not None:
        scores[SIMILARITY] = (judgement.rating - _WORST_RATING) / 2
    elif judgement.similarity is not None:
        scores[SIMILARITY] = judgement.similarity
    return GoldenResult(key, breaches, scores, "" if breaches else failures[0])

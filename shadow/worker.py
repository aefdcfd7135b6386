"""The worker: takes exchanges off the queue, makes their trials, and logs a verdict for each.

Exactly once, as seen in the log: a trial's id is derived from the exchange, so whatever a dead
worker had already logged is found there and neither made nor counted again; an exchange leaves
the queue only after all its verdicts are in the log, or with a reason among the dead letters.
"""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metrics.pair import Answer, Pair
from metrics.verdict import Evidence, Failure, Judgement, Verdict
from shadow.answer import read_answer
from shadow.encodings import UnreadableBody, decode_body
from shadow.perturbations import Draft, NotApplicable
from shadow.perturbations.baseline import Identical
from shadow.planner import RoutePlan, Trial, plan
from shadow.prompt import PromptView, UnreadablePrompt
from shadow.replay import Replay
from shadow.spend import Spend, estimate_tokens, price_usd

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from metrics.scoring import TwoStageScorer
    from metrics.stores.counters import Tally
    from metrics.stores.protocols import VerdictLog
    from shadow.handoff import Exchange, ExchangeQueue, Lease
    from shadow.replay import Replayer, Target
    from shadow.spend import SpendLedger

log = logging.getLogger("evenkeel.worker")

_REPLAYED_API = "/chat/completions"
"""The data plane captures more; what cannot be replayed yet is counted as skipped."""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How the worker treats the queue."""

    exchanges_at_once: int = 16
    lease_s: float = 15.0
    """Renewed three times in that span; so long a dead worker's exchanges wait for another."""
    attempts: int = 5
    """Deliveries of one exchange before it is buried."""
    poll_s: float = 0.2
    """Pause when the queue is empty."""


@dataclass(frozen=True, slots=True)
class _Original:
    """What the worker knows of an exchange before any trial."""

    exchange: Exchange
    view: PromptView
    answer: Answer
    model: str
    route: RoutePlan


class Worker:
    """Works through the queue until stopped. One instance per process; it needs an event loop."""

    def __init__(
        self,
        queue: ExchangeQueue,
        verdicts: VerdictLog,
        scorer: TwoStageScorer,
        replayer: Replayer,
        ledger: SpendLedger,
        *,
        routes: Mapping[str, RoutePlan],
        target: Callable[[Exchange], Target],
        tally: Tally,
        clock: Callable[[], float],
        settings: WorkerSettings | None = None,
        hold: Callable[[], bool] = lambda: False,
    ) -> None:
        """Wire the worker.

        Args:
            queue: where exchanges come from.
            verdicts: where verdicts go.
            scorer: rates pairs of answers.
            replayer: sends variants.
            ledger: the budget.
            routes: route name → how its exchanges are tried.
            target: where an exchange's replays go.
            tally: counters of this process.
            clock: Unix time in seconds.
            settings: how the queue is treated.
            hold: while true, nothing new is taken: what is queued waits for a scorer in trouble.
        """
        self._queue = queue
        self._verdicts = verdicts
        self._scorer = scorer
        self._replayer = replayer
        self._ledger = ledger
        self._routes = routes
        self._target = target
        self._tally = tally
        self._clock = clock
        self._settings = settings or WorkerSettings()
        self._hold = hold
        self._held: dict[str, asyncio.Task[None]] = {}

    async def run(self, stop: asyncio.Event, *, grace_s: float = 10.0) -> None:
        """Work until `stop` is set; then finish what is held, and give back what takes too long."""
        heartbeat = asyncio.create_task(self._heartbeat())
        try:
            while not stop.is_set():
                if self._hold() or not await self._take():
                    await _wait(stop, self._settings.poll_s)
        finally:
            if self._held:
                await asyncio.wait(list(self._held.values()), timeout=grace_s)
            unfinished = list(self._held)
            for task in list(self._held.values()):
                task.cancel()
            await asyncio.to_thread(self._queue.release, unfinished)
            heartbeat.cancel()

    async def drain(self) -> None:
        """Work until nothing is free to take and nothing is held."""
        while await self._take() or self._held:
            await asyncio.sleep(0)
            if self._held:
                await asyncio.wait(list(self._held.values()), return_when=asyncio.FIRST_COMPLETED)

    async def _take(self) -> int:
        """Start work on as many exchanges as there is room for; 0 if there was nothing to take."""
        room = self._settings.exchanges_at_once - len(self._held)
        if room <= 0:
            await asyncio.wait(list(self._held.values()), return_when=asyncio.FIRST_COMPLETED)
            return 1
        try:
            leases = await asyncio.to_thread(self._queue.reserve, room, self._settings.lease_s)
        except Exception:  # the boundary of the worker loop: a store in trouble is retried, not fatal
            log.exception("cannot read the queue; trying again")
            self._tally.add("worker_errors", where="reserve")
            await asyncio.sleep(1.0)
            return 0
        for lease in leases:
            self._held[lease.exchange.id] = asyncio.create_task(self._work(lease))
        return len(leases)

    async def _heartbeat(self) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_s / 3)
            try:
                await asyncio.to_thread(self._queue.extend, list(self._held), self._settings.lease_s)
            except Exception:  # as above: without a renewal the lease expires and is taken again
                log.exception("cannot renew leases")
                self._tally.add("worker_errors", where="extend")

    async def _work(self, lease: Lease) -> None:
        exchange = lease.exchange
        try:
            if lease.attempt > self._settings.attempts:
                await self._bury(exchange, "too_many_attempts")
                return
            if not exchange.path.partition("?")[0].endswith(_REPLAYED_API):
                self._tally.add("exchanges_skipped", route=exchange.route, reason="api_unsupported")
                await asyncio.to_thread(self._queue.acknowledge, [exchange.id])
                return
            original = await asyncio.to_thread(self._read, exchange)
            if isinstance(original, str):
                await self._bury(exchange, original)
                return
            logged = await self._make_trials(original)
            await asyncio.to_thread(self._queue.acknowledge, [exchange.id])
            if logged:
                self._tally.add("exchanges_scored", route=exchange.route)
            else:
                self._tally.add("exchanges_skipped", route=exchange.route, reason="budget")
        except Exception:  # the boundary of the worker loop: the lease runs out and it is tried again
            log.exception("exchange %s failed; it will be tried again", exchange.id)
            self._tally.add("worker_errors", where="exchange")
        finally:
            self._held.pop(exchange.id, None)

    async def _bury(self, exchange: Exchange, reason: str) -> None:
        self._tally.add("exchanges_dead", reason=reason)
        await asyncio.to_thread(self._queue.bury, exchange.id, reason)

    def _read(self, exchange: Exchange) -> _Original | str:
        """The exchange's prompt and answer, or the reason why it cannot be tried."""
        route = self._routes.get(exchange.route)
        if route is None:
            return "route_gone"
        try:
            body = decode_body(dict(exchange.request_headers), exchange.request_body)
            view = PromptView.parse(body)
            answer = read_answer(dict(exchange.response_headers), exchange.response_body)
        except (UnreadablePrompt, UnreadableBody) as error:
            return error.reason
        return _Original(exchange, view, answer, answer.model or view.model or "unknown", route)

    async def _make_trials(self, original: _Original) -> int:
        """Make what is missing of the exchange's trials; returns how many verdicts it has now.

        The baseline always applies, so none at all means that the budget is spent.
        """
        exchange = original.exchange
        known = {
            verdict.id: verdict
            for verdict in await asyncio.to_thread(self._verdicts.of_exchange, exchange.id)
        }
        baseline, *trials = plan(exchange, original.route, Identical())
        noise = known.get(baseline.id) or await self._try(original, baseline, None)
        noise_rating = noise.rating if noise else None
        made = await asyncio.gather(
            *(self._try(original, trial, noise_rating) for trial in trials if trial.id not in known)
        )
        return len(known) + (noise is not None) + sum(verdict is not None for verdict in made)

    async def _try(self, original: _Original, trial: Trial, noise_rating: int | None) -> Verdict | None:
        """Make one trial and log its verdict; None if it was skipped, for a reason that is counted."""
        route, name = original.exchange.route, trial.perturbation.name
        variant = await asyncio.to_thread(
            trial.perturbation.apply, original.view, trial.severity, random.Random(trial.seed)
        )
        if isinstance(variant, Draft):
            variant = NotApplicable("no_rewriter", "no rewriter is configured")
        if isinstance(variant, NotApplicable):
            self._tally.add("trials_skipped", route=route, perturbation=name, reason=variant.reason)
            return None
        estimate = self._estimate(original)
        if not await asyncio.to_thread(self._ledger.reserve, estimate):
            self._tally.add("trials_skipped", route=route, perturbation=name, reason="budget")
            return None
        replayed = Spend(0, 0.0)
        judgement: Judgement | None = None
        try:
            replay = await self._replayer.send(self._target(original.exchange), variant.for_replay())
            candidate = None
            if isinstance(replay, Replay):
                candidate = replay.answer
                replayed = _spent(original, candidate)
                judgement = await self._judge(original, candidate)
            verdict = self._verdict(original, trial, noise_rating, replay, judgement, replayed)
            evidence = Evidence(original.view.text, variant.text, original.answer, candidate)
            await asyncio.to_thread(self._verdicts.append, verdict, evidence)
        finally:
            judged = Spend(judgement.tokens, judgement.cost_usd) if judgement else Spend(0, 0.0)
            await asyncio.to_thread(
                self._ledger.settle, estimate, route, {"replay": replayed, "judge": judged}
            )
        outcome = verdict.failure.reason if verdict.failure else f"rated_{verdict.rating}"
        self._tally.add("trials", route=route, perturbation=name, outcome=outcome)
        self._tally.add("spend_tokens", verdict.tokens, route=route)
        self._tally.add("spend_usd", verdict.cost_usd, route=route)
        return verdict

    async def _judge(self, original: _Original, candidate: Answer) -> Judgement:
        if original.answer.model and candidate.model and original.answer.model != candidate.model:
            # The model was swapped between the two answers: the pair compares models, not prompts.
            changed = Failure(
                "replay", 1, "model_changed", f"{original.answer.model} answered first, {candidate.model} now"
            )
            return Judgement(self._scorer.scorer, None, failures=(changed,))
        task = original.exchange.task or original.route.task
        return await self._scorer.score(Pair(original.answer, candidate, original.view.text, task))

    def _verdict(
        self,
        original: _Original,
        trial: Trial,
        noise_rating: int | None,
        replay: Replay | Failure,
        judgement: Judgement | None,
        replayed: Spend,
    ) -> Verdict:
        failure = replay if isinstance(replay, Failure) else None
        quality_failures: tuple[Failure, ...] = ()
        if judgement and judgement.rating is None:
            failure = judgement.failures[0]
        elif judgement:
            quality_failures = judgement.failures
        return Verdict(
            id=trial.id,
            exchange_id=original.exchange.id,
            scored_at=self._clock(),
            route=original.exchange.route,
            model=original.model,
            perturbation=trial.perturbation.name,
            perturbation_version=trial.perturbation.version,
            severity=trial.severity,
            seed=trial.seed,
            scorer=judgement.scorer if judgement else self._scorer.scorer,
            rating=judgement.rating if judgement else None,
            baseline_rating=noise_rating,
            quality=judgement.quality if judgement else (),
            failure=failure,
            quality_failures=quality_failures,
            explanation=judgement.explanation if judgement else "",
            details=judgement.details if judgement else {},
            task=original.exchange.task or original.route.task,
            prompt_version=original.exchange.prompt_version,
            replay_s=replay.duration_s if isinstance(replay, Replay) else 0.0,
            tokens=replayed.tokens + (judgement.tokens if judgement else 0),
            cost_usd=replayed.usd + (judgement.cost_usd if judgement else 0.0),
        )

    def _estimate(self, original: _Original) -> Spend:
        """What a trial will cost at about: the original's size again."""
        return _spent(original, original.answer)


def _spent(original: _Original, answer: Answer) -> Spend:
    prompt = answer.prompt_tokens or estimate_tokens(original.view.text)
    completion = answer.completion_tokens or estimate_tokens(answer.text)
    return Spend(prompt + completion, price_usd(original.model, prompt, completion))


async def _wait(stop: asyncio.Event, timeout_s: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), timeout_s)
    except TimeoutError:
        return

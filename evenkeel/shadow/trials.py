"""One trial: a variant is finished, replayed and judged; its verdict is logged and its cost booked."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.budget import Allowance, RouteBudget, Spend
from evenkeel.core.pair import Pair
from evenkeel.core.text import named_if
from evenkeel.core.tiers import SCORING_WAITS
from evenkeel.core.verdict import BASELINE, Evidence, Failure, Judgement, Verdict
from evenkeel.llm.observer import Message, ModelCall
from evenkeel.metrics.judge.group import PairGroup
from evenkeel.shadow.bookings import Bookings
from evenkeel.shadow.observer import NOBODY, Judged
from evenkeel.shadow.perturbations import Draft, NotApplicable, attempt
from evenkeel.shadow.replay import FLEX_UNAVAILABLE, FLEX_UNSUPPORTED, Replay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from evenkeel.core.budget import CostTracker
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Answer
    from evenkeel.core.tiers import Tier
    from evenkeel.llm.price import Prices, Quote
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.shadow.bookings import Booking
    from evenkeel.shadow.observer import ShadowObserver, TrialReport
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.perturbations import Outcome
    from evenkeel.shadow.planner import Trial
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.replay import Replayer, Target
    from evenkeel.shadow.rewriter import Rewriter
    from evenkeel.stores.counters import Tally
    from evenkeel.stores.verdict_log import VerdictLog


_MOST_INFLEXIBLE: Final = 100
"""Models without a flex tier that are remembered: clients choose their names."""
_MORE: Final = 4
"""How many times as long a replay may be that is asked for again, where the client states no limit."""
_AT_ONCE = 16
"""Trials under way together: enough to keep replays and judge busy, few enough that what is set aside for
them is a small part of a budget."""


NO_REWRITER: Final = NotApplicable("no_rewriter", "no rewriter is configured")
"""What a call of an API is called; of all others it is a chat."""


class Planned(NamedTuple):
    """A trial to make, and what its perturbation made of the prompt."""

    trial: Trial
    outcome: PromptView | Draft


class _Stage:
    """Trials of one exchange that are made side by side."""

    def __init__(self, original: Original, free: Answer | None, size: int) -> None:
        self.original = original
        self.free = free
        self.size = size
        self.group = PairGroup()
        self.resent = asyncio.Event()
        """Set when the identical resend has its answer, or will have none."""
        self.control: asyncio.Future[Verdict | None] = asyncio.get_running_loop().create_future()


@dataclass(frozen=True, slots=True)
class Stamp:
    """What is the same for all verdicts of a process."""

    settings: Mapping[str, str] = field(default_factory=dict)
    """Fingerprint of its settings, by route."""
    judge: str = ""
    """Model name of its judge, "" without one."""
    label_share: float = 0.0
    """Share of its verdicts that chance draws for a person's label, in [0, 1]."""


class TrialMaker:
    """Makes trials, several at once."""

    def __init__(
        self,
        verdicts: VerdictLog,
        scorer: TwoStageScorer,
        replayer: Replayer,
        costs: CostTracker,
        prices: Prices,
        *,
        target: Callable[[Exchange], Target],
        tally: Tally,
        clock: Callable[[], float],
        rewriter: Rewriter | None = None,
        observer: ShadowObserver = NOBODY,
        stamp: Stamp | None = None,
        answer_factor: float = 2.0,
    ) -> None:
        """Wire it.

        Args:
            verdicts: Where verdicts go.
            scorer: Rates pairs of answers.
            replayer: Sends variants.
            costs: Tracks the daily budgets.
            prices: Of the replayed models.
            target: Where an exchange's replays go.
            tally: Counters of this process.
            clock: Unix time in seconds.
            rewriter: Writes texts anew for the kinds that need a model.
            observer: Sees trials and replays.
            stamp: What every verdict says about who made it.
            answer_factor: How many times as long as the original's answer one to a replay may be.
        """
        self._verdicts = verdicts
        self._scorer = scorer
        self._replayer = replayer
        self._costs = costs
        self._target = target
        self._tally = tally
        self._clock = clock
        self._rewriter = rewriter
        self._observer = observer
        self._stamp = stamp or Stamp()
        self._bookings = Bookings(costs, prices, scorer, answer_factor=answer_factor)
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._entrance = asyncio.Lock()
        self._inflexible: set[tuple[str, str | None]] = set()
        """URLs and models without a flex tier."""

    def outcome(self, original: Original, trial: Trial) -> Outcome:
        """What a perturbation makes of the prompt; costs no call.

        A draft for which there is no rewriter is not applicable, so that another kind gets its turn.
        """
        found = attempt(trial.perturbation, original.view, trial.severity, random.Random(trial.seed))
        return NO_REWRITER if isinstance(found, Draft) and self._rewriter is None else found

    def skip(self, trial: Trial, route: str, reason: str) -> None:
        """Count a trial that is not made."""
        self._tally.add("trials_skipped", route=route, perturbation=trial.perturbation.name, reason=reason)

    async def make(
        self,
        original: Original,
        planned: Sequence[Planned],
        control: Verdict | None,
        *,
        free: Answer | None = None,
    ) -> list[Verdict | None]:
        """Make some trials of an exchange side by side and log their verdicts.

        The identical resend, if it is planned, is replayed first. Without it, which a budget may forbid,
        nothing else is tried: a trial that can't be compared with the noise would waste the budget. A judge
        is asked about all answers together, once each trial has its answer or will have none.

        Args:
            original: What is tried.
            planned: How.
            control: Verdict of the identical resend; None if there is none, or if it is planned.
            free: Answer in plain prose, with which the answers are compared too; None if there is none.

        Returns: the verdicts in the order planned; None for a trial that was not made, for a reason that is
            counted, or for want of the resend.
        """
        stage = _Stage(original, free, len(planned))
        if all(one.trial.perturbation.name != BASELINE for one in planned):
            stage.control.set_result(control)
        async with self._places(len(planned)):
            trials = [partial(self._after_control, stage, one) for one in planned]
            made = await asyncio.gather(*map(stage.group.join, trials), return_exceptions=True)
        for one in made:
            if isinstance(one, BaseException):
                raise one
        return [one for one in made if not isinstance(one, BaseException)]

    @asynccontextmanager
    async def _places(self, count: int) -> AsyncIterator[None]:
        """Places for trials that wait for each other; one stage at a time takes its own."""
        taken = 0
        try:
            async with self._entrance:
                while taken < min(count, _AT_ONCE):
                    await self._slots.acquire()
                    taken += 1
            yield
        finally:
            for _ in range(taken):
                self._slots.release()

    async def _after_control(self, stage: _Stage, planned: Planned) -> Verdict | None:
        """Make a trial once the identical resend has its answer, if that is made in this stage."""
        trial, outcome = planned
        if trial.perturbation.name != BASELINE:
            if not stage.control.done():
                await stage.resent.wait()
                if stage.control.done() and await asyncio.shield(stage.control) is None:
                    return None
            return await self._observed(stage, trial, outcome)
        try:
            stage.control.set_result(await self._observed(stage, trial, outcome))
        except Exception as error:
            stage.control.set_exception(error)
            stage.control.exception()  # it is raised here, whether or not anybody waits
            raise
        finally:
            stage.resent.set()
        return stage.control.result()

    async def _observed(self, stage: _Stage, trial: Trial, outcome: PromptView | Draft) -> Verdict | None:
        with self._observer.trial(trial) as report:
            return await self._make(stage, trial, outcome, report)

    async def _make(
        self, stage: _Stage, trial: Trial, outcome: PromptView | Draft, report: TrialReport
    ) -> Verdict | None:
        original, free = stage.original, stage.free
        route = original.exchange.route
        target = self._target(original.exchange)
        tier = self._tier(target, original, trial)
        # In a thread as a whole: the first price of a process loads the list of them.
        booked = await asyncio.to_thread(
            self._bookings.reserve, original, trial, tier, stage=stage.size, free=free
        )
        if isinstance(booked, str):
            self.skip(trial, route, booked)
            report.skipped(booked)
            return None
        try:
            variant = await self._finished(outcome, route, urgent=trial.urgent)
            if isinstance(variant, NotApplicable):
                self.skip(trial, route, variant.reason)
                report.skipped(variant.reason)
                return None
            replay = await self._replay(original, target, variant, booked)
            stage.resent.set()
            candidate = replay.answer if isinstance(replay, Replay) else None
            judgement, freely = None, None
            if candidate is not None:
                judgement = await self._judge(original, trial, candidate, booked)
            if candidate is not None and free is not None and judgement and judgement.shifted is not None:
                freely = await self._judge(original, trial, candidate, booked, free)
            spent = booked.replay.spent.plus(booked.judged)
            stage.group.leave()
            control = None if trial.perturbation.name == BASELINE else await asyncio.shield(stage.control)
            verdict = self._verdict(original, trial, control, replay, judgement, spent, report.trace_id)
            if freely is not None:
                verdict = replace(verdict, free_rating=freely.rating, free_similarity=freely.similarity)
            evidence = Evidence(
                original.view.text, variant.text, original.answer, candidate, original.view.asked
            )
            self._count_spend(Spend(verdict.tokens, verdict.cost_usd), route)
            await asyncio.to_thread(self._verdicts.append, verdict, evidence)
            answered = candidate.response_id if candidate else None
            report.logged(verdict, Judged(answered, original.answer.response_id))
        finally:
            await asyncio.to_thread(booked.close)
        rated = verdict.failure.reason if verdict.failure else f"rated_{verdict.rating or 'unsure'}"
        self._tally.add("trials", route=route, perturbation=trial.perturbation.name, outcome=rated)
        return verdict

    def _count_spend(self, spent: Spend, route: str) -> None:
        self._tally.add("spend_tokens", spent.tokens, route=route)
        self._tally.add("spend_usd", spent.usd, route=route)

    async def _finished(self, outcome: Outcome, route: str, *, urgent: bool) -> PromptView | NotApplicable:
        """Let the rewriter do what a draft waits for, until there is a variant."""
        while isinstance(outcome, Draft):
            if self._rewriter is None:
                return NO_REWRITER
            budget = RouteBudget(
                *(self._costs, route, "rewriter"),
                booked=lambda spent: self._count_spend(spent, route),
                urgent=urgent,
            )
            texts: list[str] = []
            for rewritten in await asyncio.gather(
                *(self._rewriter.rewrite(task, budget) for task in outcome.tasks)
            ):
                if not isinstance(rewritten, str):
                    reason = "budget" if rewritten.reason == "budget" else f"rewriter_{rewritten.reason}"
                    return NotApplicable(reason, rewritten.detail)
                texts.append(rewritten)
            outcome = await asyncio.to_thread(outcome.finish, texts)
        return outcome

    def _tier(self, target: Target, original: Original, trial: Trial) -> Tier:
        """In which tier a trial is replayed now."""
        wants_flex = trial.can_wait and target.flex and original.view.api.has_flex
        return (
            "flex" if wants_flex and (target.url, original.view.model) not in self._inflexible else "standard"
        )

    async def _replay(
        self, original: Original, target: Target, variant: PromptView, booked: Booking
    ) -> Replay | Failure:
        """The answer to a variant, which is asked for again where our own limit cut it."""
        found = await self._answered(original, target, variant, booked.quote, booked.replay)
        if not isinstance(found, Replay) or not booked.quote.cuts(found.answer):
            return found
        self._tally.add("replays_cut", route=target.route)
        given = booked.quote.limit_tokens
        longer = self._bookings.quote(original, booked.quote.tier, _MORE * given if given else None)
        return await self._answered(original, target, variant, longer, booked.replay)

    async def _answered(
        self, original: Original, target: Target, variant: PromptView, quote: Quote, budget: Allowance
    ) -> Replay | Failure:
        """The answer to a variant; from the standard tier where the flex tier does not take it."""
        tier = quote.tier
        found = await self._sent(original, target, variant, quote, budget)
        if isinstance(found, Failure) and found.reason in {FLEX_UNAVAILABLE, FLEX_UNSUPPORTED}:
            if found.reason == FLEX_UNSUPPORTED and len(self._inflexible) < _MOST_INFLEXIBLE:
                self._inflexible.add((target.url, original.view.model))
            self._tally.add("flex_refusals", route=target.route, reason=found.reason.removeprefix("flex_"))
            tier = "standard"
            standard = self._bookings.quote(original, tier, quote.most_tokens)
            found = await self._sent(original, target, variant, standard, budget)
        tier = (found.tier if isinstance(found, Replay) else None) or tier
        self._tally.add("replays", route=target.route, tier=tier)
        return found

    async def _sent(
        self, original: Original, target: Target, variant: PromptView, quote: Quote, budget: Allowance
    ) -> Replay | Failure:
        call = ModelCall(
            "replay",
            variant.api.operation,
            variant.model or original.model,
            target.url,
            target.unix_path,
            content=lambda: [Message(one.role, one.text) for one in variant.messages],
        )
        return await self._replayer.send(
            target,
            variant.for_replay(quote.tier, quote.most_tokens),
            api=variant.api,
            observed=lambda: self._observer.call(call),
            budget=budget,
            quote=quote,
        )

    async def _judge(
        self,
        original: Original,
        trial: Trial,
        candidate: Answer,
        booked: Booking,
        free: Answer | None = None,
    ) -> Judgement:
        """Score the answer against the original's, or only rate it against the free one."""
        answer = free or original.answer
        if answer.model and candidate.model and answer.model != candidate.model:
            # The model was swapped between the two answers: the pair compares models, not prompts.
            changed = Failure(
                "replay", 1, "model_changed", f"{answer.model} answered first, {candidate.model} now"
            )
            return Judgement(self._scorer.scorer, None, failures=(changed,))
        pair = Pair(answer, candidate, original.view.text, original.task, trial.perturbation.wanted)
        waits = SCORING_WAITS.set(trial.can_wait)
        try:
            return await booked.scored(self._scorer.score(pair, qualities=free is None))
        finally:
            SCORING_WAITS.reset(waits)

    def _verdict(
        self,
        original: Original,
        trial: Trial,
        control: Verdict | None,
        replay: Replay | Failure,
        judgement: Judgement | None,
        spent: Spend,
        trace_id: str,
    ) -> Verdict:
        failure = replay if isinstance(replay, Failure) else None
        quality_failures: tuple[Failure, ...] = ()
        if judgement and judgement.rating is None and not judgement.unsure:
            failure = judgement.failures[0]
        elif judgement:
            quality_failures = judgement.failures
        wanted = trial.perturbation.wanted
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
            baseline_rating=control.rating if control else None,
            baseline_similarity=control.similarity if control else None,
            unsure=judgement.unsure if judgement else False,
            similarity=judgement.similarity if judgement else None,
            invalid=judgement.invalid if judgement else (),
            quality=judgement.quality if judgement else (),
            failure=failure,
            quality_failures=quality_failures,
            explanation=judgement.explanation if judgement else "",
            details=judgement.details if judgement else {},
            rated_by=judgement.rated_by if judgement else "",
            task=original.task,
            prompt_version=original.prompt_version,
            wanted_format=wanted.format,
            wanted_language=wanted.language,
            replay_s=replay.duration_s if isinstance(replay, Replay) else 0.0,
            tokens=spent.tokens,
            cost_usd=spent.usd,
            trace_id=trace_id,
            requested_model=named_if(original.view.model),
            system_fingerprint=named_if(original.answer.system_fingerprint),
            prompt_chars=original.traits.prompt_chars,
            template_share=original.traits.template_share,
            prompt_language=original.traits.language,
            answer_chars=len(original.answer.text),
            parameters=original.parameters,
            judge_model=self._stamp.judge if judgement and judgement.rated_by else "",
            settings=self._stamp.settings.get(original.exchange.route, ""),
            cluster=original.cluster,
            client=original.exchange.client,
            baseline_worse=control.worse if control else None,
            audit_share=judgement.audit_share if judgement else 0.0,
            label_share=self._stamp.label_share if judgement and not failure else 0.0,
            baseline_proven=control.proven if control else None,
            path_weight=trial.path_weight,
            split_of=trial.split_of,
        )

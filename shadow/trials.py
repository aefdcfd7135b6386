"""One trial: a variant is finished, replayed and judged; its verdict is logged and its cost booked."""

from __future__ import annotations

import asyncio
import logging
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.budget import NOTHING, SCORING_BUDGET, Allowance, RouteBudget, Spend
from evenkeel.core.pair import Pair
from evenkeel.core.text import named, named_if
from evenkeel.core.verdict import Evidence, Failure, Judgement, Verdict
from evenkeel.llm.observer import Message, ModelCall
from evenkeel.llm.price import Quote, estimate_tokens
from evenkeel.shadow.observer import NOBODY, Judged
from evenkeel.shadow.perturbations import Draft, NotApplicable, attempt
from evenkeel.shadow.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from evenkeel.core.budget import CostTracker, Refused
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Answer
    from evenkeel.llm.observer import Operation
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.shadow.observer import ShadowObserver, TrialReport
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.perturbations import Outcome
    from evenkeel.shadow.planner import Trial
    from evenkeel.shadow.prompt import Api, PromptView
    from evenkeel.shadow.replay import Replayer, Target
    from evenkeel.shadow.rewriter import Rewriter
    from evenkeel.stores.counters import Tally
    from evenkeel.stores.verdict_log import VerdictLog


log = logging.getLogger("evenkeel")

_MOST_WARNED: Final = 100
"""Names of models without a price that are logged: clients choose them."""
_USUAL_SHARE_OF_CEILING = 1 / 3
"""The scorer's ceiling takes a token for each character and every quality asked; most trials need less.
To set aside the ceiling would leave much of a small budget unused."""
_AT_ONCE = 16
"""Trials under way together: enough to keep replays and judge busy, few enough that what is set aside for
them is a small part of a budget."""


NO_REWRITER: Final = NotApplicable("no_rewriter", "no rewriter is configured")
_OPERATIONS: dict[Api, Operation] = {"completions": "text_completion"}
"""What a call of an API is called; of all others it is a chat."""


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
        """
        self._verdicts = verdicts
        self._scorer = scorer
        self._replayer = replayer
        self._costs = costs
        self._prices = prices
        self._target = target
        self._tally = tally
        self._clock = clock
        self._rewriter = rewriter
        self._observer = observer
        self._stamp = stamp or Stamp()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._unpriced: set[str] = set()

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
        trial: Trial,
        outcome: PromptView | Draft,
        control: Verdict | None,
        free: Answer | None = None,
    ) -> Verdict | None:
        """Make one trial and log its verdict; None if it was skipped, for a reason that is counted.

        Args:
            original: What is tried.
            trial: How.
            outcome: What the perturbation made of it.
            control: Verdict of the identical resend, None if there is none.
            free: Answer in plain prose, with which this one's is compared too; None if there is none.
        """
        async with self._slots:
            with self._observer.trial(trial) as report:
                return await self._make(original, trial, outcome, control, free, report)

    async def _make(
        self,
        original: Original,
        trial: Trial,
        outcome: PromptView | Draft,
        control: Verdict | None,
        free: Answer | None,
        report: TrialReport,
    ) -> Verdict | None:
        route = original.exchange.route
        # In a thread as a whole: the first price of a process loads the list of them.
        booked = await asyncio.to_thread(self._reserved, original, free)
        if isinstance(booked, str):
            self.skip(trial, route, booked)
            report.skipped(booked)
            return None
        try:
            variant = await self._finished(outcome, route)
            if isinstance(variant, NotApplicable):
                self.skip(trial, route, variant.reason)
                report.skipped(variant.reason)
                return None
            replay = await self._replay(original, variant, booked)
            candidate = replay.answer if isinstance(replay, Replay) else None
            judgement, freely = None, None
            if candidate is not None:
                judgement = await self._judge(original, trial, candidate, booked)
            if candidate is not None and free is not None and judgement and judgement.shifted is not None:
                freely = await self._judge(original, trial, candidate, booked, free)
            spent = booked.replay.spent.plus(booked.judged)
            verdict = self._verdict(original, trial, control, replay, judgement, spent, report.trace_id)
            if freely is not None:
                verdict = replace(verdict, free_rating=freely.rating, free_similarity=freely.similarity)
            evidence = Evidence(
                original.view.text, variant.text, original.answer, candidate, original.view.asked
            )
            await asyncio.to_thread(self._verdicts.append, verdict, evidence)
            answered = candidate.response_id if candidate else None
            report.logged(verdict, Judged(answered, original.answer.response_id))
        finally:
            await asyncio.to_thread(booked.close)
        rated = verdict.failure.reason if verdict.failure else f"rated_{verdict.rating or 'unsure'}"
        self._tally.add("trials", route=route, perturbation=trial.perturbation.name, outcome=rated)
        self._count_spend(Spend(verdict.tokens, verdict.cost_usd), route)
        return verdict

    def _count_spend(self, spent: Spend, route: str) -> None:
        self._tally.add("spend_tokens", spent.tokens, route=route)
        self._tally.add("spend_usd", spent.usd, route=route)

    async def _finished(self, outcome: Outcome, route: str) -> PromptView | NotApplicable:
        """Let the rewriter do what a draft waits for, until there is a variant."""
        while isinstance(outcome, Draft):
            if self._rewriter is None:
                return NO_REWRITER
            budget = RouteBudget(
                self._costs, route, "rewriter", booked=lambda spent: self._count_spend(spent, route)
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

    async def _replay(self, original: Original, variant: PromptView, booked: _Booking) -> Replay | Failure:
        target = self._target(original.exchange)
        call = ModelCall(
            "replay",
            _OPERATIONS.get(variant.api, "chat"),
            variant.model or original.model,
            target.url,
            target.unix_path,
            content=lambda: [Message(one.role, one.text) for one in variant.messages],
        )
        return await self._replayer.send(
            target,
            variant.for_replay(),
            api=variant.api,
            observed=lambda: self._observer.call(call),
            budget=booked.replay,
            quote=booked.quote,
        )

    async def _judge(
        self,
        original: Original,
        trial: Trial,
        candidate: Answer,
        booked: _Booking,
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
        return await booked.scored(self._scorer.score(pair, qualities=free is None))

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
        )

    def _reserved(self, original: Original, free: Answer | None) -> _Booking | Refused | Literal["unpriced"]:
        """What is set aside for a trial; nothing is, if a budget refuses it or its price is not known."""
        names = (original.model, original.view.model)
        if not self._prices.knows(*names):
            self._warn(original)
        if self._prices.refuses(*names):
            return "unpriced"
        route, answer = original.exchange.route, original.answer
        said = answer.completion_tokens or estimate_tokens(answer.text)
        quote = Quote(self._prices, names, original.view.for_replay(), answer.prompt_tokens, said)
        scoring = self._scoring(original, free)
        refused = self._costs.reserve(quote.estimate.plus(scoring), route)
        return refused or _Booking(self._costs, route, quote, scoring)

    def _warn(self, original: Original) -> None:
        model, assumed = named(original.view.model or original.model), self._prices.assumed
        if assumed is None or model in self._unpriced or len(self._unpriced) >= _MOST_WARNED:
            return
        self._unpriced.add(model)
        log.warning(
            "route %s: %s has no known price and a budget in dollars is set, so it %s. Say what it costs, or "
            '0 if it is free, in the settings: prices: {"%s": {input_usd: …, output_usd: …}}; "*" stands for '
            "every such model",
            original.exchange.route,
            model,
            "is not replayed" if self._prices.required else assumed.said,
            model,
            extra={"route": original.exchange.route},
        )

    def _scoring(self, original: Original, free: Answer | None) -> Spend:
        """What the scoring of a pair like the original's answer twice may cost.

        A second rating, against the free answer, is taken to cost as much again.
        """
        share, scoring = _USUAL_SHARE_OF_CEILING, NOTHING
        for answer in filter(None, (original.answer, free)):
            chars = len(original.answer.text) + len(answer.text)
            most = self._scorer.estimate(chars, len(original.view.text), original.task)
            scoring = scoring.plus(Spend(round(most.tokens * share), most.usd * share))
        return scoring


class _Booking:
    """What one trial has set aside: for its replay and for its scoring."""

    def __init__(self, costs: CostTracker, route: str, quote: Quote, scoring: Spend) -> None:
        """Take over what was reserved.

        Args:
            costs: Where it was reserved.
            route: Whose trial it is.
            quote: What the replay may cost each time it is sent.
            scoring: Set aside for the scoring.
        """
        self.quote = quote
        self.replay = Allowance(costs, route, quote.estimate)
        self._judge = Allowance(costs, route, scoring)
        self._reported = NOTHING
        self._costs = costs
        self._route = route

    @property
    def judged(self) -> Spend:
        """Spent on scoring: calls without an answer, and the encoder's tokens, are included."""
        known, lost = self._reported, self._judge.spent
        return Spend(max(known.tokens, lost.tokens), max(known.usd, lost.usd))

    async def scored(self, scoring: Awaitable[Judgement]) -> Judgement:
        """Wait for a judgement, whose calls are booked here."""
        before = SCORING_BUDGET.set(self._judge)
        try:
            judgement = await scoring
        finally:
            SCORING_BUDGET.reset(before)
        self._reported = self._reported.plus(Spend(judgement.tokens, judgement.cost_usd))
        return judgement

    def close(self) -> None:
        """Book what was spent, and release the rest."""
        held = self.replay.close().plus(self._judge.close())
        self._costs.settle(held, self._route, {"replay": self.replay.spent, "judge": self.judged})

"""Trials of an exchange, in rounds: send all replays of a round, then judge all their answers in one call.

The estimated cost of a round is reserved before its first call; the unspent part is released after its last.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.budget import Allowance, RouteBudget, Spend, scoring_paid_by, set_aside, total
from evenkeel.core.pair import AS_BEFORE, Pair
from evenkeel.core.verdict import INTERNAL_ERROR, REPLAY, Failure, Judgement
from evenkeel.shadow.exchange_trial import ExchangeTrial
from evenkeel.shadow.groups import SettledNeeds
from evenkeel.shadow.perturbations import Draft, NotApplicable, attempt
from evenkeel.shadow.planner import Needs
from evenkeel.shadow.replay import VERSION
from evenkeel.shadow.trial_log import TrialRun

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from evenkeel.core.budget import CostTracker, Refused
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Verdict
    from evenkeel.llm.price import Quote
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.shadow.challenger import Challenger
    from evenkeel.shadow.exchange_trial import PlannedTrial
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.perturbations import Outcome as Perturbed
    from evenkeel.shadow.planner import Trial
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.quoted_replays import QuotedReplays
    from evenkeel.shadow.rewriter import Rewriter
    from evenkeel.shadow.trial_log import TrialLog
    from evenkeel.stores.counters import Tally

log = logging.getLogger("evenkeel.worker")

NO_REWRITER: Final = NotApplicable("no_rewriter", "no rewriter is configured")
# Trials in progress at once: enough to keep replays and judge busy, but few enough that the money set aside
# for them is a small part of a budget.
_AT_ONCE: Final = 16
# Share of the scorer's highest possible cost that is reserved. The maximum assumes a token per character and
# that every quality is rated. Most trials cost less; reserving all of it would block much of a small budget.
_USUAL_SHARE_OF_CEILING: Final = 1 / 3
_SEE_LOG: Final = "The worker's log has the traceback."


class TrialMaker:
    """Makes the trials of exchanges, several exchanges at once."""

    def __init__(
        self,
        log: TrialLog,
        scorer: TwoStageScorer,
        replays: QuotedReplays,
        costs: CostTracker,
        *,
        tally: Tally,
        needs: Callable[[str, str], Needs] = lambda _route, _model: Needs(),
        rewriter: Rewriter | None = None,
        challenger: Challenger | None = None,
    ) -> None:
        """Wire it. `needs` returns how much is still to be learned about the cells of a route and model."""
        self.log = log
        self.observer = replays.observer
        self._scorer = scorer
        self._replays = replays
        self._costs = costs
        self._tally = tally
        self._needs = SettledNeeds(needs)
        self._rewriter = rewriter
        self._challenger = challenger
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._entrance = asyncio.Lock()

    async def make(self, original: Original) -> int | Refused | Literal["unpriced", "settled"]:
        """Make the missing trials of an exchange.

        Returns: the number of verdicts that the exchange has now. If it has none, the reason: the refusal of
            the budget, "unpriced", or "settled" if the route is well measured and sampling left it out.
        """
        exchange = original.exchange
        state = ExchangeTrial(
            original,
            self._needs(exchange.route, original.model),
            await asyncio.to_thread(self.log.of_exchange, exchange.id),
            outcome=partial(self.perturb, original),
            skip=lambda trial, reason: self._skip(trial, exchange.route, reason),
        )
        planned = await asyncio.to_thread(state.first)
        made: int | Refused | Literal["unpriced", "settled"] = "settled"
        if planned is not None:
            refused = await self.carry_out(state, planned)
            if state.control is not None:
                await self.carry_out(state, await asyncio.to_thread(state.follow))
            made = len(state.verdicts) or refused or "budget"
        if self._challenger is not None:
            await self._challenger.ask(original, state.resend)
        return made

    def perturb(self, original: Original, trial: Trial) -> Perturbed:
        """Apply a trial's perturbation to the prompt, without any call.

        Without a rewriter a draft counts as not applicable, so the planner tries another perturbation.
        """
        try:
            made = attempt(trial.perturbation, original.view, trial.severity, random.Random(trial.seed))
        except Exception as error:  # noqa: BLE001 - named boundary: a perturbation may be another package's
            self._count_fault(original.exchange, error)
            return NotApplicable(INTERNAL_ERROR, _SEE_LOG)
        return NO_REWRITER if isinstance(made, Draft) and self._rewriter is None else made

    async def carry_out(
        self, state: ExchangeTrial, planned: Sequence[PlannedTrial]
    ) -> Refused | Literal["unpriced"] | None:
        """Make some trials of an exchange; none of them if the budget is too small for all.

        The first round needs room in the budget released so far today; a later round may use the whole day's.
        Otherwise a budget released over the day would be spent on controls, which alone measure nothing.

        Returns: the reason why none were made; None if they were.
        """
        if not planned:
            return None
        route = state.original.exchange.route
        async with self._places(len(planned)):
            with ExitStack() as reports:
                runs = []
                for trial, prompt in planned:
                    runs.append(TrialRun(trial, prompt, reports.enter_context(self.observer.trial(trial))))
                judge: Allowance | Refused | Literal["unpriced"] = await set_aside(
                    partial(self._book, state, runs), partial(self._settle, route, runs)
                )
                if not isinstance(judge, Allowance):
                    for run in runs:
                        self._skip(run.trial, route, judge)
                        run.report.skipped(judge)
                    return judge
                try:
                    await self._make(state, runs, judge)
                finally:
                    await asyncio.to_thread(self._settle, route, runs, judge)
        return None

    @asynccontextmanager
    async def _places(self, count: int) -> AsyncIterator[None]:
        """Hold slots for the trials of a round.

        Only one round acquires slots at a time, or two could wait forever for the slots that the other holds.
        """
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

    def _skip(self, trial: Trial, route: str, reason: str) -> None:
        self._tally.add("trials_skipped", route=route, perturbation=trial.perturbation.name, reason=reason)

    def _count(self, verdict: Verdict) -> None:
        if verdict.is_contrast:
            moved = {True: "yes", False: "no", None: "unknown"}[verdict.shifted]
            self._tally.add("contrasts", route=verdict.route, moved=moved)
            return
        rated = verdict.failure.reason if verdict.failure else f"rated_{verdict.rating or 'unsure'}"
        self._tally.add("trials", route=verdict.route, perturbation=verdict.perturbation, outcome=rated)

    def _count_spend(self, spent: Spend, route: str) -> None:
        self._tally.add("spend_tokens", spent.tokens, route=route)
        self._tally.add("spend_usd", spent.usd, route=route)

    def _book(
        self, state: ExchangeTrial, runs: Sequence[TrialRun]
    ) -> Allowance | Refused | Literal["unpriced"]:
        """Reserve the estimated cost of a round: of each of its replays, and of judging their answers.

        Returns: the judge's part, or the reason why a budget or an unknown price forbids the round.
        """
        original, route = state.original, state.original.exchange.route
        if self._replays.refuses(original):
            return "unpriced"
        by_length: dict[bool, Quote] = {}
        for run in runs:
            as_long = run.trial.perturbation.wanted == AS_BEFORE
            if as_long not in by_length:
                quote = self._replays.quote(original, can_wait=state.can_wait, as_long=as_long)
                by_length[as_long] = quote
            run.quote = by_length[as_long]
        chars = 2 * len(original.answer.text)
        ceiling = self._scorer.estimate(chars, len(original.view.text), original.task).times(len(runs))
        share = _USUAL_SHARE_OF_CEILING
        scoring = Spend(round(ceiling.tokens * share), ceiling.usd * share)
        whole = total(run.quote.estimate for run in runs).plus(scoring)
        refused = self._costs.reserve(whole, route, urgent=state.urgent, paced=state.control is None)
        if refused:
            return refused
        for run in runs:
            run.replaying = Allowance(self._costs, route, run.quote.estimate, urgent=state.urgent)
        return Allowance(self._costs, route, scoring, urgent=state.urgent)

    def _settle(
        self, route: str, runs: Sequence[TrialRun], judge: Allowance | Refused | Literal["unpriced"]
    ) -> None:
        """Book what a round has cost and release the rest, unless it was not booked."""
        if isinstance(judge, str):
            return
        replaying = [run.replaying for run in runs]
        held = total(allowance.close() for allowance in (*replaying, judge))
        replayed = total(allowance.spent for allowance in replaying)
        self._costs.settle(held, route, {"replay": replayed, "judge": judge.spent})

    async def _make(self, state: ExchangeTrial, runs: Sequence[TrialRun], judge: Allowance) -> None:
        later = list(runs)
        # The control goes first, alone, so that the provider has cached the prompt before the variants come.
        if state.control is None:
            await self._replay(state, later.pop(0))
        await asyncio.gather(*(self._replay(state, run) for run in later))
        made = [run for run in runs if run.replay is not None]
        await self._judge(state, made, judge)
        for run in made:
            await self._log(state, run)

    async def _replay(self, state: ExchangeTrial, run: TrialRun) -> None:
        """Finish a variant and replay it, unless it turns out not to apply."""
        with run.report.within():
            try:
                variant = await self._finish(run.prompt, state)
                if not isinstance(variant, NotApplicable):
                    run.prompt = variant
                    run.replay = await self._replays.replay(state.original, variant, run.quote, run.replaying)
                    return
                reason = variant.reason
            except Exception as error:  # noqa: BLE001 - named boundary: others of the round are paid for
                self._count_fault(state.original.exchange, error)
                reason = INTERNAL_ERROR
                if not isinstance(run.prompt, Draft):
                    run.replay = Failure(REPLAY, VERSION, reason, _SEE_LOG)
                    return
            self._skip(run.trial, state.original.exchange.route, reason)
            run.report.skipped(reason)

    def _count_fault(self, exchange: Exchange, error: Exception | None = None) -> None:
        """Log and count a fault in our code, or in another package's, that has spoiled trials of an exchange.

        `error` is the exception; None if the scorer has logged it.
        """
        about = {"route": exchange.route, "exchange": exchange.id}
        log.error("a trial of exchange %s failed", exchange.id, exc_info=error, extra=about)
        self._tally.add("worker_errors", where="trial")

    async def _log(self, state: ExchangeTrial, run: TrialRun) -> None:
        """Write the verdict of a trial to the log, and count it."""
        original, control = state.original, state.control
        if run.trial.id == state.control_trial.id:
            control, state.resend = None, run.replay
        verdict = await asyncio.to_thread(self.log.write, original, run, control)
        state.verdicts[verdict.id] = verdict
        self._count_spend(run.spent, verdict.route)
        answer_id = run.answer.response_id if run.answer else None
        run.report.logged(verdict, answer_id, original.answer.response_id)
        self._count(verdict)

    async def _finish(self, outcome: Perturbed, state: ExchangeTrial) -> PromptView | NotApplicable:
        """Ask the rewriter for the texts of a draft until the variant is complete."""
        route = state.original.exchange.route
        while isinstance(outcome, Draft):
            assert self._rewriter is not None  # see `perturb`
            budget = RouteBudget(
                self._costs,
                route,
                "rewriter",
                booked=lambda spent: self._count_spend(spent, route),
                urgent=state.urgent,
            )
            texts: list[str] = []
            for task, rewritten in zip(
                outcome.tasks,
                await asyncio.gather(*(self._rewriter.rewrite(task, budget) for task in outcome.tasks)),
                strict=True,
            ):
                if task.kind == "blocks" and not isinstance(rewritten, str) and rewritten.reason != "budget":
                    # Without the rewriter's list of blocks, the prompt is split by rules alone.
                    texts.append("")
                    continue
                if not isinstance(rewritten, str):
                    reason = "budget" if rewritten.reason == "budget" else f"rewriter_{rewritten.reason}"
                    return NotApplicable(reason, rewritten.detail)
                texts.append(rewritten)
            outcome = await asyncio.to_thread(outcome.finish, texts)
        return outcome

    async def _judge(self, state: ExchangeTrial, runs: Sequence[TrialRun], judge: Allowance) -> None:
        """Judge all answers against the original answer, in one call, and charge their trials for it."""
        original = state.original
        compared: list[TrialRun] = []
        pairs: list[Pair] = []
        for run in runs:
            if run.answer is None:
                continue
            run.judgement = _swapped_model(self._scorer, original.answer, run.answer)
            if run.judgement is None:
                wanted = run.trial.perturbation.wanted
                pairs.append(Pair(original.answer, run.answer, original.view.text, original.task, wanted))
                compared.append(run)
        with scoring_paid_by(judge, can_wait=state.can_wait):
            judgements = await self._scorer.score_all(pairs)
        reasons: set[str] = set()
        for run, judgement in zip(compared, judgements, strict=True):
            run.judgement = judgement
            run.judging = judgement.spent
            reasons.update(failure.reason for failure in judgement.failures)
        if INTERNAL_ERROR in reasons:
            self._count_fault(original.exchange)
        # The cost of failed calls is split evenly.
        further = judge.spent.minus(total(run.judging for run in compared)).parts(len(compared))
        for run, part in zip(compared, further, strict=True):
            run.judging = run.judging.plus(part)


def _swapped_model(scorer: TwoStageScorer, reference: Answer, candidate: Answer) -> Judgement | None:
    """Return a failed judgement if two models gave the answers; None if they came from the same model.

    Some servers name the backend in a stream but an alias in a whole answer. So a streamed answer is not
    compared with a whole one.
    """
    if not reference.model or not candidate.model or reference.model == candidate.model:
        return None
    if reference.streamed != candidate.streamed:
        return None
    changed = Failure(
        "replay", 1, "model_changed", f"{reference.model} answered first, {candidate.model} now"
    )
    return Judgement(scorer.scorer, None, failures=(changed,))

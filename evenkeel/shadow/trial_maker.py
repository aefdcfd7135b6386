"""Trials of an exchange, in rounds: send all replays of a round, then judge all their answers in one call.

The estimated cost of a round is reserved before its first call; the unspent part is released after its last.
"""

from __future__ import annotations

import asyncio
import logging
import random
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from evenkeel.core.budget import Refused, Spend, allowed, scoring_paid_by, total
from evenkeel.core.pair import AS_BEFORE, Pair
from evenkeel.core.verdict import INTERNAL_ERROR, REPLAY, Failure, Judgement
from evenkeel.shadow.exchange_trial import ExchangeTrial
from evenkeel.shadow.groups import SettledNeeds
from evenkeel.shadow.perturbations import Draft, NotApplicable, attempt
from evenkeel.shadow.planner import Needs
from evenkeel.shadow.replay import VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.budget import Allowance, BudgetAccount, CostTracker
    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Verdict
    from evenkeel.llm.price import Quote
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.shadow.challenger import Challenger
    from evenkeel.shadow.exchange_trial import TrialRun
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
# Rounds in progress at once: with two to four trials each, enough to keep replays and judge busy, but few
# enough that the money set aside for them is a small part of a budget.
_ROUNDS: Final = 6
# Share of the scorer's highest possible cost that is reserved. The maximum assumes a token per character and
# that every quality is rated. Most trials cost less; reserving all of it would block much of a small budget.
_USUAL_SHARE_OF_CEILING: Final = 1 / 3
Untried: TypeAlias = Refused | Literal["unpriced"]
"""Reason why a round is not made: the refusal of the budget, or a missing price."""
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
        """Wire it. `needs` returns how much is still to be learned of a route and model, and may block."""
        self.log = log
        self.observer = replays.observer
        self._scorer = scorer
        self._replays = replays
        self._costs = costs
        self._tally = tally
        self._needs = SettledNeeds(needs)
        self._rewriter = rewriter
        self._challenger = challenger
        self._rounds = asyncio.Semaphore(_ROUNDS)

    async def make(self, original: Original) -> int | Untried | Literal["settled"]:
        """Make the missing trials of an exchange.

        Returns: the number of verdicts that the exchange has now. If it has none, the reason, which is
            "settled" if the route is well measured and sampling left it out.
        """
        exchange = original.exchange
        state = ExchangeTrial(
            original,
            await asyncio.to_thread(self._needs, exchange.route, original.model),
            await asyncio.to_thread(self.log.of_exchange, exchange.id),
            outcome=partial(self.perturb, original),
            skip=lambda trial, reason: self._skip(trial, exchange.route, reason),
        )
        first = await asyncio.to_thread(state.first)
        made: int | Untried | Literal["settled"] = "settled"
        if first is not None:
            refused = await self.carry_out(state, first)
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

    async def carry_out(self, state: ExchangeTrial, runs: Sequence[TrialRun]) -> Untried | None:
        """Make some trials of an exchange; none of them if the budget is too small for all.

        The first round needs room in the budget released so far today; a later round may use the whole day's.
        Otherwise a budget released over the day would be spent on controls, which alone measure nothing.

        Returns: the reason why none were made; None if they were.
        """
        if not runs:
            return None
        async with self._rounds:
            with ExitStack() as reports:
                for run in runs:
                    run.report = reports.enter_context(self.observer.trial(run.trial))
                refused = await self._make(state, runs)
                if refused:
                    for run in runs:
                        self._skip(run.trial, state.original.exchange.route, refused)
                        run.report.ended("skipped", refused)
        return refused

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

    def _quoted(self, state: ExchangeTrial, runs: Sequence[TrialRun]) -> Spend | None:
        """Quote the replays of a round. Return their cost and that of judging; None if a price is missing."""
        original = state.original
        if self._replays.refuses(original):
            return None
        by_length: dict[bool, Quote] = {}
        for run in runs:
            as_long = run.trial.perturbation.wanted == AS_BEFORE
            if as_long not in by_length:
                quote = self._replays.quote(original, can_wait=state.can_wait, as_long=as_long)
                by_length[as_long] = quote
            run.quote = by_length[as_long]
        chars = 2 * len(original.answer.text)
        ceiling = self._scorer.estimate(chars, len(original.view.text), original.origin.task).times(len(runs))
        share = _USUAL_SHARE_OF_CEILING
        scoring = Spend(round(ceiling.tokens * share), ceiling.usd * share)
        return total(run.quote.estimate for run in runs).plus(scoring)

    async def _make(self, state: ExchangeTrial, runs: Sequence[TrialRun]) -> Untried | None:
        """Replay the trials of a round, judge their answers and log them, all out of one allowance."""
        original, estimate = state.original, await asyncio.to_thread(self._quoted, state, runs)
        if estimate is None:
            return "unpriced"
        route, paced = original.exchange.route, state.control is None
        async with allowed(self._costs, estimate, route, urgent=state.urgent, paced=paced) as allowance:
            if isinstance(allowance, str):
                return allowance
            for run in runs:
                run.replaying = allowance.account("replay")
            later = list(runs)
            # The control goes first, alone, so that the provider has cached the prompt before the variants
            # come.
            if state.control is None:
                await self._replay(state, later.pop(0), allowance)
            await asyncio.gather(*(self._replay(state, run, allowance) for run in later))
            made = [run for run in runs if run.replay is not None]
            await self._judge(state, made, allowance.account("judge"))
            for run in made:
                await self._log(state, run)
        return None

    async def _replay(self, state: ExchangeTrial, run: TrialRun, allowance: Allowance) -> None:
        """Finish a variant and replay it, unless it turns out not to apply."""
        with run.report.within():
            try:
                variant = await self._finish(run.prompt, state, allowance)
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
            run.report.ended("skipped", reason)

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

    async def _finish(
        self, outcome: Perturbed, state: ExchangeTrial, allowance: Allowance
    ) -> PromptView | NotApplicable:
        """Ask the rewriter for the texts of a draft until the variant is complete."""
        while isinstance(outcome, Draft):
            assert self._rewriter is not None  # see `perturb`
            account = allowance.account("rewriter")
            try:
                replies = await asyncio.gather(
                    *(self._rewriter.rewrite(task, account) for task in outcome.tasks)
                )
            finally:
                self._count_spend(account.spent, state.original.exchange.route)
            texts: list[str] = []
            for task, rewritten in zip(outcome.tasks, replies, strict=True):
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

    async def _judge(self, state: ExchangeTrial, runs: Sequence[TrialRun], judge: BudgetAccount) -> None:
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
                pairs.append(
                    Pair(original.answer, run.answer, original.view.text, original.origin.task, wanted)
                )
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

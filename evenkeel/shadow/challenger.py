"""Challenger: asks a candidate what the incumbent was asked, and stores the pair.

Which exchanges are asked is drawn, whatever the plan of their own trials, so a pair stands for the traffic.
The identical resend of the trials is the incumbent's second answer; where there is none it is asked here.
Nothing of it reaches the verdict log: a route's figures are the same with and without a challenger. Its calls
have a share of the budget of their own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.budget import Spend, allowed, scoring_paid_by, total
from evenkeel.core.challenge import (
    CHALLENGERS,
    ChallengeAnswer,
    ChallengePair,
    ChallengeRewording,
    ChallengeTexts,
)
from evenkeel.core.pair import AS_BEFORE, Pair
from evenkeel.core.verdict import Failure
from evenkeel.llm.price import with_cache_writes
from evenkeel.shadow.perturbations import Draft, NotApplicable, attempt, seed_for
from evenkeel.shadow.planner import SEVERITIES, trial_of
from evenkeel.shadow.replay import Replay

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.core.budget import BudgetAccount, CostTracker
    from evenkeel.core.challenge import Challenge
    from evenkeel.core.pair import Answer
    from evenkeel.core.tiers import Tier
    from evenkeel.core.verdict import Judgement
    from evenkeel.llm.price import Prices, Quote
    from evenkeel.metrics.judge.preference import Preference, PreferenceJudge
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.shadow.original import Original
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.quoted_replays import QuotedReplays
    from evenkeel.stores.challenges import ChallengeStore
    from evenkeel.stores.counters import Tally

log = logging.getLogger("evenkeel")

# Seconds for which the challenger of a route is remembered: a new one is picked up within them.
_LOOKED_UP_S: Final = 10.0
# Share of the pairs in which both get a rewording, and the candidate the same request again.
_REWORDED_SHARE: Final = 1 / 3
# Share of the judged pairs that the judge sees in both orders.
_BOTH_ORDERS_SHARE: Final = 0.1
# Share of the pairs whose texts are kept, beside those where the candidate's answer is worse.
_TEXTS_SHARE: Final = 0.1
# Characters of a text that are kept.
_MOST_TEXT: Final = 20_000
# Characters below which a prompt counts as short.
_SHORT_CHARS: Final = 500
# Characters from which it counts as long.
_LONG_CHARS: Final = 4_000
# Part of the raters' ceilings that is set aside before a pair is begun.
_USUAL_SHARE: Final = 1 / 3
# Names of the same ending in the APIs.
_REFUSALS: Final = frozenset(("refusal", "content_filter"))
_SAME: Final = 3


@dataclass(frozen=True, slots=True)
class ChallengeReplays:
    """Senders of requests to the incumbent and to candidates, and their prices."""

    incumbent: QuotedReplays
    candidate: Callable[[Challenge], QuotedReplays]
    prices: Prices


@dataclass(frozen=True, slots=True)
class ChallengeJudges:
    """Raters of a pair."""

    scorer: TwoStageScorer
    preference: PreferenceJudge | None
    """None without a judge: then only contents are compared."""

    def estimate(self, texts_chars: int) -> Spend:
        """Return the most that rating one answer can cost, its place included."""
        spend = self.scorer.estimate(texts_chars, 0, None)
        if self.preference is not None:
            spend = spend.plus(self.preference.estimate(texts_chars))
        # The ceilings take a token for each character. What a pair takes beyond a third is set aside when it
        # is needed.
        return Spend(round(spend.tokens * _USUAL_SHARE), spend.usd * _USUAL_SHARE)


class Challenger:
    """Asks candidates. One instance per worker."""

    def __init__(
        self,
        store: ChallengeStore,
        replays: ChallengeReplays,
        judges: ChallengeJudges,
        costs: CostTracker,
        *,
        sampling_rates: Mapping[str, float],
        keeps_texts: bool,
        tally: Tally,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._replays = replays
        self._judges = judges
        self._costs = costs
        self._sampling_rates = sampling_rates
        self._keeps_texts = keeps_texts
        self._tally = tally
        self._clock = clock
        self._known: dict[str, tuple[float, Challenge | None]] = {}

    async def ask(self, original: Original, resend: Replay | Failure | None) -> None:
        """Ask the candidate of the exchange's route, if there is one and the exchange is drawn.

        `resend` is the replay of the identical resend; None if its trials made none.
        """
        route = original.exchange.route
        try:
            challenge = await asyncio.to_thread(self._running, route)
            if challenge is None:
                return
            # The share is of all traffic, and only some of it is sampled.
            sampled = self._sampling_rates.get(route) or 1.0
            if _draw(challenge, original, "asked") >= challenge.share / sampled:
                return
            outcome = await self._try(challenge, original, resend)
        except Exception:  # the boundary to the worker: what a challenger does must not fail an exchange
            log.exception("the challenger of route %s failed on exchange %s", route, original.exchange.id)
            outcome = "error"
        self._tally.add("challenge_pairs", route=route, outcome=outcome)

    def _running(self, route: str) -> Challenge | None:
        now = self._clock()
        looked_at, challenge = self._known.get(route, (-_LOOKED_UP_S, None))
        if now - looked_at >= _LOOKED_UP_S:
            challenge = self._store.running(route)
            self._known[route] = now, challenge
        return challenge

    async def _try(self, challenge: Challenge, original: Original, resend: Replay | Failure | None) -> str:
        """Return the outcome, for a counter."""
        candidate = _candidate(challenge, original)
        if candidate is None:
            return "no_system_prompt"
        if self._replays.prices.refuses(candidate.model):
            return "unpriced"
        plan = await asyncio.to_thread(self._plan, challenge, original, candidate)
        async with allowed(self._costs, plan.estimate(self._judges, resend), CHALLENGERS) as allowance:
            if isinstance(allowance, str):
                return allowance
            budget = allowance.account("challenge")
            answers = await plan.asked(budget, resend)
            with scoring_paid_by(budget, can_wait=True):
                rated = await _rated(plan, answers, self._judges)
        judged = self._judges.preference is not None
        pair = replace(_pair(plan, answers, rated, self._replays.prices), judged=judged)
        if await asyncio.to_thread(self._store.add, pair) and self._keeps_texts:
            texts = _texts(plan, answers, rated)
            if texts is not None:
                await asyncio.to_thread(self._store.add_texts, texts)
        return "failed" if pair.candidate.failure else "answered"

    def _plan(self, challenge: Challenge, original: Original, candidate: Original) -> _Plan:
        """Return all that is sent for an exchange. Reads and perturbs the prompt: work for a thread."""
        senders = self._replays.incumbent, self._replays.candidate(challenge)
        return _Plan(
            challenge,
            original,
            candidate,
            _rewording(challenge, original),
            senders,
            (
                senders[0].quote(original, can_wait=False, as_long=True),
                # A candidate may think at length before it answers, so only the client's own limit holds.
                senders[1].quote(candidate, can_wait=False, as_long=False),
            ),
        )


class _Rewording(NamedTuple):
    """Rewording of a request, for both."""

    perturbation: str
    incumbent: PromptView
    candidate: PromptView


class _Answers(NamedTuple):
    """Everything that both answered."""

    again: Replay | Failure
    candidate: Replay | Failure
    incumbent_reworded: Replay | Failure | None = None
    """None, as the two below, where nothing was reworded."""
    candidate_reworded: Replay | Failure | None = None
    candidate_again: Replay | Failure | None = None


class _Ratings(NamedTuple):
    """Ratings of the answers; None = not rated."""

    candidate: Judgement | None
    """Content of the candidate's answer against the served one, as the two below but for the last."""
    again: Judgement | None
    incumbent_reworded: Judgement | None
    candidate_reworded: Judgement | None
    """Content of the candidate's answer to the rewording against its answer to the request."""
    candidate_again: Judgement | None
    preference: Preference | None
    other_order: Preference | None
    noise: Preference | None
    """Preference for the incumbent's second answer."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """Requests that an exchange causes."""

    challenge: Challenge
    original: Original
    candidate: Original
    """The exchange as the candidate is asked."""
    rewording: _Rewording | None
    senders: tuple[QuotedReplays, QuotedReplays]
    """Senders to the incumbent and to the candidate."""
    quotes: tuple[Quote, Quote]

    def estimate(self, judges: ChallengeJudges, resend: Replay | Failure | None) -> Spend:
        """Return the most that all of it is expected to cost."""
        reworded = self.rewording is not None
        texts_chars = 2 * len(self.original.answer.text) + len(self.original.view.text)
        return total(
            [
                self.quotes[0].estimate.times((resend is None) + reworded),
                self.quotes[1].estimate.times(3 if reworded else 1),
                judges.estimate(texts_chars).times(5 if reworded else 2),
            ]
        )

    async def asked(self, budget: BudgetAccount, resend: Replay | Failure | None) -> _Answers:
        """Send all requests and return the answers."""
        sent = [self._candidate(self.candidate.view, budget)]
        if resend is None:
            sent.append(self._incumbent(self.original.view, budget))
        if self.rewording is not None:
            sent += [
                self._incumbent(self.rewording.incumbent, budget),
                self._candidate(self.rewording.candidate, budget),
                self._candidate(self.candidate.view, budget),
            ]
        candidate, *others = await asyncio.gather(*sent)
        again = others.pop(0) if resend is None else resend
        return _Answers(again, candidate, *others)

    async def _incumbent(self, view: PromptView, budget: BudgetAccount) -> Replay | Failure:
        return await self.senders[0].replay(self.original, view, self.quotes[0], budget)

    async def _candidate(self, view: PromptView, budget: BudgetAccount) -> Replay | Failure:
        return await self.senders[1].replay(self.candidate, view, self.quotes[1], budget)


async def _rated(plan: _Plan, answers: _Answers, judges: ChallengeJudges) -> _Ratings:
    """Rate contents, and the places of both second answers against the one that was served."""
    original = plan.original
    served, candidate = original.answer, _answer_of(answers.candidate)

    async def content(reference: Answer | None, made: Replay | Failure | None) -> Judgement | None:
        answer = _answer_of(made)
        if reference is None or answer is None:
            return None
        pair = Pair(reference, answer, original.view.text, original.task)
        return await judges.scorer.score(pair, qualities=False)

    contents = await asyncio.gather(
        content(served, answers.candidate),
        content(served, answers.again),
        content(served, answers.incumbent_reworded),
        content(candidate, answers.candidate_reworded),
        content(candidate, answers.candidate_again),
    )
    preference = await _preferred(judges, original, answers.candidate, contents[0])
    other_order = None
    if preference is not None and _draw(plan.challenge, original, "orders") < _BOTH_ORDERS_SHARE:
        other_order = await _preferred(judges, original, answers.candidate, contents[0], other_order=True)
    noise = await _preferred(judges, original, answers.again, contents[1])
    return _Ratings(*contents, preference, other_order, noise)


async def _preferred(
    judges: ChallengeJudges,
    original: Original,
    made: Replay | Failure,
    judgement: Judgement | None,
    *,
    other_order: bool = False,
) -> Preference | None:
    """Return the judge's place of an answer against the served one; None without a judge or an answer.

    Nobody is asked about an answer with the same content.
    """
    answer = _answer_of(made)
    if judges.preference is None or answer is None or (judgement is not None and judgement.rating == _SAME):
        return None
    pair = Pair(original.answer, answer, original.view.text)
    return await (judges.preference.prefer_other_order if other_order else judges.preference.prefer)(pair)


def _pair(plan: _Plan, answers: _Answers, rated: _Ratings, prices: Prices) -> ChallengePair:
    original, challenge = plan.original, plan.challenge
    preference = rated.preference.place if rated.preference else None
    other = rated.other_order.place if rated.other_order else None
    rewording = None
    if plan.rewording is not None:
        rewording = ChallengeRewording(
            perturbation=plan.rewording.perturbation,
            incumbent_moved=_shifted(rated.incumbent_reworded),
            incumbent_resend_moved=_shifted(rated.again),
            candidate_moved=_shifted(rated.candidate_reworded),
            candidate_resend_moved=_shifted(rated.candidate_again),
        )
    served = _facts(original.answer, original.model, prices)
    return ChallengePair(
        challenge=challenge.id,
        exchange=original.exchange.id,
        time=original.exchange.received_at,
        client=original.exchange.client,
        task=original.task or "",
        language=original.traits.language or "",
        length=_length(original.traits.prompt_chars),
        prompt_version=original.prompt_version or "",
        served=replace(served, total_s=original.exchange.duration_s),
        again=_replayed(answers.again, rated.again, original.model, prices),
        candidate=_replayed(answers.candidate, rated.candidate, plan.candidate.model, prices),
        rating=rated.candidate.rating if rated.candidate else None,
        control_rating=rated.again.rating if rated.again else None,
        preference=preference,
        control_preference=rated.noise.place if rated.noise else None,
        both_orders=None if preference is None or other is None else (preference, other),
        rewording=rewording,
    )


def _texts(plan: _Plan, answers: _Answers, rated: _Ratings) -> ChallengeTexts | None:
    """Return the texts of a pair; None if they are not wanted."""
    candidate, again = _answer_of(answers.candidate), _answer_of(answers.again)
    worse = rated.preference is not None and rated.preference.place == -1
    drawn = _draw(plan.challenge, plan.original, "texts") < _TEXTS_SHARE
    if candidate is None or not (worse or drawn):
        return None
    return ChallengeTexts(
        challenge=plan.challenge.id,
        exchange=plan.original.exchange.id,
        time=plan.original.exchange.received_at,
        question=plan.original.view.text[-_MOST_TEXT:],
        served=plan.original.answer.text[:_MOST_TEXT],
        again=again.text[:_MOST_TEXT] if again else "",
        candidate=candidate.text[:_MOST_TEXT],
        reason=rated.preference.reason if rated.preference else "",
        drawn=drawn,
    )


def _replayed(
    made: Replay | Failure, judgement: Judgement | None, model: str, prices: Prices
) -> ChallengeAnswer:
    if isinstance(made, Failure):
        return ChallengeAnswer(failure=made.reason)
    facts = _facts(made.answer, model, prices, made.tier or "standard")
    return replace(
        facts, first_s=made.first_s, total_s=made.duration_s, valid=not (judgement and judgement.invalid)
    )


def _facts(answer: Answer, model: str, prices: Prices, tier: Tier = "standard") -> ChallengeAnswer:
    dollars = None
    if answer.prompt_tokens and answer.completion_tokens is not None and prices.knows(model):
        cached = answer.cached_tokens or 0
        priced = with_cache_writes(answer.prompt_tokens, answer.cache_write_tokens)
        dollars = prices.usd(model, priced, answer.completion_tokens, tier, cached_tokens=cached)
    return ChallengeAnswer(
        empty=not answer.text.strip() and not answer.tool_calls,
        refusal=answer.finish_reason in _REFUSALS,
        characters=len(answer.text),
        tool_calls=tuple(call.name for call in answer.tool_calls),
        prompt_tokens=answer.prompt_tokens,
        cached_tokens=answer.cached_tokens,
        completion_tokens=answer.completion_tokens,
        dollars=dollars,
    )


def _candidate(challenge: Challenge, original: Original) -> Original | None:
    """Return the exchange as the candidate is asked; None if it has no system prompt to replace."""
    view = candidate_view(challenge, original.view)
    return None if view is None else replace(original, view=view, model=challenge.model or original.model)


def candidate_view(challenge: Challenge, view: PromptView) -> PromptView | None:
    """Return a prompt with the candidate's model and system prompt in place of its own."""
    if challenge.prompt:
        message: int | None = None
        texts: dict[int, str] = {}
        for segment in view.segments:
            if segment.role not in {"system", "developer"}:
                continue
            if message is None:
                message = segment.message
                texts[segment.index] = challenge.prompt
            elif segment.message == message:
                texts[segment.index] = ""
            # Further system messages often hold what was looked up for this request, so they stay.
        if not texts:
            return None
        view = view.with_texts(texts)
    # Some APIs name the model in the path and not in the body.
    if challenge.model and view.model is not None:
        view = view.with_members({"model": json.dumps(challenge.model)})
    return view


def _rewording(challenge: Challenge, original: Original) -> _Rewording | None:
    """Return a rewording by rule that applies; None for most exchanges, which get none."""
    if _draw(challenge, original, "reworded") >= _REWORDED_SHARE:
        return None
    kinds = []
    for kind in original.route.perturbations:
        if kind.wanted == AS_BEFORE:
            kinds.append(kind)
    random.Random(_draw(challenge, original, "kind")).shuffle(kinds)
    severity = SEVERITIES[0]
    for kind in kinds:
        trial = trial_of(original.exchange.id, kind, severity)
        made = attempt(kind, original.view, severity, random.Random(trial.seed))
        if isinstance(made, NotApplicable | Draft):
            continue
        asked = candidate_view(challenge, made)
        if asked is not None:
            return _Rewording(kind.name, made, asked)
    return None


def _answer_of(made: Replay | Failure | None) -> Answer | None:
    return made.answer if isinstance(made, Replay) else None


def _shifted(judgement: Judgement | None) -> bool | None:
    return None if judgement is None else judgement.shifted


def _draw(challenge: Challenge, original: Original, purpose: str) -> float:
    """Return a number in [0, 1) that follows from the exchange, the challenger and the purpose."""
    seed = seed_for(original.exchange.id, f"challenge/{challenge.id}/{purpose}", 0.0, 1)
    return random.Random(seed).random()


def _length(chars: int) -> str:
    if chars < _SHORT_CHARS:
        return "short"
    return "long" if chars >= _LONG_CHARS else "medium"

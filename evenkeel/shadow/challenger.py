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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

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
    from collections.abc import Awaitable, Callable, Mapping

    from evenkeel.core.budget import BudgetAccount, CostTracker
    from evenkeel.core.challenge import Challenge
    from evenkeel.core.pair import Answer
    from evenkeel.core.tiers import Tier
    from evenkeel.core.verdict import Judgement
    from evenkeel.llm.price import Prices, Quote
    from evenkeel.metrics.judge.raters import Preference, PreferenceJudge
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
        view = candidate_view(challenge, original.view)
        if view is None:
            return "no_system_prompt"
        candidate = replace(original, view=view, model=challenge.model or original.model)
        if self._replays.prices.refuses(candidate.model):
            return "unpriced"
        asking = await asyncio.to_thread(self._asking, challenge, original, candidate, resend)
        async with allowed(self._costs, asking.estimate(self._judges), CHALLENGERS) as allowance:
            if isinstance(allowance, str):
                return allowance
            budget = allowance.account("challenge")
            await asking.ask(budget)
            with scoring_paid_by(budget, can_wait=True):
                await asking.rate(self._judges)
        pair = asking.pair(self._replays.prices, judged=self._judges.preference is not None)
        if await asyncio.to_thread(self._store.add, pair) and self._keeps_texts:
            texts = asking.texts()
            if texts is not None:
                await asyncio.to_thread(self._store.add_texts, texts)
        return "failed" if pair.candidate.failure else "answered"

    def _asking(
        self, challenge: Challenge, original: Original, candidate: Original, resend: Replay | Failure | None
    ) -> _Asking:
        """Return all that is sent for an exchange. Reads and perturbs the prompt: work for a thread."""
        incumbent, other = self._replays.incumbent, self._replays.candidate(challenge)
        # A candidate may think at length before it answers, so only the client's own limit holds.
        sides = (
            _Side(incumbent, original, incumbent.quote(original, can_wait=False, as_long=True)),
            _Side(other, candidate, other.quote(candidate, can_wait=False, as_long=False)),
        )
        asking = _Asking(challenge, *sides)
        if resend is not None:
            asking.answers["again"] = resend
        else:
            asking.requests["again"] = original.view
        asking.requests["candidate"] = candidate.view
        rewording = _rewording(challenge, original)
        if rewording is not None:
            asking.perturbation, reworded, candidate_reworded = rewording
            asking.requests["reworded"] = reworded
            asking.requests["candidate_reworded"] = candidate_reworded
            asking.requests["candidate_again"] = candidate.view
        return asking


_Call = Literal["again", "candidate", "reworded", "candidate_reworded", "candidate_again"]
"""Requests beside the one that was served: it again to the incumbent, to the candidate, the rewording to
both, and it again to the candidate."""
# The answers whose content is compared with the candidate's first; the others, with the one that was served.
_OF_CANDIDATE: Final = ("candidate_reworded", "candidate_again")


class _Side(NamedTuple):
    """Incumbent or candidate: its sender, the exchange as it is asked, and the quote of a request."""

    sender: QuotedReplays
    original: Original
    quote: Quote


@dataclass(slots=True)
class _Asking:
    """Everything that is asked for one exchange, and its answers and their ratings as they come."""

    challenge: Challenge
    incumbent: _Side
    candidate: _Side
    perturbation: str = ""
    """Rewording that both get; "" for none."""
    requests: dict[_Call, PromptView] = field(default_factory=dict)
    answers: dict[_Call, Replay | Failure] = field(default_factory=dict)
    contents: dict[_Call, Judgement] = field(default_factory=dict)
    """Ratings of the contents of answers."""
    preference: Preference | None = None
    other_order: Preference | None = None
    noise: Preference | None = None
    """Preference for the incumbent's second answer."""

    @property
    def original(self) -> Original:
        """The exchange."""
        return self.incumbent.original

    def _side(self, call: _Call) -> _Side:
        return self.candidate if call.startswith("candidate") else self.incumbent

    def answer(self, call: _Call) -> Answer | None:
        """Return an answer; None if there is none."""
        made = self.answers.get(call)
        return made.answer if isinstance(made, Replay) else None

    def estimate(self, judges: ChallengeJudges) -> Spend:
        """Return the most that all of it is expected to cost."""
        texts_chars = 2 * len(self.original.answer.text) + len(self.original.view.text)
        judging = judges.estimate(texts_chars).times(5 if self.perturbation else 2)
        return total(self._side(call).quote.estimate for call in self.requests).plus(judging)

    async def ask(self, budget: BudgetAccount) -> None:
        """Send all requests."""

        async def send(call: _Call, view: PromptView) -> None:
            sender, original, quote = self._side(call)
            self.answers[call] = await sender.replay(original, view, quote, budget)

        await asyncio.gather(*(send(call, view) for call, view in self.requests.items()))

    async def rate(self, judges: ChallengeJudges) -> None:
        """Rate contents, and the places of both second answers against the one that was served."""
        original = self.original

        async def rate_content(call: _Call) -> None:
            reference = self.answer("candidate") if call in _OF_CANDIDATE else original.answer
            answer = self.answer(call)
            if reference is not None and answer is not None:
                pair = Pair(reference, answer, original.view.text, original.origin.task)
                self.contents[call] = await judges.scorer.score(pair, qualities=False)

        await asyncio.gather(*(rate_content(call) for call in self.answers))
        if judges.preference is None:
            return
        self.preference = await self._preferred("candidate", judges.preference.prefer)
        if self.preference is not None and self._draw("orders") < _BOTH_ORDERS_SHARE:
            self.other_order = await self._preferred("candidate", judges.preference.prefer_other_order)
        self.noise = await self._preferred("again", judges.preference.prefer)

    async def _preferred(
        self, call: _Call, prefer: Callable[[Pair], Awaitable[Preference | None]]
    ) -> Preference | None:
        """Return the judge's place of an answer against the served one; None without an answer.

        Nobody is asked about an answer with the same content.
        """
        answer, content = self.answer(call), self.contents.get(call)
        if answer is None or (content is not None and content.rating == _SAME):
            return None
        return await prefer(Pair(self.original.answer, answer, self.original.view.text))

    def _draw(self, purpose: str) -> float:
        return _draw(self.challenge, self.original, purpose)

    def pair(self, prices: Prices, *, judged: bool) -> ChallengePair:
        """Return what is stored of it."""
        original, chars = self.original, self.original.origin.prompt_chars
        preference = self.preference.place if self.preference else None
        other = self.other_order.place if self.other_order else None
        ratings: dict[_Call, int | None] = {}
        moved: dict[_Call, bool | None] = {}
        for call, content in self.contents.items():
            ratings[call], moved[call] = content.rating, content.shifted
        rewording = None
        if self.perturbation:
            rewording = ChallengeRewording(
                perturbation=self.perturbation,
                incumbent_moved=moved.get("reworded"),
                incumbent_resend_moved=moved.get("again"),
                candidate_moved=moved.get("candidate_reworded"),
                candidate_resend_moved=moved.get("candidate_again"),
            )
        served = _facts(original.answer, original.model, prices)
        return ChallengePair(
            challenge=self.challenge.id,
            exchange=original.exchange.id,
            time=original.exchange.received_at,
            client=original.exchange.client,
            task=original.origin.task or "",
            language=original.origin.prompt_language or "",
            length="short" if chars < _SHORT_CHARS else "long" if chars >= _LONG_CHARS else "medium",
            prompt_version=original.origin.prompt_version or "",
            served=replace(served, total_s=original.exchange.duration_s),
            again=self._replayed("again", prices),
            candidate=self._replayed("candidate", prices),
            judged=judged,
            rating=ratings.get("candidate"),
            control_rating=ratings.get("again"),
            preference=preference,
            control_preference=self.noise.place if self.noise else None,
            both_orders=None if preference is None or other is None else (preference, other),
            rewording=rewording,
        )

    def _replayed(self, call: _Call, prices: Prices) -> ChallengeAnswer:
        made, content = self.answers[call], self.contents.get(call)
        if isinstance(made, Failure):
            return ChallengeAnswer(failure=made.reason)
        facts = _facts(made.answer, self._side(call).original.model, prices, made.tier or "standard")
        valid = not (content and content.invalid)
        return replace(facts, first_s=made.first_s, total_s=made.duration_s, valid=valid)

    def texts(self) -> ChallengeTexts | None:
        """Return the texts; None if they are not wanted."""
        candidate, again, original = self.answer("candidate"), self.answer("again"), self.original
        worse = self.preference is not None and self.preference.place == -1
        drawn = self._draw("texts") < _TEXTS_SHARE
        if candidate is None or not (worse or drawn):
            return None
        return ChallengeTexts(
            challenge=self.challenge.id,
            exchange=original.exchange.id,
            time=original.exchange.received_at,
            question=original.view.text[-_MOST_TEXT:],
            served=original.answer.text[:_MOST_TEXT],
            again=again.text[:_MOST_TEXT] if again else "",
            candidate=candidate.text[:_MOST_TEXT],
            reason=self.preference.reason if self.preference else "",
            drawn=drawn,
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


def _rewording(challenge: Challenge, original: Original) -> tuple[str, PromptView, PromptView] | None:
    """Return a rewording by rule that applies: its name, and it for both. None for most exchanges."""
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
            return kind.name, made, asked
    return None


def _draw(challenge: Challenge, original: Original, purpose: str) -> float:
    """Return a number in [0, 1) that follows from the exchange, the challenger and the purpose."""
    seed = seed_for(original.exchange.id, f"challenge/{challenge.id}/{purpose}", 0.0, 1)
    return random.Random(seed).random()

"""Pairs of one exchange, judged together.

The trials of an exchange are made side by side, and each is scored by itself. What a judge is asked about
them meets in a `PairGroup`: it waits until every trial of the group asks or has ended. Then one call rates
all candidates against the reference that they share.

What could make such ratings worse than those of single calls is kept in check. The order of the candidates is
drawn by chance, so that no perturbation has a place of its own. A share of the pairs is judged alone as well
(`evenkeel.metrics.judge.raters.JudgeNoise`), twice: where the grouped rating differs more often than the
second single one, `Steadiness` notices, and pairs are judged alone from then on.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import re
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from evenkeel.core.budget import NOTHING, SCORING_BUDGET, Spend
from evenkeel.core.verdict import JUDGED_TOGETHER, Failure
from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.metrics.judge.raters import Vote, decide, relabelled
from evenkeel.metrics.judge.reply import Reply, Ruling
from evenkeel.metrics.similarity.statements import render

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence

    from evenkeel.core.budget import CallBudget
    from evenkeel.core.pair import Pair
    from evenkeel.metrics.judge.client import Judge
    from evenkeel.metrics.judge.raters import JudgeRater
    from evenkeel.metrics.judge.reply import GroupReply
    from evenkeel.metrics.protocol import Rating

log = logging.getLogger("evenkeel.judge")

T = TypeVar("T")
Q = TypeVar("Q")
A = TypeVar("A")


class _Round:
    """Questions that are answered together."""

    def __init__(self) -> None:
        self.questions: list[Any] = []
        self.full = asyncio.Event()
        self.answers: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()


class PairGroup:
    """Trials whose questions wait for each other. Belongs to one event loop.

    Nobody waits longer than the slowest of the others takes to ask or to end.
    """

    def __init__(self) -> None:
        self._members = 0
        """Joined and not left."""
        self._round: _Round | None = None

    def join(self, member: Callable[[], Awaitable[T]]) -> Coroutine[Any, Any, T]:
        """The member, to be run as a task of its own: from now on the others wait for it."""
        self._members += 1
        return self._run(member)

    async def _run(self, member: Callable[[], Awaitable[T]]) -> T:
        PAIR_GROUP.set(self)
        try:
            return await member()
        finally:
            self.leave()

    def leave(self) -> None:
        """Ask nothing more, as the member that calls this: the others no longer wait for it.

        Whoever goes on to wait for another member leaves first, or each would wait for the other.
        """
        if PAIR_GROUP.get() is self:
            PAIR_GROUP.set(None)
            self._members -= 1
            self._close_if_full()

    async def ask(self, question: Q, answer_all: Callable[[list[Q]], Awaitable[list[A]]]) -> A:
        """The answer to a question that waits for those of the others.

        Args:
            question: What the member asks; one at a time.
            answer_all: Answers all that are asked, in order; the same for everybody.
        """
        leads = self._round is None
        asked = self._round = self._round or _Round()
        place = len(asked.questions)
        asked.questions.append(question)
        self._close_if_full()
        if leads:
            try:
                await asked.full.wait()
                asked.answers.set_result(await answer_all(asked.questions))
            except Exception as error:  # noqa: BLE001 - it is raised to everybody who asked
                asked.answers.set_exception(error)
            finally:
                asked.answers.cancel()  # of no effect where there are answers
        # One who is cancelled must not cancel what the others wait for.
        answers: list[A] = await asyncio.shield(asked.answers)
        return answers[place]

    def _close_if_full(self) -> None:
        if self._round is not None and len(self._round.questions) >= self._members:
            self._round.full.set()
            self._round = None


PAIR_GROUP: Final[ContextVar[PairGroup | None]] = ContextVar("pair_group", default=None)
"""The group of whoever scores a pair now; None = the pair is judged alone."""


def shares(spend: Spend, count: int) -> Iterator[Spend]:
    """A spend in so many parts that add up to it exactly, the first ones a token larger where need be."""
    tokens, further = divmod(spend.tokens, count)
    usd = spend.usd / count
    for place in range(count - 1):
        yield Spend(tokens + (place < further), usd)
    yield Spend(tokens, spend.usd - (count - 1) * usd)


class SharedBudget:
    """A `CallBudget` of one call that several pay for, each a part of its estimate and of its cost."""

    def __init__(self, payers: Sequence[CallBudget]) -> None:
        """Name those who pay."""
        self._payers = payers

    def reserve(self, estimate: Spend) -> bool:
        """As `CallBudget.reserve`: False, with nothing set aside, unless each can pay its part."""
        done: list[tuple[CallBudget, Spend]] = []
        for payer, part in self._parts(estimate):
            if not payer.reserve(part):
                for earlier, held in done:
                    earlier.settle(held, NOTHING)
                return False
            done.append((payer, part))
        return True

    def settle(self, estimate: Spend, spent: Spend) -> None:
        """As `CallBudget.settle`."""
        for (payer, held), part in zip(self._parts(estimate), shares(spent, len(self._payers)), strict=True):
            payer.settle(held, part)

    def _parts(self, estimate: Spend) -> Iterator[tuple[CallBudget, Spend]]:
        return zip(self._payers, shares(estimate, len(self._payers)), strict=True)


_TOLERATED: Final = 0.6
"""Of the audited pairs of which one of two ratings differs from the first single one, the share that may be
the grouped rating: half if it is as steady as another single one, 0.6 if it differs half as often again."""
_SUSPECTED: Final = (0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_FALSE_ALARM: Final = 0.01
"""How likely at most grouped ratings that are steady enough are ever given up."""


class Steadiness:
    """Watches whether grouped ratings differ from single ones more than those do from each other.

    A pair is rated in a group, alone, and alone again. If only one of the first and the last differs from the
    second, a steady group is as likely to be it as the judge asked again. The evidence against that is a
    mixture of bets, valid however often one looks.

    Source: Ville 1939; Ramdas et al. 2023, "Game-theoretic statistics and safe anytime-valid inference".
    """

    def __init__(self) -> None:
        """Start without any evidence."""
        self._logs = [0.0] * len(_SUSPECTED)

    def note(self, grouped: int, alone: int, again: int) -> None:
        """Note three ratings of one pair."""
        if (grouped == alone) == (again == alone):
            return
        for place, rate in enumerate(_SUSPECTED):
            odds = rate / _TOLERATED if grouped != alone else (1 - rate) / (1 - _TOLERATED)
            self._logs[place] += math.log(odds)

    @property
    def doubted(self) -> bool:
        """Whether grouped ratings are proven to be less steady than may be."""
        most = max(self._logs)
        mean = most + math.log(sum(math.exp(one - most) for one in self._logs) / len(self._logs))
        return mean >= -math.log(_FALSE_ALARM)


class _Asked(NamedTuple):
    """A pair that waits to be judged, and who pays for it."""

    pair: Pair
    budget: CallBudget | None


class _Answered(NamedTuple):
    """What came of it in a group."""

    reply: Reply | None = None
    """None = to be judged alone."""
    spent: Spend = NOTHING
    """Its part of a call that did not answer it."""
    swapped: bool = False
    together: int = 0
    """Pairs in the call that answered it."""


class _Candidate(NamedTuple):
    """A text to be rated, and which of those that asked ask about it."""

    text: str
    places: list[int]


_NOT_ALONE: Final = frozenset({"circuit_open", "connection", "unauthorized"})
"""Why a judge that did not take a group would not take one pair either."""
_USELESS: Final = frozenset(
    {"bad_request", "bad_schema", "empty", "refused", "server_error", "timeout", "truncated"}
)
"""What speaks against asking about groups if it goes on: each was paid for or waited for in vain."""
_MOST_USELESS: Final = 5
"""After so many calls in a row that rated no pair, pairs are judged alone for some rounds."""
_ROUNDS_ALONE: Final = 200
_TO_THE_JUDGE: Final = re.compile(
    r"\"(?:pair|ratings?)\"\s*:|<<<\s*(?:begin|end)\b|\b(?:candidate|reference)\s+answers?\s+#?\d",
    re.IGNORECASE,
)
"""Forms of a group's question or reply. A text that has one may be meant for the judge, and could speak of
other pairs."""
_LONGEST_CHARS: Final = 40_000
"""Of the answers in one call: judges overlook things in long ones."""
_NUMBERED: Final = re.compile(r"\b((?:candidate|reference)(?: answer)?) #?\d+\b", re.IGNORECASE)


class GroupRater:
    """Rates the pairs of a `PairGroup` that wait at the same time in one call, all others alone.

    A pair whose rating is missing or unreadable is judged alone, and so are all pairs of a call that was
    refused, cut off or too long, and one with a text that may be meant for the judge. Equal candidates are
    asked about once. With several votes for a rating each pair is judged alone.
    """

    def __init__(
        self, judge: Judge, alone: JudgeRater, *, most: int, count: Callable[[str, str], None]
    ) -> None:
        """Build the rater; nothing is sent.

        Args:
            judge: Whom to ask.
            alone: Asks it about one pair.
            most: Candidates in one call.
            count: Called with "calls" or "pairs", and what came of one.
        """
        self._judge = judge
        self._alone = alone
        self._most = most
        self._count = count
        self._useless = 0
        """Calls in a row that rated no pair."""
        self._rounds_alone = 0
        """To come, before the next call about several pairs."""
        self.steadiness = Steadiness()

    async def rate(self, pair: Pair) -> Rating:
        """The judge's rating, as of the rater of single pairs.

        A rating given in a group has `JUDGED_TOGETHER` among its details, and its part of the call's price.
        """
        group = PAIR_GROUP.get()
        if group is None or not self._alone.may_be_grouped:
            return await self._alone.rate(pair)
        answered = await group.ask(_Asked(pair, SCORING_BUDGET.get()), self._answer_all)
        if answered.reply is None:
            rating = await self._alone.rate(pair)
            return replace(
                rating,
                tokens=rating.tokens + answered.spent.tokens,
                cost_usd=rating.cost_usd + answered.spent.usd,
            )
        rating = decide([Vote(answered.reply)], 1, SIMILARITY)
        of_call = {JUDGED_TOGETHER: float(answered.together), "swapped": float(answered.swapped)}
        return replace(rating, details=rating.details | of_call)

    async def _answer_all(self, asked: list[_Asked]) -> list[_Answered]:
        """What comes of all that wait: one call for each reference, or several if it has many candidates."""
        answered = [_Answered()] * len(asked)
        if self.steadiness.doubted:
            return answered
        if self._rounds_alone:
            self._rounds_alone -= 1
            return answered
        found: dict[str, dict[str, list[int]]] = {}
        for place, one in enumerate(asked):
            candidates = found.setdefault(render(one.pair.reference), {})
            candidates.setdefault(render(one.pair.candidate), []).append(place)
        calls = [
            self._call(reference, part, asked)
            for reference, candidates in found.items()
            for part in await self._parts(reference, candidates)
        ]
        for answers in await asyncio.gather(*calls):
            for place, answer in answers.items():
                answered[place] = answer
        return answered

    async def _parts(self, reference: str, candidates: dict[str, list[int]]) -> list[list[_Candidate]]:
        """The candidates of each call, in an order drawn by chance that follows from the texts alone.

        Left out are those whose ruling is remembered, what may be meant for the judge, and one that would be
        alone in its call.
        """
        texts = []
        for text in sorted(candidates):
            if _TO_THE_JUDGE.search(reference) or _TO_THE_JUDGE.search(text):
                self._count("pairs", "kept_apart")
            elif not await self._alone.remembers(reference, text):
                texts.append(text)
        random.Random("\0".join((reference, *texts))).shuffle(texts)
        parts: list[list[_Candidate]] = [[]]
        size = math.ceil(len(texts) / max(1, math.ceil(len(texts) / self._most)))
        chars = len(reference)
        for text in texts:
            if parts[-1] and (len(parts[-1]) >= size or chars + len(text) > _LONGEST_CHARS):
                parts.append([])
                chars = len(reference)
            parts[-1].append(_Candidate(text, candidates[text]))
            chars += len(text)
        return [part for part in parts if len(part) > 1]

    async def _call(
        self, reference: str, part: list[_Candidate], asked: list[_Asked]
    ) -> dict[int, _Answered]:
        places = [place for candidate in part for place in candidate.places]
        payers = [budget for place in places if (budget := asked[place].budget) is not None]
        texts = [one.text for one in part]
        swapped = self._alone.swaps_group(reference, texts)
        reply = await self._judge.ask_group(
            SIMILARITY.fill_group(reference, texts, swapped=swapped),
            budget=SharedBudget(payers) if payers else None,
        )
        self._note(reply)
        prompts = shares(Spend(reply.prompt_tokens, reply.cost_usd), len(places))
        completions = shares(Spend(reply.completion_tokens, 0.0), len(places))
        costs = dict(zip(places, zip(prompts, completions, strict=True), strict=True))
        answers: dict[int, _Answered] = {}
        for number, candidate in enumerate(part):
            outcome = reply.outcome if isinstance(reply.outcome, Failure) else reply.outcome[number]
            if isinstance(outcome, Ruling):
                said = _NUMBERED.sub(r"\1", outcome.explanation)
                outcome = replace(outcome, explanation=relabelled(said) if swapped else said)
                # One rubric: whoever asks about the pair later may have this ruling.
                await self._alone.remember(reference, candidate.text, outcome)
            for place in candidate.places:
                prompt, completion = costs[place]
                if isinstance(outcome, Failure) and outcome.reason not in _NOT_ALONE:
                    answers[place] = _Answered(spent=prompt.plus(completion))
                    continue
                one = Reply(outcome, prompt.tokens, completion.tokens, prompt.usd, SIMILARITY.prompt_version)
                answers[place] = _Answered(one, swapped=swapped, together=len(part))
        return answers

    def _note(self, reply: GroupReply) -> None:
        """Count what came of a call, and of its pairs; leave groups for a while if they come to nothing."""
        rated = False
        if isinstance(reply.outcome, Failure):
            reason = reply.outcome.reason
            self._count("calls", f"failed_{reason}")
            useless = reason in _USELESS
        else:
            rated = any(isinstance(one, Ruling) for one in reply.outcome)
            useless = not rated
            self._count("calls", "rated")
            for one in reply.outcome:
                self._count("pairs", one.reason if isinstance(one, Failure) else "rated")
        self._useless = 0 if rated else self._useless + useless
        if useless and self._useless >= _MOST_USELESS:
            if self._useless == _MOST_USELESS:
                log.warning(
                    "the judge rated nothing in %d calls in a row about several pairs; for a while "
                    "it is asked about one pair at a time",
                    _MOST_USELESS,
                )
            self._rounds_alone = _ROUNDS_ALONE
            self._count("calls", "given_up_useless")

    def turned(self, pair: Pair, rated: Rating) -> bool:
        """Whether a pair has to change sides to be shown, by itself, as in the group that was rated."""
        return bool(rated.details.get("swapped")) != self._alone.swaps(pair)

    def note(self, grouped: int, alone: int, again: int) -> None:
        """Note what a judge said to one pair in a group, alone, and alone again."""
        doubted = self.steadiness.doubted
        self.steadiness.note(grouped, alone, again)
        if self.steadiness.doubted and not doubted:
            log.warning(
                "the judge rates pairs differently in groups, more often than when it is asked again; from "
                "now on it is asked about one pair at a time"
            )
            self._count("calls", "given_up_unsteady")

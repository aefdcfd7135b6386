"""The judge as a rater of pairs and of single answers: several calls, and what they decide together.

A judge may favour what stands first or what is called the reference. Showing a share of the pairs the
other way round turns such a habit from a bias into noise, which the control shares. How steady a judge is
is measured by making a few of its ratings again.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.pair import draw
from evenkeel.core.verdict import JUDGED_AGAIN, JUDGED_SWAPPED, Failure
from evenkeel.metrics.judge.prompts import SIMILARITY, prompt_tokens_at_most
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.similarity.statements import render

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from evenkeel.core.budget import Spend
    from evenkeel.core.pair import Answer, Pair
    from evenkeel.metrics.judge.client import Judge
    from evenkeel.metrics.judge.prompts import Prompt, Question
    from evenkeel.metrics.judge.reply import Reply
    from evenkeel.metrics.protocol import Rater


_SALT = b"evenkeel.judge.swap"
"""Keeps the choice independent of other choices by the hash of the same texts."""
_OTHER = {"reference": "candidate", "candidate": "reference", "first": "second", "second": "first"}
_SIDE = re.compile(
    # What is quoted is left alone, and so are other uses of the words: "with reference to",
    # "reference number", "the first step".
    r"\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d|`[^`\n]*`"
    r"|(?<!in )(?<!by )(?<!for )(?<!with )(?<!cross-)"
    r"\b(?P<side>reference|candidate)\b(?!\s+(?:to|number|id|code|no\b|list|link|manual|guide|document|key)s?\b)"
    r"|\b(?P<place>first|second)\b(?=\s+(?:answer|text|response|reply|one)\b)",
    re.IGNORECASE,
)


def swaps(sides: tuple[str, str], vote: int, share: float) -> bool:
    """Whether a call shows these two texts in the other order: for the given share of all pairs and calls.

    The same two texts always get the same decision, whichever of them is the reference: a pair that is
    swapped on purpose to measure the effect of its order is then really shown the other way round.

    Args:
        sides: the texts.
        vote: number of the call among several on the same pair.
        share: in [0, 1].
    """
    digest = hashlib.sha256(_SALT + vote.to_bytes(8, "big"))
    for text in sorted(sides):
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(digest.digest()[:8], "big") < share * 2.0**64


def relabelled(explanation: str) -> str:
    """An explanation given for swapped sides, with the sides' names exchanged outside of quotations."""

    def other(found: re.Match[str]) -> str:
        word = found["side"] or found["place"]
        if not word:
            return found[0]
        name = _OTHER[word.lower()]
        return name.upper() if word.isupper() else name.capitalize() if word[0].isupper() else name

    return _SIDE.sub(other, explanation)


@dataclass(frozen=True, slots=True)
class Vote:
    """One call's reply."""

    reply: Reply
    swapped: bool = False
    """Whether the judge saw the sides in the other order; the reply speaks of the pair as it is."""


def check_votes(votes: int) -> int:
    """The number of votes. Raises: ValueError unless it is odd and positive."""
    if votes < 1 or votes % 2 == 0:
        raise ValueError(f"the number of votes is odd, so that they can decide; it is {votes}")
    return votes


async def poll(cast: Callable[[int], Awaitable[Vote]], votes: int) -> list[Vote]:
    """Cast as many votes as are needed to know the median of all.

    A bare majority is asked at once. If it agrees, the others cannot move the median; if all of it
    failed, the others cannot make up a majority. Else the others are asked as well.

    Args:
        cast: Casts the vote with this number, counted from 0. Never raises for what a judge does.
        votes: How many at most; odd.
    """
    majority = votes // 2 + 1
    first = list(await asyncio.gather(*(cast(number) for number in range(majority))))
    outcomes = [vote.reply.outcome for vote in first]
    said = {one.rating for one in outcomes if isinstance(one, Ruling)}
    failed = sum(isinstance(one, Failure) for one in outcomes)
    if failed == majority or (len(said) == 1 and not failed):
        return first
    return first + list(await asyncio.gather(*(cast(number) for number in range(majority, votes))))


def decide(cast: Sequence[Vote], votes: int, prompt: Prompt) -> Rating:
    """The median of the votes, with the explanation of the first that gave this rating.

    Returns: a `Rating` whose details hold, if `votes` > 1, `votes` (replies with a rating),
        `votes_failed`, and `votes_spread` (highest minus lowest rating among them; of a bare majority if
        that agreed, see `poll`). A `Failure` if fewer than a majority of `votes` have a rating, with their
        common reason or "too_few_votes"; "split_votes" if the two in the middle of an even number differ,
        since nobody gave a rating between them. Tokens and cost are of all calls.
    """
    rulings = [vote.reply.outcome for vote in cast if isinstance(vote.reply.outcome, Ruling)]
    ratings = sorted(ruling.rating for ruling in rulings)
    failures = [vote.reply.outcome for vote in cast if isinstance(vote.reply.outcome, Failure)]
    tokens = sum(vote.reply.tokens for vote in cast)
    cost_usd = sum(vote.reply.cost_usd for vote in cast)
    details: dict[str, float] = {}
    if votes > 1:
        spread = ratings[-1] - ratings[0] if ratings else 0
        details = {"votes": len(rulings), "votes_failed": len(failures), "votes_spread": spread}
    outcome = _median(ratings, failures, votes, prompt)
    explanation = ""
    if isinstance(outcome, int):
        explanation = next(ruling.explanation for ruling in rulings if ruling.rating == outcome)
        cached = sum(vote.reply.cached for vote in cast)
        if cached:
            details["cached"] = cached / len(cast)
    return Rating(
        outcome, explanation, details, tokens=tokens, cost_usd=cost_usd, prompt_version=prompt.prompt_version
    )


def _median(ratings: list[int], failures: list[Failure], votes: int, prompt: Prompt) -> int | Failure:
    if votes == 1 and failures:
        return failures[0]
    if len(ratings) <= votes // 2:
        reasons = Counter(failure.reason for failure in failures)
        named = ", ".join(f"{reason} x {count}" for reason, count in sorted(reasons.items()))
        detail = f"{len(ratings)} of {votes} votes have a rating ({named}). {failures[0].detail}"
        reason = failures[0].reason if len(reasons) == 1 else "too_few_votes"
        return Failure(prompt.name, prompt.version, reason, detail)
    low, high = ratings[(len(ratings) - 1) // 2], ratings[len(ratings) // 2]
    if low != high:
        given = ", ".join(str(rating) for rating in ratings)
        return Failure(prompt.name, prompt.version, "split_votes", f"The ratings {given} have no median.")
    return low


class _Asking:
    """What both raters do: put a prompt to a judge, several times, and decide."""

    labels: ClassVar[tuple[str, str]]
    """Of the texts that the prompt is filled with."""

    def __init__(self, judge: Judge, prompt: Prompt, votes: int) -> None:
        self._judge = judge
        self._prompt = prompt
        self._votes = check_votes(votes)

    @property
    def prompt_version(self) -> str:
        """Name and version of the wording, e.g. "similarity@1"; also on every rating."""
        return self._prompt.prompt_version

    def estimate(self, texts_chars: int) -> Spend:
        """Upper estimate of what one rating costs, all votes together.

        Args:
            texts_chars: Characters of both texts together.
        """
        prompt_tokens = prompt_tokens_at_most(self._prompt, self.labels, texts_chars)
        return self._judge.expense(prompt_tokens, calls=self._votes)

    def _question(self, texts: Sequence[str]) -> Question:
        return self._prompt.fill(dict(zip(self.labels, texts, strict=True)))


class JudgeRater(_Asking):
    """Asks a judge whether two answers say the same. Sees the answers only, not the prompt."""

    labels = ("REFERENCE ANSWER", "CANDIDATE ANSWER")

    def __init__(
        self,
        judge: Judge,
        prompt: Prompt = SIMILARITY,
        *,
        votes: int = 1,
        swap_share: float = 0.0,
        fresh: bool = False,
    ) -> None:
        """Build the rater; nothing is sent.

        Args:
            judge: Whom to ask.
            prompt: What to ask.
            votes: Calls for one rating; odd. See `decide`.
            swap_share: Share of the calls, in [0, 1], that show the candidate as the reference and
                the reference as the candidate; a hash of the pair and the vote's number decides.
            fresh: Ask every time, whatever the judge remembers.

        Raises: ValueError for an even number of votes, or a share outside [0, 1].
        """
        if not 0 <= swap_share <= 1:
            raise ValueError(f"swap_share is a share in [0, 1], not {swap_share}")
        super().__init__(judge, prompt, votes)
        self._swap_share = swap_share
        self._fresh = fresh

    def afresh(self) -> JudgeRater:
        """The same rater, asking every time: for judging a pair again to measure the judge's noise."""
        return JudgeRater(
            self._judge, self._prompt, votes=self._votes, swap_share=self._swap_share, fresh=True
        )

    async def rate(self, pair: Pair) -> Rating:
        """The judge's rating, or a `Failure` with one of the reasons of `Judge.ask` or `decide`.

        Its details hold `swapped`, the share of the calls with swapped sides, if `swap_share` is not
        0; `cached`, the share of the calls that were remembered, if any; and those of `decide`.
        """
        sides = (render(pair.reference), render(pair.candidate))

        async def cast(number: int) -> Vote:
            swapped = swaps(sides, number, self._swap_share)
            question = self._question(sides[::-1] if swapped else sides)
            reply = await self._judge.ask(question, vote=number, fresh=self._fresh)
            if swapped and isinstance(reply.outcome, Ruling):
                ruling = replace(reply.outcome, explanation=relabelled(reply.outcome.explanation))
                reply = replace(reply, outcome=ruling)
            return Vote(reply, swapped)

        cast_votes = await poll(cast, self._votes)
        rating = decide(cast_votes, self._votes, self._prompt)
        if not self._swap_share:
            return rating
        swapped_share = sum(vote.swapped for vote in cast_votes) / len(cast_votes)
        return replace(rating, details=rating.details | {"swapped": swapped_share})


class JudgedQuality(_Asking):
    """Asks a judge for one quality of one answer. It never sees the other answer of the pair."""

    labels = ("REQUEST", "ANSWER")

    def __init__(self, judge: Judge, prompt: Prompt, *, votes: int = 1) -> None:
        """Build the metric; nothing is sent.

        Args:
            judge: Whom to ask.
            prompt: What to ask, e.g. of `prompts.rubric_prompt`.
            votes: Calls for one rating; odd. See `decide`.

        Raises: ValueError for an even number of votes.
        """
        super().__init__(judge, prompt, votes)

    @property
    def name(self) -> str:
        """Name of the prompt, e.g. "faithfulness"."""
        return self._prompt.name

    @property
    def version(self) -> int:
        """Version of the prompt."""
        return self._prompt.version

    async def rate(self, answer: Answer, context: str) -> Rating:
        """The judge's rating of the answer against its request.

        Args:
            answer: What is rated.
            context: The request it answers.

        Returns: a rating, or a `Failure` with one of the reasons of `Judge.ask` or `decide`.
        """
        question = self._question((context, render(answer)))

        async def cast(number: int) -> Vote:
            return Vote(await self._judge.ask(question, vote=number))

        return decide(await poll(cast, self._votes), self._votes, self._prompt)


_PURPOSE: Final = "judge_noise"


class JudgeNoise:
    """Rates as its judge does, and measures on a share of the pairs how steady that judge is.

    The rating is always the first one, so sampling changes no verdict, only its price: each sampled
    pair costs three calls. Which pairs are sampled follows from their content, not from their
    rating. The second and third rating are in the details; one that failed is absent there and
    counted by `count`, never taken for a change.
    """

    def __init__(
        self,
        judge: Rater,
        *,
        fresh: Rater,
        share: float = 0.02,
        count: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Watch a judge.

        Args:
            judge: Gives the ratings.
            fresh: The same judge with the same prompt, model and votes, but past any cache and
                without sides swapped at random: a cached second rating would show no noise at all.
            share: Of the pairs judged, in [0, 1].
            count: Called with "again" and "swapped" for every rating made again, and with "failed_<reason>".

        Raises:
            ValueError: The share is outside [0, 1].
        """
        if not 0 <= share <= 1:
            raise ValueError(f"share must be in [0, 1], not {share}")
        self._judge = judge
        self._fresh = fresh
        self._share = share
        self._count = count

    async def rate(self, pair: Pair) -> Rating:
        """The judge's rating; details, tokens and cost include what was judged again."""
        rated = await self._judge.rate(pair)
        if isinstance(rated.outcome, Failure) or draw(pair, _PURPOSE) >= self._share:
            return rated
        again = await self._fresh.rate(pair)
        swapped = await self._fresh.rate(replace(pair, reference=pair.candidate, candidate=pair.reference))
        details = dict(rated.details)
        for kind, name, repeated in (("again", JUDGED_AGAIN, again), ("swapped", JUDGED_SWAPPED, swapped)):
            if isinstance(repeated.outcome, Failure):
                self._count(f"failed_{repeated.outcome.reason}")
            elif repeated.outcome is not None:
                self._count(kind)
                details[name] = float(repeated.outcome)
        return replace(
            rated,
            details=details,
            tokens=rated.tokens + again.tokens + swapped.tokens,
            cost_usd=rated.cost_usd + again.cost_usd + swapped.cost_usd,
        )

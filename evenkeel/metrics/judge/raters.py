"""Raters of pairs and of single answers by a judge, which decide from several calls.

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
from evenkeel.core.verdict import JUDGED_AGAIN, JUDGED_ALONE, JUDGED_SWAPPED, JUDGED_TOGETHER, Failure
from evenkeel.metrics.judge.prompts import CANDIDATE, REFERENCE, SIMILARITY, prompt_tokens_at_most
from evenkeel.metrics.judge.rendering import render, shortened
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.metrics.protocol import Rating

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from evenkeel.core.budget import Spend
    from evenkeel.core.pair import Answer, Pair
    from evenkeel.metrics.judge.client import Judge
    from evenkeel.metrics.judge.prompts import Prompt, Question
    from evenkeel.metrics.judge.reply import Reply
    from evenkeel.metrics.protocol import Rater


# Salt of the hash, so that this choice is independent of others made from the same texts.
_SALT = b"evenkeel.judge.swap"
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
    """Decide whether a call shows these two texts in the other order: for a share of all pairs and calls.

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
    """Return an explanation of swapped sides with the sides' names exchanged outside of quotations."""

    def other(found: re.Match[str]) -> str:
        word = found["side"] or found["place"]
        if not word:
            return found[0]
        name = _OTHER[word.lower()]
        return name.upper() if word.isupper() else name.capitalize() if word[0].isupper() else name

    return _SIDE.sub(other, explanation)


@dataclass(frozen=True, slots=True)
class Vote:
    """Reply of one call."""

    reply: Reply
    swapped: bool = False
    """True if the judge saw the sides in the other order; the reply speaks of the pair as it is."""


def check_votes(votes: int) -> int:
    """Return the number of votes. Raises: ValueError unless it is odd and positive."""
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
    said = {outcome.rating for outcome in outcomes if isinstance(outcome, Ruling)}
    failed = sum(isinstance(outcome, Failure) for outcome in outcomes)
    if failed == majority or (len(said) == 1 and not failed):
        return first
    return first + list(await asyncio.gather(*(cast(number) for number in range(majority, votes))))


def decide(cast: Sequence[Vote], votes: int, prompt: Prompt) -> Rating:
    """Return the median of the votes, with the explanation of the first vote that gave this rating.

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


class Asking:
    """Common part of both raters: put a prompt to a judge, several times, and decide."""

    labels: ClassVar[tuple[str, ...]]
    """Labels of the texts that the prompt is filled with."""

    def __init__(self, judge: Judge, prompt: Prompt, votes: int) -> None:
        self._judge = judge
        self._prompt = prompt
        self._votes = check_votes(votes)

    @property
    def prompt_version(self) -> str:
        """Name and version of the wording, such as "similarity@1"; it is on every rating too."""
        return self._prompt.prompt_version

    def estimate(self, texts_chars: int) -> Spend:
        """Return an upper estimate of the cost of one rating, all votes together.

        Args:
            texts_chars: Characters of both texts together.
        """
        prompt_tokens = prompt_tokens_at_most(self._prompt, self.labels, texts_chars)
        return self._judge.expense(prompt_tokens, calls=self._votes)

    def _question(self, texts: Sequence[str]) -> Question:
        return self._prompt.fill(dict(zip(self.labels, texts, strict=True)))


class JudgeRater(Asking):
    """Rater that asks a judge how similar two answers are. It sees the answers only, not the prompt."""

    labels = (REFERENCE, CANDIDATE)

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
        """Return this rater without its cache: for judging a pair again to measure the judge's noise."""
        return JudgeRater(
            self._judge, self._prompt, votes=self._votes, swap_share=self._swap_share, fresh=True
        )

    @property
    def may_be_grouped(self) -> bool:
        """True if pairs may be judged in one call with others: one vote decides."""
        return self._votes == 1

    def swaps(self, pair: Pair) -> bool:
        """Return whether the first call about this pair shows its sides in the other order."""
        return swaps((render(pair.reference), render(pair.candidate)), 0, self._swap_share)

    def swaps_group(self, reference: str, candidates: Iterable[str]) -> bool:
        """Return whether a call shows the candidates in place of the reference, and that in place of them."""
        return swaps((reference, "\0".join(sorted(candidates))), 0, self._swap_share)

    async def remembers(self, reference: str, candidate: str) -> bool:
        """Return whether the judge remembers its ruling on these texts."""
        return await self._judge.remembers(self._question((reference, candidate)))

    async def remember(self, reference: str, candidate: str, ruling: Ruling) -> None:
        """Have the judge remember a ruling on these texts."""
        await self._judge.remember(self._question((reference, candidate)), ruling)

    def _question(self, texts: Sequence[str]) -> Question:
        first, second = texts
        short = shortened(first, second)
        texts_by_label = dict(zip(self.labels, short.texts, strict=True))
        return self._prompt.fill(texts_by_label, (short.head, short.tail))

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Return the judge's ratings in order, each from a call of its own."""
        return list(await asyncio.gather(*map(self.rate, pairs)))

    async def rate(self, pair: Pair) -> Rating:
        """Return the judge's rating, or a `Failure` with one of the reasons of `Judge.ask` or `decide`.

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


class JudgedQuality(Asking):
    """Metric that asks a judge for one quality of one answer. It never sees the other answer of the pair."""

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
        """Name of the prompt, such as "faithfulness"."""
        return self._prompt.name

    @property
    def version(self) -> int:
        """Version of the prompt."""
        return self._prompt.version

    async def rate(self, answer: Answer, context: str) -> Rating:
        """Return the judge's rating of the answer against its request.

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
GROUP_AUDIT_SHARE: Final = 0.04
"""Share of the pairs judged in one call with others that are judged alone as well."""


class JudgeNoise:
    """Rater that passes on its judge's ratings and measures that judge's steadiness on a share of the pairs.

    The rating is always the first one, so sampling changes no verdict, only its price: each sampled
    pair costs three calls. Which pairs are sampled follows from their content, not from their
    rating. The further ratings are in the details; one that failed is absent there and
    counted by `count`, never taken for a change.

    A pair that was judged in one call with others is judged alone first, and what is judged again is compared
    with that: noise is noise of single calls.
    """

    def __init__(
        self,
        judge: Rater,
        *,
        fresh: JudgeRater,
        share: float = 0.02,
        count: Callable[[str], None] = lambda _: None,
        turned: Callable[[Pair, Rating], bool] = lambda _pair, _rated: False,
    ) -> None:
        """Watch a judge.

        Args:
            judge: Gives the ratings.
            fresh: The same judge with the same prompt, model and votes, but past any cache and
                without sides swapped at random: a cached second rating would show no noise at all.
            share: Of the pairs judged, in [0, 1]. Of those judged in groups at least `GROUP_AUDIT_SHARE` are
                judged alone, and again.
            count: Called with "alone", "again" and "swapped" for every rating made again, and with
                "failed_<reason>".
            turned: Whether a pair has to change sides for `fresh` to show it in the order in which the group
                did, so that the order is not taken for the group's doing.

        Raises:
            ValueError: The share is outside [0, 1].
        """
        if not 0 <= share <= 1:
            raise ValueError(f"share must be in [0, 1], not {share}")
        self._judge = judge
        self._fresh = fresh
        self._share = share
        self._count = count
        self._turned = turned

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Return the judge's ratings in order; details, tokens and cost include repeated judgements."""
        ratings = await self._judge.rate_all(pairs)
        return list(await asyncio.gather(*map(self._checked, pairs, ratings)))

    async def _checked(self, pair: Pair, rated: Rating) -> Rating:
        first, grouped = rated.outcome, JUDGED_TOGETHER in rated.details
        drawn, share = draw(pair, _PURPOSE), self._share
        if not isinstance(first, int) or drawn >= (max(share, GROUP_AUDIT_SHARE) if grouped else share):
            return rated
        swapped = replace(pair, reference=pair.candidate, candidate=pair.reference)
        shown, other = (swapped, pair) if grouped and self._turned(pair, rated) else (pair, swapped)
        asked = {"alone": (JUDGED_ALONE, shown)} if grouped else {}
        asked["again"] = (JUDGED_AGAIN, shown)
        if drawn < share:
            asked["swapped"] = (JUDGED_SWAPPED, other)
        for kind, (detail, sides) in asked.items():
            repeated = await self._fresh.rate(sides)
            rated = replace(
                rated, tokens=rated.tokens + repeated.tokens, cost_usd=rated.cost_usd + repeated.cost_usd
            )
            if isinstance(repeated.outcome, Failure):
                self._count(f"failed_{repeated.outcome.reason}")
                if kind == "alone":
                    break  # nothing to compare the others with
            elif repeated.outcome is not None:
                self._count(kind)
                rated = replace(rated, details=rated.details | {detail: float(repeated.outcome)})
        return rated

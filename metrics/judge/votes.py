"""Several calls on one question, and the rating that they decide together."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.metrics.similarity.protocol import Rating

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from evenkeel.metrics.judge.prompts import Prompt
    from evenkeel.metrics.judge.reply import Reply


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

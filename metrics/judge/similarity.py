"""The judge as a rater of pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkeel.metrics.judge.prompts import SIMILARITY, prompt_tokens_at_most
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.metrics.judge.swap import relabelled, swaps
from evenkeel.metrics.judge.votes import Vote, check_votes, decide, poll
from evenkeel.metrics.similarity.rendering import render

if TYPE_CHECKING:
    from evenkeel.core.pair import Pair
    from evenkeel.llm.price import Expense
    from evenkeel.metrics.judge.client import Judge
    from evenkeel.metrics.judge.prompts import Prompt
    from evenkeel.metrics.similarity.protocol import Rating

_LABELS = ("REFERENCE ANSWER", "CANDIDATE ANSWER")


class JudgeRater:
    """Asks a judge whether two answers say the same. Sees the answers only, not the prompt."""

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
            votes: Calls for one rating; odd. See `votes.decide`.
            swap_share: Share of the calls, in [0, 1], that show the candidate as the reference and
                the reference as the candidate; a hash of the pair and the vote's number decides.
            fresh: Ask every time, whatever the judge remembers.

        Raises: ValueError for an even number of votes, or a share outside [0, 1].
        """
        if not 0 <= swap_share <= 1:
            raise ValueError(f"swap_share is a share in [0, 1], not {swap_share}")
        self._judge = judge
        self._prompt = prompt
        self._votes = check_votes(votes)
        self._swap_share = swap_share
        self._fresh = fresh

    @property
    def prompt_version(self) -> str:
        """Name and version of the wording, e.g. "similarity@1"; also on every rating."""
        return self._prompt.prompt_version

    def afresh(self) -> JudgeRater:
        """The same rater, asking every time: for judging a pair again to measure the judge's noise."""
        return JudgeRater(
            self._judge, self._prompt, votes=self._votes, swap_share=self._swap_share, fresh=True
        )

    def estimate(self, texts_chars: int) -> Expense:
        """Upper estimate of what one rating costs, all votes together.

        Args:
            texts_chars: Characters of both answers together.
        """
        prompt_tokens = prompt_tokens_at_most(self._prompt, _LABELS, texts_chars)
        return self._judge.expense(prompt_tokens, calls=self._votes)

    async def rate(self, pair: Pair, *, fresh: bool = False) -> Rating:
        """The judge's rating, or a `Failure` with one of the reasons of `Judge.ask` or `votes.decide`.

        Its details hold `swapped`, the share of the calls with swapped sides, if `swap_share` is not
        0; `cached`, the share of the calls that were remembered, if any; and those of `votes.decide`.

        Args:
            pair: What is compared.
            fresh: Ask whatever the judge remembers, and do not remember the reply.
        """
        sides = (render(pair.reference), render(pair.candidate))

        async def cast(number: int) -> Vote:
            swapped = swaps(sides, number, self._swap_share)
            shown = sides[::-1] if swapped else sides
            question = self._prompt.fill(dict(zip(_LABELS, shown, strict=True)))
            reply = await self._judge.ask(question, vote=number, fresh=fresh or self._fresh)
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

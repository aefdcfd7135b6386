"""Joint judgement of the pairs of one exchange: one call rates all candidates against their reference.

What could make such ratings worse than those of single calls is kept in check. The order of the candidates is
drawn by chance, so that no perturbation has a place of its own. A share of the pairs is judged alone as well
(`evenkeel.metrics.judge.raters.JudgeNoise`); how often both agree is a series of the monitor's.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.verdict import JUDGED_TOGETHER, Failure
from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.metrics.judge.raters import JudgeRater, rating_of, relabelled, swaps
from evenkeel.metrics.judge.rendering import render
from evenkeel.metrics.judge.reply import Reply, Ruling

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.core.pair import Pair
    from evenkeel.metrics.judge.client import Judge
    from evenkeel.metrics.judge.reply import GroupReply
    from evenkeel.metrics.protocol import Rating

log = logging.getLogger("evenkeel.judge")


class _Answer(NamedTuple):
    """Part of a call's reply that is about one pair."""

    reply: Reply
    """Ruling, with the pair's part of the call's price."""
    swapped: bool
    together: int
    """Number of pairs in the call."""


class _Candidate(NamedTuple):
    """Text to be rated, and the indexes of the pairs that have it."""

    text: str
    places: list[int]


# Reasons for which a judge that refused a group would refuse a single pair too.
_NOT_ALONE: Final = frozenset({"circuit_open", "connection", "unauthorized"})
# Failures that count against groups if they repeat: each was paid for or waited for in vain.
_USELESS: Final = frozenset(
    {"bad_request", "bad_schema", "empty", "refused", "server_error", "timeout", "truncated"}
)
# Calls in a row without a rating after which pairs are judged alone for some exchanges.
_MOST_USELESS: Final = 5
# A model that mixes pairs up does so again; after so many exchanges it may have been replaced.
_EXCHANGES_ALONE: Final = 200
# Forms of a group's question or reply.
#
# A text that has one may be meant for the judge, and could speak of other pairs.
_TO_THE_JUDGE: Final = re.compile(
    r"\"(?:pair|ratings?)\"\s*:|<<<\s*(?:begin|end)\b|\b(?:candidate|reference)\s+answers?\s+#?\d",
    re.IGNORECASE,
)
# Most characters of the answers in one call: judges overlook details in long ones.
_LONGEST_CHARS: Final = 40_000
# Numbers that the judge gave its candidates mean nothing once each explanation stands alone.
_NUMBERED: Final = re.compile(r"\b((?:candidate|reference)(?: answer)?) #?\d+\b", re.IGNORECASE)


class GroupRater(JudgeRater):
    """Rater that asks a judge about pairs given together in one call, as far as possible, else alone.

    A pair whose rating is missing or unreadable is judged alone, and so are all pairs of a call that was
    refused, cut off or too long, and one with a text that may be meant for the judge. Equal candidates are
    asked about once.
    """

    def __init__(
        self, judge: Judge, *, most: int, count: Callable[[str, str], None], swap_share: float = 0.0
    ) -> None:
        """Build the rater; nothing is sent.

        Args:
            judge: Whom to ask.
            most: Candidates in one call; with 1, each pair is judged alone.
            count: Called with "group_calls" or "group_pairs", and what came of one.
            swap_share: As for `JudgeRater`, of calls about several pairs as well.

        Raises: ValueError for a share outside [0, 1].
        """
        super().__init__(judge, swap_share=swap_share)
        self._most = most
        self._count = count
        # Number of calls in a row that rated no pair.
        self._useless = 0
        # Number of exchanges to come before the next call about several pairs.
        self._exchanges_alone = 0

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Return the judge's ratings in order, each as of the rater of single pairs.

        A rating given in a group has `JUDGED_TOGETHER` among its details, and its part of the call's price.
        """
        answers = await self._ask_together(pairs)
        ratings = (self._rated(pair, answers.get(index)) for index, pair in enumerate(pairs))
        return list(await asyncio.gather(*ratings))

    async def _rated(self, pair: Pair, answer: _Answer | None) -> Rating:
        if answer is None:
            return await self.rate(pair)
        outcome = answer.reply.outcome
        if isinstance(outcome, Failure) and outcome.reason not in _NOT_ALONE:
            rating = await self.rate(pair)
            return replace(rating, spent=rating.spent.plus(answer.reply.spent))
        rating = rating_of(answer.reply)
        of_call = {JUDGED_TOGETHER: float(answer.together), "swapped": float(answer.swapped)}
        return replace(rating, details=rating.details | of_call)

    async def _ask_together(self, pairs: Sequence[Pair]) -> dict[int, _Answer]:
        """Ask once for each reference, or several times for many candidates; answers by place of the pair."""
        if len(pairs) <= 1 or self._most <= 1:
            return {}
        if self._exchanges_alone:
            self._exchanges_alone -= 1
            return {}
        by_reference: dict[str, dict[str, list[int]]] = {}
        for index, pair in enumerate(pairs):
            candidates = by_reference.setdefault(render(pair.reference), {})
            candidates.setdefault(render(pair.candidate), []).append(index)
        calls = []
        for reference, candidates in by_reference.items():
            for part in await self._parts(reference, candidates):
                calls.append(self._call(reference, part))
        answers: dict[int, _Answer] = {}
        for brought in await asyncio.gather(*calls):
            answers |= brought
        return answers

    async def _parts(self, reference: str, candidates: dict[str, list[int]]) -> list[list[_Candidate]]:
        """Return the candidates of each call, in a random order that depends on the texts alone.

        Left out are those whose ruling is remembered, what may be meant for the judge, and one that would be
        alone in its call.
        """
        texts = []
        for text in sorted(candidates):
            if _TO_THE_JUDGE.search(reference) or _TO_THE_JUDGE.search(text):
                self._count("group_pairs", "kept_apart")
            elif not await self._judge.remembers(self._question((reference, text))):
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

    async def _call(self, reference: str, part: list[_Candidate]) -> dict[int, _Answer]:
        texts = [candidate.text for candidate in part]
        swapped = swaps((reference, "\0".join(sorted(texts))), self._swap_share)
        reply = await self._judge.ask_group(SIMILARITY.fill_group(reference, texts, swapped=swapped))
        self._note(reply)
        spends = iter(reply.spent.parts(sum(len(candidate.places) for candidate in part)))
        answers: dict[int, _Answer] = {}
        for number, candidate in enumerate(part):
            outcome = reply.outcome if isinstance(reply.outcome, Failure) else reply.outcome[number]
            if isinstance(outcome, Ruling):
                explanation = _NUMBERED.sub(r"\1", outcome.explanation)
                explanation = relabelled(explanation) if swapped else explanation
                outcome = replace(outcome, explanation=explanation)
                # One rubric: whoever asks about the pair later may have this ruling.
                await self._judge.remember(self._question((reference, candidate.text)), outcome)
            for index in candidate.places:
                own = Reply(outcome, next(spends), SIMILARITY.prompt_version)
                answers[index] = _Answer(own, swapped, len(part))
        return answers

    def _note(self, reply: GroupReply) -> None:
        """Count the outcome of a call and of its pairs; pause groups for a while if they fail."""
        rated = False
        if isinstance(reply.outcome, Failure):
            reason = reply.outcome.reason
            self._count("group_calls", f"failed_{reason}")
            useless = reason in _USELESS
        else:
            rated = any(isinstance(outcome, Ruling) for outcome in reply.outcome)
            useless = not rated
            self._count("group_calls", "rated")
            for outcome in reply.outcome:
                self._count("group_pairs", outcome.reason if isinstance(outcome, Failure) else "rated")
        self._useless = 0 if rated else self._useless + useless
        if useless and self._useless >= _MOST_USELESS:
            if self._useless == _MOST_USELESS:
                log.warning(
                    "the judge rated nothing in %d calls in a row about several pairs; for a while "
                    "it is asked about one pair at a time",
                    _MOST_USELESS,
                )
            self._exchanges_alone = _EXCHANGES_ALONE
            self._count("group_calls", "given_up_useless")

    def turned(self, pair: Pair, rated: Rating) -> bool:
        """Return whether a pair has to change sides to be shown by itself as in the group that was rated."""
        sides = (render(pair.reference), render(pair.candidate))
        return bool(rated.details.get("swapped")) != swaps(sides, self._swap_share)

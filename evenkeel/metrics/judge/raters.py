"""Raters of pairs and of single answers by a judge.

A judge may favour what stands first or what is called the reference. Showing a share of the pairs the
other way round turns such a habit from a bias into noise, which the control shares. How steady a judge is
is measured by making a few of its ratings again.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from evenkeel.core.pair import draw
from evenkeel.core.verdict import (
    JUDGED_AGAIN,
    JUDGED_ALONE,
    JUDGED_SWAPPED,
    JUDGED_TOGETHER,
    Failure,
    QualityScore,
)
from evenkeel.metrics.judge.prompts import (
    CANDIDATE,
    PREFERENCE,
    REFERENCE,
    SIMILARITY,
    prompt_tokens_at_most,
)
from evenkeel.metrics.judge.rendering import render, shortened
from evenkeel.metrics.judge.reply import Ruling
from evenkeel.metrics.protocol import Rating
from evenkeel.metrics.quality.measurement import QualityMeasurement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

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


def swaps(sides: tuple[str, str], share: float) -> bool:
    """Decide whether a call shows these two texts in the other order: for a share of all pairs.

    The same two texts always get the same decision, whichever of them is the reference: a pair that is
    swapped on purpose to measure the effect of its order is then really shown the other way round.

    Args:
        sides: The texts.
        share: Share of the pairs that are swapped, in [0, 1].
    """
    digest = hashlib.sha256(_SALT)
    for text in sorted(sides):
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(digest.digest()[:8], "big") < share * 2.0**64


def relabelled(explanation: str) -> str:
    """Return an explanation of swapped sides with the sides' names exchanged outside of quotations."""

    def other(match: re.Match[str]) -> str:
        word = match["side"] or match["place"]
        if not word:
            return match[0]
        name = _OTHER[word.lower()]
        return name.upper() if word.isupper() else name.capitalize() if word[0].isupper() else name

    return _SIDE.sub(other, explanation)


def rating_of(reply: Reply) -> Rating:
    """Return a judge's reply as a rating; a reply that was remembered has `cached` among its details."""
    ruling = reply.outcome
    failed = isinstance(ruling, Failure)
    return Rating(
        ruling if isinstance(ruling, Failure) else ruling.rating,
        "" if isinstance(ruling, Failure) else ruling.explanation,
        {"cached": 1.0} if reply.cached and not failed else {},
        spent=reply.spent,
        prompt_version=reply.prompt_version,
    )


class Asking:
    """Common part of the raters: a prompt that is put to a judge."""

    labels: ClassVar[tuple[str, ...]]
    """Labels of the texts that the prompt is filled with."""

    def __init__(self, judge: Judge, prompt: Prompt) -> None:
        """Build the rater; nothing is sent."""
        self._judge = judge
        self._prompt = prompt

    @property
    def prompt_version(self) -> str:
        """Name and version of the wording, such as "similarity@1"; it is on every rating too."""
        return self._prompt.prompt_version

    def estimate(self, texts_chars: int) -> Spend:
        """Return an upper estimate of the cost of one rating.

        Args:
            texts_chars: Characters of both texts together.
        """
        prompt_tokens = prompt_tokens_at_most(self._prompt, self.labels, texts_chars)
        return self._judge.expense(prompt_tokens)

    def _question(self, texts: Sequence[str]) -> Question:
        return self._prompt.fill(dict(zip(self.labels, texts, strict=True)))


class JudgeRater(Asking):
    """Rater that asks a judge how similar two answers are. It sees the answers only, not the prompt."""

    labels = (REFERENCE, CANDIDATE)

    def __init__(
        self,
        judge: Judge,
        *,
        swap_share: float = 0.0,
        fresh: bool = False,
    ) -> None:
        """Build the rater; nothing is sent.

        Args:
            judge: Whom to ask.
            swap_share: Share of the pairs, in [0, 1], of which the judge sees the candidate as the
                reference and the reference as the candidate; a hash of the pair decides.
            fresh: Ask every time, whatever the judge remembers.

        Raises: ValueError for a share outside [0, 1].
        """
        if not 0 <= swap_share <= 1:
            raise ValueError(f"swap_share is a share in [0, 1], not {swap_share}")
        super().__init__(judge, SIMILARITY)
        self._swap_share = swap_share
        self._fresh = fresh

    def _question(self, texts: Sequence[str]) -> Question:
        first, second = texts
        short = shortened(first, second)
        texts_by_label = dict(zip(self.labels, short.texts, strict=True))
        return self._prompt.fill(texts_by_label, (short.head, short.tail))

    async def rate_all(self, pairs: Sequence[Pair]) -> list[Rating]:
        """Return the judge's ratings in order, each from a call of its own."""
        return list(await asyncio.gather(*map(self.rate, pairs)))

    async def rate(self, pair: Pair) -> Rating:
        """Return the judge's rating, or a `Failure` with one of the reasons of `Judge.ask`.

        Its details hold `swapped`, 1 if the sides were, where `swap_share` is not 0, and `cached` = 1 if the
        ruling was remembered.
        """
        sides = (render(pair.reference), render(pair.candidate))
        swapped = swaps(sides, self._swap_share)
        question = self._question(sides[::-1] if swapped else sides)
        reply = await self._judge.ask(question, fresh=self._fresh)
        if swapped and isinstance(reply.outcome, Ruling):
            # The judge speaks of the sides as it saw them; the reply is about the pair as it is.
            ruling = replace(reply.outcome, explanation=relabelled(reply.outcome.explanation))
            reply = replace(reply, outcome=ruling)
        rating = rating_of(reply)
        if not self._swap_share:
            return rating
        return replace(rating, details=rating.details | {"swapped": float(swapped)})


class JudgedQuality(Asking):
    """Quality that a judge rates on each answer alone, on 1–3. It changed if the two ratings differ."""

    labels = ("REQUEST", "ANSWER")

    @property
    def name(self) -> str:
        """Name of the prompt, such as "faithfulness"."""
        return self._prompt.name

    @property
    def version(self) -> int:
        """Version of the prompt."""
        return self._prompt.version

    async def measure(self, pair: Pair) -> QualityMeasurement:
        """Rate the reference, then the candidate; if the former fails, the latter is not asked for.

        One after the other, because both questions begin with the request: by then a provider has cached it.
        """
        reference = await self.rate(pair.reference, pair.context)
        if not isinstance(before := reference.outcome, int):
            return QualityMeasurement(before, reference.spent)
        candidate = await self.rate(pair.candidate, pair.context)
        after = candidate.outcome
        return QualityMeasurement(
            QualityScore(self.name, self.version, before, after) if isinstance(after, int) else after,
            reference.spent.plus(candidate.spent),
        )

    async def rate(self, answer: Answer, context: str) -> Rating:
        """Return the judge's rating of the answer against its request.

        Args:
            answer: What is rated.
            context: The request it answers.

        Returns: a rating, or a `Failure` with one of the reasons of `Judge.ask`.
        """
        reply = await self._judge.ask(self._question((context, render(answer))))
        return rating_of(reply)


# Step of the scale between "the first is better" and "the second is better".
_AS_GOOD: Final = 2
# Each order is shown for half of the pairs, so a liking for the first place cancels out.
_HALF: Final = 0.5


class Preference(NamedTuple):
    """Place of the candidate's answer against the reference."""

    place: int | None
    """−1 worse, 0 as good, 1 better; None if the judge gave none."""
    reason: str = ""
    """The judge's reason, in which "the first" is the reference; or the reason of a failure."""


class PreferenceJudge(Asking):
    """Asks a judge which of two answers serves the user better, in an order that is drawn."""

    labels = ("REQUEST", "FIRST ANSWER", "SECOND ANSWER")

    def __init__(self, judge: Judge) -> None:
        """Build it; nothing is sent."""
        super().__init__(judge, PREFERENCE)

    async def prefer(self, pair: Pair) -> Preference:
        """Return the place of a pair's candidate, asked in the order that a hash of both texts draws."""
        return await self._asked(pair, swapped=swaps(self._texts(pair), _HALF))

    async def prefer_other_order(self, pair: Pair) -> Preference:
        """Return the same, asked in the order that `prefer` did not take."""
        return await self._asked(pair, swapped=not swaps(self._texts(pair), _HALF))

    @staticmethod
    def _texts(pair: Pair) -> tuple[str, str]:
        return render(pair.reference), render(pair.candidate)

    async def _asked(self, pair: Pair, *, swapped: bool) -> Preference:
        first, second = self._texts(pair)[::-1] if swapped else self._texts(pair)
        reply = await self._judge.ask(self._question((pair.context, first, second)))
        ruling = reply.outcome
        if isinstance(ruling, Failure):
            return Preference(None, ruling.reason)
        preference = ruling.rating - _AS_GOOD
        return Preference(
            -preference if swapped else preference,
            relabelled(ruling.explanation) if swapped else ruling.explanation,
        )


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
            fresh: The same judge with the same prompt and model, but past any cache and
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
        """Return the judge's ratings in order; details and cost include repeated judgements."""
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
            rated = replace(rated, spent=rated.spent.plus(repeated.spent))
            if isinstance(repeated.outcome, Failure):
                self._count(f"failed_{repeated.outcome.reason}")
                if kind == "alone":
                    break  # nothing to compare the others with
            elif repeated.outcome is not None:
                self._count(kind)
                rated = replace(rated, details=rated.details | {detail: float(repeated.outcome)})
        return rated

"""What trials cost: replays, judge calls and tokens, in dollars at list price and with savings.

A replay costs the prompt and the answer of its route. A judge is asked about every answer that is not
proven equal, and twice more about each of two answers where the content moved. The same trials can be
paid in three ways: at list price, each pair judged by itself; with the pairs of a stage judged in one call;
and with that, what can wait in the flex tier where the model and the judge have one, and with prompts that
the provider has cached.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from evenkeel.llm.price import Prices
from evenkeel.metrics.judge.prompts import FAITHFULNESS, SIMILARITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.cost.plans import Made
    from evenkeel.core.tiers import Tier
    from evenkeel.metrics.judge.prompts import Prompt


class Length(NamedTuple):
    """Tokens of a route's requests."""

    prompt: int
    answer: int


LENGTHS: Final = {"classify": Length(600, 15), "extract": Length(2_000, 190), "write": Length(1_200, 445)}
"""By route. Answers are as long as recorded ones: the median of llm_drift, the means of pbss and mt_bench;
prompts are stated, with their template and examples."""
_UNCHANGED: Final = 0.6
"""Share of a prompt before anything that a rewording changes."""
_CACHEABLE: Final = 1_024
"""Tokens of an unchanged beginning from which on it is cached."""
_CHARS_PER_TOKEN: Final = 4.5


def _wording(prompt: Prompt, *labels: str) -> int:
    bare = prompt.fill(dict.fromkeys(labels, ""))
    return round(sum(len(one.content) for one in bare.messages) / _CHARS_PER_TOKEN)


def _before(prompt: Prompt, first: str, second: str) -> int:
    """Tokens of the wording before the second of two texts."""
    system, user = prompt.fill({first: "", second: "\0"}).messages
    return round((len(system.content) + user.content.index("\0")) / _CHARS_PER_TOKEN)


_PAIR: Final = _wording(SIMILARITY, "REFERENCE ANSWER", "CANDIDATE ANSWER")
_QUALITY: Final = _wording(FAITHFULNESS, "REQUEST", "ANSWER")
_QUALITY_FIRST: Final = _before(FAITHFULNESS, "REQUEST", "ANSWER")
"""Those of them that stand before the answer, with the request among them."""
_RULING: Final = 60
"""Tokens that a judge writes about a pair or an answer."""
_QUALITIES: Final = 2
"""Rated of each answer whose content moved, and of the original's once an exchange."""


class Tariff(NamedTuple):
    """Dollars per token of a model and its judge."""

    name: str
    prompt: float
    cached: float
    """Of a token of the prompt that the provider has cached."""
    answer: float
    waiting_prompt: float
    """Of what can wait: in the flex tier, if the model has it."""
    waiting_cached: float
    waiting_answer: float
    judge_prompt: float
    judge_cached: float
    judge_answer: float
    waiting_judge_prompt: float
    """In the flex tier, if the judge has it."""
    waiting_judge_cached: float
    waiting_judge_answer: float

    @classmethod
    def of(cls, model: str, judge: str) -> Self:
        """The public list's prices of a model and of the one that judges it."""
        some, prices = 1_000, Prices()

        def prompt(name: str, tier: Tier = "standard", cached: int = 0) -> float:
            return prices.usd(name, some, 0, tier, cached) / some

        def answer(name: str, tier: Tier = "standard") -> float:
            return prices.usd(name, 0, some, tier) / some

        return cls(
            name=f"{model}, judged by {judge}",
            prompt=prompt(model),
            cached=prompt(model, cached=some),
            answer=answer(model),
            waiting_prompt=prompt(model, "flex"),
            waiting_cached=prompt(model, "flex", some),
            waiting_answer=answer(model, "flex"),
            judge_prompt=prompt(judge),
            judge_cached=prompt(judge, cached=some),
            judge_answer=answer(judge),
            waiting_judge_prompt=prompt(judge, "flex"),
            waiting_judge_cached=prompt(judge, "flex", some),
            waiting_judge_answer=answer(judge, "flex"),
        )


@dataclass(slots=True)
class Bill:
    """What was spent so far; dollars follow from it for any tariff."""

    exchanges: int = 0
    replays: int = 0
    judge_calls: int = 0
    prompt: int = 0
    """Tokens of replays that cannot wait."""
    cacheable: int = 0
    """Those of them that the provider has cached, if they are sent close in time."""
    answer: int = 0
    waiting_prompt: int = 0
    """Tokens of replays that can."""
    waiting_cacheable: int = 0
    waiting_answer: int = 0
    judge_prompt: int = 0
    """Tokens that the judge reads if it is asked about each pair by itself."""
    grouped_prompt: int = 0
    """The same if it is asked about all pairs of a stage at once."""
    judge_answer: int = 0
    judge_cacheable: int = 0
    """Of `grouped_prompt`, what questions about quality share with the one before about the same request."""
    waiting_judge_prompt: int = 0
    """Of `grouped_prompt`, what is about answers that can wait."""
    waiting_judge_cacheable: int = 0
    """The same of `judge_cacheable`."""
    waiting_judge_answer: int = 0

    @property
    def tokens(self) -> int:
        """Of all calls, each pair judged by itself."""
        return (
            self.prompt
            + self.answer
            + self.waiting_prompt
            + self.waiting_answer
            + self.judge_prompt
            + self.judge_answer
        )

    def plus(self, other: Bill) -> Bill:
        """What was spent by both."""
        return Bill(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def since(self, before: Bill) -> Bill:
        """What was spent after an earlier bill."""
        return Bill(*(getattr(self, one.name) - getattr(before, one.name) for one in fields(self)))

    def plain_usd(self, tariff: Tariff) -> float:
        """At list price, each pair judged by itself."""
        replays = tariff.prompt * (self.prompt + self.waiting_prompt)
        replays += tariff.answer * (self.answer + self.waiting_answer)
        return replays + self._judge_usd(tariff, self.judge_prompt)

    def grouped_usd(self, tariff: Tariff) -> float:
        """At list price, the pairs of a stage judged in one call."""
        saved = tariff.judge_prompt * (self.judge_prompt - self.grouped_prompt)
        return self.plain_usd(tariff) - saved

    def lean_usd(self, tariff: Tariff) -> float:
        """The same, with what can wait in the flex tier, and with cached prompts."""
        cached, waiting_cached = self.cacheable, self.waiting_cacheable
        replays = tariff.prompt * (self.prompt - cached) + tariff.cached * cached
        replays += tariff.waiting_prompt * (self.waiting_prompt - waiting_cached)
        replays += tariff.waiting_cached * waiting_cached
        replays += tariff.answer * self.answer + tariff.waiting_answer * self.waiting_answer
        waiting_cacheable = self.waiting_judge_cacheable
        saved = (tariff.judge_prompt - tariff.waiting_judge_prompt) * self.waiting_judge_prompt
        saved += (tariff.judge_prompt - tariff.judge_cached) * (self.judge_cacheable - waiting_cacheable)
        saved += (tariff.waiting_judge_prompt - tariff.waiting_judge_cached) * waiting_cacheable
        saved += (tariff.judge_answer - tariff.waiting_judge_answer) * self.waiting_judge_answer
        return replays + self._judge_usd(tariff, self.grouped_prompt) - saved

    def _judge_usd(self, tariff: Tariff, prompt: int) -> float:
        return tariff.judge_prompt * prompt + tariff.judge_answer * self.judge_answer

    def book(self, length: Length, trials: Sequence[Made]) -> None:
        """Add the trials of one exchange."""
        self.exchanges += 1
        unchanged = round(length.prompt * _UNCHANGED)
        for place, one in enumerate(trials):
            self.replays += 1
            # The resend is like the original, which was sent shortly before.
            cacheable = (unchanged if place else length.prompt) if unchanged >= _CACHEABLE else 0
            if not one.can_wait:
                self.prompt += length.prompt
                self.answer += length.answer
                self.cacheable += cacheable
                continue
            self.waiting_prompt += length.prompt
            self.waiting_answer += length.answer
            self.waiting_cacheable += cacheable
        waits = bool(trials) and trials[0].can_wait
        for _, stage in groupby(trials, key=lambda one: one.stage):
            pairs = sum(one.judged for one in stage)
            if pairs:
                apart = pairs * (_PAIR + 2 * length.answer)
                self._judge(pairs, apart, _PAIR + (1 + pairs) * length.answer, waits=waits)
        moved = sum(bool(one.verdict.shifted) for one in trials)
        qualities = _QUALITIES * (moved + bool(moved))
        read = qualities * (_QUALITY + length.prompt + length.answer)
        first = _QUALITY_FIRST + length.prompt
        cacheable = _QUALITIES * moved * first if first >= _CACHEABLE else 0
        self._judge(qualities, read, read, cacheable, waits=waits)

    def _judge(self, calls: int, apart: int, together: int, cacheable: int = 0, *, waits: bool) -> None:
        """Add calls of the judge, the tokens it reads apart and in groups, and those of the latter cached."""
        self.judge_calls += calls
        self.judge_prompt += apart
        self.grouped_prompt += together
        self.judge_answer += calls * _RULING
        self.judge_cacheable += cacheable
        if waits:
            self.waiting_judge_cacheable += cacheable
            self.waiting_judge_prompt += together
            self.waiting_judge_answer += calls * _RULING

"""Cost of trials: replays, judge calls and tokens, in dollars at list price and with savings.

A replay costs the prompt and the answer of its route. A judge is asked about every answer that is not proven
equal; if the content moved, it is asked twice more about each of the two answers. The same trials have three
prices: the list price with each pair judged by itself; the list price with all pairs of a stage judged in one
call; and the latter with all savings. Savings are the flex tier, if the model or the judge has one, for calls
that can wait, and prompts that the provider has cached.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from evenkeel.llm.price import Prices
from evenkeel.metrics.judge.prompts import FAITHFULNESS, SIMILARITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.cost.plans import PlayedTrial
    from evenkeel.core.tiers import Tier
    from evenkeel.metrics.judge.prompts import Prompt


class Length(NamedTuple):
    """Tokens of a route's requests."""

    prompt: int
    answer: int


LENGTHS: Final = {"classify": Length(600, 15), "extract": Length(2_000, 190), "write": Length(1_200, 445)}
"""Lengths by route. Answers are as long as recorded ones: the median of llm_drift and the means of pbss and
mt_bench. The lengths of prompts, with template and examples, are assumed."""
# Share of a prompt before the first word that a rewording changes.
_UNCHANGED: Final = 0.6
# Fewest tokens of an unchanged beginning that a provider caches.
_CACHEABLE: Final = 1_024
_CHARS_PER_TOKEN: Final = 4.5  # of English text


def _wording_tokens(prompt: Prompt, *labels: str) -> int:
    """Return the tokens of a judge's prompt without its texts."""
    bare = prompt.fill(dict.fromkeys(labels, ""))
    return round(sum(len(message.content) for message in bare.messages) / _CHARS_PER_TOKEN)


def _tokens_before(prompt: Prompt, first: str, second: str) -> int:
    """Return the tokens of a judge's prompt before the second of two texts, without the first."""
    system, user = prompt.fill({first: "", second: "\0"}).messages
    return round((len(system.content) + user.content.index("\0")) / _CHARS_PER_TOKEN)


# Tokens of the judge's questions about a pair and about a quality, without the answers.
_PAIR: Final = _wording_tokens(SIMILARITY, "REFERENCE ANSWER", "CANDIDATE ANSWER")
_QUALITY: Final = _wording_tokens(FAITHFULNESS, "REQUEST", "ANSWER")
# Tokens before the answer, where also the request is, which repeated questions share.
_QUALITY_FIRST: Final = _tokens_before(FAITHFULNESS, "REQUEST", "ANSWER")
# Tokens that a judge writes about a pair or an answer.
_RULING: Final = 60
# Qualities rated for each moved answer, and for the original answer once per exchange.
_QUALITIES: Final = 2


class Tariff(NamedTuple):
    """Dollars per token of a model and its judge."""

    name: str
    prompt: float
    cached: float
    """Price of a prompt's token that the provider has cached."""
    answer: float
    waiting_prompt: float
    """Price of a token that can wait: of the flex tier, if the model has one."""
    waiting_cached: float
    waiting_answer: float
    judge_prompt: float
    judge_cached: float
    judge_answer: float
    waiting_judge_prompt: float
    """Price of a token that can wait: of the flex tier, if the judge has one."""
    waiting_judge_cached: float
    waiting_judge_answer: float

    @classmethod
    def of(cls, model: str, judge: str) -> Self:
        """Return the public list's prices of a model and its judge."""
        tokens = 1_000
        prices = Prices()

        def prompt(name: str, tier: Tier = "standard", cached: int = 0) -> float:
            return prices.usd(name, tokens, 0, tier, cached) / tokens

        def answer(name: str, tier: Tier = "standard") -> float:
            return prices.usd(name, 0, tokens, tier) / tokens

        return cls(
            name=f"{model}, judged by {judge}",
            prompt=prompt(model),
            cached=prompt(model, cached=tokens),
            answer=answer(model),
            waiting_prompt=prompt(model, "flex"),
            waiting_cached=prompt(model, "flex", tokens),
            waiting_answer=answer(model, "flex"),
            judge_prompt=prompt(judge),
            judge_cached=prompt(judge, cached=tokens),
            judge_answer=answer(judge),
            waiting_judge_prompt=prompt(judge, "flex"),
            waiting_judge_cached=prompt(judge, "flex", tokens),
            waiting_judge_answer=answer(judge, "flex"),
        )


@dataclass(slots=True)
class Bill:
    """Replays, calls and tokens so far; dollars follow from them for any tariff."""

    exchanges: int = 0
    replays: int = 0
    judge_calls: int = 0
    prompt: int = 0
    """Tokens in the prompts of replays that cannot wait."""
    cacheable: int = 0
    """Tokens of `prompt` that the provider has cached, if the replays are sent close in time."""
    answer: int = 0
    waiting_prompt: int = 0
    """Tokens in the prompts of replays that can wait."""
    waiting_cacheable: int = 0
    waiting_answer: int = 0
    judge_prompt: int = 0
    """Tokens that the judge reads if it is asked about each pair by itself."""
    grouped_prompt: int = 0
    """Tokens that the judge reads if it is asked about all pairs of a stage at once."""
    judge_answer: int = 0
    judge_cacheable: int = 0
    """Tokens of `grouped_prompt` that a question about quality shares with an earlier one on the request."""
    waiting_judge_prompt: int = 0
    """Tokens of `grouped_prompt` about answers that can wait."""
    waiting_judge_cacheable: int = 0
    """Tokens of `judge_cacheable` about answers that can wait."""
    waiting_judge_answer: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of all calls, with each pair judged by itself."""
        return (
            self.prompt
            + self.answer
            + self.waiting_prompt
            + self.waiting_answer
            + self.judge_prompt
            + self.judge_answer
        )

    def plus(self, other: Bill, sign: int = 1) -> Bill:
        """Return the sum of both bills."""
        total = Bill()
        for field in fields(self):
            setattr(total, field.name, getattr(self, field.name) + sign * getattr(other, field.name))
        return total

    def since(self, before: Bill) -> Bill:
        """Return the spending after an earlier bill."""
        return self.plus(before, sign=-1)

    def plain_usd(self, tariff: Tariff) -> float:
        """Return the list price with each pair judged by itself."""
        replays = tariff.prompt * (self.prompt + self.waiting_prompt)
        replays += tariff.answer * (self.answer + self.waiting_answer)
        return replays + self._judge_usd(tariff, self.judge_prompt)

    def grouped_usd(self, tariff: Tariff) -> float:
        """Return the list price with the pairs of a stage judged in one call."""
        saved = tariff.judge_prompt * (self.judge_prompt - self.grouped_prompt)
        return self.plain_usd(tariff) - saved

    def lean_usd(self, tariff: Tariff) -> float:
        """Return the price with grouped pairs, the flex tier for calls that can wait, and cached prompts."""
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

    def book(self, length: Length, trials: Sequence[PlayedTrial]) -> None:
        """Add the trials of one exchange."""
        self.exchanges += 1
        unchanged = round(length.prompt * _UNCHANGED)
        moved = 0
        # Pairs to judge, by stage.
        pairs_of_stage = Counter[int]()
        for place, trial in enumerate(trials):
            self.replays += 1
            moved += bool(trial.verdict.shifted)
            pairs_of_stage[trial.stage] += trial.judged
            cacheable = 0
            if unchanged >= _CACHEABLE:
                # All of the first prompt, the resend, is cached: the original was sent shortly before it.
                cacheable = unchanged if place else length.prompt
            if trial.can_wait:
                self.waiting_prompt += length.prompt
                self.waiting_answer += length.answer
                self.waiting_cacheable += cacheable
            else:
                self.prompt += length.prompt
                self.answer += length.answer
                self.cacheable += cacheable
        waits = bool(trials) and trials[0].can_wait
        for pairs in pairs_of_stage.values():
            if pairs:
                apart = pairs * (_PAIR + 2 * length.answer)
                self._judge(pairs, apart, _PAIR + (1 + pairs) * length.answer, waits=waits)
        qualities = _QUALITIES * (moved + bool(moved))
        read = qualities * (_QUALITY + length.prompt + length.answer)
        first = _QUALITY_FIRST + length.prompt
        cacheable = _QUALITIES * moved * first if first >= _CACHEABLE else 0
        self._judge(qualities, read, read, cacheable, waits=waits)

    def _judge(self, calls: int, apart: int, together: int, cacheable: int = 0, *, waits: bool) -> None:
        """Add calls of the judge and the tokens it reads.

        Args:
            calls: Pairs and answers that are judged.
            apart: Tokens if each is judged by itself.
            together: Tokens if they are judged in groups.
            cacheable: Tokens of `together` that are cached.
            waits: True if the calls can wait.
        """
        self.judge_calls += calls
        self.judge_prompt += apart
        self.grouped_prompt += together
        self.judge_answer += calls * _RULING
        self.judge_cacheable += cacheable
        if waits:
            self.waiting_judge_cacheable += cacheable
            self.waiting_judge_prompt += together
            self.waiting_judge_answer += calls * _RULING

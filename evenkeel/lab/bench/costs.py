"""Costs of a run, estimated by rule of thumb before the first call."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.budget import NOTHING, Spend
from evenkeel.core.figures import number
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.bench.prompts import first_outcome, prompt_of
from evenkeel.llm.price import estimate_tokens
from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.metrics.tasks import Task
from evenkeel.release.kit.cost import JUDGE, REWRITER, price_ahead
from evenkeel.shadow.perturbations import Draft, NotApplicable
from evenkeel.shadow.perturbations.format import FREE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.lab.bench.items import Issue
    from evenkeel.lab.bench.trials import Protocol
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.quality.bundles import Bundle


# Usual length of an answer.
_ANSWER_TOKENS: Final = {
    Task.CASE_SUMMARY: 170,
    Task.CHAT_SUMMARY: 190,
    Task.QUESTION_ANSWERING: 130,
    Task.SLOT_FILLING: 90,
}
# English under the usual tokenizers.
_CHARS_PER_TOKEN: Final = 4
# Usual length of a judge's reply.
_RULING_TOKENS: Final = 60
# Share of the pairs that a judge is asked about at all.
_UNEQUAL: Final = 0.9
# Share of them that it is asked about the qualities of.
_SHIFTED: Final = 0.25
# Length of a request to the rewriter without the text.
_REQUEST_TOKENS: Final = 500


@dataclass(frozen=True, slots=True)
class ExpectedCosts:
    """Expected expenses of some issues, by payee."""

    calls: int
    """Calls to the models under test."""
    expenses: Mapping[str, Spend]
    unpriced: Sequence[str] = ()
    """Models that have no known price, whose calls cost nothing here."""

    @property
    def usd(self) -> float:
        """Price of all together."""
        return sum(spend.usd for spend in self.expenses.values())

    @property
    def tokens(self) -> int:
        """The same in tokens."""
        return sum(spend.tokens for spend in self.expenses.values())

    def __str__(self) -> str:
        """Say it in a line."""
        price = price_ahead("about", self.usd, self.unpriced)
        return f"{number(self.calls)} calls, about {number(self.tokens)} tokens, {price}"


@dataclass(frozen=True, slots=True)
class Judging:
    """Questions to a judge."""

    model: str
    bundles: Mapping[Task, Bundle]
    """The qualities of each task."""

    def pair(self, task: Task, prompt_tokens: int, answer_tokens: int, prices: Prices) -> Spend:
        """Estimate what a pair of answers costs on average, by rule of thumb."""
        asked = [(_UNEQUAL, SIMILARITY, 2 * answer_tokens)]
        each = prompt_tokens + answer_tokens
        for quality in self.bundles[task].judged:
            asked.append((2 * _SHIFTED, quality, each))
        tokens, dollars = 0.0, 0.0
        for share, question, material in asked:
            bare = sum(len(message.content) for message in question.fill({}).messages) // _CHARS_PER_TOKEN
            tokens += share * (bare + material + _RULING_TOKENS)
            dollars += share * prices.usd(self.model, bare + material, _RULING_TOKENS)
        return Spend(round(tokens), dollars)


def planned(
    protocol: Protocol,
    items: Sequence[Issue],
    prices: Prices,
    judging: Judging | None,
    rewriter: str | None,
) -> ExpectedCosts:
    """Expected by rule of thumb. Which kinds apply to a task is taken from its first issue.

    Args:
        protocol: What is measured.
        items: The issues.
        prices: Of models.
        judging: What a judge is asked; None without one.
        rewriter: Its model; None without one.
    """
    expenses: dict[str, Spend] = defaultdict(lambda: NOTHING)
    calls = 0
    for task in protocol.tasks:
        # Applying every kind to every issue would take minutes, so the first issue stands for all.
        if not items:
            break
        pairs, asked, texts = _applicable(protocol, items[0], task, rewriter=rewriter is not None)
        completion = _ANSWER_TOKENS.get(task, 200)
        for item in items:
            text = prompt_of(item, task).text
            prompt = estimate_tokens(text)
            many = asked * protocol.runs
            for model in protocol.models:
                calls += many
                spend = Spend(prompt + completion, prices.usd(model.model, prompt, completion))
                expenses[model.name] = expenses[model.name].plus(spend.times(many))
            if judging is not None:
                judged = judging.pair(task, prompt, completion, prices)
                compared = pairs * protocol.runs * len(protocol.models)
                expenses[JUDGE] = expenses[JUDGE].plus(judged.times(compared))
            if rewriter is not None and texts:
                written = prompt * texts
                read = written + _REQUEST_TOKENS * texts
                own = Spend(read + written, prices.usd(rewriter, read, written))
                expenses[REWRITER] = expenses[REWRITER].plus(own)
    names = [*(model.model for model in protocol.models), judging.model if judging else "", rewriter or ""]
    return ExpectedCosts(calls, dict(expenses), prices.unknown(*filter(None, names)))


def _applicable(protocol: Protocol, item: Issue, task: Task, *, rewriter: bool) -> tuple[int, int, int]:
    """Pairs that are compared, calls for them, and texts that are written anew, for one prompt."""
    view = prompt_of(item, task)
    pairs, texts, formats = 1, 0, 0
    asked = 2
    for kind in protocol.kinds:
        if kind.name in (BASELINE, FREE.name):
            continue
        outcome = first_outcome(view, kind, protocol.severity, f"{protocol.seed}:{item.id}:{task}")
        is_format = kind.name.startswith("format.") and task is not Task.SLOT_FILLING
        if isinstance(outcome, NotApplicable):
            as_original = is_format and outcome.reason == "already_wanted"
            pairs += as_original
            formats += as_original
            continue
        if isinstance(outcome, Draft):
            if not rewriter:
                continue
            texts += 1
        pairs += 1
        asked += 1
        formats += is_format
    return pairs, asked + (formats > 0), texts

"""Costs of a run: estimated by rule of thumb before the first call, measured on the first issues.

The first issues come in batches until they show well enough what the whole run will cost; the journal
remembers how far off the rule of thumb was, and what was spent.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.budget import NOTHING, Spend
from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import BASELINE
from evenkeel.lab.bench.prompts import first_outcome, prompt_of
from evenkeel.llm.price import estimate_tokens
from evenkeel.metrics.judge.prompts import SIMILARITY
from evenkeel.metrics.tasks import Task
from evenkeel.release.kit.cost import JUDGE, REWRITER, Costs
from evenkeel.shadow.perturbations import Draft, NotApplicable
from evenkeel.shadow.perturbations.format import FREE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.lab.bench.items import Item
    from evenkeel.lab.bench.trials import Protocol
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.quality.bundles import Bundle
    from evenkeel.stores.sqlite.database import Database


def plan_key(parts: Mapping[str, object]) -> str:
    """Names a plan by everything that decides what its calls cost."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Measured:
    """How far the rules of thumb were off, and what was spent, by plan."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create(
            "CREATE TABLE IF NOT EXISTS bench_factors (plan TEXT PRIMARY KEY, factors TEXT NOT NULL)"
            " WITHOUT ROWID"
        )
        database.create(
            "CREATE TABLE IF NOT EXISTS bench_estimates (plan TEXT PRIMARY KEY, usd REAL NOT NULL)"
            " WITHOUT ROWID"
        )
        database.create(
            "CREATE TABLE IF NOT EXISTS bench_spent (plan TEXT, payee TEXT, tokens INTEGER NOT NULL,"
            " usd REAL NOT NULL, PRIMARY KEY (plan, payee)) WITHOUT ROWID"
        )

    def get(self, plan: str) -> dict[str, float] | None:
        """The factors by payee; None before they were measured."""
        row = self._row("SELECT factors FROM bench_factors WHERE plan = ?", plan)
        return None if row is None else dict(json.loads(row[0]))

    def put(self, plan: str, factors: Mapping[str, float], estimated_usd: float | None) -> None:
        """Remember them, and the estimate of the whole run that they led to."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO bench_factors (plan, factors) VALUES (?, ?)",
                (plan, json.dumps(dict(factors))),
            )
            if estimated_usd is not None:
                connection.execute(
                    "INSERT OR REPLACE INTO bench_estimates (plan, usd) VALUES (?, ?)", (plan, estimated_usd)
                )

    def estimate_usd(self, plan: str) -> float | None:
        """Of the whole run, made on its first issues; None if there was none."""
        row = self._row("SELECT usd FROM bench_estimates WHERE plan = ?", plan)
        return None if row is None else float(row[0])

    def add_spent(self, plan: str, spent: Mapping[str, Spend]) -> None:
        """Book what was spent since the last time, by payee: a killed run has spent it too."""
        rows = [(plan, payee, one.tokens, one.usd) for payee, one in spent.items() if one.tokens or one.usd]
        if rows:
            with self._database.write() as connection:
                connection.executemany(
                    "INSERT INTO bench_spent (plan, payee, tokens, usd) VALUES (?, ?, ?, ?)"
                    " ON CONFLICT (plan, payee) DO UPDATE"
                    " SET tokens = tokens + excluded.tokens, usd = usd + excluded.usd",
                    rows,
                )

    def spent(self, plan: str) -> dict[str, Spend]:
        """All that was booked, by payee."""
        query = "SELECT payee, tokens, usd FROM bench_spent WHERE plan = ? ORDER BY payee"
        rows = self._database.rows(query, (plan,))
        return {payee: Spend(tokens, usd) for payee, tokens, usd in rows}

    def _row(self, query: str, plan: str) -> Any:
        return self._database.row(query, (plan,))


_ANSWER_TOKENS: Final = {
    Task.CASE_SUMMARY: 170,
    Task.CHAT_SUMMARY: 190,
    Task.QUESTION_ANSWERING: 130,
    Task.SLOT_FILLING: 90,
}
"""Usual length of an answer."""
_CHARS_PER_TOKEN: Final = 4
_RULING_TOKENS: Final = 60
"""Usual length of a judge's reply."""
_UNEQUAL: Final = 0.9
"""Share of the pairs that a judge is asked about at all."""
_SHIFTED: Final = 0.25
"""Share of them that it is asked about the qualities of."""
_REQUEST_TOKENS: Final = 500
"""Length of a request to the rewriter without the text."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What some issues are expected to take, by payee."""

    calls: int
    """To the models under test."""
    expenses: Mapping[str, Spend]

    @property
    def usd(self) -> float:
        """Of all together; 0 if no price is known."""
        return sum(one.usd for one in self.expenses.values())

    @property
    def tokens(self) -> int:
        """The same in tokens."""
        return sum(one.tokens for one in self.expenses.values())

    def __str__(self) -> str:
        """In a line."""
        price = f"about {usd(self.usd)}" if self.usd else "no public price known"
        return f"{number(self.calls)} calls, about {number(self.tokens)} tokens, {price}"

    def scaled(self, factors: Mapping[str, float]) -> Planned:
        """The same, each payee's expense times a factor."""
        expenses = {
            payee: Spend(round(one.tokens * factor), one.usd * factor)
            for payee, one in self.expenses.items()
            for factor in (factors.get(payee, 1.0),)
        }
        return Planned(self.calls, expenses)


@dataclass(frozen=True, slots=True)
class Judging:
    """What a judge is asked."""

    model: str
    votes: int
    bundles: Mapping[Task, Bundle]
    """The qualities of each task."""

    def pair(self, task: Task, prompt_tokens: int, answer_tokens: int, prices: Prices) -> Spend:
        """What a pair of answers costs on average, by rule of thumb."""
        asked = [(_UNEQUAL, SIMILARITY, 2 * answer_tokens)]
        each = prompt_tokens + answer_tokens
        asked += [(2 * _SHIFTED, quality, each) for quality in self.bundles[task].judged]
        tokens, dollars = 0.0, 0.0
        for share, question, material in asked:
            bare = sum(len(one.content) for one in question.fill({}).messages) // _CHARS_PER_TOKEN
            tokens += share * (bare + material + _RULING_TOKENS)
            dollars += share * prices.usd(self.model, bare + material, _RULING_TOKENS)
        return Spend(round(self.votes * tokens), self.votes * dollars)


def planned(
    protocol: Protocol,
    items: Sequence[Item],
    prices: Prices,
    judging: Judging | None,
    rewriter: str | None,
) -> Planned:
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
        if not items:
            break
        pairs, asked, texts = _applicable(protocol, items[0], task, rewriter=rewriter is not None)
        said = _ANSWER_TOKENS.get(task, 200)
        for item in items:
            text = prompt_of(item, task).text
            prompt = estimate_tokens(text)
            many = asked * protocol.runs
            for model in protocol.models:
                calls += many
                one = Spend(prompt + said, prices.usd(model.model, prompt, said))
                expenses[model.name] = expenses[model.name].plus(_times(one, many))
            if judging is not None:
                judged = judging.pair(task, prompt, said, prices)
                compared = pairs * protocol.runs * len(protocol.models)
                expenses[JUDGE] = expenses[JUDGE].plus(_times(judged, compared))
            if rewriter is not None and texts:
                half = prompt * texts
                own = Spend(
                    2 * half + _REQUEST_TOKENS * texts,
                    prices.usd(rewriter, half + _REQUEST_TOKENS * texts, half),
                )
                expenses[REWRITER] = expenses[REWRITER].plus(own)
    return Planned(calls, dict(expenses))


def factors_of(expected: Planned, costs: Costs, booked: Mapping[str, Spend]) -> dict[str, float]:
    """How far off the rule of thumb was, by payee, once these issues are paid for.

    Remembered answers count as if they had been asked for.

    Args:
        expected: By rule of thumb.
        costs: Of this run.
        booked: Spent on these issues by this run and earlier ones: what remembered rulings and texts cost
            is recorded nowhere else.
    """
    found = {}
    for payee, one in expected.expenses.items():
        account, before = costs.of(payee), booked.get(payee, NOTHING)
        tokens = max(account.tokens + account.remembered_tokens, before.tokens)
        dollars = max(account.usd + account.remembered_usd, before.usd)
        if one.usd:
            found[payee] = dollars / one.usd
        elif one.tokens:
            found[payee] = tokens / one.tokens
    return found


def _times(one: Spend, times: float) -> Spend:
    return Spend(round(one.tokens * times), one.usd * times)


def _applicable(protocol: Protocol, item: Item, task: Task, *, rewriter: bool) -> tuple[int, int, int]:
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


_BATCH_SHARE: Final = 0.05
"""Of the issues that are put together while it is found out what calls cost."""
_BATCH_LEAST: Final = 2
_FEWEST_BATCHES: Final = 3
_GOOD_TO: Final = 0.1
"""Costs of the whole run are known well enough if they are to a tenth, at 95 %."""
_TWO_SIDED: Final = 1.96


def batches_of(items: Sequence[Item]) -> list[Sequence[Item]]:
    """Issues in batches of 5 %, of two at least."""
    size = max(_BATCH_LEAST, math.ceil(_BATCH_SHARE * len(items)))
    return [items[start : start + size] for start in range(0, len(items), size)]


def settled(ratios: Sequence[float], done: float) -> bool:
    """Whether the costs of the batches so far, held against the rule of thumb, tell those of the whole run.

    Args:
        ratios: Of each batch, what it cost over what the rule of thumb said.
        done: Share of the issues in them, in [0, 1].
    """
    return len(ratios) >= _FEWEST_BATCHES and margin(ratios, done) <= _GOOD_TO


def margin(ratios: Sequence[float], done: float) -> float:
    """How far off an estimate of the whole run may be, as a share of it, at 95 %.

    A single batch shows no spread: the share that is still to come stands for it.
    """
    mean = fmean(ratios)
    if len(ratios) == 1 or not mean:
        return 1 - done
    return _TWO_SIDED * stdev(ratios) / math.sqrt(len(ratios)) * (1 - done) / mean

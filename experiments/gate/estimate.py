"""What a run costs at most, before its first call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.figures import number, usd
from evenkeel.core.pair import Pair
from evenkeel.experiments.gate.sides import request_key
from evenkeel.llm.price import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenkeel.core.budget import Spend
    from evenkeel.experiments.calibrate.judge import Asked
    from evenkeel.experiments.gate.sides import Task
    from evenkeel.experiments.kit.journal import Answers
    from evenkeel.llm.price import Prices
    from evenkeel.metrics.scoring import TwoStageScorer
    from evenkeel.stores.goldens import Golden


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of all goldens: the run may stop before."""

    calls: int
    remembered: int
    tokens: int
    """Of answers, if they are as long as the approved ones, and of the judge."""
    cost_usd: float
    """0 if no price is known."""
    judged: bool

    @property
    def free(self) -> bool:
        """Whether nobody is asked at all."""
        return not self.calls and not self.judged

    def __str__(self) -> str:
        price = f"{usd(self.cost_usd)} at most" if self.cost_usd else "no public price known"
        judged = " and the judge's" if self.judged else ""
        return (
            f"{number(self.calls)} calls at most ({number(self.remembered)} remembered){judged}, "
            f"about {number(self.tokens)} tokens, {price}"
        )


@dataclass(frozen=True, slots=True)
class Judging:
    """What a judge is asked about each answer."""

    rating: TwoStageScorer | None = None
    """None if the judge does not rate."""
    scores: Sequence[Asked] = ()

    @property
    def asks(self) -> bool:
        """Whether it is asked anything."""
        return self.rating is not None or bool(self.scores)

    def expenses(self, task: Task, name: str | None) -> Iterator[Spend]:
        """At most, for one answer as long as the approved one.

        Args:
            task: The golden.
            name: Of its task.
        """
        answer = task.golden.answer
        if self.rating is not None:
            yield self.rating.estimate(2 * len(answer.text), len(task.context), name)
        for one in self.scores:
            yield one.expense(Pair(answer, answer, task.context, name))


def estimate(
    asked: Sequence[Task],
    repeats: int,
    cache: Answers,
    prices: Prices,
    judging: Judging,
    task_of: Callable[[Golden], str | None],
) -> Estimate:
    """Add up what asking and judging everything may cost.

    Args:
        asked: The goldens that can be asked.
        repeats: Calls to each side for each.
        cache: What need not be asked for.
        prices: Of models.
        judging: What a judge is asked.
        task_of: Name of a golden's task.
    """
    calls = remembered = tokens = 0
    cost = 0.0
    for task in asked:
        answer = task.golden.answer
        said = answer.completion_tokens or estimate_tokens(answer.text)
        for side, request in task.requests.items():
            for repeat in range(repeats):
                if cache.get(request_key(side, request, repeat)) is not None:
                    remembered += 1
                    continue
                calls += 1
                tokens += request.prompt_tokens + said
                cost += prices.usd(request.model, request.prompt_tokens, said)
        pairs = len(task.requests) * repeats
        for expense in judging.expenses(task, task_of(task.golden)):
            tokens += pairs * expense.tokens
            cost += pairs * expense.usd
    return Estimate(calls, remembered, tokens, cost, judging.asks)

"""What a rating judge will be asked: every item under every strategy and condition."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.attack import claimed_rating
from evenkeel.experiments.judge_audit.calls import Call
from evenkeel.experiments.judge_audit.judged import Judged, Slot
from evenkeel.experiments.judge_audit.rows import InputError
from evenkeel.experiments.judge_audit.strategies import (
    Condition,
    Examples,
    Strategy,
    choose_examples,
    question,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel.experiments.judge_audit.judged import Judgements
    from evenkeel.experiments.judge_audit.ratings import Item, Ratings
    from evenkeel.experiments.judge_audit.rubrics import Rubric
    from evenkeel.metrics.judge.client import Reply
    from evenkeel.metrics.judge.prompts import Question


@dataclass(frozen=True, slots=True)
class Design:
    """What is to be tried."""

    strategies: tuple[Strategy, ...] = tuple(Strategy)
    attacked: tuple[Strategy, ...] = tuple(Strategy)
    """Strategies under which the attack is tried too."""
    again: bool = False
    """Whether each plain question is put twice."""


class RatingPlan:
    """The calls of an audit. Questions are made one at a time: all together they can be gigabytes.

    Iterating gives the same calls, item by item, each time.
    """

    def __init__(
        self,
        items: Sequence[Item],
        design: Design,
        rubrics: Mapping[str, Rubric],
        examples: Mapping[str, Examples],
    ) -> None:
        self.items = items
        self._rubrics = rubrics
        self._examples = examples
        self._by_key = {(item.id, item.metric): item for item in items}
        self.slots = tuple(
            Slot(item.id, item.metric, strategy, condition)
            for item in items
            for strategy in design.strategies
            if strategy is not Strategy.FEW_SHOT or item.metric in examples
            for condition in _conditions(design, strategy)
        )

    def __len__(self) -> int:
        return len(self.slots)

    def __iter__(self) -> Iterator[Call[Slot]]:
        for slot in self.slots:
            occasion = slot.condition.value if slot.condition is Condition.AGAIN else ""
            yield Call(slot, self._question(slot), occasion)

    def __contains__(self, call: object) -> bool:
        return isinstance(call, Call) and call.place in self.slots

    def _question(self, slot: Slot) -> Question:
        item = self._by_key[slot.item, slot.metric]
        return question(
            slot.strategy,
            self._rubrics[slot.metric],
            item,
            examples=self._examples.get(slot.metric),
            claim=self._claim(slot),
        )

    def _claim(self, slot: Slot) -> int | None:
        if slot.condition is not Condition.ATTACKED:
            return None
        item = self._by_key[slot.item, slot.metric]
        return claimed_rating(item.given, item.scale)

    def judgements(self, replies: Mapping[Slot, Reply]) -> Judgements:
        """What the replies say, in the plan's order."""
        return {slot: self._judged(slot, replies[slot]) for slot in self.slots}

    def _judged(self, slot: Slot, reply: Reply) -> Judged | Failure:
        if isinstance(reply.outcome, Failure):
            return reply.outcome
        return Judged(reply.outcome.rating, reply.outcome.explanation, self._claim(slot))


def _conditions(design: Design, strategy: Strategy) -> Iterator[Condition]:
    yield Condition.PLAIN
    if design.again:
        yield Condition.AGAIN
    if strategy in design.attacked:
        yield Condition.ATTACKED


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which items are asked about, and what was decided on the way."""

    items: tuple[Item, ...]
    examples: dict[str, Examples]
    """Shown by few-shot questions, by metric; these items are not rated."""
    notes: tuple[str, ...]


def choose(ratings: Ratings, design: Design, *, max_items: int | None, seed: int) -> Chosen:
    """Pick the few-shot examples and a sample of the other items.

    Args:
        ratings: everything that people rated.
        design: few-shot decides whether examples are set aside.
        max_items: different items at most (each with all its metrics); None = all.
        seed: of both choices.

    Raises: InputError if an item has no text, or none is left.
    """
    notes: list[str] = []
    rated = [item for item in ratings.items if item.given]
    if len(rated) < len(ratings.items):
        notes.append(f"{len(ratings.items) - len(rated)} items without any human rating were left out.")
    blank = next((item for item in rated if not item.text.strip()), None)
    if blank:
        raise InputError(
            f'item "{blank.id}" has no text to rate; add a column "text", or compare recorded '
            "ratings with --recorded"
        )
    examples: dict[str, Examples] = {}
    if Strategy.FEW_SHOT in design.strategies:
        for metric in dict.fromkeys(item.metric for item in rated):
            found = choose_examples(
                [item for item in rated if item.metric == metric], Random(f"{seed}:examples:{metric}")
            )
            if found:
                examples[metric] = found
            else:
                notes.append(f"{metric}: people rated everything alike, so few-shot has no two examples.")
    shown = {(each.id, each.metric) for pair in examples.values() for each in (pair.best, pair.worst)}
    if shown:
        notes.append(f"{len(shown)} rated texts serve as few-shot examples and are not rated by the judge.")
    left = [item for item in rated if (item.id, item.metric) not in shown]
    ids = list(dict.fromkeys(item.id for item in left))
    if max_items is not None and max_items < len(ids):
        kept = set(Random(f"{seed}:sample").sample(ids, max_items))
        notes.append(f"{max_items} of {len(ids)} items were drawn (seed {seed}).")
        left = [item for item in left if item.id in kept]
    if not left:
        raise InputError(
            "no item is left to be rated: few_shot takes two of each metric as examples; rate more, or "
            "choose others with --strategies"
        )
    return Chosen(tuple(left), examples, tuple(notes))

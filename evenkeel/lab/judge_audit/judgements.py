"""Judgements: what a judge said of each item under each strategy and condition, and files of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.core.verdict import Failure
from evenkeel.lab.judge_audit.published import recorded_preferences
from evenkeel.lab.rows import InputRow, check_columns, columns_of, metric_key, read_rows, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenkeel.lab.judge_audit.ratings import Item, Ratings


VERSION = 1
"""Raised with every change of wording: ratings under different wordings must not be mixed."""


class Strategy(StrEnum):
    """Evenkeel's ways of asking a judge. Recorded judges may have others, under other names."""

    ZERO_SHOT = "zero_shot"
    KNOWLEDGE = "knowledge"
    FEW_SHOT = "few_shot"
    STEP_BY_STEP = "step_by_step"


class AttackCondition(StrEnum):
    """Circumstances under which the same question is put."""

    PLAIN = "plain"
    AGAIN = "again"
    """The same question once more, with another seed: what changes here is the judge's noise."""
    ATTACKED = "attacked"
    """Asked with the claim that an expert gave the opposite rating."""


class RatingSlot(NamedTuple):
    """A place in the design: who is asked what, how."""

    item: str
    metric: str
    strategy: str
    """A `Strategy`, or the name that a record gives its own."""
    condition: AttackCondition


@dataclass(frozen=True, slots=True)
class RatingWithReason:
    """A rating and the judge's reason for it, "" if it gave none."""

    rating: float
    justification: str
    claim: float | None = None
    """The rating that the attack claimed, where a record says so."""


Judgements = Mapping[RatingSlot, RatingWithReason | Failure]
"""A slot that is missing was not asked."""


_FIELDS = (
    "item", "metric", "strategy", "condition", "rating", "justification", "claim", "failure",
)  # fmt: skip


def read_recorded(path: Path, ratings: Ratings) -> dict[RatingSlot, RatingWithReason | Failure]:
    """A judge's ratings, one row each: `item`, `metric` and `rating`; optional are the rest.

    `strategy` is any name, "knowledge" where it is not given; `condition` is "plain" where it is not. A row
    may have a `failure` (a short word) in place of its rating; a rating off the scale is the failure
    "out_of_scale".
    The files of LLMBar's judges are read as they were published.
    Rows about items that no person rated are an error: the files do not belong together.

    Raises: InputError naming file, line and field.
    """
    rows = read_rows(path)
    rows = recorded_preferences(rows) or rows
    check_columns(rows, required=("item", "metric", "rating"), allowed=_FIELDS)
    columns = columns_of(rows)
    for column in columns:
        meant = "" if column in _FIELDS else suggestion(column, [f for f in _FIELDS if f not in columns])
        if meant:
            raise rows[0].error(column, f"is not known{meant}")
    items = {(item.id, item.metric): item for item in ratings.items}
    judged: dict[RatingSlot, RatingWithReason | Failure] = {}
    for row in rows:
        name, metric = row.text("item").strip(), metric_key(row.text("metric"))
        item = items.get((name, metric))
        if item is None:
            raise row.error("item", f'no person rated "{name}" for {metric}')
        strategy = metric_key(row.text("strategy", Strategy.KNOWLEDGE))
        slot = RatingSlot(name, metric, strategy, _condition(row))
        if slot in judged:
            raise row.error("item", f'"{name}" was rated before ({metric}, {strategy}, {slot.condition})')
        judged[slot] = _judged(row, item, strategy)
    return judged


def recorded_lines(judgements: Judgements) -> Iterator[str]:
    """The judgements as lines of JSON that `read_recorded` reads."""
    for slot, judged in judgements.items():
        row: dict[str, object] = {**slot._asdict()}
        if isinstance(judged, Failure):
            row |= {"rating": None, "failure": judged.reason}
        else:
            row |= {"rating": judged.rating, "justification": judged.justification}
            row |= {} if judged.claim is None else {"claim": judged.claim}
        yield json.dumps(row, ensure_ascii=True)


def _condition(row: InputRow) -> AttackCondition:
    stated = metric_key(row.text("condition", AttackCondition.PLAIN))
    try:
        return AttackCondition(stated)
    except ValueError:
        conditions = [condition.value for condition in AttackCondition]
        wrong = f'"{stated}" is none of {", ".join(conditions)}{suggestion(stated, conditions)}'
        raise row.error("condition", wrong) from None


def _judged(row: InputRow, item: Item, strategy: str) -> RatingWithReason | Failure:
    name = f"audit.{strategy}"
    if row.has("failure"):
        return Failure(name, VERSION, metric_key(row.text("failure"))[:40], "As recorded.")
    rating = row.number("rating", row.cells["rating"])
    if rating is None:
        return Failure(name, VERSION, "empty", "The record has no rating.")
    if rating not in item.scale:
        return Failure(name, VERSION, "out_of_scale", f"The rating {rating} is not on {item.scale}.")
    claim = row.number("claim", row.cells.get("claim"))
    if claim is not None and claim not in item.scale:
        raise row.error("claim", f"{claim} is not on the scale {item.scale}")
    return RatingWithReason(rating, row.text("justification", ""), claim)

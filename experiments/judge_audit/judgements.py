"""Judgements: what a judge said of each item under each strategy and condition, and files of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.rows import Row, check_columns, metric_key, read_rows, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evenkeel.experiments.judge_audit.ratings import Item, Ratings


VERSION = 1
"""Raised with every change of wording: ratings under different wordings must not be mixed."""


class Strategy(StrEnum):
    """How the judge is asked."""

    ZERO_SHOT = "zero_shot"
    KNOWLEDGE = "knowledge"
    FEW_SHOT = "few_shot"
    STEP_BY_STEP = "step_by_step"


class Condition(StrEnum):
    """Under which circumstances the same question is put."""

    PLAIN = "plain"
    AGAIN = "again"
    """The same bytes once more: what changes here is the judge's noise."""
    ATTACKED = "attacked"
    """With the claim that an expert gave the opposite rating."""


class Slot(NamedTuple):
    """One place in the design: who is asked what, how."""

    item: str
    metric: str
    strategy: Strategy
    condition: Condition


@dataclass(frozen=True, slots=True)
class Judged:
    """A rating and the judge's reason for it, "" if it gave none."""

    rating: int
    justification: str
    claim: int | None = None
    """The rating that the attack claimed, where a record says so."""


Judgements = Mapping[Slot, Judged | Failure]
"""A slot that is missing was not asked."""


_FIELDS = (
    "item", "metric", "strategy", "condition", "rating", "justification", "claim", "failure",
)  # fmt: skip


_Word = TypeVar("_Word", bound=StrEnum)


def read_recorded(path: Path, ratings: Ratings) -> dict[Slot, Judged | Failure]:
    """A judge's ratings, one row each: `item`, `metric` and `rating`; optional are the rest.

    `strategy` is "knowledge" and `condition` "plain" where they are not given. A row may have a
    `failure` (a short word) in place of its rating; a rating off the scale is the failure "out_of_scale".
    Rows about items that no person rated are an error: the files do not belong together.

    Raises: InputError naming file, line and field.
    """
    rows = read_rows(path)
    check_columns(rows, required=("item", "metric", "rating"), known=_FIELDS)
    columns = list(dict.fromkeys(column for row in rows for column in row.cells))
    for column in columns:
        meant = "" if column in _FIELDS else suggestion(column, [f for f in _FIELDS if f not in columns])
        if meant:
            raise rows[0].error(column, f"is not known{meant}")
    items = {(item.id, item.metric): item for item in ratings.items}
    judged: dict[Slot, Judged | Failure] = {}
    for row in rows:
        name, metric = row.text("item").strip(), metric_key(row.text("metric"))
        item = items.get((name, metric))
        if item is None:
            raise row.error("item", f'no person rated "{name}" for {metric}')
        strategy = _word(row, "strategy", Strategy.KNOWLEDGE)
        slot = Slot(name, metric, strategy, _word(row, "condition", Condition.PLAIN))
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


def _word(row: Row, field: str, default: _Word) -> _Word:
    said = metric_key(row.text(field, default.value))
    kind = type(default)
    try:
        return kind(said)
    except ValueError:
        known = [word.value for word in kind]
        raise row.error(field, f'"{said}" is none of {", ".join(known)}{suggestion(said, known)}') from None


def _judged(row: Row, item: Item, strategy: Strategy) -> Judged | Failure:
    name = f"audit.{strategy}"
    if row.has("failure"):
        return Failure(name, VERSION, metric_key(row.text("failure"))[:40], "As recorded.")
    rating = row.whole("rating", row.cells["rating"])
    if rating is None:
        return Failure(name, VERSION, "empty", "The record has no rating.")
    if rating not in item.scale.steps:
        return Failure(name, VERSION, "out_of_scale", f"The rating {rating} is not on {item.scale}.")
    claim = row.whole("claim", row.cells.get("claim"))
    if claim is not None and claim not in item.scale.steps:
        raise row.error("claim", f"{claim} is not on the scale {item.scale}")
    return Judged(rating, row.text("justification", ""), claim)

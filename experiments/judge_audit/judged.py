"""What a judge said of one item under one strategy and condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.core.verdict import Failure

if TYPE_CHECKING:
    from evenkeel.experiments.judge_audit.strategies import Condition, Strategy


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

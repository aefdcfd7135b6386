"""What asking reference prompts costs, and how soon it finds a change: said before anything is asked."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.shadow.references.pace import Pace

EVIDENCE: Final[Mapping[str, float]] = {"clear": 0.54, "moderate": 0.27, "subtle": 0.05}
"""log10 of the evidence that a call adds after a change, where references have four answers each.

Clear is GPT-4 of March → June 2023 over five tasks, or GPT-4o told to answer in another form; moderate is
gpt-3.5-turbo of March → June 2023; subtle is another small model at the noise of questions that are worded
otherwise. Measured by `python -m benchmarks.detection.references`.
"""
TYPICAL_TOKENS: Final = (1_000, 400)
"""Of a request and an answer, where none have been seen."""
OFFERED: Final = (24, 48, 96, 192, 384)
"""Calls a day that the table compares."""
BURSTS_A_DAY: Final = 2


class Cost(NamedTuple):
    """What a number of calls costs."""

    calls: int
    tokens: int
    usd: float


def cost(calls: int, model: str, tokens: tuple[int, int], price: Callable[[str, int, int], float]) -> Cost:
    """What calls cost.

    Args:
        calls: how many.
        model: as requested.
        tokens: of a request and of an answer.
        price: US dollars, given a model and both.
    """
    return Cost(calls, calls * sum(tokens), calls * price(model, *tokens))


def most(pace: Pace) -> int:
    """Calls of a route on a day with two bursts."""
    return pace.calls_per_day + BURSTS_A_DAY * pace.burst_calls


def calls_until_found(level: float, evidence: float) -> int:
    """Calls after a change until the evidence reaches the level, on average.

    Args:
        level: as of `ReferenceTest`.
        evidence: log10 that each call adds.
    """
    return math.ceil(math.log10(level) / evidence)

"""The drawn answers of a deterministic endpoint: the same request has the same answer, to the letter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from benchmarks.cost.plans import Made, drawn_answer
from benchmarks.cost.play import World
from benchmarks.cost.world import Exchange, exchange
from evenkeel.core.verdict import BASELINE, DECIDED_BY, SAME_CONTENT, STAGES

if TYPE_CHECKING:
    from evenkeel.core.verdict import Verdict
    from evenkeel.shadow.planner import Trial

_EQUAL: Final = {DECIDED_BY: float(STAGES.index("equality"))}


def _exchange(*args: Any, **more: Any) -> Exchange:
    """As a noisy endpoint's, but no answer moves by itself."""
    one = exchange(*args, **more)
    return replace(one, version=one.version._replace(floor=0.0))


def _equal(one: Exchange, trial: Trial, control: Verdict | None) -> Made:
    made = drawn_answer(one, trial, control)
    if trial.perturbation.name != BASELINE:
        return made
    verdict = replace(made.verdict, rating=SAME_CONTENT, similarity=1.0, details=_EQUAL, reused=trial.reused)
    return made._replace(verdict=verdict, judged=False)


def _reworded(one: Exchange, trial: Trial, control: Verdict | None) -> Made:
    made = _equal(one, trial, control)
    if trial.perturbation.name != BASELINE:
        return made
    return made._replace(verdict=replace(made.verdict, similarity=0.999))


WORLDS: Final = {"reused": World(_exchange, _equal), "resent": World(_exchange, _reworded)}
"""The answers of resends are the same; "resent": but for a letter, so that none is ever reused."""

"""The plans that are compared, as the worker decides them: only answers are drawn."""

from __future__ import annotations

import copy
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from benchmarks.cost.world import KINDS, MODEL
from evenkeel.core.verdict import (
    BASELINE,
    NO_CONTROL,
    SAME_CONTENT,
    Origin,
    QualityScore,
    Scoring,
    Selection,
    Verdict,
)
from evenkeel.shadow.exchange_trial import ExchangeTrial
from evenkeel.shadow.groups import SettledNeeds, roots_of
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import Needs, RoutePlan, needs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from benchmarks.cost.world import Exchange
    from evenkeel.core.cells import CellReport
    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.shadow.planner import Trial

FLOOR: Final = 30
"""`alerts.min_trials`, as it is by default."""
_KINDS: Final = by_name(KINDS)
_GROUPS: Final[Mapping[str, frozenset[str]]] = {
    root.perturbation.name: frozenset(kind.name for kind in root.kinds) for root in roots_of(_KINDS)
}


class Plan(NamedTuple):
    """How exchanges are tried."""

    name: str
    trials: int
    """Rewordings of an exchange, of the adaptive plan while it is learning."""
    settled_rate: float | None = None
    """None = the uniform plan."""

    @property
    def route(self) -> RoutePlan:
        """The plan of each route, as settings make it."""
        return RoutePlan(_KINDS, self.trials, settled_rate=self.settled_rate)


UNIFORM: Final = Plan("uniform, 2 trials", 2)
UNIFORM_3: Final = Plan("uniform, 3 trials", 3)
ADAPTIVE: Final = Plan("adaptive", 2, 1 / 20)


def kinds_of(perturbation: Perturbation) -> frozenset[str]:
    """The rewordings that a trial applies; none for the identical resend."""
    if perturbation.name == BASELINE:
        return frozenset()
    parts: Sequence[Perturbation] = getattr(perturbation, "kinds", (perturbation,))
    return frozenset(part.name for part in parts)


def affected_cells(kinds: frozenset[str]) -> frozenset[str]:
    """The cells of some rewordings, and those of the groups that hold any of them."""
    groups = (name for name, members in _GROUPS.items() if not members.isdisjoint(kinds))
    return frozenset((*kinds, *groups))


class Made(NamedTuple):
    """A trial that was made."""

    verdict: Verdict
    can_wait: bool
    stage: int
    """Trials of one stage of an exchange are judged together."""
    judged: bool
    """Whether a judge is asked about it."""


class _Original(NamedTuple):
    """What the trial of an exchange looks at of an original."""

    exchange: Exchange
    route: RoutePlan
    view: None = None


class Worker:
    """Carries out a plan."""

    def __init__(
        self,
        plan: Plan,
        answer: Callable[[Exchange, Trial, Verdict | None], Made],
        pay: Callable[[int, bool], bool] = lambda _count, _begins: True,
    ) -> None:
        """Begin, knowing nothing.

        Args:
            plan: Is carried out.
            answer: Makes a trial.
            pay: Whether so many trials may be made, and whether an exchange begins with them.
        """
        self._plan = plan
        self._answer = answer
        self._pay = pay
        self._known: Mapping[tuple[str, str], Mapping[str, Any]] = {}
        self._needs = SettledNeeds(lambda route, model: Needs(self._known.get((route, model), {})))

    def copy(self, pay: Callable[[int, bool], bool] | None = None) -> Worker:
        """Another that knows the same, and pays in another way if one is given."""
        other = Worker(self._plan, self._answer, pay or self._pay)
        other._known = self._known
        # Which alerts have been up for long: only a benchmark takes a worker's memory over.
        other._needs._since = copy.deepcopy(self._needs._since)  # noqa: SLF001 - as above
        return other

    def publish(self, reports: Iterable[CellReport]) -> None:
        """Take what the monitor knows now."""
        self._known = needs_of(reports, FLOOR)

    def make(self, exchange: Exchange) -> list[Made]:
        """Make the trials of an exchange, in their order."""
        original = cast("Any", _Original(exchange, self._plan.route))
        # Every rewording applies.
        trial = ExchangeTrial(
            original, self._needs(exchange.route, MODEL), outcome=lambda _trial: cast("Any", None)
        )
        made: list[Made] = []
        for stage, decide in enumerate((trial.first, trial.follow)):
            planned = decide()
            if not planned or not self._pay(len(planned), trial.control is None):
                break
            for one, _ in planned:
                answered = self._answer(exchange, one, trial.control)
                made.append(answered._replace(can_wait=trial.can_wait, stage=stage))
                trial.verdicts[one.id] = answered.verdict
        return made


_PROVEN: Final = 0.35
"""Share of the answers whose content did not move that are proven equal without a judge."""
_PARTLY: Final = 0.7
"""Share of those that moved in which only specifics differ."""
_WORSE: Final = 0.5
"""Share of those that moved whose quality got worse; that of the others is the same."""


def drawn_answer(exchange: Exchange, trial: Trial, control: Verdict | None) -> Made:
    """An answer and its verdict as chance has them, the same for the same trial of the same exchange."""
    kinds, name = kinds_of(trial.perturbation), trial.perturbation.name
    chance = Random(f"{exchange.seed}/{exchange.number}/{name}/answer")
    moved = exchange.moved(kinds, name)
    judged = moved or chance.random() >= _PROVEN
    mean, deviation = (0.55, 0.12) if moved else (0.92, 0.05)
    verdict = verdict_of(
        exchange,
        trial,
        control,
        rating=3 if not moved else 2 if chance.random() < _PARTLY else 1,
        similarity=round(min(1.0, max(0.0, chance.gauss(mean, deviation))), 3),
        worse=moved and chance.random() < _WORSE,
    )
    return Made(verdict, can_wait=False, stage=0, judged=judged)


_START: Final = 1_700_000_000.0
_EVERY_S: Final = 20.0
"""Between two sampled exchanges of the deployment."""


def verdict_of(
    exchange: Exchange, trial: Trial, control: Verdict | None, *, rating: int, similarity: float, worse: bool
) -> Verdict:
    """The verdict of a trial, as the worker logs it."""
    score = QualityScore("faithfulness", 1, 3.0, 2.0 if worse else 3.0)
    return Verdict(
        id=trial.id,
        exchange_id=exchange.id,
        scored_at=_START + _EVERY_S * exchange.number,
        route=exchange.route,
        model=MODEL,
        perturbation=trial.perturbation.name,
        perturbation_version=trial.perturbation.version,
        severity=trial.severity,
        seed=trial.seed,
        scoring=Scoring("judge", rated_by="similarity@4", judge_model="judge"),
        rating=rating,
        similarity=similarity,
        quality=(score,) if rating < SAME_CONTENT else (),
        control=control.as_control if control else NO_CONTROL,
        origin=Origin(
            prompt_version=exchange.version.name,
            prompt_chars=exchange.version.chars,
            prompt_language="en",
        ),
        selection=Selection(path_weight=trial.path_weight, split_of=trial.split_of),
    )

"""The compared plans, carried out by the worker's own stages; only the answers are drawn at random."""

from __future__ import annotations

import copy
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from benchmarks.cost.world import MODEL, REWORDINGS
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
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.cost.world import DrawnExchange
    from evenkeel.core.cells import CellReport
    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.shadow.planner import Trial

FLOOR: Final = 30
"""Default of the setting `alerts.min_trials`."""
_PERTURBATIONS: Final = by_name(REWORDINGS)
# Rewordings of each group, by its name.
_GROUPS: Final[dict[str, frozenset[str]]] = {}
for _root in roots_of(_PERTURBATIONS):
    _GROUPS[_root.perturbation.name] = frozenset(member.name for member in _root.kinds)


class Plan(NamedTuple):
    """A plan of trials."""

    name: str
    trials: int
    """Rewordings of each exchange; for the adaptive plan, while it is learning."""
    settled_rate: float | None = None
    """Rate of the adaptive plan; None for the uniform plan."""

    @property
    def route(self) -> RoutePlan:
        """The plan of each route, as settings make it."""
        return RoutePlan(_PERTURBATIONS, self.trials, settled_rate=self.settled_rate)


UNIFORM: Final = Plan("uniform, 2 trials", 2)
UNIFORM_3: Final = Plan("uniform, 3 trials", 3)
ADAPTIVE: Final = Plan("adaptive", 2, 1 / 20)


def rewordings_of(perturbation: Perturbation) -> frozenset[str]:
    """Return the rewordings that a trial applies; none for the identical resend."""
    if perturbation.name == BASELINE:
        return frozenset()
    members: Sequence[Perturbation] = getattr(perturbation, "kinds", (perturbation,))
    return frozenset(member.name for member in members)


def affected_cells(rewordings: frozenset[str]) -> frozenset[str]:
    """Return the cells of some rewordings and of the groups that hold any of them."""
    cells = set(rewordings)
    for group, members in _GROUPS.items():
        if members & rewordings:
            cells.add(group)
    return frozenset(cells)


class PlayedTrial(NamedTuple):
    """A trial with its verdict, as the bill sees it."""

    verdict: Verdict
    judged: bool
    """True if a judge is asked about the answer."""
    can_wait: bool
    stage: int
    """Stage of the exchange; its trials are judged together."""


class _Original(NamedTuple):
    """The parts of an original that `ExchangeTrial` reads."""

    exchange: DrawnExchange
    route: RoutePlan
    view: None = None


class SimulatedWorker:
    """A worker that makes the trials of a plan with drawn answers."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._known: Mapping[tuple[str, str], Mapping[str, Any]] = {}
        self._needs = SettledNeeds(self._needs_of)

    def _needs_of(self, route: str, model: str) -> Needs:
        return Needs(self._known.get((route, model), {}))

    def copy(self) -> SimulatedWorker:
        """Return another worker that knows the same."""
        other = SimulatedWorker(self._plan)
        other._known = self._known
        # The times since which alerts have been up. Only a benchmark copies the memory of a worker.
        other._needs._since = copy.deepcopy(self._needs._since)  # noqa: SLF001 - as above
        return other

    def publish(self, reports: Iterable[CellReport]) -> None:
        """Take the monitor's current reports."""
        self._known = needs_of(reports, FLOOR)

    def make(self, exchange: DrawnExchange) -> list[PlayedTrial]:
        """Make the trials of an exchange, in their order."""
        original = cast("Any", _Original(exchange, self._plan.route))
        exchange_trial = ExchangeTrial(original, self._needs(exchange.route, MODEL), outcome=_always_applies)
        played: list[PlayedTrial] = []
        for stage, decide in enumerate((exchange_trial.first, exchange_trial.follow)):
            planned = decide()
            if not planned:
                break
            for run in planned:
                verdict, judged = draw_answer(exchange, run.trial, exchange_trial.control)
                played.append(PlayedTrial(verdict, judged, exchange_trial.can_wait, stage))
                exchange_trial.verdicts[verdict.id] = verdict
        return played


def _always_applies(_trial: Trial) -> Any:
    return None


# Share of the unmoved answers that are proven equal without a judge.
_PROVEN: Final = 0.35
# Share of the moved answers in which only specifics differ.
_PARTLY: Final = 0.7
# Share of the moved answers whose quality is worse; the quality of the others is the same.
_WORSE: Final = 0.5
_START: Final = 1_700_000_000.0  # Unix time of the first exchange
# Seconds between two sampled exchanges of the deployment.
_EVERY_S: Final = 20.0


def draw_answer(exchange: DrawnExchange, trial: Trial, control: Verdict | None) -> tuple[Verdict, bool]:
    """Draw the verdict of a trial and the need for a judge; the same trial always draws the same."""
    name = trial.perturbation.name
    chance = Random(f"{exchange.seed}/{exchange.number}/{name}/answer")
    moved = exchange.moved(rewordings_of(trial.perturbation), name)
    judged = moved or chance.random() >= _PROVEN
    mean, deviation = (0.55, 0.12) if moved else (0.92, 0.05)
    rating = 3
    if moved:
        rating = 2 if chance.random() < _PARTLY else 1
    similarity = round(min(1.0, max(0.0, chance.gauss(mean, deviation))), 3)
    worse = moved and chance.random() < _WORSE
    score = QualityScore("faithfulness", 1, 3.0, 2.0 if worse else 3.0)
    verdict = Verdict(
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
    return verdict, judged

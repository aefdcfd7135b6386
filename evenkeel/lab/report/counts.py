"""Counts of the verdicts of a period, from which the monitor's estimates are made.

Trials of several rewordings at once are in lines of their own; what was tried because such a trial moved is
in the line of its rewording only, if it is of one by itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core import rewordings
from evenkeel.core.cells import OTHER_MODEL
from evenkeel.core.together import together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.estimate import (
    UNFINISHED,
    Counts,
    DesignEffect,
    ExchangeTally,
    outcome_of,
    weight_sign,
)
from evenkeel.monitor.estimate.counts import UNSURE
from evenkeel.monitor.noise import Judges

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from evenkeel.core.verdict import Scorer, Verdict
    from evenkeel.monitor.estimate import RatedOutcome
    from evenkeel.stores.verdict_log import LoggedVerdict

Kind = Literal["whole", "category", "input", "answer"]
"""Common property of a group: nothing, the category, or for crosslingual trials the language of the input
or of the answer."""

_DAY_S: Final = 86_400
# Models of a route; further ones share a name, as in the monitor.
_MAX_MODELS: Final = 20


class GroupKey(NamedTuple):
    """Trials that are estimated together; "" for a route or a model means all of them."""

    route: str
    model: str
    kind: Kind = "whole"
    name: str = ""


class ReportCell(NamedTuple):
    """A perturbation of a model of a route."""

    route: str
    model: str
    perturbation: str


@dataclass(slots=True)
class Group:
    """Exchanges of one group."""

    words: Counter[str] = field(default_factory=Counter)
    """Shares of its exchanges (`ExchangeTally.observation`)."""
    trials: int = 0
    """Perturbed ones with a rating."""
    effect: DesignEffect = field(default_factory=DesignEffect)


class _OpenReportExchange:
    """An exchange that may still get trials, with a tally of all of them and one for each group."""

    def __init__(self, wholes: tuple[GroupKey, ...], sign: str) -> None:
        self.wholes = wholes
        """Groups that all its trials, and its resend, belong to."""
        self.sign = sign
        """Sign of its weight."""
        self.whole = ExchangeTally()
        self.parts: defaultdict[GroupKey, ExchangeTally] = defaultdict(ExchangeTally)

    def add(self, verdict: Verdict, outcome: RatedOutcome, groups: Iterable[GroupKey]) -> None:
        """Count a rated verdict; `groups` are those that only this trial belongs to."""
        self.whole.add_rejudged(verdict)
        if verdict.perturbation == BASELINE:
            self.whole.add_resend(outcome)
            return
        self.whole.add_trial(outcome)
        for group in groups:
            self.parts[group].add_trial(outcome)

    def tallies(self) -> Iterator[tuple[GroupKey, ExchangeTally]]:
        """Yield each group with its tally."""
        for group in self.wholes:
            yield group, self.whole
        yield from self.parts.items()


@dataclass(slots=True)
class Cost:
    """Cost of trials, and how many there were, failed ones and resends included."""

    trials: int = 0
    tokens: int = 0
    usd: float = 0.0

    def add(self, verdict: Verdict) -> None:
        """Count one."""
        self.trials += 1
        self.tokens += verdict.cost.tokens
        self.usd += verdict.cost.usd


class Folder:
    """Counts verdicts one by one. Memory grows with cells and groups, not with verdicts."""

    def __init__(self) -> None:
        self._models: dict[str, list[str]] = {}
        self._open: dict[tuple[str, str, str], _OpenReportExchange] = {}
        self.cells: dict[ReportCell, Counts] = {}
        self.judges = Judges()
        self.costs: defaultdict[str, Cost] = defaultdict(Cost)
        """Costs by route."""
        self.days: defaultdict[int, Cost] = defaultdict(Cost)
        """Costs by UTC day, in days since 1970."""
        self.scorers: Counter[Scorer] = Counter()
        """Rated trials by who rated."""
        self.failures: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Counts by route: trials without a rating, by reason."""
        self.unscored: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Counts by route: shifted trials of which a quality could not be measured, by reason."""
        self.unsure: Counter[str] = Counter()
        """Counts by route: trials whose answers differ and no judge was asked."""
        self.invalid: Counter[str] = Counter()
        """Counts by route: answers that ignore the format or language asked for."""
        self.resends: Counter[str] = Counter()
        """Counts by route: controls, one for each exchange."""
        self.verdicts = 0
        self.rated = 0
        self.first_at: float | None = None
        self.last_at: float | None = None
        self._groups: dict[GroupKey, Group] = {}

    def add(self, logged: LoggedVerdict) -> None:
        """Count a verdict."""
        verdict = logged.verdict
        at = verdict.scored_at
        self.verdicts += 1
        self.first_at = at if self.first_at is None else min(at, self.first_at)
        self.last_at = at if self.last_at is None else max(at, self.last_at)
        self.costs[verdict.route].add(verdict)
        self.days[int(at // _DAY_S)].add(verdict)
        if verdict.is_contrast:
            return  # it costs, and says nothing about rewordings
        model = self._model(verdict)
        outcome = outcome_of(verdict)
        if verdict.is_control:
            self.resends[verdict.route] += 1
        if not verdict.selection.split_of or together_count(verdict.perturbation) == 1:
            self._count_cell(verdict, model, outcome)
        if isinstance(outcome, str):
            self.failures[verdict.route][outcome] += 1
            return
        self.rated += 1
        self.scorers[verdict.scoring.scorer] += 1
        if verdict.invalid:
            self.invalid[verdict.route] += 1
        elif outcome.rating == UNSURE:
            self.unsure[verdict.route] += 1
        if outcome.quality == "unscored":
            failed = verdict.quality_failures
            self.unscored[verdict.route][failed[0].reason if failed else "missing"] += 1
        if not verdict.selection.split_of:
            self._count(verdict, model, outcome)

    def _count_cell(self, verdict: Verdict, model: str, outcome: RatedOutcome | str) -> None:
        key = ReportCell(verdict.route, model, verdict.perturbation)
        counts = self.cells.get(key)
        if counts is None:
            counts = self.cells[key] = Counts()
        if not verdict.selection.split_of:
            self.judges.add(verdict.route, model, verdict)
        counts.count(outcome, verdict, verdict.weight)

    def groups(self) -> dict[GroupKey, Group]:
        """Every group, in order of occurrence; nothing can be added afterwards."""
        # As in the monitor, exchanges that may still grow count, but in no block yet.
        while self._open:
            self._finish(self._open.pop(next(iter(self._open))), whole=False)
        return self._groups

    def _model(self, verdict: Verdict) -> str:
        models = self._models.setdefault(verdict.route, [])
        if verdict.model not in models:
            if len(models) >= _MAX_MODELS:
                return OTHER_MODEL
            models.append(verdict.model)
        return verdict.model

    def _count(self, verdict: Verdict, model: str, outcome: RatedOutcome) -> None:
        route = verdict.route
        exchange_key = (verdict.exchange_id, route, model)
        exchange = self._open.get(exchange_key)
        if exchange is None:
            exchange = _OpenReportExchange(
                _wholes(route, model), weight_sign(verdict.selection.exchange_weight)
            )
            self._open[exchange_key] = exchange
            if len(self._open) > UNFINISHED:
                self._finish(self._open.pop(next(iter(self._open))))
        groups = () if verdict.perturbation == BASELINE else _groups_of(route, model, verdict.perturbation)
        if together_count(verdict.perturbation) == 1:
            exchange.add(verdict, outcome, groups)
        else:
            for key in groups:
                exchange.parts[key].add_trial(outcome)

    def _finish(self, exchange: _OpenReportExchange, *, whole: bool = True) -> None:
        for key, tally in exchange.tallies():
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = Group()
            group.trials += tally.trials
            if tally.trials and whole:
                group.effect.add(tally.shifted / tally.trials)
            group.words.update(tally.observation(exchange.sign).split())


def worth_a_table(languages: Collection[str], perturbations: Iterable[str]) -> bool:
    """Tell whether languages of inputs, or of answers, say more than single crosslingual perturbations.

    They do not where there is one language for each pair of languages, or one in all.
    """
    pairs = {name for name in perturbations if rewordings.language_pair(name)}
    return 1 < len(languages) < len(pairs)


def _wholes(route: str, model: str) -> tuple[GroupKey, ...]:
    return tuple(dict.fromkeys((GroupKey(route, model), GroupKey(route, ""), GroupKey("", ""))))


@lru_cache(maxsize=4096)
def _groups_of(route: str, model: str, perturbation: str) -> tuple[GroupKey, ...]:
    """The groups of a perturbed trial besides the whole: of its model, and over everything."""
    names: list[tuple[Kind, str]] = [("category", rewordings.category(perturbation).name)]
    pair = rewordings.language_pair(perturbation)
    if pair is not None:
        names += [("input", pair.source), ("answer", pair.target)]
    scopes = ((route, model), ("", ""))
    keys: list[GroupKey] = []
    for kind, name in names:
        for scope in scopes:
            keys.append(GroupKey(*scope, kind, name))
    return tuple(keys)

"""Roll-ups in the monitor's state: every model of a route, over all rewordings by themselves.

Trials of a group, and those that look into the movement of one, are in none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct, field

from evenkeel.core.cells import RollupReport
from evenkeel.core.together import together_count
from evenkeel.core.verdict import BASELINE, Scorer
from evenkeel.monitor.estimate import (
    UNFINISHED,
    DesignEffect,
    ExchangeTally,
    rollup_estimates,
    weight_sign,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from evenkeel.core.cells import RollupEstimates
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.estimate import RatedOutcome
    from evenkeel.monitor.fold.settings import MonitorSettings


class ExchangeRollup(NamedTuple):
    """Identity of the exchange that a verdict belongs to."""

    id: str
    route: str
    model: str


class OpenExchange(Struct):
    """Exchange that may still get trials."""

    exchange: ExchangeRollup
    era: int
    """Number of changes of the route before it."""
    sign: str
    """Sign of the exchange's weight."""
    at: float = 0.0
    """Time of its newest verdict."""
    scorer: Scorer = "metrics"
    """Scorer of that verdict."""
    session: str = ""
    tally: ExchangeTally = field(default_factory=ExchangeTally)


class Rollup(Struct, dict=True):
    """State of one model of a route: the words of its finished exchanges (`ExchangeTally.observation`)."""

    effect: DesignEffect = field(default_factory=DesignEffect)
    """Design effect of the exchanges, by the share of their trials that shifted."""
    words: dict[str, int] = field(default_factory=dict)
    since: dict[str, int] = field(default_factory=dict)
    """Words since the last change, the `era`-th."""
    era: int = 0
    trials: int = 0
    """Perturbed trials."""
    scored_at: float | None = None
    scorer: Scorer = "metrics"

    def __post_init__(self) -> None:
        self.changed = True
        """True if it changed since the last checkpoint."""
        self.shown: RollupReport | None = None
        """Last report, None once a verdict came since."""
        self._shown_at = -1

    def finish(self, done: OpenExchange) -> None:
        """Add a finished exchange."""
        tally = done.tally
        self.changed = True
        self.trials += tally.trials
        self.scored_at, self.scorer = done.at, done.scorer
        if tally.trials:
            self.effect.add(tally.shifted / tally.trials, done.session)
        if done.era > self.era:
            self.era, self.since = done.era, {}
        for word in tally.observation(done.sign).split():
            self.words[word] = self.words.get(word, 0) + 1
            if done.era == self.era:
                self.since[word] = self.since.get(word, 0) + 1

    def report(
        self, group: tuple[str, str], settings: MonitorSettings, era: int, unfinished: list[OpenExchange]
    ) -> RollupReport:
        """Return the report of its place; estimates are made again only where something changed."""
        if self.shown is None or self._shown_at != era:
            since = self.since if self.era == era else {}
            self._shown_at = era
            self.shown = RollupReport(
                *group,
                trials=self.trials + sum(row.tally.trials for row in unfinished),
                last_scored_at=unfinished[-1].at if unfinished else self.scored_at,
                scorer=unfinished[-1].scorer if unfinished else self.scorer,
                windows={
                    "all": self._estimates(self.words, settings, unfinished),
                    "since_change": self._estimates(
                        since, settings, (row for row in unfinished if row.era == era)
                    ),
                },
            )
        return self.shown

    def _estimates(
        self, words: dict[str, int], settings: MonitorSettings, unfinished: Iterable[OpenExchange]
    ) -> RollupEstimates:
        total = dict(words)
        for row in unfinished:
            for word in row.tally.observation(row.sign).split():
                total[word] = total.get(word, 0) + 1
        return rollup_estimates(
            total, alpha=settings.alpha, min_exchanges=settings.min_trials, effect=self.effect.intervals
        )


_NOTHING: Final = ExchangeTally()


class Rollups:
    """All roll-ups, and the exchanges that are not finished."""

    def __init__(self) -> None:
        self.groups: dict[tuple[str, str], Rollup] = {}
        """Roll-ups by route and model."""
        self._open: dict[ExchangeRollup, OpenExchange] = {}

    def add(self, exchange: ExchangeRollup, verdict: Verdict, outcome: RatedOutcome | str, era: int) -> None:
        """Count a verdict, with the number of changes of its route before it; a reason if nobody rated it."""
        if together_count(verdict.perturbation) > 1:
            return
        group = self.groups.get((exchange.route, exchange.model))
        if group is None:
            group = self.groups[exchange.route, exchange.model] = Rollup()
        group.shown = None
        unfinished = self._open.get(exchange)
        if unfinished is None:
            sign = weight_sign(verdict.selection.exchange_weight)
            unfinished = self._open[exchange] = OpenExchange(exchange, era, sign)
            # The oldest exchange has most likely had its trials; memory must not grow with those that failed.
            if len(self._open) > UNFINISHED:
                self._finish(next(iter(self._open)))
        unfinished.at, unfinished.scorer = verdict.scored_at, verdict.scoring.scorer
        unfinished.session = verdict.origin.session
        tally = unfinished.tally
        if isinstance(outcome, str):
            tally.unrated = True
        elif verdict.perturbation == BASELINE:
            tally.add_resend(outcome)
        else:
            tally.add_trial(outcome)

    def _finish(self, exchange: ExchangeRollup) -> None:
        group = self.groups[exchange.route, exchange.model]
        group.shown = None
        group.finish(self._open.pop(exchange))

    def drop(self, route: str, model: str) -> None:
        """Forget a model."""
        self.groups.pop((route, model), None)
        for exchange in list(self._open):
            if (exchange.route, exchange.model) == (route, model):
                del self._open[exchange]

    def reports(self, settings: MonitorSettings, era: Callable[[str], int]) -> list[RollupReport]:
        """Return every report, sorted by route and model; `era` gives the number of changes of a route."""
        unfinished: dict[tuple[str, str], list[OpenExchange]] = {}
        for exchange, row in self._open.items():
            if row.tally != _NOTHING:
                unfinished.setdefault((exchange.route, exchange.model), []).append(row)
        reports = []
        for rollup_key in sorted(self.groups):
            group = self.groups[rollup_key]
            reports.append(
                group.report(rollup_key, settings, era(rollup_key[0]), unfinished.get(rollup_key, []))
            )
        return reports

    @property
    def unfinished(self) -> list[OpenExchange]:
        """Exchanges that are not finished, in the order in which they began."""
        return list(self._open.values())

    def resume(self, rows: Iterable[OpenExchange]) -> None:
        """Take the unfinished exchanges of a checkpoint."""
        self._open = {row.exchange: row for row in rows}

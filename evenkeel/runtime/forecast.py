"""What the budget would find, and how soon: `check-config --forecast` and the console's page about cost.

Traffic, the cost of a trial and how answers move are taken from what was archived and scored lately; what was
not seen yet is assumed, and the forecast says so.
"""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import threading
import time
from collections import Counter
from dataclasses import replace
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.console import Forecast
from evenkeel.core import figures
from evenkeel.core.budget import Budget, Spend
from evenkeel.core.trouble import Trouble
from evenkeel.lab.forecast import FALLS, USUAL, Route, measured, prospects
from evenkeel.monitor.incidents import IncidentBoard
from evenkeel.runtime import replays
from evenkeel.runtime.limits import monitor_settings
from evenkeel.runtime.stores import budgets, opened
from evenkeel.settings import Settings, SettingsError
from evenkeel.shadow.groups import roots_of
from evenkeel.shadow.references.plan import TYPICAL_TOKENS
from evenkeel.stores.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

    from evenkeel.core.verdict import Verdict
    from evenkeel.lab.forecast import Answers, Finding, Prospect
    from evenkeel.runtime.stores import Stores
    from evenkeel.shadow.planner import RoutePlan
    from evenkeel.stores.archive import ArchivedExchange

log = logging.getLogger("evenkeel.forecast")

REQUESTS_PER_DAY: Final = 10_000
"""Assumed of a route without traffic so far."""
_USUAL_MODEL: Final = "gpt-4.1-mini"
_MOST_ROUTES: Final = 5
_EXCHANGES: Final = 400
_VERDICTS: Final = 4_000
_FEWEST: Final = 30
"""Fewer exchanges or verdicts say nothing."""
_SHORTEST_S: Final = 1_800.0
"""Traffic of a shorter time says nothing about a day."""
_HISTORY: Final = (100, 300, 600)
"""Trials of a baseline: the fewest there are, those assumed, and those beyond which more change little."""
_JUDGED: Final = 0.7
"""Share of the trials that the judge is asked about, where none were seen."""
_JUDGE_TOKENS: Final = (1_000, 60)
"""Of the judge's wording and reply, without the answers."""
_DAY_S: Final = 86_400.0
_HOUR_S: Final = 3_600
_DAYS: Final = 7
_INCIDENTS: Final = 5
_KEPT_S: Final = 3_600.0
_LOW: Final = 10
"""Niceness of the process that makes forecasts."""


class _Seen(NamedTuple):
    """What is known of a route."""

    hourly: tuple[float, ...]
    trial: Spend
    answers: Answers
    history: int
    basis: str


def forecasts(
    settings: Settings, stores: Stores | None, requests_per_day: float | None = None
) -> tuple[Forecast, ...]:
    """What is to be expected of each route, and how it came out so far. Takes seconds; blocks on storage.

    Args:
        settings: Routes, plans, budget and limits.
        stores: What was measured; None if nothing was.
        requests_per_day: Of each route, in place of what was measured.
    """
    every = replays.route_plans(settings)
    plans = {name: plan for name, plan in every.items() if plan.perturbations and plan.trials_per_exchange}
    names = list(plans)[:_MOST_ROUTES]
    seen = {name: _seen(settings, name, plans[name], stores, requests_per_day) for name in names}
    limits, monitor = budgets(settings), monitor_settings(settings)
    routes = [
        Route(
            *(name, plans[name], monitor, one.hourly, one.trial, one.answers, one.history),
            limits.routes.get(name, Budget()),
        )
        for name, one in seen.items()
    ]
    dollars = limits.all_routes.usd_per_day
    now = prospects(routes, limits.all_routes)
    limited = dollars is not None and any(one.limited for one in now.values())
    more = prospects(routes, replace(limits.all_routes, usd_per_day=(dollars or 0) + 1)) if limited else {}
    found = [
        Forecast(
            name,
            (*_lines(now[name], more.get(name), dollars, seen[name].hourly), seen[name].basis),
            _came(stores, name, now[name]),
        )
        for name in names
    ]
    if idle := [name for name in every if name not in plans]:
        found.append(
            Forecast("", (f"Nothing is found on {figures.listing(idle)}: no rewording is tried there.",))
        )
    if left := list(plans)[_MOST_ROUTES:]:
        found.append(Forecast("", (f"No forecast is made of {figures.count(len(left), 'further route')}.",)))
    return tuple(found)


def forecast_lines(settings: Settings, requests_per_day: float | None) -> list[str]:
    """The forecast as `check-config` prints it."""
    try:
        with opened(settings) as stores:
            found = forecasts(settings, stores, requests_per_day)
    except (SettingsError, StoreError):
        # Nothing is kept yet, or it cannot be read from here.
        found = forecasts(settings, None, requests_per_day)
    return [
        f"forecast{' of ' if one.route else ''}{one.route}: {line}"
        for one in found
        for line in (*one.lines, *one.came)
    ]


def stored_forecasts(settings: Settings) -> tuple[Forecast, ...]:
    """`forecasts` of what is stored, made by another process of low priority: it computes for seconds.

    Raises: EOFError if that process made none.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    # A daemon ends with this process. Settings go as values: only this process has their class.
    given = settings.model_dump(exclude_unset=True)
    process = context.Process(target=_send, args=(given, sender), daemon=True, name="forecast")
    process.start()
    sender.close()
    with receiver:
        found: tuple[Forecast, ...] = receiver.recv()
    process.join()
    return found


def _send(given: dict[str, Any], sender: Connection) -> None:
    os.nice(_LOW)
    settings = Settings(**given)
    with sender, opened(settings) as stores:
        sender.send(forecasts(settings, stores))


class ForecastKeeper:
    """The forecasts for the console, made anew in the background every hour. For any thread."""

    def __init__(
        self,
        make: Callable[[], tuple[Forecast, ...]],
        timer: Callable[[], float] = time.monotonic,
        start: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        """Prepare; nothing is computed yet.

        Args:
            make: Makes them, which takes seconds.
            timer: Seconds since some moment.
            start: Runs a function in the background; None = in a thread.
        """
        self._make = make
        self._timer = timer
        self._start = start or (lambda run: threading.Thread(target=run, daemon=True).start())
        self._lock = threading.Lock()
        self._found: tuple[Forecast, ...] | None = None
        self._due = -math.inf
        self._trouble = Trouble(log, "no forecast can be made (%s)")

    def __call__(self) -> tuple[Forecast, ...] | None:
        """The latest; None until the first is made."""
        with self._lock:
            due = self._timer() >= self._due
            if due:
                self._due = self._timer() + _KEPT_S
        if due:
            self._start(self._renew)
        return self._found

    def _renew(self) -> None:
        with self._trouble:
            self._found = self._make()


def _seen(
    settings: Settings, name: str, plan: RoutePlan, stores: Stores | None, requests_per_day: float | None
) -> _Seen:
    route = next(one for one in settings.routes if one.name == name)
    archived = stores.archive.latest(_EXCHANGES, route=name) if stores else []
    verdicts = stores.verdicts.latest(_VERDICTS, route=name) if stores else []
    hourly = None if requests_per_day is not None else _hourly(archived)
    basis = "Based on the traffic of the archive"
    if hourly is None:
        requests = REQUESTS_PER_DAY if requests_per_day is None else requests_per_day
        hourly = (requests * route.sampling_rate / 24,) * 24
        stated = "assumed " if requests_per_day is None else ""
        sampled = f"{route.sampling_rate:.0%} of them sampled"
        basis = f"Based on {stated}{figures.number(requests)} requests a day, {sampled}"
    model = Counter(one.model for one in verdicts).most_common(1)
    some = [one for one in verdicts if model and one.model == model[0][0]]
    made = [one for one in some if not one.reused]
    known = len(made) >= _FEWEST
    trial = _spent(made) if known else _estimated(settings, archived)
    what = f"{figures.count(len(made), 'trial')}" if known else "assumed answers and list prices"
    cost = f"{trial.tokens:,} tokens and {trial.usd:.4f} dollars a trial"
    basis = f"{basis}, and on {what}: {cost}."
    answers = measured(some, plan.perturbations) if known else USUAL
    return _Seen(hourly, trial, answers, _history(plan, some) if known else _HISTORY[1], basis)


def _hourly(archived: Sequence[ArchivedExchange]) -> tuple[float, ...] | None:
    """Exchanges of each hour of the day; evenly, unless they cover a day. None if there are too few."""
    times = [one.received_at for one in archived]
    if len(times) < _FEWEST or max(times) - min(times) < _SHORTEST_S:
        return None
    span = max(times) - min(times)
    if span < 2 * _DAY_S:
        return ((len(times) - 1) / span * _HOUR_S,) * 24
    by_hour = Counter(int(at % _DAY_S // _HOUR_S) for at in times)
    return tuple(by_hour[hour] / (span / _DAY_S) for hour in range(24))


def _spent(verdicts: Sequence[Verdict]) -> Spend:
    return Spend(round(fmean(one.tokens for one in verdicts)), fmean(one.cost_usd for one in verdicts))


def _estimated(settings: Settings, archived: Sequence[ArchivedExchange]) -> Spend:
    """What a replay and its rating cost, by the size of archived exchanges or typical ones."""
    answers = [one.answer for one in archived if one.answer.prompt_tokens]
    asked, given = TYPICAL_TOKENS
    if answers:
        asked = round(median(one.prompt_tokens or 0 for one in answers))
        given = round(median(one.completion_tokens or 0 for one in answers))
    model = archived[0].model if archived else _USUAL_MODEL
    price, judge = replays.budgeted_prices(settings).usd, settings.judge
    tokens, usd = asked + given, price(model, asked, given)
    if judge is not None:
        wording, reply = _JUDGE_TOKENS[0] + 2 * given, _JUDGE_TOKENS[1]
        tokens += round(_JUDGED * (wording + reply))
        usd += _JUDGED * price(judge.model or _USUAL_MODEL, wording, reply)
    return Spend(tokens, usd)


def _history(plan: RoutePlan, verdicts: Sequence[Verdict]) -> int:
    trials = Counter(one.perturbation for one in verdicts)
    if plan.settled_rate is None:
        cells = [kind.name for kind in plan.perturbations]
    else:
        cells = [root.perturbation.name for root in roots_of(plan.perturbations)]
    return min(_HISTORY[2], max(_HISTORY[0], round(median(trials[name] for name in cells))))


def _lines(
    now: Prospect, more: Prospect | None, dollars: float | None, hourly: Sequence[float]
) -> tuple[str, ...]:
    if not any(hourly):
        return ("Nothing is sampled, so nothing is found.",)
    budget = "With no limit in dollars" if dollars is None else f"With {figures.usd(dollars)} a day"
    said = [f"{budget}, {_finding(one)}." for one in now.findings]
    if more is not None and dollars is not None and more.findings != now.findings:
        halves = ", ".join(
            f"{_fall(one)} {_within(one.half)} (now {_within(was.half)})"
            for one, was in zip(more.findings, now.findings, strict=True)
        )
        said.append(f"The next dollar, {figures.usd(dollars + 1)} a day, would buy: {halves}.")
    elif now.limited and dollars is None:
        said.append("What keeps trials back is a limit in tokens, or one of the route.")
    elif now.limited:
        said.append(
            "The next dollar would buy nothing: it is too little, or a limit in tokens or of the route keeps "
            "trials back."
        )
    else:
        said.append("The next dollar would buy nothing: the budget lets every planned trial through.")
    said.append(f"A day on which nothing changes costs {figures.usd(now.usd_per_day)} of trials.")
    return tuple(said)


def _fall(finding: Finding) -> str:
    what = "one rewording" if finding.fall.of == "one" else "all rewordings"
    return f"a fall of {what} by {finding.fall.points * 100:.0f} points"


def _finding(finding: Finding) -> str:
    is_found = "is not found within a month" if finding.half is None else f"is found {_within(finding.half)}"
    half = f"{_fall(finding)} {is_found} in half of all cases"
    if finding.soon is None:
        return half
    return (
        f"{half}, and in eight of ten after {figures.lasting(finding.soon * _HOUR_S)} to {_end(finding.late)}"
    )


def _within(hours: float | None) -> str:
    return "not within a month" if hours is None else f"within {_end(hours)}"


def _end(hours: float | None) -> str:
    return "more than a month" if hours is None else figures.lasting(hours * _HOUR_S)


def _came(stores: Stores | None, route: str, now: Prospect) -> tuple[str, ...]:
    """What the last days cost, and how soon the last changes were found."""
    if stores is None:
        return ()
    said = []
    spent = [
        sum(spend.usd for (one, _), spend in stores.ledger.by_route_and_kind(-ago).items() if one == route)
        for ago in range(1, _DAYS + 1)
    ]
    if any(spent):
        days = figures.listing([figures.usd(one) for one in spent if one])
        said.append(
            f"How it came out: the last days cost {days}, the latest first; today's forecast: "
            f"{figures.usd(now.usd_per_day)}."
        )
    half, points = _within(now.findings[0].half), FALLS[0].points * 100
    for incident in IncidentBoard(stores.monitor).all():
        marks = [mark.at for mark in incident.marks if mark.at <= incident.opened_at]
        if marks and route in incident.routes[:1] and len(said) <= _INCIDENTS:
            after = figures.lasting(incident.opened_at - min(marks))
            said.append(
                f"How it came out: incident {incident.id} was opened {after} after a change that was noticed "
                f"and so tried at once. Today's forecast for {points:.0f} points that nothing announces: "
                f"{half}."
            )
    return tuple(said)

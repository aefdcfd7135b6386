"""One run, what evenkeel reported about it, and the results as Markdown."""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.live_changes.cases import (
    CHANGING,
    KINDS,
    QUIET,
    QUIET_KINDS,
    QUIET_ROUTES,
    SUMMARIES,
    settings,
)
from benchmarks.live_changes.deployment import MODEL, requests_of, running, send
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.simulate import JUDGE_MODEL

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.live_changes.cases import Case
    from benchmarks.live_changes.deployment import Deployment


_PATIENCE_S: Final = 600.0
_PORTION: Final = 20
"""Exchanges of each route between two looks at the reports."""
_SELDOM: Final = 3
"""The route that stays as it is has a third of the traffic."""
_NOTHING: Final = "nothing"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was said in one run."""

    seed: int
    causes: tuple[str, ...]
    """Causes of the reports on routes that the change met, in order."""
    effects: tuple[str, ...]
    """What they say of the answers."""
    markdown: tuple[str, ...]
    """They themselves."""
    other_reports: tuple[str, ...]
    """Reports before the change, and on routes that it did not meet: "route: cause (what was noticed)"."""
    raised: tuple[str, ...]
    """Alerts raised on a route that the change met, after it: "route kind what"."""
    other_alerts: tuple[str, ...]
    """All others."""
    noticed_after: int | None
    """Exchanges of the changing route until the first report, in portions of 20; None without one."""
    trials: int
    watched: int
    """What the detectors have looked at: a trial counts for the excess, and again for the drift once its cell
    has a baseline."""
    cells: int
    least: int
    """Trials of the cell that has the fewest."""
    seconds: float

    @property
    def clean(self) -> bool:
        """Whether nothing was said but of what changed."""
        return not self.other_reports and not self.other_alerts


def run_case(case: Case, seed: int) -> Outcome:
    """Change one thing half-way; ends a portion after the first report, or with the last exchange."""
    routes = (CHANGING, QUIET)
    met = routes if case.everywhere else (CHANGING,)
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="evenkeel-live-") as folder,
        running(Path(folder), lambda url: settings(url, routes, KINDS), case.models) as deployment,
    ):
        manners = {CHANGING: case.first, QUIET: replace(SUMMARIES, every=_SELDOM)}
        send(deployment.proxy, requests_of(manners, range(case.before), seed))
        deployment.settle(_PATIENCE_S)
        early = _said(deployment)
        for model, state in case.states.items():
            deployment.change(model, **state)
        manners[CHANGING] = case.manner
        noticed, sent = None, 0
        while sent < case.after:
            numbers = range(case.before + sent, case.before + sent + _PORTION)
            send(deployment.proxy, requests_of(manners, numbers, seed))
            sent += _PORTION
            deployment.drain(_PATIENCE_S)
            if noticed is not None:
                if case.whole:
                    continue
                break
            if len(_said(deployment).reports) > len(early.reports):
                noticed = sent
        deployment.settle(_PATIENCE_S)
        late = _said(deployment)
        reports = late.reports[len(early.reports) :]
        alerts = late.alerts[len(early.alerts) :]
        return Outcome(
            seed=seed,
            causes=tuple(cause for route, cause, _ in reports if route in met),
            effects=tuple(effect for route, effect in late.effects[len(early.reports) :] if route in met),
            markdown=tuple(deployment.text(f"/api/changes/{one}/markdown") for one in late.ids),
            other_reports=tuple(
                what for _, _, what in (*early.reports, *(one for one in reports if one[0] not in met))
            ),
            raised=tuple(what for route, what in alerts if route in met),
            other_alerts=tuple(
                what for _, what in (*early.alerts, *(one for one in alerts if one[0] not in met))
            ),
            noticed_after=noticed,
            trials=late.trials,
            watched=late.watched,
            cells=late.cells,
            least=late.least,
            seconds=time.monotonic() - started,
        )


def run_quiet(trials: int, seed: int, tell: Callable[[str], None]) -> Outcome:
    """Change nothing, for as many trials, in 40 cells."""
    models = {MODEL: {"fragility": 0.03, "noise": 0.05}, JUDGE_MODEL: {"judge_noise": 0.03}}
    routes = tuple(QUIET_ROUTES)
    started = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="evenkeel-live-") as folder,
        running(Path(folder), lambda url: settings(url, routes, QUIET_KINDS), models) as deployment,
    ):
        said, sent = _said(deployment), 0
        while said.trials < trials:
            send(deployment.proxy, requests_of(QUIET_ROUTES, range(sent, sent + _PORTION), seed))
            sent += _PORTION
            deployment.drain(_PATIENCE_S)
            said = _said(deployment)
            tell(f"{said.trials:,} of {trials:,} trials, {len(said.alerts)} alerts")
        deployment.settle(_PATIENCE_S)
        said = _said(deployment)
        return Outcome(
            seed=seed,
            causes=(),
            effects=(),
            markdown=(),
            other_reports=tuple(what for _, _, what in said.reports),
            raised=(),
            other_alerts=tuple(what for _, what in said.alerts),
            noticed_after=None,
            trials=said.trials,
            watched=said.watched,
            cells=said.cells,
            least=said.least,
            seconds=time.monotonic() - started,
        )


@dataclass(frozen=True, slots=True)
class _Said:
    reports: list[tuple[str, str, str]]
    """Route, cause and both in words, oldest first; without those that nothing that matters happened."""
    effects: list[tuple[str, str]]
    """Route and what each of the reports says of the answers."""
    ids: list[str]
    alerts: list[tuple[str, str]]
    """Route and what was raised, oldest first."""
    trials: int
    watched: int
    cells: int
    least: int


def _said(deployment: Deployment) -> _Said:
    every = sorted(deployment.get("/api/changes")["changes"], key=_at)
    reports = [one for one in every if one["cause"] != _NOTHING]
    events = sorted(deployment.get("/api/alerts?limit=500")["events"], key=_at)
    cells = deployment.get("/api/cells")["cells"]
    return _Said(
        [(one["route"], one["cause"], _worded(one)) for one in reports],
        [(one["route"], one["effect"]) for one in reports],
        [one["id"] for one in reports],
        [
            (one["route"], f"{one['route']} {one['perturbation']} {one['what']} {one['direction']}".rstrip())
            for one in events
            if one["kind"] == "raised"
        ],
        sum(one["trials"] for one in cells),
        sum(one["trials"] for one in cells if one["perturbation"] != BASELINE)
        + sum(max(0, one["trials"] - MonitorSettings().provisional_after) for one in cells),
        len(cells),
        min((one["trials"] for one in cells), default=0),
    )


def _worded(report: dict[str, Any]) -> str:
    marks = "; ".join(f"{mark['kind']}: {mark['before']} → {mark['after']}" for mark in report["marks"])
    return f"{report['route']}: {report['cause']} ({marks})"


def _at(one: dict[str, Any]) -> float:
    return float(one["at"])


_SURE: Final = 0.99


def expected_alerts(watched: int) -> float:
    """False alerts on average at most, by `mean_trials_between_false_alarms`; `watched` as in `Outcome`."""
    return watched / MonitorSettings().mean_trials_between_false_alarms


def most_alerts(expected: float) -> int:
    """What a Poisson number of that mean exceeds in fewer than one of a hundred runs."""
    count, term = 0, math.exp(-expected)
    total = term
    while total < _SURE:
        count += 1
        term *= expected / count
        total += term
    return count


def quiet_line(outcome: Outcome) -> str:
    """One sentence about the run without a change."""
    expected = expected_alerts(outcome.watched)
    most = most_alerts(expected)
    return (
        f"no change: {outcome.trials:,} trials in {outcome.cells} cells ({outcome.least} or more in "
        f"each), {len(outcome.other_alerts)} alerts "
        f"(promised: {expected:.1f} on average at most; a Poisson number of that mean is {most} or less "
        f"in 99 of 100 runs), "
        f"{len(outcome.other_reports)} change reports; {outcome.seconds:.0f} s"
    )


def head() -> str:
    """The first two lines of the table."""
    return (
        "| case | what changes | right cause and word | said of the answers | no report "
        "| other or further causes | reports elsewhere | alerts elsewhere "
        "| exchanges until reported, median (most) | seconds a run |\n"
        "|---|---|---:|---|---:|---|---:|---:|---:|---:|"
    )


def right_of(case: Case, outcome: Outcome) -> bool:
    """Whether a run named the cause and no other, and said of the answers what it may."""
    return set(outcome.causes) == {case.cause.value} and set(outcome.effects) <= set(case.effects)


def case_row(case: Case, outcomes: Sequence[Outcome]) -> str:
    """One line of it."""
    right = sum(right_of(case, one) for one in outcomes)
    silent = sum(not one.causes for one in outcomes)
    wrong = [
        " + ".join(f"{cause} ({effect})" for cause, effect in zip(one.causes, one.effects, strict=True))
        for one in outcomes
        if one.causes and not right_of(case, one)
    ]
    effects = Counter(effect for one in outcomes for effect in one.effects)
    said = ", ".join(f"{effect} {count}" for effect, count in effects.most_common())
    delays = sorted(one.noticed_after for one in outcomes if one.noticed_after is not None)
    delay = f"{delays[len(delays) // 2]} ({delays[-1]})" if delays else "–"
    return (
        f"| {case.name} | {case.change} | {right} of {len(outcomes)} | {said or '–'} | {silent} "
        f"| {'; '.join(wrong) or '–'} "
        f"| {sum(len(one.other_reports) for one in outcomes)} "
        f"| {sum(len(one.other_alerts) for one in outcomes)} | {delay} "
        f"| {sum(one.seconds for one in outcomes) / len(outcomes):.0f} |"
    )

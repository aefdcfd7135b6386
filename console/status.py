"""The status line: what state the endpoint is in, and what a tired operator should do next."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from evenkeel.console import links
from evenkeel.console.alerts import explanation
from evenkeel.console.heatmap import cell_id, retired_models
from evenkeel.core import figures, rewordings
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.alerts import Explanation
    from evenkeel.console.sources import PipelineView
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.monitor_state import AlertEvent


_SAID = {"risen": "more", "fallen": "less"}


def drift_notices(reports: Sequence[CellReport]) -> list[str]:
    """What has moved although it may still be within the allowed excess; risen before fallen.

    Args:
        reports: one per cell, in any order.
    """
    groups: dict[tuple[str, str, str], list[CellReport]] = {}
    for report in reports:
        if report.drift is not None and report.drift.state in _SAID:
            place = (report.drift.state, report.key.route, report.key.model)
            groups.setdefault(place, []).append(report)
    return [
        _line(*place, groups[place])
        for place in sorted(groups, key=lambda one: (one[0] != "risen", *one[1:]))
    ]


def _line(state: str, route: str, model: str, moved: Sequence[CellReport]) -> str:
    first = moved[0].drift
    assert first is not None
    under = figures.listing([rewordings.phrase(report.key.perturbation) for report in moved])
    line = f"{'beyond' if state == 'risen' else 'below'} "
    line += figures.percent(first.upper if state == "risen" else first.lower)
    trials = f"{'first' if first.provisional else 'approved'} {first.trials:,} trials"
    example = "" if len(moved) == 1 else f" of {rewordings.phrase(moved[0].key.perturbation)}"
    return (
        f"Answers of {model} on {route} shift {_SAID[state]} often than they did, under {under}: "
        f"{figures.percent(first.baseline)} in the {trials}{example}, now {line}. Look what changed there."
    )


State = Literal["empty", "collecting", "steady", "alert"]

STUCK_AFTER_S = 120.0
"""A queue whose oldest exchange is older than this is reported: silence must not look like health."""


@dataclass(frozen=True, slots=True)
class AlertLine:
    """One alerting cell in words."""

    route: str
    model: str
    change: str
    """What was done to the prompts, such as "misspellings"."""
    since: str
    """Time of day, "" if the raising is no longer in the history."""
    since_iso: str
    lasts: str
    """How long it has been raised, "" if unknown."""
    excess: str
    allowed: str
    trials: int
    evidence_href: str
    cell_href: str
    retired: bool
    """Whether the model has stopped answering on this route."""


@dataclass(frozen=True, slots=True)
class Headline:
    """What moved, on one route for one model."""

    model: str
    route: str
    changes: str


@dataclass(frozen=True, slots=True)
class Status:
    """The top of the page."""

    state: State
    title: str
    """The document's title; the state first, so that a pinned tab shows it."""
    headlines: tuple[Headline, ...]
    alerts: tuple[AlertLine, ...]
    summary: str
    """One sentence below the headline, "" if the alerts say it all."""
    steps: tuple[str, ...]
    """What to do next, in order."""
    notices: tuple[str, ...]
    behind: Explanation | None = None
    """The change that came before the first alert."""

    @property
    def announcement(self) -> str:
        """What a screen reader is told when it changes: no times, so that it is told once."""
        moved = [
            f"answers of {line.model} on route {line.route} under {line.changes}" for line in self.headlines
        ]
        return f"Alert: {'; '.join(moved)}" if moved else self.title


def status(
    reports: Sequence[CellReport],
    events: Sequence[AlertEvent],
    pipeline: PipelineView,
    now: float,
    changes: Sequence[ChangeReport] = (),
) -> Status:
    """Condense reports and alert history into one line and its next steps.

    Args:
        reports: one per cell, in any order.
        events: raised and resolved alerts, newest first.
        pipeline: for the notices and the minimum number of trials.
        now: Unix time in seconds.
        changes: newest first.
    """
    notices = (*pipeline.notices, *_pipeline_notices(pipeline), *drift_notices(reports))
    alerting = sorted((report for report in reports if report.alert), key=_by_excess)
    if alerting:
        return _alert(alerting, reports, events, changes, notices, now)
    watched = [report for report in reports if report.excess is not None]
    if watched:
        return Status("steady", "Steady · evenkeel", (), (), _steady_summary(watched, now), (), notices)
    if any(report.trials or report.failures for report in reports):
        summary = _collecting_summary(reports, pipeline)
        return Status("collecting", "Collecting · evenkeel", (), (), summary, (), notices)
    return Status("empty", "Waiting for traffic · evenkeel", (), (), "", (), notices)


def _by_excess(report: CellReport) -> float:
    return -(report.excess.value if report.excess else 0.0)


def _pipeline_notices(pipeline: PipelineView) -> list[str]:
    notices = []
    if pipeline.oldest_s > STUCK_AFTER_S:
        notices.append(
            f"Scoring is behind: the oldest exchange has waited {figures.duration(pipeline.oldest_s)}, "
            "so the numbers below are as old. Check that the worker runs and that the budget is not spent."
        )
    return notices


def _collecting_summary(reports: Sequence[CellReport], pipeline: PipelineView) -> str:
    most = max(report.trials for report in reports)
    if most:
        return (
            f"The furthest cell has {most} of the {pipeline.minimum_trials} trials a number needs. "
            "Nothing to do: numbers appear as traffic goes on."
        )
    reasons: Counter[str] = Counter()
    for report in reports:
        reasons.update(report.failures)
    ordered = sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
    text = f"No trial could be rated so far: {', '.join(f'{count} {reason}' for reason, count in ordered)}."
    if "unauthorized" in reasons and not pipeline.notices:  # a judge without a key has a notice of its own
        text += (
            " Replays have a key of their own, which the endpoint has to accept: the variable that "
            "shadow.api_key_env names holds it, EVENKEEL_SHADOW_API_KEY unless it was changed."
        )
    return text


def _steady_summary(watched: Sequence[CellReport], now: float) -> str:
    routes = {report.key.route for report in watched}
    worst = min(watched, key=_by_excess)
    assert worst.excess is not None
    last = max(report.last_scored_at or 0.0 for report in watched)
    text = (
        f"{_count(len(watched), 'cell')} watched on {_count(len(routes), 'route')}. "
        f"Largest excess over noise: {figures.estimate_of(worst.excess)} trials "
        f"for {rewordings.phrase(worst.key.perturbation)} on {worst.key.route} "
        f"(allowed {figures.percent(worst.threshold)})."
    )
    return f"{text} Last verdict {figures.moment(last, now)} UTC." if last else text


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _alert(
    alerting: Sequence[CellReport],
    reports: Sequence[CellReport],
    events: Sequence[AlertEvent],
    changes: Sequence[ChangeReport],
    notices: tuple[str, ...],
    now: float,
) -> Status:
    retired = retired_models(reports)
    # An alert on a model that has stopped answering stays an alert: it may only be rarely called.
    alerting = sorted(alerting, key=lambda report: (report.key.route, report.key.model) in retired)
    groups: dict[tuple[str, str], list[str]] = {}
    for report in alerting:
        row = (report.key.route, report.key.model)
        groups.setdefault(row, []).append(rewordings.phrase(report.key.perturbation))
    return Status(
        state="alert",
        title=f"▲ {_count(len(alerting), 'alert')} · evenkeel",
        headlines=tuple(
            Headline(model, route, figures.listing(changes)) for (route, model), changes in groups.items()
        ),
        alerts=tuple(_alert_line(report, events, retired, now) for report in alerting),
        summary="",
        steps=tuple(_steps(alerting, reports, events, now)),
        notices=notices,
        behind=_behind(alerting, events, changes, now),
    )


def _behind(
    alerting: Sequence[CellReport],
    events: Sequence[AlertEvent],
    changes: Sequence[ChangeReport],
    now: float,
) -> Explanation | None:
    """The change before the first of the alerts of the first one's route for which one is known."""
    route = alerting[0].key.route
    raised = [_raised_at(one, events) for one in alerting if one.key.route == route]
    return next(filter(None, (explanation(changes, route, at, now) for at in raised)), None)


def _raised_at(report: CellReport, events: Sequence[AlertEvent]) -> float | None:
    for event in events:
        if event.what == "excess" and (event.route, event.model, event.perturbation) == report.key.parts:
            return event.at if event.kind == "raised" else None
    return None


def _alert_line(
    report: CellReport, events: Sequence[AlertEvent], retired: set[tuple[str, str]], now: float
) -> AlertLine:
    key = report.key
    since = _raised_at(report, events)
    return AlertLine(
        route=key.route,
        model=key.model,
        change=rewordings.phrase(key.perturbation),
        since=figures.moment(since, now) if since is not None else "",
        since_iso=figures.iso(since) if since is not None else "",
        lasts=figures.lasting(now - since) if since is not None else "",
        excess=figures.estimate_text(report.excess) if report.excess else "not known",
        allowed=figures.percent(report.threshold),
        trials=report.trials,
        evidence_href=links.verdicts_link(route=key.route, perturbation=key.perturbation, rating="shifted"),
        cell_href=f"#{cell_id(report)}",
        retired=(key.route, key.model) in retired,
    )


def _steps(
    alerting: Sequence[CellReport], reports: Sequence[CellReport], events: Sequence[AlertEvent], now: float
) -> list[str]:
    row = alerting[0].key.parts[:2]
    # A perturbation that the model before was never tried with cannot show that the model changed.
    swapped = [one for one in alerting if one.key.parts[:2] == row and _previous_model(one, reports)]
    first = (swapped or alerting)[0]
    since = _raised_at(first, events)
    when = f" shortly before {figures.moment(since, now)} UTC" if since is not None else ""
    steps = [
        "Read a few of the pairs: open “see the pairs” of an alert and judge whether the answers got worse."
    ]
    before = _previous_model(first, reports)
    if before is not None:
        was = f" with an excess of {figures.percent(before.excess.value)}" if before.excess else ""
        last = figures.moment(before.last_scored_at, now) if before.last_scored_at else "earlier"
        steps.append(
            f"The model changed: {before.key.model} answered on {first.key.route} until {last} UTC{was}. "
            "If the pairs are worse, go back to it or hold the rollout."
        )
    else:
        steps.append(
            f"Find what changed on {first.key.route}{when}: model, provider version, prompt template. "
            "If the pairs are worse, take that change back."
        )
    steps.append("No hurry for availability: requests are being forwarded unchanged.")
    return steps


def _previous_model(report: CellReport, reports: Sequence[CellReport]) -> CellReport | None:
    """The same perturbation on the model that answered on this route before, if there was one."""
    retired = retired_models(reports)
    candidates = [
        other
        for other in reports
        if (other.key.route, other.key.model) in retired
        and other.key.route == report.key.route
        and other.key.model != report.key.model
        and other.key.perturbation == report.key.perturbation
        and other.key.perturbation != BASELINE
        and not other.alert
    ]
    return max(candidates, key=lambda other: other.last_scored_at or 0.0, default=None)

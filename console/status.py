"""The status line: what state the endpoint is in, and what a tired operator should do next."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from evenkeel.console.alerts import alerting, explanation, open_changes, raised_at
from evenkeel.console.heatmap import retired_models
from evenkeel.core import figures, rewordings
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.sources import PipelineView
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.monitor_state import AlertEvent


_SAID = {"risen": "more", "fallen": "less"}


def drift_notices(reports: Sequence[CellReport]) -> list[str]:
    """Sentences about cells that drifted, even within what alerts allow; risen before fallen.

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
        f"{figures.percent(first.baseline)} in the {trials}{example}, now {line}. Check what changed there."
    )


def blind_notices(reports: Sequence[CellReport]) -> list[str]:
    """A sentence for each route and model with cells that can't see any change, and what to do about it."""
    groups: dict[tuple[str, str], list[CellReport]] = {}
    retired = retired_models(reports)
    for report in reports:
        if report.is_blind and report.key.parts[:2] not in retired:
            groups.setdefault(report.key.parts[:2], []).append(report)
    found = []
    for (route, model), blind in sorted(groups.items()):
        floor = blind[0].noise_floor
        cells = figures.listing([rewordings.phrase(report.key.perturbation) for report in blind])
        found.append(
            f"{model} on {route} is blind under {cells}: "
            + (f"at a noise floor of {figures.percent(floor.value)} " if floor else "")
            + "even answers to another question would raise no alert. "
            "Lower the temperature, use a judge, or watch similarity."
        )
    return found


State = Literal["empty", "collecting", "steady", "blind", "changed", "alert"]

STUCK_AFTER_S = 120.0
"""A queue whose oldest exchange is older than this is reported: silence must not look like health."""


class AlertLine(NamedTuple):
    """One alerting cell."""

    report: CellReport
    since: float | None
    """Unix time in seconds, None if its raising is no longer in the history."""
    retired: bool
    """Whether the model has stopped answering on this route."""


class Headline(NamedTuple):
    """The rewordings under which one model's answers on one route changed."""

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
    behind: ChangeReport | None = None
    """The change that came before the first alert."""
    changed: tuple[AlertEvent, ...] = ()
    """Changes that nobody announced and that are not over, the latest event of each, newest first."""

    @property
    def announcement(self) -> str:
        """Read by screen readers when it changes: without times, so that it is read once."""
        moved = [
            f"answers of {line.model} on route {line.route} under {line.changes}" for line in self.headlines
        ]
        if not moved and self.changed:
            whose = [f"{event.model or 'the model'} on route {event.route}" for event in self.changed]
            return f"Changed: {'; '.join(whose)}"
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
    blind = blind_notices(reports)
    notices = (*pipeline.notices, *filter(None, (stuck(pipeline),)), *blind, *drift_notices(reports))
    alerts, changed = alerting(reports), tuple(open_changes(events))
    if alerts:
        said = tuple(event.summary for event in changed)
        return _alert(alerts, reports, events, changes, (*said, *notices), now)
    if changed:
        return Status(
            "changed",
            "Changed: provider? · evenkeel",
            (),
            (),
            "",
            _change_steps(changed),
            notices,
            changed=changed,
        )
    watched = [report for report in reports if report.excess is not None]
    if watched and blind:
        return Status("blind", "Blind · evenkeel", (), (), _steady_summary(watched, now), (), notices)
    if watched:
        return Status("steady", "Steady · evenkeel", (), (), _steady_summary(watched, now), (), notices)
    if any(report.trials or report.failures for report in reports):
        summary = _collecting_summary(reports, pipeline)
        return Status("collecting", "Collecting · evenkeel", (), (), summary, (), notices)
    return Status("empty", "Waiting for traffic · evenkeel", (), (), "", (), notices)


def stuck(pipeline: PipelineView) -> str:
    """What is wrong with the queue, "" if nothing is."""
    if pipeline.oldest_s <= STUCK_AFTER_S:
        return ""
    return (
        f"Scoring is behind: the oldest exchange has waited {figures.duration(pipeline.oldest_s)}, "
        "so the figures are as old. Check that the worker runs and that the budget is not spent."
    )


def _collecting_summary(reports: Sequence[CellReport], pipeline: PipelineView) -> str:
    most = max(report.effective for report in reports)
    if most:
        return (
            f"The furthest cell has {most} of the {pipeline.minimum_trials} trials a figure needs. "
            "Nothing to do: figures appear with more traffic."
        )
    reasons: Counter[str] = Counter()
    for report in reports:
        reasons.update(report.failures)
    ordered = sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
    text = f"No trial could be rated yet: {', '.join(f'{count} {reason}' for reason, count in ordered)}."
    if "unauthorized" in reasons and not pipeline.notices:  # a judge without a key has a notice of its own
        text += (
            " Replays have a key of their own, which the endpoint has to accept: the variable that "
            "shadow.api_key_env names holds it, EVENKEEL_SHADOW_API_KEY unless it was changed."
        )
    return text


def _steady_summary(watched: Sequence[CellReport], now: float) -> str:
    routes = {report.key.route for report in watched}
    worst, excess = max(
        ((report, found) for report in watched if (found := report.current.excess) is not None),
        key=lambda one: one[1].value,
    )
    last = max(report.last_scored_at or 0.0 for report in watched)
    text = (
        f"{figures.count(len(watched), 'cell')} watched on {figures.count(len(routes), 'route')}. "
        f"Largest: {figures.points_text(excess, 0)} points above noise in {excess.n:,} trials "
        f"for {rewordings.phrase(worst.key.perturbation)} on {worst.key.route} "
        f"(allowed {figures.number(worst.threshold * 100)})."
    )
    return f"{text} Last trial {figures.moment(last, now)} UTC." if last else text


def _change_steps(changed: Sequence[AlertEvent]) -> tuple[str, ...]:
    """What to do about a change that nobody announced."""
    if all(event.measure == "traits" for event in changed):
        first = (
            "Turn reference prompts on (references.calls_per_day): they confirm or deny it in a few calls."
        )
    else:
        first = "Read the report: answers to the same prompts before and after, and whether they got worse."
    return (
        first,
        "If the answers are worse, pin the model's version, switch to another one, or ask the provider.",
        "Availability is not affected: requests are forwarded unchanged.",
    )


def _alert(
    alerts: Sequence[CellReport],
    reports: Sequence[CellReport],
    events: Sequence[AlertEvent],
    changes: Sequence[ChangeReport],
    notices: tuple[str, ...],
    now: float,
) -> Status:
    retired = retired_models(reports)
    # An alert on a model that has stopped answering stays an alert: it may only be rarely called.
    lines = [AlertLine(one, raised_at(one.key, events), one.key.parts[:2] in retired) for one in alerts]
    lines.sort(key=lambda line: line.retired)
    groups: dict[tuple[str, str], list[str]] = {}
    for line in lines:
        key = line.report.key
        groups.setdefault((key.route, key.model), []).append(rewordings.phrase(key.perturbation))
    # The change before the first of the alerts of the first one's route for which one is known.
    first = lines[0].report.key.route
    behind = (explanation(changes, first, line.since) for line in lines if line.report.key.route == first)
    return Status(
        state="alert",
        title=f"▲ {figures.count(len(lines), 'alert')} · evenkeel",
        headlines=tuple(
            Headline(model, route, figures.listing(moved)) for (route, model), moved in groups.items()
        ),
        alerts=tuple(lines),
        summary="",
        steps=tuple(_steps(lines, reports, now)),
        notices=notices,
        behind=next(filter(None, behind), None),
    )


def _steps(lines: Sequence[AlertLine], reports: Sequence[CellReport], now: float) -> list[str]:
    row = lines[0].report.key.parts[:2]
    # A perturbation that the model before was never tried with cannot show that the model changed.
    swapped = [
        one for one in lines if one.report.key.parts[:2] == row and _previous_model(one.report, reports)
    ]
    first, since, _ = (swapped or lines)[0]
    when = f" shortly before {figures.moment(since, now)} UTC" if since is not None else ""
    steps = [
        "Read a few of the trials: open “see the trials” of an alert and check whether the answers got worse."
    ]
    before = _previous_model(first, reports)
    if before is not None:
        was = f", {figures.points(before.excess, 0)} points above noise" if before.excess else ""
        last = figures.moment(before.last_scored_at, now) if before.last_scored_at else "earlier"
        steps.append(
            f"The model changed: {before.key.model} answered on {first.key.route} until {last} UTC{was}. "
            "If the answers are worse, go back to it or hold the rollout."
        )
    else:
        steps.append(
            f"Find what changed on {first.key.route}{when}: model, provider version, prompt template. "
            "If the answers are worse, roll that change back."
        )
    steps.append("Availability is not affected: requests are forwarded unchanged.")
    return steps


def _previous_model(report: CellReport, reports: Sequence[CellReport]) -> CellReport | None:
    """The same perturbation on the model that answered on this route before, if there was one."""
    retired = retired_models(reports)
    candidates = [
        other
        for other in reports
        if other.key.parts[:2] in retired
        and other.key.route == report.key.route
        and other.key.model != report.key.model
        and other.key.perturbation == report.key.perturbation
        and other.key.perturbation != BASELINE
        and not other.alert
    ]
    return max(candidates, key=lambda other: other.last_scored_at or 0.0, default=None)

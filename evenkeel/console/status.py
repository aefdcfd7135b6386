"""Top of Now: problems and next steps, or that there are none, and how much is watched."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.console.pipeline import stuck
from evenkeel.core import figures, rewordings
from evenkeel.core.together import by_themselves
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.console.incidents import IncidentLine
    from evenkeel.console.sources import PipelineView
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.measuring import Measuring

State = Literal["incident", "held_up", "blind", "steady", "collecting", "empty"]

_TITLES: Final[dict[State, str]] = {
    "incident": "Now",
    "held_up": "Held up",
    "blind": "Blind",
    "steady": "Steady",
    "collecting": "Collecting",
    "empty": "Waiting for traffic",
}


@dataclass(frozen=True, slots=True)
class Status:
    """State shown at the top of the page."""

    state: State
    going: Sequence[IncidentLine]
    """Open incidents, newest first; those with a common cause share a line."""
    lately: Sequence[IncidentLine]
    """Incidents that ended within the last day."""
    summary: str
    """Summary of what is watched, in one or two sentences; "" while an incident is open."""
    notices: tuple[str, ...]

    @property
    def title(self) -> str:
        """Title of the document; it starts with the state, so that a pinned tab shows it."""
        return f"{_TITLES[self.state]} · evenkeel"

    @property
    def announcement(self) -> str:
        """Text for screen readers, read when it changes; it has no ages, so that it is read only once."""
        return " ".join(line.said for line in self.going) or self.title


def status(
    reports: Sequence[CellReport],
    pipeline: PipelineView,
    now: float,
    measuring: Measuring,
    going: Sequence[IncidentLine] = (),
    lately: Sequence[IncidentLine] = (),
) -> Status:
    """Condense incidents and cells into one state.

    Args:
        reports: one per cell, in any order.
        pipeline: for the notices and the minimum number of trials.
        now: Unix time in seconds.
        measuring: whether answers are measured.
        going: the open incidents.
        lately: those that ended within a day.
    """
    blind = blind_notices(reports)
    behind = "" if measuring.cause("worker") else stuck(pipeline)
    notices = (*pipeline.notices, *filter(None, (behind,)), *blind)
    watched = [report for report in _live(reports) if report.estimates.excess is not None]
    state: State
    if going:
        state, summary = "incident", ""
    elif measuring.causes:
        state, summary = "held_up", ""
    elif watched:
        state, summary = "blind" if blind else "steady", _steady_summary(watched, now)
    elif any(report.counts.trials or report.counts.failures for report in reports):
        state, summary = "collecting", _collecting_summary(reports, pipeline)
    else:
        state, summary = "empty", ""
    return Status(state, going, lately, summary, notices)


def blind_notices(reports: Sequence[CellReport]) -> list[str]:
    """Return a notice for each route and model with blind cells, which cannot detect a change."""
    groups: dict[tuple[str, str], list[CellReport]] = {}
    for report in _live(reports):
        if report.is_blind:
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


def coverage(reports: Sequence[CellReport]) -> str:
    """Count the cells with a figure and those without, with reasons, in a sentence; "" without cells."""
    live = _live(reports)
    failing = [one for one in live if sum(one.counts.failures.values()) > one.counts.trials]
    blind = sum(one.is_blind for one in live)
    collecting = sum(one.estimates.content_delta is None and one not in failing for one in live)
    if not live:
        return ""
    reasons: Counter[str] = Counter()
    for one in failing:
        reasons.update(one.counts.failures)
    parts = [
        f"{collecting} still collecting trials" if collecting else "",
        f"{blind} blind: their noise hides any change" if blind else "",
        f"{len(failing)} failing: most trials have no rating ({figures.reasons(reasons)})" if failing else "",
    ]
    routes = len({one.key.route for one in live})
    measured = sum(one.estimates.content_delta is not None for one in live)
    said = f"{figures.count(len(live), 'cell')} on {figures.count(routes, 'route')}, {measured} with a figure"
    return "; ".join([said, *filter(None, parts)]) + "."


def _live(reports: Sequence[CellReport]) -> list[CellReport]:
    """Return the cells of models that still answer."""
    return [report for report in reports if not report.retired]


def _collecting_summary(reports: Sequence[CellReport], pipeline: PipelineView) -> str:
    if any(report.counts.effective for report in reports):
        # The control has the most trials, but no figure to report.
        ahead = max((one.counts.effective for one in reports if one.key.perturbation != BASELINE), default=0)
        return (
            f"A rewording's first figure needs {pipeline.minimum_trials} trials with a rated control; "
            f"the one with the most trials has {ahead}."
            + ("" if pipeline.notices else " Nothing to do: figures appear with more traffic.")
        )
    reasons: Counter[str] = Counter()
    for report in reports:
        reasons.update(report.counts.failures)
    text = f"No trial could be rated yet: {figures.reasons(reasons)}."
    if "unauthorized" in reasons and not pipeline.notices:  # a judge without a key has a notice of its own
        text += (
            " Replays have a key of their own, which the endpoint has to accept: the variable that "
            "replays.api_key_env names holds it, EVENKEEL_SHADOW_API_KEY unless it was changed."
        )
    return text


def _steady_summary(watched: Sequence[CellReport], now: float) -> str:
    worst, excess = max(
        (
            (report, found)
            for report in by_themselves(watched, lambda one: one.key.perturbation)
            if (found := report.current.excess) is not None
        ),
        key=lambda one: one[1].value,
    )
    last = max(report.last_scored_at or 0.0 for report in watched)
    text = (
        f"Largest: {figures.points_text(excess, 0)} points above noise in {excess.n:,} trials "
        f"for {rewordings.phrase(worst.key.perturbation)} on {worst.key.route} "
        f"(limit {figures.number(worst.detection.threshold * 100)})."
    )
    return f"{text} Last trial {figures.moment(last, now)} UTC." if last else text

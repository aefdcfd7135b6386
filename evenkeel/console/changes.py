"""The report on a change, as a page and JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from litestar import Response, get
from litestar.exceptions import NotFoundException

from evenkeel.console import diffs
from evenkeel.console.api import json_response, scored_by
from evenkeel.console.rendering import PathText  # noqa: TC001 - litestar reads the annotations
from evenkeel.console.trial import plain
from evenkeel.monitor.changes.examples import Exhibits, exhibits
from evenkeel.monitor.changes.examples import plain as plain_examples
from evenkeel.monitor.changes.prompt_edit import edits_of
from evenkeel.monitor.notify.notices import past_effect
from evenkeel.release.goldens.candidates import prompt_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.diffs import DiffRun, SideBySide
    from evenkeel.console.rendering import Renderer
    from evenkeel.console.situation import Situation
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.monitor.changes.examples import Example
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.incidents import Incident
    from evenkeel.monitor.incidents.incident import Effect


# Effects of an incident that is still open.
_ARE: Final[dict[Effect, str]] = {
    "worse": "answers got worse",
    "fragile": "answers are more fragile",
    "invalid": "answers ignore the format or language asked for",
    "different": "answers are different",
    "unsteady": "answers are less steady",
    "steadier": "answers are steadier",
}
_PROMPT_CHARS: Final = 8_000
_ANSWER_CHARS: Final = 8_000


def change_of(sources: ConsoleSources, change: str) -> ChangeReport | None:
    """Return the report on a change; None if it is not kept."""
    return next((report for report in sources.change_reports() if report.id == change), None)


def incident_of(change: ChangeReport, incidents: Iterable[Incident]) -> Incident | None:
    """Return the incident that a change opened; None if it opened none."""
    return next((incident for incident in incidents if incident.change == change.id), None)


def effect_words(change: ChangeReport, incident: Incident | None) -> str:
    """Return the effect of a change in a few words.

    An incident weighs more figures than the comparison of the two sides does, such as similarity. Where it
    opened and the comparison shows nothing, its effect is the one to tell.
    """
    if incident is None or change.effect not in {"none_seen", "unknown"}:
        return change.said
    return past_effect(incident) if incident.state == "resolved" else _ARE[incident.effect]


def _shown(example: Example) -> tuple[str, tuple[DiffRun, ...], SideBySide]:
    """Return route, prompt, and the answers from before and since with their differences marked."""
    before, after = example.before.shown, example.after.shown
    return (
        example.route,
        plain(prompt_text(example.request), _PROMPT_CHARS),
        diffs.side_by_side(before, after, max_chars=_ANSWER_CHARS),
    )


def change_handlers(
    sources: ConsoleSources, situation: Situation, renderer: Renderer
) -> list[HTTPRouteHandler]:
    """Handlers of `/changes/{id}` and `/api/changes/{id}`."""

    def shown(report: ChangeReport) -> Exhibits:
        """Return the stored answers from before and after a silent change."""
        if report.silent is None:
            return Exhibits()
        return exhibits(report.silent, sources.references)

    def found(change: str) -> ChangeReport:
        report = change_of(sources, change)
        if report is None:
            raise NotFoundException(detail="There is no change of this id, or it is no longer kept.")
        return report

    @get("/changes/{change:str}", sync_to_thread=True, needs="viewer")
    def page(change: PathText) -> Response[bytes]:
        report = found(change)
        seen = shown(report)
        incident = incident_of(report, situation.board.all())
        return renderer.response(
            "change.html",
            change=report,
            effect=effect_words(report, incident),
            incident=incident,
            seen=seen,
            edits=edits_of(sources.log, report.route, report.marks),
            examples=list(map(_shown, seen.examples)),
        )

    @get("/api/changes/{change:str}", sync_to_thread=True, needs="viewer")
    def one(change: PathText) -> Response[bytes]:
        report = found(change)
        return json_response(
            {
                "change": asdict(report),
                **scored_by(sources),
                "prompt_edits": [asdict(edit) for edit in edits_of(sources.log, report.route, report.marks)],
                **plain_examples(shown(report), prompt_text),
            }
        )

    return [page, one]

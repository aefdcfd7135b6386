"""The pages about changes: the list, and the report on one of them; the same as JSON and Markdown."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from litestar import MediaType, Response, get
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from evenkeel.console import links
from evenkeel.console.api import json_response
from evenkeel.core import figures
from evenkeel.monitor.changes.kinds import NAMES
from evenkeel.monitor.changes.markdown import EFFECTS, markdown
from evenkeel.monitor.changes.report import SAID, Cause

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.monitor.changes.report import ChangeReport, Sides

ChangeId = FromPath[str]


@dataclass(frozen=True, slots=True)
class SidesView:
    """A figure before and after, as text."""

    before: str
    after: str
    moved: str
    """"worse", "better" or ""."""


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A change as its page shows it."""

    report: ChangeReport
    href: str
    cause: str
    causes: tuple[str, ...]
    """Those that compete, if it is unclear."""
    effect: str
    at: str
    at_iso: str
    at_exact: str
    marks: tuple[tuple[str, str, str], ...]
    """What changed, before, after."""
    cells: tuple[tuple[str, SidesView, SidesView, SidesView], ...]
    """Perturbation; content delta, excess, robustness."""
    traits: tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...]
    """Trait, distance, and shares of its values before and after."""
    judge: tuple[tuple[str, SidesView], ...]
    goldens: tuple[tuple[str, str, str], ...]
    """Measure, share of breaches before and now."""


def change_handlers(
    reports: Callable[[], Sequence[ChangeReport]], clock: Callable[[], float], renderer: Renderer
) -> list[HTTPRouteHandler]:
    """`/changes`, `/changes/{id}`, `/api/changes/{id}` and `/api/changes/{id}/markdown`."""

    def found(change: str) -> ChangeReport:
        for report in reports():
            if change in {report.id, report.also}:
                return report
        raise NotFoundException(detail="There is no change of this id, or it is no longer kept.")

    @get("/changes", sync_to_thread=True)
    def listed() -> Response[bytes]:
        now = clock()
        rows = [view(report, now) for report in reports()]
        return Response(renderer.page("changes.html", rows=rows), media_type=MediaType.HTML)

    @get("/changes/{change:str}", sync_to_thread=True)
    def page(change: ChangeId) -> Response[bytes]:
        shown = view(found(change), clock())
        return Response(renderer.page("change.html", change=shown), media_type=MediaType.HTML)

    @get("/api/changes/{change:str}", sync_to_thread=True)
    def one(change: ChangeId) -> Response[bytes]:
        return json_response({"change": asdict(found(change))})

    @get("/api/changes/{change:str}/markdown", sync_to_thread=True)
    def text(change: ChangeId) -> Response[bytes]:
        return Response(markdown(found(change)).encode("utf-8", "replace"), media_type="text/markdown")

    return [listed, page, one, text]


def view(report: ChangeReport, now: float) -> ChangeView:
    """A report as text."""
    comparison = report.comparison
    cells = []
    if comparison is not None:
        nothing = SidesView("–", "–", "")
        cells.append(("all perturbations", _sides(comparison.pooled, up_is_worse=True), nothing, nothing))
        cells += [
            (
                cell.perturbation,
                _sides(cell.content_delta, up_is_worse=True),
                _sides(cell.excess, up_is_worse=True),
                _sides(cell.robustness, up_is_worse=False),
            )
            for cell in comparison.cells
        ]
    return ChangeView(
        report=report,
        href=links.change_link(report.id),
        cause=SAID[report.cause],
        causes=tuple(SAID[cause] for cause in report.among) if report.cause is Cause.UNCLEAR else (),
        effect=EFFECTS[report.effect],
        at=figures.moment(report.at, now),
        at_iso=figures.iso(report.at),
        at_exact=figures.moment_exact(report.at),
        marks=tuple((NAMES.get(mark.kind, mark.kind), mark.before, mark.after) for mark in report.marks),
        cells=tuple(cells),
        traits=_traits(report),
        judge=_judge(report),
        goldens=tuple(
            (name, "–" if before is None else figures.percent(before), figures.percent(after))
            for name, after, before in (report.goldens.breaches if report.goldens else ())
        ),
    )


def _traits(report: ChangeReport) -> tuple[tuple[str, str, tuple[tuple[str, str, str], ...]], ...]:
    return tuple(
        (
            trait.trait,
            figures.percent(trait.distance),
            tuple(
                (value, figures.percent(before), figures.percent(after))
                for value, before, after in trait.shares
            ),
        )
        for trait in (report.comparison.traits if report.comparison else ())
    )


def _judge(report: ChangeReport) -> tuple[tuple[str, SidesView], ...]:
    if report.comparison is None:
        return ()
    judge = report.comparison.judge
    rows = (
        ("another rating when asked again", judge.noise, True),
        ("same rating with sides swapped", judge.swap_consistency, False),
        ("agrees with the cheap metrics", judge.agreement, False),
    )
    return tuple(
        (name, _sides(sides, up_is_worse=worse)) for name, sides, worse in rows if sides.before or sides.after
    )


def _sides(sides: Sides, *, up_is_worse: bool) -> SidesView:
    moved = ""
    if sides.moved:
        moved = "worse" if sides.rose == up_is_worse else "better"
    return SidesView(
        "–" if sides.before is None else figures.estimate_of(sides.before),
        "–" if sides.after is None else figures.estimate_of(sides.after),
        moved,
    )

"""Boards: panels on shelves, with variables, annotations and links, as Grafana's JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from grafana_foundation_sdk.builders import prometheus
from grafana_foundation_sdk.builders.dashboard import AnnotationQuery, Dashboard, DashboardLink
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard

from grafana import variables
from grafana.panels import DATASOURCE
from grafana.promql import highest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


COLUMNS: Final = 24
"""Of Grafana's grid."""
TAG: Final = "evenkeel"


class Addresses(NamedTuple):
    """What the links of a dashboard begin with; by default as in `deploy/prometheus/prometheus.yml`."""

    console: str = "http://127.0.0.1:8101"
    runbooks: str = "file:///opt/evenkeel/docs/runbooks"


class Shelf(NamedTuple):
    """Panels side by side, of one height."""

    height: int
    panels: Sequence[tuple[int, dashboard.Panel]]
    """Each with its width; together at most 24."""


def shelf(height: int, *panels: dashboard.Panel) -> Shelf:
    """Panels of the same width that share a shelf."""
    return Shelf(height, [(COLUMNS // len(panels), panel) for panel in panels])


class Section(NamedTuple):
    """Shelves, one below the other."""

    shelves: Sequence[Shelf]
    title: str = ""
    """Of the row above them; "" = none."""
    collapsed: bool = False
    """Whether a click on the title is needed to see them."""


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard."""

    uid: str
    title: str
    description: str
    sections: Sequence[Section]
    narrowed_by: Sequence[dashboard.VariableModel]
    """Variables besides data source, deployment and addresses."""
    marks: Sequence[str] = ()
    """Matchers of the changes that are marked in its graphs; empty = none are."""
    hours: int = 24
    """Shown at first."""


def to_json(board: Board, addresses: Addresses) -> str:
    """The dashboard as Grafana imports it: the same text for the same board."""
    return (
        json.dumps(_model(board, addresses), cls=JSONEncoder, indent=1, sort_keys=True, ensure_ascii=False)
        + "\n"
    )


def _model(board: Board, addresses: Addresses) -> dashboard.Dashboard:
    others = (
        DashboardLink("More of evenkeel")
        .type(dashboard.DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .keep_time(True)
        .include_vars(True)
    )
    console = (
        DashboardLink("Console")
        .type(dashboard.DashboardLinkType.LINK)
        .url("${console}/")
        .icon("external link")
        .target_blank(True)
    )
    build = (
        Dashboard(board.title)
        .uid(board.uid)
        .description(board.description)
        .tags([TAG])
        .editable()
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .time(f"now-{board.hours}h", "now")
        .timezone("browser")
        .refresh("30s")
        .links([others, console])
    )
    if board.marks:
        build = build.annotations([_incidents(board.marks), _changes(board.marks)])
    model = build.build()
    model.templating.list_val = [
        variables.datasource(),
        variables.deployment(),
        *board.narrowed_by,
        variables.address("console", addresses.console),
        variables.address("runbooks", addresses.runbooks),
    ]
    for variable in model.templating.list_val:
        # The kit sets these for every variable; the schema has them for intervals only.
        variable.auto = variable.auto_min = variable.auto_count = None
    model.panels = list(_placed(board.sections))
    return model


def _incidents(matchers: Sequence[str]) -> AnnotationQuery:
    # Exported while the incident is open; the value is the time at which it was opened.
    opened = highest("evenkeel_incident_opened_timestamp_seconds", *matchers, by="job, route, slot")
    said = highest("evenkeel_incident_open", *matchers, by="job, route, slot, change, effect")
    expr = f"1000 * {opened} * on (job, route, slot) group_right () {said}"
    return _mark(
        "Incidents", "red", expr, "{{route}}: {{effect}}", "after a change of {{change}}", "route,effect"
    )


def _changes(matchers: Sequence[str]) -> AnnotationQuery:
    # A suspicion changes nothing until it is found.
    kinds = (*matchers, 'kind!="traits"')
    expr = f"{highest('evenkeel_last_change_timestamp_seconds', *kinds, by='job, route, kind')} * 1000"
    return _mark("Changes", "purple", expr, "{{kind}} changed", "route {{route}}", "route,kind")


def _mark(name: str, colour: str, expr: str, title: str, text: str, tags: str) -> AnnotationQuery:
    # The value of the series is the time of what happened: the mark stands there, not at the scrape.
    return (
        AnnotationQuery()
        .name(name)
        .datasource(DATASOURCE)
        .enable(True)
        .icon_color(colour)
        .target(prometheus.Dataquery().expr(expr).ref_id(name).interval("60s").range())
        .expr(expr)
        .step("60s")
        .use_value_for_time(True)
        .title_format(title)
        .text_format(text)
        .tag_keys(tags)
    )


def _placed(sections: Sequence[Section]) -> Iterator[dashboard.Panel | dashboard.RowPanel]:
    number, y = 0, 0
    for section in sections:
        row: dashboard.RowPanel | None = None
        if section.title:
            number += 1
            row = dashboard.RowPanel(
                title=section.title,
                collapsed=section.collapsed,
                grid_pos=dashboard.GridPos(h=1, w=COLUMNS, x=0, y=y),
                id_val=number,
            )
            row.panels = []
            y += 1
            yield row
        for shelf in section.shelves:
            x = 0
            for width, panel in shelf.panels:
                number += 1
                panel.id_val = number
                panel.grid_pos = dashboard.GridPos(h=shelf.height, w=width, x=x, y=y)
                x += width
                if row is not None and section.collapsed:
                    row.panels.append(panel)
                else:
                    yield panel
            y += shelf.height

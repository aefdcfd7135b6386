"""Tables: rows of labels and values, and heatmaps of two labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from grafana_foundation_sdk.builders import table
from grafana_foundation_sdk.builders.dashboard import FieldColor
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models import table as tables
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from grafana.panels.base import Query, Unit, Words, begin, now, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from grafana.scales import Scale

LONGEST_TABLE: Final = 200
"""Rows of a table; more are not read."""
_COLOURED = commons.TableColoredBackgroundCellOptions(mode=commons.TableCellBackgroundDisplayMode.BASIC)


@dataclass(frozen=True, slots=True)
class Column:
    """How a table shows a column, or the value of a query."""

    expr: str
    title: str
    unit: Unit = "percentunit"
    scale: Scale | None = None
    """Colours the cell."""
    width: int = 0
    """In pixels; 0 = what is left."""
    decimals: int | None = None
    words: Mapping[int, str] | None = None
    """Written in place of these numbers."""


def matrix(
    words: Words, query: Query, *, row: str, column: str, unit: Unit, scale: Scale, row_title: str
) -> dashboard.Panel:
    """A heatmap of two labels: a row for each value of one, a column for each of the other.

    Grafana's own heatmap wants time on one axis; a table whose cells are coloured does not.
    """
    corner = f"{row}\\{column}"
    panel = (
        begin(table.Panel(), words, unit)
        .targets(now([query], PromQueryFormat.TABLE))
        .transformations(
            [
                dashboard.DataTransformerConfig(id_val="sortBy", options={"sort": [{"field": column}]}),
                dashboard.DataTransformerConfig(
                    id_val="groupingToMatrix",
                    options={
                        "rowField": row,
                        "columnField": column,
                        "valueField": "Value",
                        "emptyValue": "null",
                    },
                ),
                dashboard.DataTransformerConfig(id_val="sortBy", options={"sort": [{"field": corner}]}),
            ]
        )
        .thresholds(scale.build())
        .color_scheme(FieldColor().mode(dashboard.FieldColorModeId.THRESHOLDS))
        .cell_options(_COLOURED)
        .align(commons.FieldTextAlignment.CENTER)
        .min_width(90)
        .decimals(0)
        .cell_height(commons.TableCellHeight.SM)
        .override_by_name(
            corner,
            [
                value("displayName", row_title),
                value("custom.cellOptions", {"type": "auto"}),
                value("custom.align", "left"),
                value("custom.minWidth", 190),
            ],
        )
        .build()
    )
    return _without_footer(panel)


def rows(
    words: Words,
    labels: dict[str, str],
    columns: Sequence[Column],
    *,
    sort_by: str = "",
    ascending: bool = False,
    link: str = "",
) -> dashboard.Panel:
    """A table: one row for each combination of labels, one column for each query.

    Args:
        words: of the panel.
        labels: to show, with their titles, in this order.
        columns: after them.
        sort_by: title of a column or label; "" = as the queries give the rows.
        ascending: the order of `sort_by`.
        link: path on the console to which the first label of each row leads.
    """
    titles = dict(labels)
    order = {name: place for place, name in enumerate(labels)}
    for place, column in enumerate(columns):
        field = "Value" if len(columns) == 1 else f"Value #{chr(ord('A') + place)}"
        titles[field] = column.title
        order[field] = len(order)
    steps = [
        dashboard.DataTransformerConfig(id_val="merge", options={}),
        dashboard.DataTransformerConfig(
            id_val="organize",
            options={
                "excludeByName": {"Time": True},
                "indexByName": order,
                "renameByName": titles,
            },
        ),
        dashboard.DataTransformerConfig(id_val="limit", options={"limitField": LONGEST_TABLE}),
    ]
    if sort_by:
        sort = {"field": sort_by, "desc": not ascending}
        steps.insert(-1, dashboard.DataTransformerConfig(id_val="sortBy", options={"sort": [sort]}))
    panel = (
        begin(table.Panel(), words, "none")
        .targets(now([Query(column.expr) for column in columns], PromQueryFormat.TABLE))
        .transformations(steps)
        .cell_height(commons.TableCellHeight.SM)
        .cell_options(commons.TableAutoCellOptions())
    )
    for column in columns:
        panel = panel.override_by_name(column.title, _column(column))
    if link:
        url = {"title": "Show in the console", "url": f"${{console}}{link}", "targetBlank": True}
        panel = panel.override_by_name(next(iter(labels.values())), [value("links", [url])])
    return _without_footer(panel.build())


def _without_footer(panel: dashboard.Panel) -> dashboard.Panel:
    """The kit still writes an option that Grafana's schema no longer has."""
    assert isinstance(panel.options, tables.Options)
    panel.options.footer = None
    return panel


def _column(column: Column) -> list[dashboard.DynamicConfigValue]:
    found = [value("unit", column.unit)]
    if column.decimals is not None:
        found.append(value("decimals", column.decimals))
    if column.width:
        found.append(value("custom.width", column.width))
    if column.words is not None:
        options = {str(number): {"text": text} for number, text in column.words.items()}
        found.append(value("mappings", [{"type": "value", "options": options}]))
    if column.scale is not None:
        found += [
            value("thresholds", column.scale.as_json()),
            value("color", {"mode": "thresholds"}),
            value("custom.cellOptions", {"type": "color-background", "mode": "basic"}),
        ]
    return found

"""The renderer of the previews: variables, tables, numbers, and graphs of known points."""

from __future__ import annotations

import json

import pytest

from grafana import BUILTIN, Addresses, to_json
from grafana.panels import Column, Query, Words, lines, matrix, rows
from grafana.preview import Answer, Scene, expressions
from grafana.preview.frames import table
from grafana.preview.graphs import Area, Line, graph, legend
from grafana.preview.written import written
from grafana.scales import ANY_IS_WRONG, ROBUSTNESS

WORDS = Words("Title", "What it shows.")


def as_json(panel):
    """A panel as Grafana reads it."""
    return json.loads(json.dumps(panel, default=lambda one: one.to_json()))


def test_a_query_is_sent_as_grafana_would_send_it():
    """One hour in 200 points is 18 s a step; a rate looks back four scrapes of 15 s, or a step and one."""
    scene = Scene("", 0, 3600, chosen={"job": ".*", "route": "desk"})
    assert scene.step_s == 18
    assert (
        scene.interpolated('x{job=~"$job", route="$route"}[$__rate_interval]')
        == 'x{job=~".*", route="desk"}[60s]'
    )
    assert scene.interpolated("${route:percentencode} $__range $__range_s $other") == "desk 3600s 3600 $other"
    assert Scene("", 0, 86400).interpolated("$__rate_interval") == "447s"


@pytest.mark.parametrize(
    ("number", "unit", "decimals", "text"),
    [
        (0.1234, "percentunit", 1, "12.3%"),
        (0.5, "percentunit", None, "50%"),
        (0, "s", 0, "0 s"),
        (0.00025, "s", None, "250 µs"),
        (90, "s", 1, "1.5 min"),
        (7300, "s", 0, "2 h"),
        (1536, "bytes", 1, "1.5 KiB"),
        (1234567, "locale", 0, "1,234,567"),
        (1250, "reqps", 2, "1.25 K req/s"),
        (2.5, "cps", None, "2.5 c/s"),
        (0.00123, "currencyUSD", 4, "$0.0012"),
        (float("nan"), "none", None, "NaN"),
    ],
)
def test_numbers_are_written_in_their_units(number, unit, decimals, text):
    """Worked by hand."""
    assert written(number, unit, decimals) == text


def test_a_matrix_has_a_row_and_a_column_for_each_label_value():
    """Columns and rows in alphabetical order; what was not measured is empty."""
    panel = as_json(
        matrix(
            WORDS,
            Query("x"),
            row="kind",
            column="place",
            unit="percentunit",
            scale=ROBUSTNESS,
            row_title="Kind",
        )
    )
    found = [
        Answer({"kind": "typos", "place": "b"}, [(0, 0.5)]),
        Answer({"kind": "typos", "place": "a"}, [(0, 0.9)]),
        Answer({"kind": "order", "place": "b"}, [(0, 0.7)]),
    ]
    assert table(panel, [("A", found)]) == [
        {"kind\\place": "order", "a": None, "b": 0.7},
        {"kind\\place": "typos", "a": 0.9, "b": 0.5},
    ]


def test_rows_are_merged_by_their_labels_and_sorted_by_a_column():
    """Two queries make two columns; the highest first, and rows without a value last."""
    panel = as_json(
        rows(
            WORDS,
            {"route": "Route"},
            (
                Column(Query("x"), "Score"),
                Column(Query("y"), "Alert", "none", scale=ANY_IS_WRONG, words={1: "yes"}),
            ),
            sort_by="Score",
        )
    )
    scores = [Answer({"route": "a"}, [(0, 0.2)]), Answer({"route": "b"}, [(0, 0.8)])]
    alerts = [Answer({"route": "c"}, [(0, 1.0)]), Answer({"route": "a"}, [(0, 0.0)])]
    assert table(panel, [("A", scores), ("B", alerts)]) == [
        {"Route": "b", "Score": 0.8, "Alert": None},
        {"Route": "a", "Score": 0.2, "Alert": 0.0},
        {"Route": "c", "Score": None, "Alert": 1.0},
    ]


def test_an_area_maps_time_and_value_to_pixels():
    """The first moment lies at the axis, the last at the right edge; high values lie high, none outside."""
    area = Area(166, 128, 0, 10, 0, 1)
    assert (area.x(0), area.x(10), area.x(5)) == (58, 158, 108)
    assert (area.y(0), area.y(1), area.y(0.5), area.y(7)) == (106, 6, 56, 6)


def test_a_graph_shows_every_series_with_its_name_and_the_marks_in_its_time():
    """Two lines, one mark of two: the other lies before the time shown."""
    panel = as_json(lines(WORDS, (Query("x", "{{route}}"),), "percentunit", limit=ROBUSTNESS, top=1))
    drawn = [Line("desk", [(0, 0.5), (10, 0.6)], {}), Line("<b>", [(0, 0.9), (10, 0.95)], {})]
    svg = graph(panel, drawn, (0, 10), (400, 200), [5, -5])
    assert svg.count("<polyline") == 2
    assert svg.count('stroke-dasharray="3 3"') == 1
    assert svg.count('stroke-dasharray="8 6"') == 3
    assert "desk" in svg
    assert "&lt;b&gt;" in svg
    assert "<b>" not in svg


def test_a_legend_is_made_of_labels():
    """A format with labels in it, or all labels where the panel leaves it to Grafana."""
    assert (
        legend({"legendFormat": "{{route}}: {{reason}}"}, {"route": "a", "reason": "timeout"}) == "a: timeout"
    )
    assert legend({"legendFormat": "__auto"}, {"b": "2", "a": "1"}) == "a=1, b=2"
    assert legend({}, {}) == "Value"


def test_expressions_include_those_of_variables_and_annotations():
    """What Prometheus would be asked, all of it."""
    overview = json.loads(to_json(BUILTIN[0], Addresses()))
    places = {place for place, _ in expressions(overview)}
    assert {"variable job", "variable route", "annotation Changes", "Cells in alert"} <= places

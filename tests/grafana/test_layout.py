"""The structure of the dashboards: places, ids, and what a panel must say."""

from __future__ import annotations

import json
from itertools import combinations

from grafana import Addresses, to_json
from grafana.board import Board, Section, Shelf
from grafana.panels import Words, number
from tests.grafana.scene import DASHBOARDS, each, panels

UNITS = {"percentunit", "short", "none", "s", "reqps", "ops", "cps", "bytes", "currencyUSD", "locale"}
LONGEST_TITLE = 48


@each
def test_every_panel_has_an_id_of_its_own(dashboard):
    """Rows count too."""
    ids = [one["id"] for one in dashboard["panels"]] + [
        one["id"] for row in dashboard["panels"] for one in row.get("panels", ())
    ]
    assert len(set(ids)) == len(ids)
    assert all(isinstance(one, int) and one > 0 for one in ids)


@each
def test_panels_lie_inside_the_grid_and_on_no_other(dashboard):
    """Grafana's grid has 24 columns; a collapsed row's panels lie below it."""
    places = [one["gridPos"] for panel in dashboard["panels"] for one in (panel, *panel.get("panels", ()))]
    for place in places:
        assert place["x"] >= 0
        assert place["x"] + place["w"] <= 24
        assert min(place["w"], place["h"]) > 0
    for one, other in combinations(places, 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below


@each
def test_shelves_are_full(dashboard):
    """No hole is left at the right: the widths of each line of panels add up to the grid's."""
    widths = {}
    for panel in panels(dashboard):
        place = panel["gridPos"]
        widths[place["y"]] = widths.get(place["y"], 0) + place["w"]
    assert set(widths.values()) == {24}


@each
def test_every_panel_can_be_read_at_a_glance(dashboard):
    """Each has a short title, a description in sentences, a unit, and a text for when there is no data."""
    for panel in panels(dashboard):
        assert 0 < len(panel["title"]) <= LONGEST_TITLE
        assert panel["description"].endswith((".", ")"))
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
        assert panel["fieldConfig"]["defaults"]["noValue"]
        assert panel["targets"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


@each
def test_titles_differ(dashboard):
    """A panel can be named in a conversation."""
    titles = [panel["title"] for panel in panels(dashboard)]
    assert len(set(titles)) == len(titles)


@each
def test_thresholds_rise_from_a_first_colour(dashboard):
    """Grafana takes the first step for everything below the second."""
    for panel in panels(dashboard):
        steps = panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps", [{"value": None}])
        assert steps[0]["value"] is None
        starts = [step["value"] for step in steps[1:]]
        assert starts == sorted(starts)


@each
def test_overrides_name_a_series_or_column_that_is_there(dashboard):
    """An override by name that matches nothing would silently do nothing."""
    for panel in panels(dashboard):
        names = {target.get("legendFormat") for target in panel["targets"]}
        for step in panel.get("transformations", ()):
            names |= set(step["options"].get("renameByName", {}).values())
            if step["id"] == "groupingToMatrix":
                names.add(f"{step['options']['rowField']}\\{step['options']['columnField']}")
        overridden = {one["matcher"]["options"] for one in panel["fieldConfig"].get("overrides", ())}
        assert overridden <= names, panel["title"]


def test_every_dashboard_leads_to_the_others_and_to_the_console():
    """From each, one click away; the chosen time and variables go along."""
    for dashboard in DASHBOARDS.values():
        others, console = dashboard["links"]
        assert (others["type"], others["tags"]) == ("dashboards", ["evenkeel"])
        assert others["includeVars"]
        assert others["keepTime"]
        assert console["url"].startswith("${console}")
        assert "evenkeel" in dashboard["tags"]


def test_details_are_collapsed():
    """What is not needed at first sight lies in a closed row; its panels are inside of it, not beside."""
    for dashboard in DASHBOARDS.values():
        rows = [one for one in dashboard["panels"] if one["type"] == "row" and one["collapsed"]]
        assert len(rows) == 1
        assert rows[0]["panels"]


def test_places_are_counted_from_the_shelves():
    """Two panels side by side, then a closed row at y 5 with one panel below it."""

    def panel():
        return number(Words("a", "b."), "up", "none")

    board = Board(
        uid="u",
        title="t",
        description="d",
        sections=(
            Section((Shelf(5, ((16, panel()), (8, panel()))),)),
            Section((Shelf(3, ((24, panel()),)),), "more", collapsed=True),
        ),
        narrowed_by=(),
    )
    first, second, row = json.loads(to_json(board, Addresses()))["panels"]
    assert first["gridPos"] == {"h": 5, "w": 16, "x": 0, "y": 0}
    assert second["gridPos"] == {"h": 5, "w": 8, "x": 16, "y": 0}
    assert row["gridPos"] == {"h": 1, "w": 24, "x": 0, "y": 5}
    assert row["panels"][0]["gridPos"] == {"h": 3, "w": 24, "x": 0, "y": 6}
    assert [first["id"], second["id"], row["id"], row["panels"][0]["id"]] == [1, 2, 3, 4]

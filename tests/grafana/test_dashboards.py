"""The dashboards as files: ids, grid, texts, links, and series that exist."""

import json
import re
from itertools import combinations

import pytest
import yaml

from docs.generate.metrics import documented
from tests.deploy.rule_files import NAMES, RECORDED
from tests.grafana.scene import DASHBOARDS, expressions, panels
from tests.house import ROOT

each = pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=DASHBOARDS)
UNITS = {"percentunit", "short", "none", "s", "reqps", "ops", "cps", "bytes", "currencyUSD", "locale"}
LONGEST_TITLE = 48
COLUMNS = 24

SERIES_LABELS = {
    f"{series.name}{end}": {*series.labels, "job", "instance", *(["le"] if end == "_bucket" else [])}
    for series in documented()
    for end in (("_bucket", "_count", "_sum") if series.kind == "histogram" else ("",))
}
SERIES_LABELS |= {name: {"route", "model", "measure", "job", "instance"} for name in RECORDED}
SERIES_LABELS["up"] = {"job", "instance"}
SERIES_LABELS["ALERTS"] = {"alertname", "alertstate", "severity", "route", "perturbation", "job", "instance"}
EXPORTED_BY_EVERY_MONITOR = {series.name for series in documented() if series.shared}

SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
CALL = re.compile(r"(\w+)(?:\s+(?:by|without)\s*\([^)]*\))?\s*\(")
AGGREGATIONS = {"sum", "max", "min", "avg", "count", "group", "topk", "bottomk", "quantile", "stddev"}
INDEPENDENT_OF_REPLICAS = {"max", "min", "avg", "group"}


@each
def test_ids_are_unique_and_panels_fill_the_grid_without_overlap(dashboard):
    """Rows count for ids; each line of panels is as wide as Grafana's grid."""
    everything = [inner for panel in dashboard["panels"] for inner in (panel, *panel.get("panels", ()))]
    ids = [panel["id"] for panel in everything]
    assert len(set(ids)) == len(ids)
    assert min(ids) > 0
    for first, second in combinations([panel["gridPos"] for panel in everything], 2):
        beside = first["x"] + first["w"] <= second["x"] or second["x"] + second["w"] <= first["x"]
        below = first["y"] + first["h"] <= second["y"] or second["y"] + second["h"] <= first["y"]
        assert beside or below
    widths = {}
    for panel in panels(dashboard):
        place = panel["gridPos"]
        assert min(place["w"], place["h"]) > 0
        widths[place["y"]] = widths.get(place["y"], 0) + place["w"]
    assert set(widths.values()) == {COLUMNS}


@each
def test_every_panel_can_be_read_at_a_glance(dashboard):
    """Each has a short title of its own, a description in sentences, a unit, and a text for "no data"."""
    for panel in panels(dashboard):
        defaults = panel["fieldConfig"]["defaults"]
        assert 0 < len(panel["title"]) <= LONGEST_TITLE
        assert panel["description"].endswith((".", ")"))
        assert defaults["unit"] in UNITS
        assert defaults["noValue"]
        assert panel["targets"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        first, *rest = defaults.get("thresholds", {}).get("steps", [{"value": None}])
        assert first["value"] is None  # Grafana takes the first step for everything below the second
        starts = [step["value"] for step in rest]
        assert starts == sorted(starts)
    titles = [panel["title"] for panel in panels(dashboard)]
    assert len(set(titles)) == len(titles)


@each
def test_overrides_name_a_series_or_column_that_is_there(dashboard):
    """An override by a name that matches nothing would silently do nothing."""
    for panel in panels(dashboard):
        names = {target.get("legendFormat") for target in panel["targets"]}
        for step in panel.get("transformations", ()):
            names |= set(step["options"].get("renameByName", {}).values())
            if step["id"] == "groupingToMatrix":
                names.add(f"{step['options']['rowField']}\\{step['options']['columnField']}")
        overrides = panel["fieldConfig"].get("overrides", ())
        assert {override["matcher"]["options"] for override in overrides} <= names, panel["title"]


@each
def test_series_exist_and_have_the_labels_that_are_asked_for(dashboard):
    """Every selector also narrows by `job`: two deployments in one Prometheus are never mixed."""
    for title, expr in expressions(dashboard):
        for name, matchers in SELECTOR.findall(expr):
            assert name in SERIES_LABELS, (title, name)
            labels = set(re.findall(r"(\w+)\s*[=!]", STRING.sub("", matchers)))
            assert labels <= SERIES_LABELS[name], (title, name)
            assert 'job=~"$job"' in matchers or title == "variable job", (title, name)
        bare = re.sub(r"\$?\{[^}]*\}", "{}", STRING.sub("", expr))
        for name in re.findall(r"evenkeel\w+", bare):
            assert f"{name}{{" in bare or title == "variable job", (title, name)


@each
def test_what_every_monitor_exports_is_counted_once(dashboard):
    """Around each such series the innermost aggregation does not grow with the number of monitors."""
    for title, expr in expressions(dashboard):
        ratio = re.fullmatch(r"sum\((.*) \* \S+\{.*\}\) / sum\(.*\)", expr)
        for place in re.finditer(r"evenkeel_\w+", expr):
            if place[0] in EXPORTED_BY_EVERY_MONITOR and not title.startswith("variable ") and not ratio:
                innermost = next(iter(aggregations(expr, place.start())), None)
                assert innermost in INDEPENDENT_OF_REPLICAS, (title, place[0], expr)


def aggregations(expr, at):
    """Names of the aggregations around a place in an expression, the innermost first."""
    calls = [call for call in CALL.finditer(expr) if call.end() <= at and call[1] in AGGREGATIONS]
    return [call[1] for call in reversed(calls) if is_open(expr[call.end() : at])]


def is_open(inside):
    """Tell whether text after an opening parenthesis leaves it open."""
    depth = 0
    for letter in inside:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return False
    return True


@each
def test_links_lead_to_the_other_dashboards_the_console_and_runbooks_that_exist(dashboard):
    """The chosen time and variables go along; details lie in one collapsed row."""
    others, console = dashboard["links"]
    assert (others["type"], others["tags"]) == ("dashboards", ["evenkeel"])
    assert others["includeVars"]
    assert others["keepTime"]
    assert console["url"].startswith("${console}")
    assert "evenkeel" in dashboard["tags"]
    links = [link["url"] for panel in panels(dashboard) for link in panel.get("links", ())]
    runbooks = [url.removeprefix("${runbooks}/") for url in links if url.startswith("${runbooks}")]
    assert runbooks
    assert [name for name in runbooks if not (ROOT / "docs" / "runbooks" / name).is_file()] == []
    (collapsed,) = [row for row in dashboard["panels"] if row["type"] == "row" and row["collapsed"]]
    assert collapsed["panels"]


@each
def test_addresses_are_those_of_the_example_configuration(dashboard):
    """Alerts of Prometheus and dashboards of Grafana lead to the same places."""
    labels = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text())["global"][
        "external_labels"
    ]
    variables = {variable["name"]: variable for variable in dashboard["templating"]["list"]}
    for name in ("console", "runbooks"):
        assert variables[name]["query"] == labels[f"evenkeel_{name}"]


def test_every_alert_is_linked_from_some_panel():
    linked = set(re.findall(r"Runbook: (\w+)", json.dumps(list(DASHBOARDS.values()))))
    assert set(NAMES) - linked == set()


def test_provisioning_names_the_data_source_and_where_the_files_go():
    """Both files are what Grafana reads at its start."""
    folder = ROOT / "grafana" / "provisioning"
    (source,) = yaml.safe_load((folder / "datasources" / "prometheus.yaml").read_text())["datasources"]
    assert (source["type"], source["jsonData"]["httpMethod"]) == ("prometheus", "POST")
    (provider,) = yaml.safe_load((folder / "dashboards" / "evenkeel.yaml").read_text())["providers"]
    assert provider["type"] == "file"
    assert provider["options"]["path"].startswith("/")

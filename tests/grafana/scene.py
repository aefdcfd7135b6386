"""A dashboard as Grafana would query it: variables filled in, queries sent to a Prometheus."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import httpx2

from tests.house import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

DASHBOARDS = {
    path.stem: json.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "grafana" / "dashboards").glob("*.json"))
}
"""Dashboards by uid, which is also the name of the file."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)(?::\w+)?\}|(\w+))")
_LABEL_VALUES = re.compile(r"label_values\((.+), *(\w+)\)")
_QUERY_RESULT = re.compile(r"query_result\((.+)\)")


@dataclass(frozen=True, slots=True)
class Answer:
    """A series of an answer."""

    labels: dict[str, str]
    points: list[tuple[float, float]]
    """Unix time in seconds and value; one for an instant query."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A time span of a Prometheus, with values of the variables."""

    url: str
    start_s: float
    end_s: float
    scrape_s: float = 15.0
    steps: int = 200
    """Points of a line."""
    chosen: Mapping[str, str] = field(default_factory=dict)

    @property
    def step_s(self):
        """Between two points of a line."""
        return max(1.0, round((self.end_s - self.start_s) / self.steps))

    def interpolated(self, text):
        """A query as Grafana would send it; unknown variables stay."""
        own = {
            "__rate_interval": f"{max(self.step_s + self.scrape_s, 4 * self.scrape_s):.0f}s",
            "__range_s": f"{self.end_s - self.start_s:.0f}",
            "__range": f"{self.end_s - self.start_s:.0f}s",
            "__interval": f"{self.step_s:.0f}s",
        }
        known = {**own, **self.chosen}
        return _VARIABLE.sub(lambda found: known.get(found[1] or found[2], found[0]), text)

    def now(self, expr):
        """Ask for the end of the time; a query that Prometheus does not take fails."""
        series = self._ask("query", expr, {"time": self.end_s})
        return [Answer(row["metric"], [_point(row["value"])]) for row in series]

    def over_time(self, expr):
        """Ask for every step of the time."""
        span = {"start": self.start_s, "end": self.end_s, "step": self.step_s}
        series = self._ask("query_range", expr, span)
        return [Answer(row["metric"], [_point(pair) for pair in row["values"]]) for row in series]

    def with_defaults(self, dashboard):
        """The scene with every variable of a dashboard as Grafana would set it at first.

        Variables already chosen stay. A query's first value stands for one choice; `.*` for all.
        """
        scene = self
        for variable in dashboard["templating"]["list"]:
            if variable["name"] in scene.chosen:
                continue
            current = variable.get("current", {}).get("value")
            if variable["type"] == "query":
                query = scene.interpolated(variable["definition"])
                value = variable.get("allValue") or next(iter(scene.label_values(query)), "")
            else:
                value = current or variable.get("query", "")
            scene = replace(scene, chosen={**scene.chosen, variable["name"]: str(value)})
        return scene

    def label_values(self, query):
        """Values of `label_values(selector, label)`, sorted; of `query_result(…)` its label, in order."""
        asked = _QUERY_RESULT.fullmatch(query)
        if asked:
            return [value for answer in self.now(asked[1]) for value in answer.labels.values()]
        match = _LABEL_VALUES.fullmatch(query)
        assert match, query
        rows = self._get(f"label/{match[2]}/values", {"match[]": match[1]})
        return sorted(rows)

    def _ask(self, how, expr, when):
        result = self._get(how, {"query": self.interpolated(expr), **when})["result"]
        assert isinstance(result, list)
        return result

    def _get(self, path, parameters):
        answer = httpx2.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=120).json()
        assert answer["status"] == "success", f"{parameters.get('query', path)}: {answer.get('error')}"
        return answer["data"]


def panels(dashboard):
    """Every panel, those of collapsed rows included, rows not."""
    for panel in dashboard["panels"]:
        if panel["type"] != "row":
            yield panel
        yield from panel.get("panels", ())


def targets(dashboard):
    """Every query with the title of its panel; those of annotations too."""
    for panel in panels(dashboard):
        for target in panel["targets"]:
            yield panel["title"], target
    for annotation in dashboard.get("annotations", {}).get("list", ()):
        if "target" in annotation:
            yield f"annotation {annotation['name']}", annotation["target"]


def expressions(dashboard):
    """Every PromQL expression with where it stands; the selectors of variables too."""
    for title, target in targets(dashboard):
        yield title, target["expr"]
    for variable in dashboard["templating"]["list"]:
        asked = variable.get("definition", "")
        match = _LABEL_VALUES.fullmatch(asked) or _QUERY_RESULT.fullmatch(asked)
        if match:
            yield f"variable {variable['name']}", match[1]


def _point(pair):
    return float(pair[0]), float(pair[1])

"""Dashboards name only series and labels that the code exposes, or that the rules record."""

from __future__ import annotations

import re

from evenkeel.reference import metrics as metrics_reference
from tests.deploy.rule_files import RECORDED
from tests.grafana.scene import each, expressions

OF_PROMETHEUS = {"up": (), "ALERTS": ("alertname", "alertstate", "severity", "route", "perturbation")}
OF_EVERY_SERIES = {"job", "instance"}
OF_HISTOGRAMS = ("_bucket", "_count", "_sum")

NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\{([^}]*)\}")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def known():
    """The labels of every series there can be, by name."""
    found = {}
    for series in metrics_reference.documented():
        names = [series.name]
        if series.kind == "histogram":
            names = [f"{series.name}{end}" for end in OF_HISTOGRAMS]
        for name in names:
            found[name] = {*series.labels, *OF_EVERY_SERIES, *(["le"] if name.endswith("_bucket") else [])}
    found |= {name: {"route", "model", "measure", *OF_EVERY_SERIES} for name in RECORDED}
    return found | {name: {*labels, *OF_EVERY_SERIES} for name, labels in OF_PROMETHEUS.items()}


@each
def test_every_name_is_exposed_and_has_the_labels_that_are_asked_for(dashboard):
    """A renamed series or label is missed here, before anybody misses a line in a graph."""
    series = known()
    for title, expr in expressions(dashboard):
        for name, matchers in SELECTOR.findall(expr):
            assert name in series, (title, name)
            asked = {part.strip() for part in re.findall(r"(\w+)\s*[=!]", STRING.sub("", matchers))}
            assert asked <= series[name], (title, name)


@each
def test_no_series_is_named_without_the_deployment(dashboard):
    """Two deployments in one Prometheus are never mixed: each selector narrows by `job`."""
    for title, expr in expressions(dashboard):
        if title == "variable job":
            continue
        bare = re.sub(r"\$?\{[^}]*\}", "{}", STRING.sub("", expr))
        for name in NAME.findall(bare):
            assert not name.startswith("evenkeel") or f"{name}{{" in bare, (title, name)
        for _, matchers in SELECTOR.findall(expr):
            assert 'job=~"$job"' in matchers, title

"""Dashboards with two monitors: what both export is shown and counted once."""

from __future__ import annotations

import re

from evenkeel.reference.metrics import documented
from grafana.promql import increase, rate, total
from tests.grafana.scene import each, expressions

SHARED = {series.name for series in documented() if series.shared}
CALL = re.compile(r"(\w+)(?:\s+(?:by|without)\s*\([^)]*\))?\s*\(")
AGGREGATING = {"sum", "max", "min", "avg", "count", "group", "topk", "bottomk", "quantile", "stddev"}
ONCE = {"max", "min", "avg", "group"}


def aggregations(expr, at):
    """Names of the aggregations around a place in an expression, the innermost first."""
    calls = [call for call in CALL.finditer(expr) if call.end() <= at and call[1] in AGGREGATING]
    return [call[1] for call in reversed(calls) if not _closed(expr[call.end() : at])]


def _closed(inside):
    """Whether text after an opening parenthesis closes it."""
    depth = 0
    for letter in inside:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth < 0:
            return True
    return False


@each
def test_what_monitors_export_alike_is_taken_once(dashboard):
    """Around each such series the first aggregation is one that does not grow with their number."""
    for title, expr in expressions(dashboard):
        for place in re.finditer(r"evenkeel_\w+", expr):
            if place[0] in SHARED and not title.startswith("variable "):
                around = aggregations(expr, place.start())
                ratio = re.fullmatch(r"sum\((.*) \* \S+\{.*\}\) / sum\(.*\)", expr)
                assert (around and around[0] in ONCE) or ratio, (title, place[0], expr)


def test_counters_of_processes_are_added_and_those_of_monitors_are_not():
    """By name; a gauge that all monitors read in the store is one as well."""
    job = 'job=~"$job"'
    assert increase("evenkeel_exchanges_scored_total", over="6h") == (
        f"sum(increase(evenkeel_exchanges_scored_total{{{job}}}[6h]))"
    )
    assert rate("evenkeel_ratings_total", by="route") == (
        "sum by (route) (max by (job, model, rating, route, trial) "
        f"(rate(evenkeel_ratings_total{{{job}}}[$__rate_interval])))"
    )
    assert total("evenkeel_queue_waiting") == f"sum(max by (job) (evenkeel_queue_waiting{{{job}}}))"

"""The variables of the dashboards: where from, and narrowed to what."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import (
    ConstantVariable,
    DatasourceVariable,
    QueryVariable,
)
from grafana_foundation_sdk.models import dashboard

from grafana.panels import DATASOURCE

_EVERYTHING: Final = dashboard.VariableOption(selected=True, text=["All"], value=["$__all"])


def datasource() -> dashboard.VariableModel:
    """Which Prometheus."""
    return DatasourceVariable("datasource").label("Data source").type("prometheus").build()


def deployment() -> dashboard.VariableModel:
    """Which evenkeel: the scrape job, which all roles of a deployment share."""
    return (
        _labels(
            "job", "Deployment", '{__name__=~"evenkeel_build_info|evenkeel_proxy_connections_total"}', "job"
        )
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .current(_EVERYTHING)
        .build()
    )


def routes(*, one: bool = False) -> dashboard.VariableModel:
    """Which routes: some; or exactly one, at first one with an open incident."""
    if one:
        return _first("route", "Route", 'evenkeel_route_incidents{job=~"$job"}')
    found = _labels("route", "Route", 'evenkeel_proxy_requests_total{job=~"$job", route!="none"}', "route")
    return found.multi(True).include_all(True).all_value(".*").current(_EVERYTHING).build()


def model() -> dashboard.VariableModel:
    """Which model of the chosen route, at first the one that was rated last."""
    return _first("model", "Model", 'evenkeel_last_score_timestamp_seconds{job=~"$job", route=~"$route"}')


def _first(label: str, title: str, selector: str) -> dashboard.VariableModel:
    """A choice of one label's values, in the order of the series, the highest first."""
    query = f"query_result(sort_desc(max by ({label}) ({selector})))"
    return (
        QueryVariable(label)
        .label(title)
        .datasource(DATASOURCE)
        .query({"query": query, "refId": f"variable-{label}"})
        .definition(query)
        .regex(f'/{label}="([^"]+)"/')
        .sort(dashboard.VariableSort.DISABLED)
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .build()
    )


def address(name: str, url: str) -> dashboard.VariableModel:
    """An address that links begin with; not shown."""
    found = ConstantVariable(name).value(url).build()
    found.hide = dashboard.VariableHide.HIDE_VARIABLE
    found.current = dashboard.VariableOption(selected=True, text=url, value=url)
    found.skip_url_sync = True
    return found


def _labels(name: str, title: str, selector: str, label: str) -> QueryVariable:
    query = f"label_values({selector}, {label})"
    return (
        QueryVariable(name)
        .label(title)
        .datasource(DATASOURCE)
        .query({"query": query, "refId": f"variable-{name}"})
        .definition(query)
        .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(dashboard.VariableSort.ALPHABETICAL_ASC)
    )

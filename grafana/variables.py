"""The variables of the dashboards: where from, and narrowed to what."""

from __future__ import annotations

from typing import Final

from grafana_foundation_sdk.builders.dashboard import (
    ConstantVariable,
    CustomVariable,
    DatasourceVariable,
    QueryVariable,
)
from grafana_foundation_sdk.models import dashboard

from grafana.panels import DATASOURCE

WINDOWS: Final = {
    "24h": "last 24 hours",
    "1h": "last hour",
    "500": "last 500",
    "since_change": "since the last change",
}
"""Windows of estimates, the first by default, with what the list of choices says."""

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
    """Which routes: some, or exactly one."""
    found = _labels("route", "Route", 'evenkeel_proxy_requests_total{job=~"$job", route!="none"}', "route")
    return (
        found if one else found.multi(True).include_all(True).all_value(".*").current(_EVERYTHING)
    ).build()


def model() -> dashboard.VariableModel:
    """Which model of the chosen route."""
    return _labels("model", "Model", 'evenkeel_rated_trials{job=~"$job", route=~"$route"}', "model").build()


def window() -> dashboard.VariableModel:
    """What the estimates look back on."""
    value, text = next(iter(WINDOWS.items()))
    return (
        CustomVariable("window")
        .label("Estimates over the")
        .values(", ".join(f"{text} : {value}" for value, text in WINDOWS.items()))
        .current(dashboard.VariableOption(selected=True, text=text, value=value))
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

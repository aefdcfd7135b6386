"""Questions to Prometheus, as panels ask them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from grafana_foundation_sdk.builders import common, prometheus
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

DATASOURCE: Final = commons.DataSourceRef("prometheus", "${datasource}")


@dataclass(frozen=True, slots=True)
class Query:
    """One question to Prometheus."""

    expr: str
    legend: str = ""
    """Name of each series, with its labels as `{{label}}`."""


def target(query: Query, place: int) -> prometheus.Dataquery:
    """One query, of which the place says the letter."""
    return (
        prometheus.Dataquery()
        .datasource(DATASOURCE)
        .expr(query.expr)
        .legend_format(query.legend or "__auto")
        .ref_id(chr(ord("A") + place))
    )


def over_time(queries: Sequence[Query]) -> list[Any]:
    """Asked over the shown time."""
    return [target(query, place).range() for place, query in enumerate(queries)]


def now(queries: Sequence[Query], form: PromQueryFormat = PromQueryFormat.TIME_SERIES) -> list[Any]:
    """Asked for the end of the shown time."""
    return [target(query, place).instant().format(form) for place, query in enumerate(queries)]


def last() -> common.ReduceDataOptions:
    """The latest value of each series."""
    return common.ReduceDataOptions().calcs(["lastNotNull"]).values(False).fields("")

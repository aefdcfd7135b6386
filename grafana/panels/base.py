"""What every panel says besides its numbers, and how it asks Prometheus."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, Self, TypeVar

from grafana_foundation_sdk.builders import common, prometheus
from grafana_foundation_sdk.builders.dashboard import DashboardLink
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models import dashboard
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grafana_foundation_sdk.cog.builder import Builder


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


Unit = Literal["percentunit", "short", "none", "s", "reqps", "ops", "cps", "bytes", "currencyUSD", "locale"]


class _Common(Protocol):
    """What the panel builders of the kit have in common."""

    def title(self, title: str) -> Self: ...
    def description(self, description: str) -> Self: ...
    def datasource(self, datasource: commons.DataSourceRef) -> Self: ...
    def unit(self, unit: str) -> Self: ...
    def no_value(self, no_value: str) -> Self: ...
    def links(self, links: list[Builder[dashboard.DashboardLink]]) -> Self: ...
    def build(self) -> dashboard.Panel: ...


_Panel = TypeVar("_Panel", bound=_Common)


@dataclass(frozen=True, slots=True)
class Words:
    """What a panel says besides its numbers."""

    title: str
    description: str
    no_data: str = "no data yet"
    runbook: str = ""
    """Name of the alert whose runbook says what to do."""
    console: str = ""
    """Path on the console that shows the same closer; "" = none."""


def words_of(board: str) -> dict[str, Words]:
    """The words of a board's panels, as its TOML file has them."""
    text = files("grafana.boards").joinpath(f"{board}.toml").read_text("utf-8")
    return {name: Words(**table) for name, table in tomllib.loads(text).items()}


def begin(panel: _Panel, words: Words, unit: Unit) -> _Panel:
    """Give a panel its words, data source, unit and links."""
    links: list[Builder[dashboard.DashboardLink]] = []
    if words.runbook:
        links.append(_link(f"Runbook: {words.runbook}", f"${{runbooks}}/{words.runbook}.md"))
    if words.console:
        links.append(_link("Console", f"${{console}}{words.console}"))
    panel.title(words.title).description(words.description).datasource(DATASOURCE)
    panel.unit(unit).no_value(words.no_data)
    return panel.links(links) if links else panel


def _link(title: str, url: str) -> DashboardLink:
    return DashboardLink(title).type(dashboard.DashboardLinkType.LINK).url(url).target_blank(True)


def value(name: str, value: object) -> dashboard.DynamicConfigValue:
    """One property."""
    return dashboard.DynamicConfigValue(name, value)


def colour(name: str) -> dashboard.DynamicConfigValue:
    """One colour whatever the value."""
    return value("color", {"mode": "fixed", "fixedColor": name})

"""What every panel says besides its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, Self, TypeVar

from grafana_foundation_sdk.builders.dashboard import DashboardLink
from grafana_foundation_sdk.models import common as commons
from grafana_foundation_sdk.models import dashboard

from grafana.panels.query import DATASOURCE

if TYPE_CHECKING:
    from grafana_foundation_sdk.cog.builder import Builder

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

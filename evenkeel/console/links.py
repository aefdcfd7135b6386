"""Addresses of the console's own pages. Names come from clients and models, so anything may be in them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from evenkeel.core.cells import CellKey


def query(**parts: str | None) -> str:
    """Return the parts that are set as a query string.

    Half a surrogate pair, which no URL can hold, becomes "?".
    """
    return urlencode({name: value for name, value in parts.items() if value}, errors="replace")


def cell_link(key: CellKey) -> str:
    """Address of the trials of a cell."""
    return trials_link(route=key.route, model=key.model, perturbation=key.perturbation)


def verdict_link(verdict_id: str) -> str:
    """Address of the page of a verdict."""
    return f"/verdicts/{path_part(verdict_id)}"


def path_part(text: str) -> str:
    """Escape any text for use as a part of a path or as an element id."""
    return quote(text, safe="", errors="replace")


def goldens_link(**parts: str | None) -> str:
    """Address of a page of the list of goldens, narrowed to `route`, `task`, `show`."""
    narrowed = query(**parts)
    return f"/goldens?{narrowed}" if narrowed else "/goldens"


def golden_link(golden_id: str) -> str:
    """Address of the page of a golden."""
    return f"/goldens/{path_part(golden_id)}"


def change_link(change: str) -> str:
    """Address of the page of a change."""
    return f"/changes/{path_part(change)}"


def incident_link(incident: str) -> str:
    """Address of the page of an incident."""
    return f"/incidents/{path_part(incident)}"


def route_link(route: str) -> str:
    """Address of the page of a route."""
    return f"/routes/{path_part(route)}"


def runbook_link(name: str) -> str:
    """Address of the runbook of an alert."""
    return f"/docs/runbooks/{path_part(name)}"


def trials_between(route: str, since: float | None = None, until: float | None = None, **parts: str) -> str:
    """Address of the trials of a route between two Unix times; None = no bound."""
    times = {}
    for name, at in (("since", since), ("until", until)):
        times[name] = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}" if at is not None else None
    return trials_link(route=route, **parts, **times)


def trials_link(**parts: str | None) -> str:
    """Address of the list of trials, narrowed by the parts of its filter."""
    narrowed = query(**parts)
    return f"/trials?{narrowed}" if narrowed else "/trials"

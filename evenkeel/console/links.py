"""Addresses of the console's own pages. Names come from clients and models, so anything may be in them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

if TYPE_CHECKING:
    from evenkeel.core.cells import CellKey


def cell_link(key: CellKey) -> str:
    """Address of the trials of a cell."""
    return list_link("trials", route=key.route, model=key.model, perturbation=key.perturbation)


def page_link(kind: str, name: str) -> str:
    """Address of the page of something, such as ("incidents", its id)."""
    return f"/{kind}/{path_part(name)}"


def path_part(text: str) -> str:
    """Escape any text for use as a part of a path or as an element id."""
    return quote(text, safe="", errors="replace")


def trials_between(route: str, since: float | None = None, until: float | None = None, **parts: str) -> str:
    """Address of the trials of a route between two Unix times; None = no bound."""
    times = {}
    for name, at in (("since", since), ("until", until)):
        times[name] = f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}" if at is not None else None
    return list_link("trials", route=route, **parts, **times)


def list_link(kind: str, **parts: str | None) -> str:
    """Address of the list of trials or goldens, narrowed by the parts of its filter that are set.

    Half a surrogate pair, which no URL can hold, becomes "?".
    """
    narrowed = urlencode({name: value for name, value in parts.items() if value}, errors="replace")
    return f"/{kind}?{narrowed}" if narrowed else f"/{kind}"

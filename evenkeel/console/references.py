"""Reference prompts of a route, and `/api/references`: how many are kept, and what was asked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from litestar import Response, get

from evenkeel.console.api import json_response
from evenkeel.stores.references import FULL

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.sources import ConsoleSources, ReferenceSources
    from evenkeel.monitor.fold import SilentReport
    from evenkeel.stores.references import AskedToday, ReferenceState


@dataclass(frozen=True, slots=True)
class RouteReferences:
    """The references of one route, as the page and the API show them: never a prompt or an answer."""

    route: str
    references: int
    """References that are kept."""
    ready: int
    """References with enough answers to be asked in turn."""
    asked_at: float
    """Unix time in seconds of the last call; 0 before the first."""
    calls_today: int
    """Calls of this UTC day, including extra ones made on a suspicion."""
    usd_today: float
    asked_today: AskedToday | None
    """Calls of this UTC day; None if there were none."""
    tests: tuple[SilentReport, ...]
    """State of the tests for silent changes, by requested model."""


def route_references(sources: ReferenceSources, now: float) -> dict[str, RouteReferences]:
    """Return the references of every route. Blocks on storage."""
    today = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
    kept: dict[str, list[ReferenceState]] = {route: [] for route in sources.routes}
    for state in sources.store.states():
        kept.setdefault(state.route, []).append(state)
    tests: dict[str, list[SilentReport]] = {}
    for test in sources.tests():
        tests.setdefault(test.route, []).append(test)
    by_route = {}
    for route, own in sorted(kept.items()):
        asked = sources.store.asked(route)
        # The record of an earlier day stays until the first call of the next one.
        asked = asked if asked and asked.day == today else None
        by_route[route] = RouteReferences(
            route,
            references=len(own),
            ready=sum(state.answers >= FULL for state in own),
            asked_at=max((state.asked_at for state in own), default=0.0),
            calls_today=asked.calls + asked.burst_calls if asked else 0,
            usd_today=asked.usd if asked else 0.0,
            asked_today=asked,
            tests=tuple(tests.get(route, ())),
        )
    return by_route


def reference_handler(sources: ConsoleSources, references: ReferenceSources) -> HTTPRouteHandler:
    """Handler of GET `/api/references`."""

    @get("/api/references", sync_to_thread=True, needs="viewer")
    def listed() -> Response[bytes]:
        by_route = route_references(references, sources.clock()).values()
        return json_response({"routes": list(map(asdict, by_route)), "limits": references.setup._asdict()})

    return listed

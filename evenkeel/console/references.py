"""Reference prompts of a route, and `/api/references`: how many are kept, and what was asked."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from litestar import Response, get

from evenkeel.console.api import json_response
from evenkeel.stores.references import FULL

if TYPE_CHECKING:
    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.sources import ConsoleSources, ReferenceSources
    from evenkeel.monitor.fold import SilentReport
    from evenkeel.stores.references import AskedToday, ReferenceState


class RouteReferences(NamedTuple):
    """The references of one route."""

    route: str
    references: int
    """References that are kept."""
    ready: int
    """References with enough answers to be asked in turn."""
    asked_at: float
    """Unix time in seconds of the last call; 0 before the first."""
    asked: AskedToday | None
    """Calls of this UTC day; None if there were none."""
    tests: tuple[SilentReport, ...] = ()
    """State of the tests for silent changes, by requested model."""

    @property
    def calls(self) -> int:
        """Calls of this UTC day, including extra ones made on a suspicion."""
        return self.asked.calls + self.asked.burst_calls if self.asked else 0


def route_references(sources: ReferenceSources, now: float) -> list[RouteReferences]:
    """Return every route with its references. Blocks on storage."""
    today = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
    kept: dict[str, list[ReferenceState]] = {route: [] for route in sources.routes}
    for state in sources.store.states():
        kept.setdefault(state.route, []).append(state)
    tests: dict[str, list[SilentReport]] = {}
    for test in sources.tests():
        tests.setdefault(test.route, []).append(test)
    by_route = []
    for route, own in sorted(kept.items()):
        asked = sources.store.asked(route)
        # The record of an earlier day stays until the first call of the next one.
        asked = asked if asked and asked.day == today else None
        ready = sum(state.answers >= FULL for state in own)
        asked_at = max((state.asked_at for state in own), default=0.0)
        by_route.append(RouteReferences(route, len(own), ready, asked_at, asked, tuple(tests.get(route, ()))))
    return by_route


def reference_handler(sources: ConsoleSources, references: ReferenceSources) -> HTTPRouteHandler:
    """Handler of GET `/api/references`."""

    @get("/api/references", sync_to_thread=True, needs="viewer")
    def listed() -> Response[bytes]:
        """Return the number of references, never a prompt or an answer."""
        by_route = route_references(references, sources.clock())
        return json_response(
            {"routes": [_plain(reference) for reference in by_route], "limits": references.setup._asdict()}
        )

    return listed


def _plain(references: RouteReferences) -> dict[str, Any]:
    return {
        "route": references.route,
        "references": references.references,
        "ready": references.ready,
        "asked_at": references.asked_at,
        "calls_today": references.calls,
        "usd_today": references.asked.usd if references.asked else 0.0,
        "asked_today": asdict(references.asked) if references.asked else None,
        "tests": [asdict(each) for each in references.tests],
    }

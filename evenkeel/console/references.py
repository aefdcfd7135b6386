"""Reference prompts of a route, and `/api/references`: how many are kept, and what was asked."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from litestar import Response, get

from evenkeel.console.api import json_response
from evenkeel.stores.references import FULL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.sources import ConsoleSources, ReferenceSources
    from evenkeel.monitor.fold import SilentReport
    from evenkeel.stores.references import AskedToday, ReferenceState


class ReferenceSet(NamedTuple):
    """The references of one requested model and prompt version."""

    route: str
    requested_model: str
    """Model that requests ask for; "" if they name none."""
    prompt_version: str
    """Version of the prompt; "" if it is not known."""
    references: int
    ready: int
    """References with enough answers to be asked in turn."""
    answers: int
    asked_at: float
    """Unix time in seconds of the last call; 0 before the first."""


class RouteReferences(NamedTuple):
    """The references of one route."""

    route: str
    sets: tuple[ReferenceSet, ...]
    asked: AskedToday | None
    """Calls of this UTC day; None if there were none."""
    tests: tuple[SilentReport, ...] = ()
    """State of the tests for silent changes, by requested model."""

    @property
    def references(self) -> int:
        """Number of references that are kept."""
        kept = 0
        for reference_set in self.sets:
            kept += reference_set.references
        return kept

    @property
    def calls(self) -> int:
        """Calls of this UTC day, including extra ones made on a suspicion."""
        return self.asked.calls + self.asked.burst_calls if self.asked else 0


def reference_sets(states: Iterable[ReferenceState]) -> list[ReferenceSet]:
    """Group references by route, requested model and prompt version."""
    grouped: dict[tuple[str, str, str], list[ReferenceState]] = {}
    for state in states:
        key = (state.route, state.requested_model, state.prompt_version)
        grouped.setdefault(key, []).append(state)
    sets = []
    for key, own in sorted(grouped.items()):
        ready, answers, asked_at = 0, 0, 0.0
        for reference in own:
            ready += reference.answers >= FULL
            answers += reference.answers
            asked_at = max(asked_at, reference.asked_at)
        sets.append(ReferenceSet(*key, len(own), ready, answers, asked_at))
    return sets


def route_references(sources: ReferenceSources, now: float) -> list[RouteReferences]:
    """Return every route with its references. Blocks on storage."""
    today = f"{datetime.fromtimestamp(now, UTC):%Y-%m-%d}"
    sets: dict[str, list[ReferenceSet]] = {}
    for route in sources.routes:
        sets[route] = []
    for reference_set in reference_sets(sources.store.states()):
        sets.setdefault(reference_set.route, []).append(reference_set)
    tests: dict[str, list[SilentReport]] = {}
    for test in sources.tests():
        tests.setdefault(test.route, []).append(test)
    by_route = []
    for route, own in sorted(sets.items()):
        asked = sources.store.asked(route)
        # The record of an earlier day stays until the first call of the next one.
        asked = asked if asked and asked.day == today else None
        by_route.append(RouteReferences(route, tuple(own), asked, tuple(tests.get(route, ()))))
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
        "calls_today": references.calls,
        "usd_today": references.asked.usd if references.asked else 0.0,
        "asked_today": asdict(references.asked) if references.asked else None,
        "sets": [each._asdict() for each in references.sets],
        "tests": [asdict(each) for each in references.tests],
    }

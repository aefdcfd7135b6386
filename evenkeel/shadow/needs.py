"""Trial needs of cells, published by the monitors and read by the workers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.trouble import Trouble
from evenkeel.shadow.planner import CellNeed, Needs, needs_of
from evenkeel.stores.documents import Collection, plain

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from evenkeel.core.cells import CellReport
    from evenkeel.stores.documents import Documents

log = logging.getLogger("evenkeel.monitor")

# Seconds between two publications.
_EVERY_S: Final = 5.0


class _RouteNeeds(NamedTuple):
    """Needs of a route's cells, by model and perturbation."""

    route: str
    models: dict[str, dict[str, CellNeed]]
    urgent: bool = False


_NEEDS: Final = Collection(name="needs", key=("route",), body=plain(_RouteNeeds))


class NeedsPublisher:
    """Publishes the needs of all cells, by route, so that the workers can read them."""

    def __init__(
        self,
        documents: Documents,
        reports: Callable[[], Sequence[CellReport]],
        floor: int,
        urgent: Callable[[], frozenset[str]] = frozenset[str],
    ) -> None:
        """Set up the publisher, without publishing anything yet.

        Cells are reported from `floor` trials on. `urgent` returns the routes that something besides their
        cells points at, such as a recent change.
        """
        self._documents = documents
        documents.open(_NEEDS)
        self._reports = reports
        self._floor = floor
        self._urgent = urgent

    def publish(self) -> None:
        """Publish the current needs of every route."""
        routes: dict[str, dict[str, dict[str, CellNeed]]] = {}
        for (route, model), needs in needs_of(self._reports(), self._floor).items():
            routes.setdefault(route, {})[model] = dict(needs)
        urgent = self._urgent()
        for route, models in routes.items():
            self._documents.put(_NEEDS, _RouteNeeds(route, models, route in urgent))

    def run(self, stop: threading.Event) -> None:
        """Publish the needs every five seconds until `stop` is set. A store in trouble is tried again."""
        trouble = Trouble(log, "the needs of cells cannot be published to the workers (%s)")
        while not stop.wait(_EVERY_S):
            with trouble:
                self.publish()


class NeedsReader:
    """Reads the needs that the monitors published. Blocks on storage."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        documents.open(_NEEDS)
        self._trouble = Trouble(log, "which cells need trials cannot be read (%s)")

    def __call__(self, route: str, model: str) -> Needs:
        """Return a model's needs on a route; none if they cannot be read, which makes a good plan as well.

        A model without cells has empty needs; they are urgent if other models of the route have cells.
        """
        stored: _RouteNeeds | None = None
        with self._trouble:
            stored = self._documents.find(_NEEDS, route)
        if stored is None:
            return Needs()
        if model not in stored.models:
            return Needs(urgent=bool(stored.models))
        return Needs(stored.models[model], stored.urgent)

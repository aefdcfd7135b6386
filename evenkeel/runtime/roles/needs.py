"""What is still to be learnt of each cell: told by the monitors, read by the workers."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Final

from evenkeel.core.trouble import Trouble
from evenkeel.shadow.planner import Need, needs_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.core.cells import CellReport
    from evenkeel.stores.redis.connection import RedisStore

log = logging.getLogger("evenkeel.monitor")

_EVERY_S: Final = 5.0


class ToldNeeds:
    """Puts the needs of all cells where the workers find them, by route."""

    def __init__(self, store: RedisStore, reports: Callable[[], Sequence[CellReport]], floor: int) -> None:
        """Args: store: the Redis. reports: of all cells. floor: trials below which nothing is reported."""
        self._store = store
        self._reports = reports
        self._floor = floor
        self._key = store.key("needs", "routes")

    def tell(self) -> None:
        """Tell them as they are now."""
        cells: dict[str, dict[str, dict[str, CellReport]]] = {}
        for report in self._reports():
            key = report.key
            cells.setdefault(key.route, {}).setdefault(key.model, {})[key.perturbation] = report
        for route, models in cells.items():
            needs = {
                model: {
                    name: [need.trials, need.floor, need.width, need.evidence]
                    for name, need in needs_of(found, self._floor).items()
                }
                for model, found in models.items()
            }
            self._store.client.hset(self._key, route, json.dumps(needs))

    def run(self, stop: threading.Event) -> None:
        """Tell them every five seconds until `stop` is set. A store in trouble is tried again."""
        trouble = Trouble(log, "the workers cannot be told which cells need trials (%s)")
        while not stop.wait(_EVERY_S):
            with trouble:
                self.tell()


class HeardNeeds:
    """What the monitors told last, read every few seconds; nothing while Redis is in trouble."""

    def __init__(self, store: RedisStore, timer: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._timer = timer
        self._key = store.key("needs", "routes")
        self._heard: dict[str, tuple[float, dict[str, dict[str, Need]]]] = {}

    def __call__(self, route: str, model: str) -> Mapping[str, Need]:
        """By perturbation; empty for a model that is new on its route."""
        heard_at, models = self._heard.get(route, (-_EVERY_S, {}))
        now = self._timer()
        if now - heard_at >= _EVERY_S:
            models = self._hear(route, models)
            self._heard[route] = (now, models)
        return models.get(model, {})

    def _hear(self, route: str, before: dict[str, dict[str, Need]]) -> dict[str, dict[str, Need]]:
        try:
            body = self._store.client.hget(self._key, route)
            raw: dict[str, dict[str, list[float]]] = json.loads(body) if body else {}
        except Exception as error:  # noqa: BLE001 - a plan without needs is a good plan
            log.warning("which cells need trials cannot be read (%s)", error)
            return before
        return {
            model: {name: Need(int(row[0]), int(row[1]), row[2], row[3]) for name, row in needs.items()}
            for model, needs in raw.items()
        }

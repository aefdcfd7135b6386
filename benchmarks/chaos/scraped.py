"""Counters of processes that may die, read twice a second as Prometheus would."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from benchmarks.chaos.stage import series

if TYPE_CHECKING:
    from collections.abc import Mapping

_EVERY_S: Final = 0.5
_NAME: Final = "evenkeel_exchanges_skipped_total"


class Scraped:
    """What proxies counted as not queued, over all of their lives."""

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        """Pages to read, by process."""
        self._ended: Counter[str] = Counter()
        self._latest: dict[str, dict[str, float]] = {}

    def note(self, process: str, found: Mapping[str, float]) -> None:
        """Take a reading; one that is lower than the last is of a new process, and the last one is kept."""
        before = self._latest.get(process, {})
        if any(found.get(name, 0.0) < value for name, value in before.items()):
            self._ended.update({name: round(value) for name, value in before.items()})
        self._latest[process] = dict(found)

    async def read(self) -> None:
        """Read every page once; one that cannot be read stays as it was."""
        for process, url in self.urls.items():
            try:
                found = await asyncio.to_thread(series, url, _NAME, None, 2.0)
            except OSError:
                continue
            self.note(process, found)

    async def run(self) -> None:
        """Go on until cancelled."""
        while True:
            await self.read()
            await asyncio.sleep(_EVERY_S)

    def by_reason(self) -> Counter[str]:
        """The total of all processes, living and dead, by reason."""
        whole = Counter(self._ended)
        for found in self._latest.values():
            whole.update({name: round(value) for name, value in found.items()})
        reasons: Counter[str] = Counter()
        for name, count in whole.items():
            match = re.search(r'reason="([^"]*)"', name)
            reasons[match[1] if match else "?"] += count
        return reasons

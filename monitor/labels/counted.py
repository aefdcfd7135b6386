"""Labels that count, kept in memory while nobody says anything new."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.monitor.labels.label import Label
    from evenkeel.monitor.labels.store import LabelStore


class CountedLabels:
    """Reads a store anew only when its revision has changed. Safe to use from threads."""

    def __init__(self, store: LabelStore | None) -> None:
        """Prepare; nothing is read yet. Without a store there are no labels."""
        self._store = store
        self._lock = threading.Lock()
        self._revision = -1
        self._labels: tuple[Label, ...] = ()

    def __call__(self) -> tuple[Label, ...]:
        """Labels that count, the last said first; the same tuple as long as it is the same."""
        if self._store is None:
            return ()
        with self._lock:
            revision = self._store.revision()
            if revision != self._revision:
                self._labels = self._store.select()
                self._revision = revision
            return self._labels

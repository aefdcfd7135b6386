"""The routes' templates, the same for all workers: one of them learns, the others take over what it knows.

If each learned for itself, they would see an edit at different times, and the prompt would seem to change
back and forth.
"""

from __future__ import annotations

import json
import logging
import zlib
from typing import TYPE_CHECKING

from evenkeel.core.trouble import Trouble
from evenkeel.shadow.prompt.template import TemplateLearner

if TYPE_CHECKING:
    import threading

    from evenkeel.runtime.stores import Lease
    from evenkeel.shadow.original import Reader
    from evenkeel.stores.redis.connection import RedisStore

log = logging.getLogger("evenkeel.worker")

_FOLLOW_EVERY_S = 10.0


class SharedTemplates:
    """Keeps the learner of one worker in step with the others'."""

    def __init__(self, store: RedisStore, lease: Lease) -> None:
        """Args: store: the Redis. lease: held by the worker whose learner counts."""
        self._store = store
        self._lease = lease
        self._key = store.key("templates", "state")
        self._known = b""
        self.learner = self._restored()
        """What is known at the start."""

    def follow(self, reader: Reader) -> None:
        """Save what the reader's learner knows if it is the one that counts, else take over what is saved."""
        if self._lease.hold():
            state = json.dumps(reader.learner.snapshot(), separators=(",", ":")).encode()
            if state != self._known:
                sealed = self._store.seal.close(zlib.compress(state, 1), "templates")
                self._store.client.set(self._key, sealed)
                self._known = state
            return
        before = self._known
        learner = self._restored()
        if self._known != before:
            reader.learner = learner

    def run(self, reader: Reader, stop: threading.Event, every_s: float = _FOLLOW_EVERY_S) -> None:
        """Do so every so many seconds, and once more at the end. A store in trouble is tried again."""
        trouble = Trouble(log, "learned templates cannot be shared (%s)")
        while True:
            last = stop.wait(every_s)
            with trouble:
                self.follow(reader)
                if last:
                    self._lease.leave()
            if last:
                return

    def _restored(self) -> TemplateLearner:
        packed = self._store.client.get(self._key)
        self._known = zlib.decompress(self._store.seal.open(packed, "templates")) if packed else b""
        try:
            return TemplateLearner.restore(json.loads(self._known) if packed else None)
        except ValueError:
            return TemplateLearner()

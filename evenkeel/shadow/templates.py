"""Templates of the routes, shared by all workers: one of them learns, and the others load what it saved.

If each learned for itself, they would see an edit at different times, and the prompt would seem to change
back and forth.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from evenkeel.core.trouble import Trouble
from evenkeel.shadow.prompt.template import TemplateLearner

if TYPE_CHECKING:
    import threading

    from evenkeel.shadow.original import Reader
    from evenkeel.stores.lease import RoleLease
    from evenkeel.stores.templates import TemplateStore

log = logging.getLogger("evenkeel.worker")


class Templates:
    """Keeps one worker's learner in step with the store, and so with the other workers."""

    def __init__(self, store: TemplateStore, lease: RoleLease, *, every_s: float) -> None:
        """Keep one worker's learner in step. The holder of the lease is the worker whose learner counts."""
        self._store = store
        self._lease = lease
        self._every_s = every_s
        self._known = ""
        self.learner = self._restored()
        """Learner restored from the store, or a new one if nothing usable is stored."""

    def follow(self, reader: Reader) -> None:
        """Save the reader's learner if this worker holds the lease, else load the saved one."""
        if self._lease.hold():
            state = json.dumps(reader.learner.snapshot(), separators=(",", ":"))
            if state != self._known:
                self._store.save(state)
                self._known = state
            return
        before = self._known
        learner = self._restored()
        # An unchanged one stays: it has also learned from this worker's own exchanges since.
        if self._known != before:
            reader.learner = learner

    def run(self, reader: Reader, stop: threading.Event) -> None:
        """Follow every `every_s` seconds, and once more when `stop` is set.

        A store in trouble is tried again.
        """
        trouble = Trouble(log, "learned templates cannot be saved or shared (%s)")
        while True:
            last = stop.wait(self._every_s)
            with trouble:
                self.follow(reader)
                if last:
                    self._lease.leave()
            if last:
                return

    def _restored(self) -> TemplateLearner:
        self._known = self._store.load()
        try:
            return TemplateLearner.restore(json.loads(self._known) if self._known else None)
        except ValueError:
            return TemplateLearner()

"""Templates of the routes, shared by all workers: one of them learns, and the others load what it saved.

If each learned for itself, they would see an edit at different times, and the prompt would seem to change
back and forth.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.core.trouble import Trouble
from evenkeel.shadow.prompt.template import TemplateLearner
from evenkeel.stores.documents import Collection, sealed

if TYPE_CHECKING:
    import threading

    from evenkeel.shadow.original import Reader
    from evenkeel.stores.documents import Documents
    from evenkeel.stores.lease import RoleLease

log = logging.getLogger("evenkeel.worker")

_LEARNER: Final = "all"


class _State(NamedTuple):
    learner: str
    text: str


# Templates quote prompts, so they are sealed.
_STATE: Final = Collection(
    name="templates", key=("learner",), body=sealed(_State, "templates", lambda state: state.learner)
)


class Templates:
    """Keeps one worker's learner in step with the store, and so with the other workers."""

    def __init__(self, documents: Documents, lease: RoleLease, *, every_s: float) -> None:
        """Keep one worker's learner in step. The holder of the lease is the worker whose learner counts."""
        self._documents = documents
        documents.open(_STATE)
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
                self._documents.put(_STATE, _State(_LEARNER, state))
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
        state = self._documents.find(_STATE, _LEARNER)
        self._known = state.text if state else ""
        try:
            return TemplateLearner.restore(json.loads(self._known) if self._known else None)
        except ValueError:
            return TemplateLearner()

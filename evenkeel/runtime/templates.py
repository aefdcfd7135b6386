"""Keeps what was learned of the routes' templates across restarts."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from evenkeel.core.trouble import Trouble
from evenkeel.shadow.prompt.template import TemplateLearner

if TYPE_CHECKING:
    import threading

    from evenkeel.shadow.original import Reader
    from evenkeel.stores.sqlite.database import Database

log = logging.getLogger("evenkeel")

_SAVE_EVERY_S = 30.0


class TemplateKeeper:
    """The learner, restored from the store at the start and saved to it now and then."""

    def __init__(self, database: Database) -> None:
        self._database = database
        database.create("CREATE TABLE IF NOT EXISTS templates (id INTEGER PRIMARY KEY, state TEXT NOT NULL)")
        row = database.connection().execute("SELECT state FROM templates WHERE id = 1").fetchone()
        self._saved = database.seal.open_text(row[0], "templates") if row else ""
        self.learner = TemplateLearner.restore(_decoded(self._saved))
        """Learns and classifies; safe in all threads."""

    def save(self) -> None:
        """Write the learner's state if it has changed."""
        state = json.dumps(self.learner.snapshot(), separators=(",", ":"))
        if state == self._saved:
            return
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO templates (id, state) VALUES (1, ?)",
                (self._database.seal.close_text(state, "templates"),),
            )
        self._saved = state

    def run(self, reader: Reader, stop: threading.Event, every_s: float = _SAVE_EVERY_S) -> None:
        """Save every so many seconds, and once more at the end. A store in trouble is tried again.

        The reader learns with this very learner, so it is not asked.
        """
        del reader
        trouble = Trouble(log, "learned templates cannot be saved (%s)")
        while True:
            last = stop.wait(every_s)
            with trouble:
                self.save()
            if last:
                return


def _decoded(saved: str) -> object:
    try:
        return json.loads(saved) if saved else None
    except ValueError:
        return None

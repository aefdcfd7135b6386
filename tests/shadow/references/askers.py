"""An asker of references over a store."""

import asyncio

from evenkeel.core.budget import Budget
from evenkeel.core.sightings import ReferenceAnswered
from evenkeel.monitor.detect.references import alarm_level
from evenkeel.shadow.references.asker import AskerSettings, MonitorFindings, ReferenceAsker
from evenkeel.shadow.references.caller import ReferenceCaller
from evenkeel.shadow.references.pace import DAY_S, Pace
from evenkeel.shadow.replay import Target
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.counters import Tally
from evenkeel.stores.references import ReferenceStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from evenkeel.stores.verdict_log import LoggedNote

START = 20_000 * DAY_S
LEVEL = alarm_level(96, 60, 0.5)


class Asking:
    """An asker over a store, and the time of a test; `endpoint` stands for the replayer."""

    def __init__(self, folder, endpoint, prices, *, routes, pace=None, budget=None):
        self.database = Database(folder / "evenkeel.db")
        self.store = ReferenceStore(SqliteDocuments(self.database))
        self.log = SqliteVerdictLog(self.database)
        self.endpoint = endpoint
        self.prices = prices
        self.routes = routes
        self.tally = Tally()
        self.now = START + 10.0
        self.noticed = MonitorFindings()
        self.costs = SharedCostTracker(SqliteDocuments(self.database), budget or Budget(), lambda: self.now)
        self.pace = pace or Pace(96, 60, 0.5)
        self.asker = self.again()

    def again(self):
        """Another one over the same store, as after a restart."""

        def target(reference):
            return Target(f"http://model{reference.path}")

        return ReferenceAsker(
            self.store,
            self.log,
            ReferenceCaller(self.endpoint, self.costs, self.prices, target),
            AskerSettings(self.pace, routes=self.routes, level=LEVEL),
            noticed=lambda: self.noticed,
            tally=self.tally,
            clock=lambda: self.now,
        )

    def step(self, seconds=0.0):
        self.now += seconds
        return asyncio.run(self.asker.step())

    def noted(self):
        entries = self.log.entries_after(0, 10_000)
        return [
            entry.note
            for entry in entries
            if isinstance(entry, LoggedNote) and isinstance(entry.note, ReferenceAnswered)
        ]

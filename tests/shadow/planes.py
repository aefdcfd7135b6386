"""A worker among real stores, and exchanges as the data plane captures them."""

import json

from evenkeel.core.budget import Budget
from evenkeel.shadow.original import Reader
from evenkeel.shadow.worker import Worker
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.counters import Tally
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.shadow.trial_makers import trial_maker
from tests.stores.examples import exchange, read_after

JSON = (("content-type", "application/json"),)


def captured(request, response, number=0, **changes):
    """An exchange of a chat, as the data plane captures it; bodies that are not bytes are written as JSON."""
    request_body, response_body = (
        body if isinstance(body, bytes) else json.dumps(body).encode() for body in (request, response)
    )
    plain = {"request_headers": JSON, "response_headers": JSON, "task": None}
    return exchange(
        number, **{**plain, "request_body": request_body, "response_body": response_body, **changes}
    )


class Plane:
    """A worker and the stores around it."""

    def __init__(self, folder):
        self.now = 1000.0
        self.database = Database(folder / "evenkeel.db")
        self.queue = SqliteExchangeQueue(self.database, self.clock)
        self.log = SqliteVerdictLog(self.database)
        self.tally = Tally()

    def clock(self):
        return self.now

    def costs(self, budget=None, own=None):
        """The cost tracker, with a budget for all and some of single routes."""
        return SharedCostTracker(SqliteDocuments(self.database), budget or Budget(), self.clock, own)

    def worker(self, plans, *trials, **others):
        """A worker; `trials` and `others` are what `trial_maker` takes behind the log."""
        made = trial_maker(self.log, *trials, tally=self.tally, clock=self.clock, **others)
        return Worker(self.queue, Reader(plans), made, tally=self.tally)

    def verdicts(self):
        """All of them, in the order of the log."""
        return [logged.verdict for logged in read_after(self.log, 0, 10_000)]

"""Messages between workers and monitors through Redis."""

import asyncio
import threading

import pytest

from evenkeel.core.cells import CellKey
from evenkeel.monitor.export.exposition import Lately
from evenkeel.runtime.changes import respond
from evenkeel.shadow.needs import NeedsPublisher, NeedsReader
from evenkeel.shadow.original import Reader
from evenkeel.shadow.planner import CellNeed, Needs
from evenkeel.shadow.prompt.segments import SlotText
from evenkeel.shadow.templates import Templates
from evenkeel.stores.redis.connection import RedisLease
from evenkeel.stores.redis.documents import RedisDocuments
from tests.kit.cells import cell_report
from tests.redis_server import a_store

pytestmark = pytest.mark.service("redis-server")


@pytest.fixture
def store(redis_server):
    made = a_store(redis_server)
    yield made
    made.close()


def test_workers_hear_which_cells_need_trials(store):
    """Of their route and model; of none where Redis fails."""
    reports = [cell_report(CellKey("shop", "m", "general.casing"), "metrics", 12)]
    documents = RedisDocuments(store)
    publisher, heard = NeedsPublisher(documents, lambda: reports, 30), NeedsReader(documents)
    assert heard("shop", "m").cells == {}
    publisher.publish()
    assert heard("shop", "m") == ({"general.casing": CellNeed(12, 30)}, False)
    assert heard("shop", "other") == Needs(urgent=True)  # a new model where others are known
    assert heard("other", "m") == Needs()
    bodies = store.key("needs", "needs:bodies")
    store.client.delete(bodies)
    store.client.set(bodies, "1")  # asking it for a field is an error of the server
    assert heard("shop", "m") == Needs()


def _templates(store, holder):
    lease = RedisLease(store, "learner", holder, length_s=60)
    return Templates(RedisDocuments(store), lease, every_s=10.0)


def _prompts(reader, count):
    for number in range(count):
        text = f"Answer in one short sentence and name the city first.\n\nQuestion {number * 7}: where is it?"
        reader.learner.observe("shop", [SlotText("user", text, 0)])


def test_one_worker_learns_templates_and_the_others_take_over(store):
    """The version of a prompt is the same for all; when the learner leaves, another one learns."""
    one, other = (_templates(store, holder) for holder in ("one", "other"))
    learning, following = Reader({}, one.learner), Reader({}, other.learner)
    one.follow(learning)
    _prompts(learning, 40)
    _prompts(following, 7)
    one.follow(learning)
    other.follow(following)
    assert learning.learner.snapshot()["routes"]["shop"]
    assert following.learner.snapshot() == learning.learner.snapshot()
    stop = threading.Event()
    stop.set()
    one.run(learning, stop)
    learner = following.learner
    other.follow(following)
    assert following.learner is learner
    late = _templates(store, "late")
    assert late.learner.snapshot() == learner.snapshot()


def test_a_scrape_never_waits_for_redis():
    """A scrape gets what was found last, and nothing rather than what is old."""
    now, found = [0.0], [b"a"]

    def read():
        if not found:
            raise OSError("gone")
        return found.pop()

    lately = Lately(read, lambda: now[0])
    assert lately() == b""
    lately.look()
    now[0] = 29.0
    stop = threading.Event()
    stop.set()
    lately.run(stop)
    assert lately() == b"a"
    now[0] = 30.0
    assert lately() == b""


def test_only_one_monitor_responds_to_changes(store):
    """A monitor gives the lease back when it stops; a step that fails is no reason to end."""

    class Steps:
        def __init__(self):
            self.count = 0

        async def step(self):
            self.count += 1
            raise OSError("a store in trouble")

    class AskedOnce:
        """A lease; whoever asks for it is stopped then."""

        def __init__(self, lease, stop, loop):
            self._lease, self._stop, self._loop = lease, stop, loop
            self.leave = lease.leave

        def hold(self):
            held = self._lease.hold()
            self._loop.call_soon_threadsafe(self._stop.set)
            return held

    async def steps_of(name):
        stop, steps = asyncio.Event(), Steps()
        lease = RedisLease(store, "respond", name)
        await respond(stop, steps, AskedOnce(lease, stop, asyncio.get_running_loop()), "not done")
        return steps.count

    other = RedisLease(store, "respond", "two")
    assert other.hold()
    assert asyncio.run(steps_of("one")) == 0
    other.leave()
    assert asyncio.run(steps_of("one")) == 1
    assert other.hold()

"""A Redis that is full, or that is lost with what only it had."""

import pytest
from redis.exceptions import OutOfMemoryError

from evenkeel.core.budget import Budget, Spend
from evenkeel.core.exchange import Lag
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.redis.connection import NotReplicatedError
from evenkeel.stores.redis.documents import RedisDocuments
from evenkeel.stores.redis.queue import RedisExchangeQueue
from evenkeel.stores.redis.verdicts import RedisVerdictLog
from tests.redis_server import RedisServer, a_store
from tests.stores.examples import exchange, ids, verdict

pytestmark = pytest.mark.service("redis-server")


@pytest.fixture
def server(tmp_path):
    made = RedisServer(tmp_path, "--repl-diskless-sync-delay", "0")
    yield made
    made.stop()


def test_a_full_redis_is_waited_for(server):
    """Workers make room again: sampled exchanges wait for it, and are not dropped at once."""
    store = a_store(server)
    store.client.config_set("maxmemory", 1)
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        store.client.config_set("maxmemory", 0)

    queue = RedisExchangeQueue(store, lambda: 1000.0, pause=pause)
    assert queue.put([exchange(1)]) == 1
    assert len(pauses) == 1
    assert ids(queue.reserve(9, 60)) == [exchange(1).id]
    store.close()


def test_a_full_redis_that_forgot_its_scripts_lets_workers_make_room(server):
    """Calls that take memory are refused before anything is spent; those that free some are done."""
    store = a_store(server)
    queue = RedisExchangeQueue(store, lambda: 1000.0)
    assert queue.put([exchange(number) for number in range(3)]) == 3
    queue.release(ids(queue.reserve(1, 60)))  # notes how long leases are
    store.client.script_flush()
    store.client.config_set("maxmemory", 1)
    first, second = ids(queue.reserve(2, 60))
    costs = SharedCostTracker(RedisDocuments(store), Budget(), lambda: 1000.0)
    with pytest.raises(OutOfMemoryError):
        costs.reserve(Spend(1, 0.0), "default")
    queue.extend([first], 60)
    queue.acknowledge([first])
    queue.release([second])
    queue.bury(second, "expired")
    assert queue.lag() == Lag(1, 0, 1, 0.0)
    store.close()


def test_what_the_replica_does_not_have_is_not_kept(server, tmp_path):
    """Exchanges and verdicts count as stored when the replica has them; else it is said."""
    folder = tmp_path / "replica"
    folder.mkdir()
    replica = RedisServer(folder, "--replicaof", f"127.0.0.1 {server.port}")
    store = a_store(server, replicas=1, timeout_s=240.0)
    now = [0.0]

    def pause(seconds):
        now[0] += seconds

    queue = RedisExchangeQueue(store, lambda: 1000.0, patience_s=30, pause=pause, timer=lambda: now[0])
    log = RedisVerdictLog(store)
    assert queue.put([exchange(1)]) == 1
    assert log.append(verdict(1), None)
    assert not log.append(verdict(1), None)
    there = a_store(replica, prefix=store.place.prefix)
    assert there.client.xlen(store.key("main", "exchanges")) == 1
    assert there.client.xlen(store.key("main", "log")) == 1
    there.close()
    replica.stop()
    store.close()
    store = a_store(server, replicas=1, timeout_s=1.0, prefix=store.place.prefix)
    impatient = RedisExchangeQueue(store, lambda: 1000.0, patience_s=0, timer=lambda: now[0])
    with pytest.raises(NotReplicatedError, match="0 replica"):
        impatient.put([exchange(2)])
    with pytest.raises(NotReplicatedError):
        RedisVerdictLog(store).append(verdict(2), None)
    store.close()

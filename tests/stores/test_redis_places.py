"""Every kind of Redis that settings can name: password, ACL user, TLS, Unix socket, Sentinel, Cluster."""

import signal
import subprocess
import time

import pytest
import redis

from evenkeel.core.budget import Budget, Spend
from evenkeel.core.exchange import Lag
from evenkeel.core.pair import Answer
from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.budget import SharedCostTracker
from evenkeel.stores.cache import DocumentCache
from evenkeel.stores.counters import CounterStore
from evenkeel.stores.errors import StoreError
from evenkeel.stores.goldens import Golden, GoldenStore
from evenkeel.stores.monitor_state import MonitorStore
from evenkeel.stores.redis.connection import NotReplicatedError, RedisLease, RedisPlace, RedisStore
from evenkeel.stores.redis.documents import RedisDocuments
from evenkeel.stores.redis.queue import RedisExchangeQueue
from evenkeel.stores.redis.verdicts import RedisVerdictLog
from tests.kit.certificates import Authority
from tests.redis_server import RedisServer
from tests.services import free_port
from tests.stores.examples import ARCHIVED, EVIDENCE, event, exchange, ids, point, read_after, verdict

pytestmark = pytest.mark.service("redis-server")


@pytest.fixture
def start(tmp_path):
    """Starts servers; stops them at the end."""
    running = []

    def make(*arguments, name="server", **options):
        folder = tmp_path / name
        folder.mkdir()
        running.append(RedisServer(folder, *arguments, **options))
        return running[-1]

    yield make
    for server in running:
        if server.process.poll() is None:
            server.stop(signal.SIGKILL)


def use(place):
    """Something of every store; returns what could not be done."""
    store = RedisStore(place)
    store.check()
    documents, log = RedisDocuments(store), RedisVerdictLog(store)
    log.append(verdict(1), EVIDENCE)
    assert log.latest(5, route="default", perturbation="general.spelling") == [verdict(1)]
    assert log.evidence(verdict(1).id) == EVIDENCE
    monitor = MonitorStore(documents, "one")
    monitor.commit(b"a", 1, [event(1)], [("r", "m", "p", point(1.0))], parts={"x": b"1"})
    assert monitor.load() == (b"a", 1, {"x": b"1"})
    assert [alert.id for alert in monitor.events(5)] == ["a1"]
    counters = CounterStore(documents, lambda: 1000.0)
    counters.publish("a", {"counters": [["n", {}, 1]]})
    assert counters.read()[0]["counters"] == [["n", {}, 1]]
    DocumentCache(documents, "rulings").put("k", b"same")
    archive = ExchangeArchive(documents)
    archive.put(ARCHIVED)
    assert archive.latest(route="shop") == [ARCHIVED]
    goldens = GoldenStore(documents)
    approved = goldens.approve(Golden(id="g", request="{}", answer=Answer("Four.")), by="ann", at=1.0)
    assert goldens.select() == (approved,)
    queue = RedisExchangeQueue(store, lambda: 1000.0)
    queue.put([exchange(number) for number in range(3)])
    held = ids(queue.reserve(3, 60))
    queue.extend(held, 60)
    queue.bury(held[0], "not_json")
    queue.release(held[1:2])
    queue.acknowledge(held[2:])
    assert queue.lag() == Lag(1, 0, 1, 0.0)
    ledger = SharedCostTracker(documents, Budget(tokens_per_day=10), lambda: 1000.0)
    assert ledger.reserve(Spend(10, 0.0), "a") is None
    assert ledger.reserve(Spend(1, 0.0), "a") == "budget"
    ledger.settle(Spend(10, 0.0), "a", {"judge": Spend(4, 0.5)})
    assert ledger.today() == Spend(4, 0.5)
    lease = RedisLease(store, "notify", "one")
    assert lease.hold()
    lease.leave()
    keys = store.client.keys("*", target_nodes="primaries") if place.cluster else store.client.keys("*")
    assert all(key.startswith(f"{place.prefix}:{{".encode()) for key in keys)
    store.close()


def test_an_acl_user_that_may_touch_these_keys_only(start):
    """The commands that the page tells to allow are enough; a wrong password is one line without it."""
    server = start("--requirepass", "root")
    with redis.Redis(port=server.port, password="root") as admin:
        admin.execute_command(
            *("ACL", "SETUSER", "keel", "on", ">s3cret", "~keel:*", "+@all", "-@admin", "-@dangerous"),
            *("+info", "+keys"),
        )
    url = f"redis://keel@127.0.0.1:{server.port}/0"
    place = RedisPlace(url=url, password="s3cret", prefix="keel")
    use(place)
    assert "s3cret" not in repr(place)
    with pytest.raises(StoreError, match="cannot use the Redis redis://keel@127") as caught:
        RedisStore(RedisPlace(url=url, password="wr0ng")).check()
    assert "wr0ng" not in str(caught.value)


def test_a_unix_socket(start, socket_path):
    start("--unixsocket", socket_path)
    use(RedisPlace(url=f"unix://{socket_path}"))


def test_tls_with_certificates_of_both_sides(start, tmp_path, monkeypatch):
    """The server's is checked against the trusted authorities; the client shows that of every other call."""
    trusted = Authority(tmp_path)
    authority, (certificate, key) = trusted.file, trusted.signed("server")
    port = free_port()
    tls = ("--tls-port", str(port), "--tls-ca-cert-file", str(authority), "--tls-cert-file", str(certificate))
    start(*tls, "--tls-key-file", str(key))
    place = RedisPlace(url=f"rediss://localhost:{port}/0")
    with pytest.raises(StoreError, match=r"check storage\.redis\.url"):
        RedisStore(place).check()
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    monkeypatch.setenv("EVENKEEL_CLIENT_CERT", str(certificate))
    monkeypatch.setenv("EVENKEEL_CLIENT_KEY", str(key))
    use(place)


def test_a_cluster(start):
    """All keys that one script touches lie on one node, whichever that is: each script runs there."""
    # By default the bus takes the port plus 10,000, which may be more than there are.
    server = start("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    with redis.Redis(port=server.port) as admin:
        admin.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        deadline = time.monotonic() + 240
        while b"cluster_state:ok" not in admin.execute_command("CLUSTER", "INFO"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    use(RedisPlace(url=server.url, cluster=True))


def test_sentinels_lead_to_the_primary_of_the_moment(start, tmp_path):
    first = start(name="first")
    second = start("--replicaof", "127.0.0.1", str(first.port), name="second")
    file = tmp_path / "sentinel.conf"
    file.write_text(
        f"sentinel monitor keel 127.0.0.1 {first.port} 1\nsentinel down-after-milliseconds keel 300\n"
        "sentinel failover-timeout keel 2000\n"
    )
    port = free_port()
    with subprocess.Popen(
        ["redis-server", str(file), "--sentinel", "--port", str(port), "--bind", "127.0.0.1"],
        stdout=subprocess.DEVNULL,
    ) as sentinel:
        try:
            with redis.Redis(port=port, retry=None) as asked:
                wait_for(lambda: asked.sentinel_slaves("keel"))
            place = RedisPlace(url="redis:///0", sentinels=(f"127.0.0.1:{port}",), sentinel_master="keel")
            use(place)
            with redis.Redis(port=second.port) as replica:
                wait_for(lambda: replica.dbsize() > 0 and replica.info()["master_link_status"] == "up")
            store = RedisStore(place)
            log = RedisVerdictLog(store)
            assert not log.append(verdict(1), None)
            first.stop(signal.SIGKILL)
            wait_for(lambda: log.append(verdict(2), None))
            assert [logged.verdict for logged in read_after(log, 0, 9)] == [verdict(1), verdict(2)]
            with redis.Redis(port=second.port) as promoted:
                assert promoted.info()["role"] == "master"
            store.close()
        finally:
            sentinel.terminate()


def test_a_redis_that_forgets_is_refused(start):
    """A cache that drops keys when it is full would drop verdicts."""
    server = start("--maxmemory-policy", "allkeys-lru")
    with pytest.raises(StoreError, match="maxmemory-policy allkeys-lru"):
        RedisStore(RedisPlace(url=server.url)).check()


@pytest.mark.parametrize("command", ["CONFIG", "INFO", "SCRIPT"])
def test_a_redis_without_some_commands_is_used(start, command):
    """Hosted ones have no CONFIG, and careful operators rename more."""
    server = start("--rename-command", command, "", "--maxmemory-policy", "noeviction")
    use(RedisPlace(url=server.url))


def wait_for(true):
    deadline = time.monotonic() + 240
    while True:
        try:
            if true():
                return
        except redis.RedisError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_verdict_that_only_the_primary_has_is_not_read(start):
    """A failover could undo it and bring it back at another place, where a monitor would miss it."""
    server = start()
    careful = RedisStore(RedisPlace(url=server.url, replicas=1, timeout_s=1.0))
    assert RedisVerdictLog(careful).entries_after(0, 10) == []
    RedisVerdictLog(RedisStore(RedisPlace(url=server.url))).append(verdict(1), None)
    with pytest.raises(NotReplicatedError):
        RedisVerdictLog(careful).entries_after(0, 10)
    careful.close()

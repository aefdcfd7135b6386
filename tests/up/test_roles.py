"""Proxies, workers and monitors as processes of their own on a real Redis."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from evenkeel.core.exchange import Lag
from evenkeel.stores.counters import CounterStore
from evenkeel.stores.keys import SESSION_KEY
from evenkeel.stores.payloads import unpack_exchange as unpack
from evenkeel.stores.redis.documents import RedisDocuments
from evenkeel.stores.redis.queue import RedisExchangeQueue
from evenkeel.stores.redis.verdicts import RedisVerdictLog
from evenkeel.stores.references import FULL, ReferenceStore
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.kit.relaying import ask
from tests.kit.simulated_prompts import template_of
from tests.redis_server import RedisServer, a_store
from tests.services import wait_for
from tests.stores.examples import read_after

ADMIN = ("anyone", "a-token-for-the-tests")
"""Credentials of the admin ports."""


class Role:
    """A running process of `evenkeel`."""

    def __init__(self, folder, command, config, *arguments, environment=None):
        self.log = folder / f"{command}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "evenkeel", command, "--config", str(config), *arguments],
                stdout=output,
                stderr=output,
                env={
                    **os.environ,
                    "PYTHONUNBUFFERED": "1",
                    "EVENKEEL_ADMIN_TOKEN": ADMIN[1],
                    **(environment or {}),
                },
            )

    def find(self, pattern, timeout_s=240):
        """Wait for a line of the log; returns its first group."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(pattern, self.log.read_text())
            if found:
                return found[1]
            time.sleep(0.05)
        raise AssertionError(f"no {pattern} in:\n{self.log.read_text()}")

    def end(self):
        """Wait for the end of a process that was asked to stop: its exit code."""
        try:
            return self.process.wait(120)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise

    def send(self, number):
        """Send a signal to all processes of the role: a worker is below a supervisor of its own."""
        below = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        for pid in (self.process.pid, *map(int, below)):
            os.kill(pid, number)

    def kill(self):
        self.send(signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def stopping(roles):
    """Stop what was started, and look at how it ended."""
    try:
        yield
    finally:
        left = [role for role in roles if role.process.poll() is None]
        for role in left:
            role.send(signal.SIGCONT)
        for role in left:
            role.process.send_signal(signal.SIGTERM)
        # Asked once: a second signal would meet an interpreter that has taken its handlers down.
        codes = [role.end() for role in left]
    for role, code in zip(left, codes, strict=True):
        assert code == 0, role.log.read_text()
        assert "Traceback" not in role.log.read_text(), role.log.read_text()


def series(url):
    """Series that a process exports: name with labels → value."""
    found = {}
    for line in httpx2.get(f"{url}/metrics", auth=ADMIN, timeout=240).text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name] = float(value)
    return found


pytestmark = [pytest.mark.service("redis-server"), pytest.mark.system]

WORDS = template_of("case_summary")
TEMPLATE = f"{WORDS.before}\n\n{{case}}\n\n{WORDS.after}"
KINDS = ["general.casing", "general.spelling", "general.whitespace"]
UNLIKE = [number for number in range(44) if number not in {26, 33, 41, 42}]
"""Cases of which no two are near-equal: of a cluster the trial counts that is scored first."""
COVERAGE = 'evenkeel_sampling_coverage_ratio{route="default"}'
OF_ITS_OWN = ("seconds", "monitor_", "queue_", "spend_")
ORDERED = (*OF_ITS_OWN, "evidence", "alarm", "alert", "window", "drift")
"""Parts of names of series that follow the order of the log or the clock, or are about a process."""


@pytest.fixture
def store(redis_server):
    made = a_store(redis_server)
    yield made
    made.close()


@pytest.fixture
def config(tmp_path, store, upstream):
    """Settings in which an exchange has the same trials, whoever makes them and whatever is known by then."""

    def write(name, **changes):
        settings = {
            "routes": [
                {
                    "upstream": upstream,
                    "sampling_rate": 1.0,
                    "trials": {"plan": "uniform", "perturbations": KINDS, "per_exchange": len(KINDS)},
                    "template": [TEMPLATE],
                }
            ],
            "listen": {"port": 0},
            "access": {"port": 0},
            "alerts": {"min_trials": 5},
            "replays": {"references": {"calls_per_day": 0}},
            "data_dir": str(tmp_path / "data"),
            **changes,
        }
        path = tmp_path / f"{name}.yaml"
        path.write_text(json.dumps(settings))
        return path

    return write


def on_redis(config, store):
    return config("redis", storage={"redis": place_of(store)})


def place_of(store):
    return {"url": store.place.url, "prefix": store.place.prefix}


def queued(store):
    """Exchanges that wait, read past the queue."""
    rows = store.client.xrange(store.key("main", "exchanges"))
    ids = [fields[b"id"].decode() for _, fields in rows]
    return [unpack(store.client.get(store.key("main", f"payload:{name}"))) for name in ids]


def essence(verdict):
    """Content of a verdict, without when it was said and how long it took."""
    return (verdict.id, verdict.rating, verdict.control.rating, verdict.model, verdict.origin.prompt_version)


def gauges(exported, without=()):
    return {
        name: value
        for name, value in exported.items()
        if name.startswith("evenkeel_") and not any(part in name for part in without)
    }


def shown(url):
    """Export of all that a monitor has folded by now: it is written before its next step but one."""
    for _ in range(2):
        before = total(url, "monitor_last_step_timestamp_seconds")
        wait_for(lambda before=before: total(url, "monitor_last_step_timestamp_seconds") > before)
    return series(url)


def assert_only_forwards(admin):
    """A proxy is ready, and it must not read as if answers were measured."""
    ready = httpx2.get(f"{admin}/readyz")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    assert "worker and the monitor" in ready.json()["measuring"]


def test_many_processes_find_what_one_process_finds(tmp_path, config, store, simulation):
    """Two proxies, two workers, two monitors on one Redis: the gauges of one process on the same traffic."""
    shared = on_redis(config, store)
    workers = [Role(tmp_path, "worker", shared) for _ in range(2)]
    roles = list(workers)
    with stopping(roles):
        for worker in workers:
            worker.find(r"worker started \(pid (\d+)")
            worker.send(signal.SIGSTOP)
        proxies = [Role(tmp_path, "proxy", shared) for _ in range(2)]
        roles += proxies
        for place, proxy in enumerate(proxies):
            ask(proxy.find(r"base URL +(http://\S+?)/v1 "), UNLIKE[place * 20 : place * 20 + 20])
        wait_for(lambda: store.client.xlen(store.key("main", "exchanges")) == 40, what="40 exchanges queued")
        exchanges = queued(store)
        simulation.change("simulated-1", {"latency_s": 0.5})  # the first worker leaves the second its share
        watching = [Role(tmp_path, "monitor", shared, "--name", name) for name in ("one", "two")]
        roles += watching
        monitors = [role.find(r"console +(http://\S+?)/\n") for role in watching]
        for worker in workers:
            worker.send(signal.SIGCONT)
        verdicts = RedisVerdictLog(store)
        queue = RedisExchangeQueue(store, time.time)
        wait_for(lambda: queue.lag() == Lag(0, 0, 0, 0.0), what="everything is done")
        logged = [found.verdict for found in read_after(verdicts, 0, 1000)]
        assert len(logged) == 160
        wait_for(lambda: all(series(url)["evenkeel_monitor_verdicts_total"] >= 160 for url in monitors))
        # Requests are counted by proxies and verdicts by workers; both monitors put them together.
        wait_for(lambda: all(series(url).get(COVERAGE) == 1.0 for url in monitors), what="all is covered")
        one, two = map(shown, monitors)
        pipeline = httpx2.get(f"{monitors[0]}/api/pipeline", auth=ADMIN, timeout=240).json()
        assert pipeline["routes"][0]["queued"] == 40
    shares = [
        sum(number for name, _, number in snapshot["counters"] if name == "exchanges_scored")
        for snapshot in CounterStore(RedisDocuments(store), time.time).read()
    ]
    assert sum(shares) == 40
    assert sum(share > 0 for share in shares) == 2

    # Whatever the two export of the same log is the same; only their clocks differ.
    assert gauges(one, OF_ITS_OWN) == gauges(two, OF_ITS_OWN)
    assert any(name.startswith("evenkeel_cell_") for name in one)

    database = Database(tmp_path / "data" / "evenkeel.db")
    assert SqliteExchangeQueue(database, time.time).put(exchanges) == 40
    alone = [Role(tmp_path, "up", config("alone"))]
    with stopping(alone):
        console = alone[0].find(r"console +(http://\S+?)/\n")
        log = SqliteVerdictLog(database)
        wait_for(lambda: len(read_after(log, 0, 1000)) >= 160, what="160 verdicts in one process")
        wait_for(lambda: series(console)["evenkeel_monitor_verdicts_total"] >= 160)
        single = shown(console)
        expected = {essence(found.verdict) for found in read_after(log, 0, 1000)}
    database.close()
    assert {essence(verdict) for verdict in logged} == expected
    here, there = (
        {name: value for name, value in gauges(found, ORDERED).items() if 'model="' in name}
        for found in (single, one)
    )
    # Without a judge a cell has no content figure; its counted ratings are what both have.
    assert any(name.startswith("evenkeel_ratings_total") for name in here)
    assert sorted(there.keys() - here.keys()) == sorted(here.keys() - there.keys()) == []
    assert there == pytest.approx(here)


def test_one_of_two_monitors_asks_reference_prompts(tmp_path, config, store):
    """References are asked again by whichever monitor holds the lease; the proxy is two processes."""
    shared = config("asking", storage={"redis": place_of(store)}, replays={})
    several = {"EVENKEEL_LISTEN__PROCESSES": "2"}
    proxy = Role(tmp_path, "proxy", shared, "--admin-port", "0", environment=several)
    roles = [proxy, Role(tmp_path, "worker", shared)]
    roles += [Role(tmp_path, "monitor", shared, "--name", name) for name in ("one", "two")]
    with stopping(roles):
        monitors = [role.find(r"console +(http://\S+?)/\n") for role in roles[2:]]
        assert_only_forwards(proxy.find(r"metrics +(http://\S+?)/metrics"))
        ask(proxy.find(r"base URL +(http://\S+?)/v1 "), UNLIKE[:2])
        references = ReferenceStore(RedisDocuments(store))

        def filled():
            found = references.of_route("default")
            return found and all(len(reference.answers) >= FULL for reference in found)

        wait_for(filled, what="references with four answers")
        made = sum(len(reference.answers) - 2 for reference in references.of_route("default"))
        wait_for(lambda: {total(url, "references_asked_total") for url in monitors} == {0, made})


def test_what_a_killed_worker_held_is_scored_once_by_another(tmp_path, config, store, simulation):
    """Kill -9 in the middle of trials: every exchange has each of its verdicts once, and none is dead."""
    shared = on_redis(config, store)
    simulation.change(
        "simulated-1", {"latency_s": 3.0}
    )  # so long that much is left, however late this one looks
    proxy, first, second = (Role(tmp_path, role, shared) for role in ("proxy", "worker", "worker"))
    with stopping([proxy, second]):
        for worker in (first, second):
            worker.find(r"worker started \(pid (\d+)")
        second.send(signal.SIGSTOP)
        ask(proxy.find(r"base URL +(http://\S+?)/v1 "), range(24))
        log, queue = RedisVerdictLog(store), RedisExchangeQueue(store, time.time)
        wait_for(lambda: len(read_after(log, 0, 1000)) > 10, what="the first verdicts")
        held = queue.lag().leased
        first.kill()
        simulation.change("simulated-1", {"latency_s": 0.0})
        before = {found.verdict.id for found in read_after(log, 0, 1000)}
        assert held > 0
        assert len(before) < 24 * 4
        second.send(signal.SIGCONT)
        wait_for(lambda: queue.lag() == Lag(0, 0, 0, 0.0), what="everything is done")
    logged = [found.verdict for found in read_after(log, 0, 1000)]
    assert len(logged) == len({verdict.id for verdict in logged}) == 24 * 4
    assert {verdict.id for verdict in logged} >= before
    assert all(len(log.of_exchange(verdict.exchange_id)) == 4 for verdict in logged)
    assert queue.dead_letters(10) == []


def test_requests_are_forwarded_while_redis_is_gone(tmp_path, config, upstream):
    """No request fails or waits; what cannot be queued is counted, and queueing goes on afterwards."""
    server = RedisServer(tmp_path)
    shared = config("gone", storage={"redis": {"url": server.url}})
    several = {"EVENKEEL_LISTEN__PROCESSES": "2"}
    proxy = Role(tmp_path, "proxy", shared, "--admin-port", "0", environment=several)
    with stopping([proxy]):
        url = proxy.find(r"base URL +(http://\S+?)/v1 ")
        metrics = proxy.find(r"metrics +(http://\S+?)/metrics")
        assert_only_forwards(metrics)
        ask(url, range(4))
        wait_for(lambda: total(metrics, "exchanges_queued_total") == 4, what="4 queued")
        server.stop(signal.SIGKILL)
        ask(url, range(4, 12))
        wait_for(
            lambda: total(metrics, "exchanges_skipped_total", 'reason="store_error"') == 8, what="8 counted"
        )
        server.start()
        ask(url, range(12, 16))
        wait_for(lambda: total(metrics, "exchanges_queued_total") == 8, what="4 more queued")
    server.stop()


def total(url, name, label=""):
    """Sum of the series of that name with that label."""
    return sum(
        value for key, value in series(url).items() if key.startswith(f"evenkeel_{name}") and label in key
    )


def test_everything_on_one_machine_can_use_a_redis(tmp_path, config, store):
    """`evenkeel up` with a Redis writes no file but its own key, and exports all counters on one port."""
    shared = on_redis(config, store)
    together = [Role(tmp_path, "up", shared)]
    with stopping(together):
        url = together[0].find(r"base URL +(http://\S+?)/v1 ")
        console = together[0].find(r"console +(http://\S+?)/\n")
        ask(url, range(10))
        wait_for(lambda: total(console, "exchanges_scored_total") == 10, what="10 scored")
        wait_for(lambda: series(console)["evenkeel_monitor_verdicts_total"] == 40, what="40 folded")
        exported = series(console)
        assert total(console, "exchanges_queued_total") == 10
        assert exported["evenkeel_queue_waiting"] == 0
        for name in ("exchanges_requeued", "dead_letters_dropped", "verdicts_trimmed"):
            assert exported[f"evenkeel_{name}_total"] == 0
        assert httpx2.get(f"{console}/", auth=ADMIN, timeout=240).status_code == 200
    assert {file.name for file in (tmp_path / "data").iterdir()} == {SESSION_KEY}

"""Faults behind the hand-off: the disk, the store, the queue and the worker. No user may notice any."""

import asyncio
import contextlib
import gzip
import itertools
import os
import resource
import shutil
import signal
import sqlite3
import time

import pytest

from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from tests.clients.raw import raw
from tests.clients.recording import recording
from tests.kit.relaying import running
from tests.services import wait_for
from tests.stores.examples import exchange

pytestmark = pytest.mark.system

QUESTION = b'{"model": "m", "messages": [{"role": "user", "content": "Say ok."}]}'
ANSWER = b'{"choices": [{"message": {"content": "All is ok."}, "finish_reason": "stop"}]}'
PACKED = gzip.compress(ANSWER, mtime=0)
EVENT = b'data: {"choices": []}\n\n'
REQUEST = (
    b"POST /v1/%b/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Content-Length: %d\r\n\r\n%b"
)


async def model(wire, request):
    """Answers plainly, compressed or streamed, as the path says."""
    await wire.body()
    if b"packed" in request.target:
        head = b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(PACKED)
        wire.write(b"HTTP/1.1 200 OK\r\nx-request-id: r\r\n" + head + PACKED)
    elif b"stream" in request.target:
        wire.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(3):
            wire.write(b"%x\r\n%b\r\n" % (len(EVENT), EVENT))
            await asyncio.sleep(0)
        wire.write(b"0\r\n\r\n")
    else:
        wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(ANSWER) + ANSWER)


def conversation(port):
    """Ask on one connection; return the answers, byte for byte."""
    seen = []
    with raw(port) as client:
        for _ in range(10):
            for kind in (b"plain", b"packed", b"stream"):
                seen.append(client.ask(REQUEST % (kind, len(QUESTION), QUESTION)))
    return seen


@pytest.fixture(scope="module")
def upstream():
    with recording() as upstream:
        upstream.handler = model
        yield upstream


@pytest.fixture(scope="module")
def _proxy(upstream, tmp_path_factory):
    with capturing(upstream, tmp_path_factory.mktemp("store")) as proxy:
        yield proxy


@pytest.fixture
def proxy(_proxy):
    """A proxy that captures everything, with its metrics, shared by tests that leave its store whole."""
    yield _proxy
    _proxy.becomes(0, "evenkeel_handoff_bytes")


@pytest.fixture
def fresh_proxy(upstream, tmp_path):
    with capturing(upstream, tmp_path) as proxy:
        yield proxy


def capturing(upstream, folder, command="proxy", *, admin=True):
    """Starts evenkeel so that it captures everything."""
    return running(command, folder, "--upstream", upstream.url, "--sampling-rate", "1", admin=admin)


def same_as_direct(proxy, upstream):
    """Check that a conversation through the proxy is like a direct one; return its length."""
    answers = conversation(proxy.port)
    assert answers == conversation(upstream.port)
    return len(answers)


class Tally:
    """Counts of exchanges that the proxy has queued and dropped since a moment."""

    def __init__(self, proxy):
        self._proxy = proxy
        proxy.let_publish()
        self._queued = self.queued()
        self._failed = proxy.metric("evenkeel_exchanges_skipped_total", reason="store_error")

    def queued(self):
        return self._proxy.metric("evenkeel_exchanges_queued_total")

    def becomes(self, *, queued=0, failed=0):
        """Wait until so many more are queued, and dropped because the store failed: the fault was real."""
        self._proxy.becomes(self._queued + queued, "evenkeel_exchanges_queued_total")
        self._proxy.becomes(self._failed + failed, "evenkeel_exchanges_skipped_total", reason="store_error")


@contextlib.contextmanager
def full_disk(pid):
    """Let a process write no file beyond its first byte, as if the disk were full."""
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs Linux, to limit another process")
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def test_a_full_disk(proxy, upstream):
    """Answers stay those of a direct connection; exchanges are dropped and counted, later ones queued."""
    tally = Tally(proxy)
    queued = same_as_direct(proxy, upstream)
    tally.becomes(queued=queued)
    with full_disk(proxy.child("proxy")):
        failed = same_as_direct(proxy, upstream)
        tally.becomes(queued=queued, failed=failed)
    queued += same_as_direct(proxy, upstream)
    tally.becomes(queued=queued, failed=failed)


def test_a_store_that_another_process_holds(proxy, upstream):
    """Nobody waits while the store is locked; what was captured meanwhile is queued afterwards."""
    tally = Tally(proxy)
    queued = same_as_direct(proxy, upstream)
    tally.becomes(queued=queued)
    before = tally.queued()
    with held(proxy):
        started = time.monotonic()
        while time.monotonic() < started + 1.5:
            queued += same_as_direct(proxy, upstream)
        assert tally.queued() == before
    tally.becomes(queued=queued)


@contextlib.contextmanager
def held(proxy):
    """Lock the store, as another process that writes would."""
    with contextlib.closing(sqlite3.connect(proxy.data / "evenkeel.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.parametrize("what", ["deleted", "overwritten", "folder deleted"])
def test_a_store_that_is_lost(upstream, tmp_path, what):
    """Deleting or destroying the store under the proxy changes no answer."""
    with capturing(upstream, tmp_path, admin=False) as proxy:
        files = [proxy.data / f"evenkeel.db{part}" for part in ("", "-wal", "-shm")]

        def used():
            same_as_direct(proxy, upstream)
            return all(path.exists() for path in files)

        wait_for(used)
        if what == "folder deleted":
            proxy.data.rename(tmp_path / "deleted")  # At once: the proxy may make it again between two files.
            shutil.rmtree(tmp_path / "deleted")
            files = []
        for path in files:
            if what == "overwritten":
                # The index of the log is mapped into memory: truncated it ends the process, which its
                # supervisor starts again. This proxy has none.
                if not path.name.endswith("-shm"):
                    path.write_bytes(b"This is not a database. " * 1000)
            else:
                path.unlink(missing_ok=True)
        for _ in range(3):
            same_as_direct(proxy, upstream)


def test_a_hand_off_buffer_that_is_full(proxy, upstream):
    """Exchanges are dropped and counted while the store is held and the memory set aside is used up."""
    tally = Tally(proxy)
    tally.becomes(queued=same_as_direct(proxy, upstream))
    body = b"x" * (3 << 20)
    request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    with held(proxy):
        with raw(proxy.port) as client:
            for _ in range(30):
                assert client.ask(request + body)[1] == ANSWER
        skipped = "evenkeel_exchanges_skipped_total"
        proxy.wait(lambda: proxy.metric(skipped, reason="queue_full") > 5, "exchanges were dropped")
        assert proxy.metric("evenkeel_handoff_bytes") <= 64 << 20
        same_as_direct(proxy, upstream)


@contextlib.contextmanager
def queue_in(folder):
    """The store's queue, beside the process that uses it."""
    with contextlib.closing(Database(folder / "evenkeel.db")) as store:
        yield SqliteExchangeQueue(store, time.time)


def fill(queue):
    """Put as many exchanges into a queue as it takes."""
    number, batch = itertools.count(), 1000
    while queue.put([exchange(next(number), request_body=b"") for _ in range(batch)]) == batch:
        pass


def test_a_queue_that_is_full(fresh_proxy, upstream):
    """Answers are as ever with nobody to work the queue off, and it grows no further."""
    queued = same_as_direct(fresh_proxy, upstream)
    fresh_proxy.becomes(queued, "evenkeel_exchanges_queued_total")
    with queue_in(fresh_proxy.data) as queue:
        fill(queue)
        most = queue.lag().waiting
        same_as_direct(fresh_proxy, upstream)
        fresh_proxy.becomes(0, "evenkeel_handoff_bytes")
        assert queue.lag().waiting == most > queued


# A bus error is how it ends if somebody truncates the index of the write-ahead log within a transaction.
def test_a_worker_that_hangs_or_is_dead(upstream, tmp_path):
    """Forwarding goes on as if nothing had happened, and so it does when the worker is back."""
    with capturing(upstream, tmp_path, "up") as up:
        worker = up.child("worker")
        os.kill(worker, signal.SIGSTOP)
        try:
            for _ in range(3):
                same_as_direct(up, upstream)
        finally:
            os.kill(worker, signal.SIGCONT)
        assert up.child("worker") == worker
        os.kill(worker, signal.SIGBUS)
        for _ in range(3):
            same_as_direct(up, upstream)
        wait_for(lambda: up.child("worker") != worker, "for another worker")
        same_as_direct(up, upstream)

"""A proxy whose open files run out: who is served goes on being served, and the rest of it works."""

import contextlib
import itertools
import os
import resource
from pathlib import Path

import pytest

from tests.clients.raw import Raw
from tests.clients.recording import recording
from tests.kit.relaying import running

FILES = 160
ROOM = 53
"""160 / 3, see `connections_within`."""
REQUEST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


@pytest.fixture(scope="module")
def upstream():
    """A model endpoint that takes any number of connections."""
    with recording() as upstream:
        yield upstream


@pytest.fixture(scope="module")
def _proxy(upstream, tmp_path_factory):
    """A proxy that may have 160 open files, and captures everything."""
    arguments = ("--upstream", upstream.url, "--sampling-rate", "1")
    folder = tmp_path_factory.mktemp("descriptors")
    with running("proxy", folder, *arguments, admin=True, open_files=FILES) as proxy:
        yield proxy


@pytest.fixture
def proxy(_proxy):
    """The same, once it has nothing to do any more."""
    _proxy.becomes(0, "evenkeel_proxy_connections_open")
    _proxy.becomes(0, "evenkeel_handoff_bytes")
    return _proxy


@contextlib.contextmanager
def connected(port, count):
    """Open so many connections, each with a request on its way."""
    with contextlib.ExitStack() as stack:
        clients = [Raw(port) for _ in range(count)]
        for client in clients:
            stack.callback(client.sock.close)
            with contextlib.suppress(OSError):  # closed already
                client.send(REQUEST)
        yield clients


def heard(client):
    """The status of the answer; None if the connection was closed without one."""
    try:
        head = client.until(b"\r\n\r\n")
    except (OSError, AssertionError):
        return None
    return int(head.split(b" ")[1])


def test_connections_leave_files_for_everything_else(proxy):
    """However many clients come, each that is served has its upstream; store and metrics work."""
    proxy.let_publish()
    proxy.becomes(0, "evenkeel_proxy_connections_open")
    queued = proxy.metric("evenkeel_exchanges_queued_total")
    refused = proxy.metric("evenkeel_proxy_connections_refused_total", reason="full")
    with connected(proxy.port, ROOM + 30) as clients:
        statuses = [heard(client) for client in clients]
        assert statuses.count(200) == ROOM
        assert statuses.count(503) >= 1
        assert statuses.count(200) + statuses.count(503) + statuses.count(None) == ROOM + 30
        proxy.becomes(ROOM, "evenkeel_proxy_connections_open")
        proxy.becomes(ROOM, "evenkeel_proxy_connections_limit")
        proxy.becomes(refused + 30, "evenkeel_proxy_connections_refused_total", reason="full")
        proxy.becomes(queued + ROOM, "evenkeel_exchanges_queued_total")
    proxy.becomes(0, "evenkeel_proxy_connections_open")
    with connected(proxy.port, 1) as [client]:
        assert heard(client) == 200


def test_no_file_left_at_accept_is_no_end(proxy):
    """Connections that cannot be accepted are closed, at no great cost; whoever is connected is served."""
    if not hasattr(resource, "prlimit"):
        pytest.skip("needs Linux, to limit another process")
    with connected(proxy.port, 3) as clients:
        assert [heard(client) for client in clients] == [200] * 3
        pid = proxy.child("proxy")
        used = cpu_s(pid)
        limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        taken = {int(file.name) for file in Path(f"/proc/{pid}/fd").iterdir()}
        free = next(number for number in itertools.count() if number not in taken)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, limit[1]))
        try:
            with connected(proxy.port, 20) as more:
                assert [heard(client) for client in more] == [None] * 20
                for client in clients:
                    client.read(len(b"ok"))
                    client.send(REQUEST)
                    assert heard(client) == 200
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)
        assert cpu_s(pid) - used < 1.0
    with connected(proxy.port, 1) as [client]:
        assert heard(client) == 200


def cpu_s(pid):
    """Processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""A proxy in front of upstreams that fail in every way. It is impatient on the routes that are about that."""

import contextlib
import socket
from dataclasses import dataclass

import pytest

from tests.clients.recording import RecordingUpstream, recording
from tests.kit.relaying import Running, running, settings_file

IMPATIENT = {"/unaccepting": {"silence_s": 0.4}, "/stalling": {"silence_s": 2.0}}
"""Times that are not waited for, by route. All else is, on every one: most tests are not about time."""
PATIENT = {"silence_s": 240}


@dataclass(frozen=True, slots=True)
class Faulty:
    """A proxy and the upstream of its default route and of "/stalling"; others have none."""

    upstream: RecordingUpstream
    proxy: Running


@pytest.fixture(scope="session")
def _faulty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faulty")
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(recording())
        # Bound but not listening: it refuses, and nobody else can take the port meanwhile.
        dead = stack.enter_context(socket.socket())
        dead.bind(("127.0.0.1", 0))
        # With a full backlog: neither accepts nor refuses.
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        urls = {
            "": upstream.url,
            "/refusing": "http://{}:{}".format(*dead.getsockname()),
            "/unaccepting": "http://{}:{}".format(*full.getsockname()),
            "/stalling": upstream.url,
        }
        routes = [
            {
                "name": prefix.strip("/") or "default",
                "match": {"prefix": prefix},
                "upstream": url,
                "sampling_rate": 1,
                "timeouts": {**PATIENT, **IMPATIENT.get(prefix, {})},
            }
            for prefix, url in urls.items()
        ]
        config = settings_file(folder, routes=routes)
        proxy = stack.enter_context(running("proxy", folder, "--config", str(config), admin=True))
        yield Faulty(upstream, proxy)


@pytest.fixture
def faulty(_faulty):
    """The proxy, its upstream without a past."""
    yield _faulty
    _faulty.upstream.clear()
    _faulty.proxy.check_log()


@pytest.fixture
def upstream(faulty):
    """The upstream of the proxy's default route."""
    return faulty.upstream

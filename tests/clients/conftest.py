"""The same conversation twice: directly with an upstream, and with the running proxy between."""

from dataclasses import dataclass

import pytest

from tests.clients.recording import RecordingUpstream, recording
from tests.kit.relaying import Running, running


@dataclass(frozen=True, slots=True)
class Paths:
    """The two ways to an upstream. All exchanges that can be are captured on the way."""

    upstream: RecordingUpstream
    proxy: Running

    def both(self, talk):
        """Return the outcome of a conversation with the upstream's port, and with the proxy's."""
        return talk(self.upstream.port), talk(self.proxy.port)


@pytest.fixture(scope="session")
def _paths(tmp_path_factory):
    with (
        recording() as upstream,
        running(
            "proxy", tmp_path_factory.mktemp("proxy"), "--upstream", upstream.url, "--sampling-rate", "1"
        ) as proxy,
    ):
        yield Paths(upstream, proxy)


@pytest.fixture
def paths(_paths):
    """An upstream and a proxy in front of it, both without a past."""
    yield _paths
    _paths.upstream.clear()
    _paths.proxy.check_log()


@pytest.fixture
def upstream(paths):
    """The upstream of `paths`."""
    return paths.upstream

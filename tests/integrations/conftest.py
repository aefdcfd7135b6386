"""A proxy in front of a simulated model and of other servers' answers, with a route for each page."""

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from evenkeel.lab.simulated_apis import APIS
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.queue import SqliteExchangeQueue
from tests.clients.test_node import node_modules  # noqa: F401 - the SDK is installed once for all
from tests.integrations.pages import PAGES
from tests.integrations.peers import PEERS, peers
from tests.kit.relaying import running, settings_file
from tests.services import installed, wait_for

CLIENTS = ("langchain-openai==1.7.3", "anthropic==2.11.0")
"""Too large for everybody's environment, and LangChain brings a pytest plugin of its own."""


@dataclass
class Rig:
    """The proxy and what it captured."""

    port: int
    upstreams: dict[str, str]
    """Base URL behind each page's route."""
    bodies: list[dict[str, object]]
    """Bodies that the other servers were sent."""
    queue: SqliteExchangeQueue

    def captured(self, page):
        """The exchange that a page's program made, which is the only one of its route."""
        (lease,) = wait_for(lambda: self.queue.reserve(10, 60.0), "for an exchange")
        assert lease.exchange.route == page
        self.queue.acknowledge([lease.exchange.id])
        return lease.exchange


@pytest.fixture(scope="session")
def rig(tmp_path_factory):
    """Everything is sampled; the simulated model has neither noise nor fragility."""
    folder = tmp_path_factory.mktemp("integrations")
    model = Simulation(
        [ModelState("simulated-1", fragility=0, noise=0)], SimulationSettings(deterministic=True), apis=APIS
    )
    with serving(model) as simulated, peers() as (others, bodies):
        # As the pages name them: with `/v1` where the client's own path has it, too.
        bare = {"azure-openai": simulated, "anthropic": simulated}
        upstreams = {page.stem: bare.get(page.stem, f"{simulated}/v1") for page in PAGES}
        upstreams |= {name: f"{others}/{name}{path}" for name, path in PEERS.items()}
        routes = [
            {"name": name, "match": {"prefix": f"/{name}"}, "upstream": url, "sampling_rate": 1}
            for name, url in upstreams.items()
        ]
        config = settings_file(folder, routes=routes)
        with running("proxy", folder, "--config", str(config)) as proxy:
            database = Database(proxy.data / "evenkeel.db")
            yield Rig(proxy.port, upstreams, bodies, SqliteExchangeQueue(database, time.time))
            database.close()


@pytest.fixture(scope="session")
def site(pytestconfig, tmp_path_factory):
    """Folder with the larger Python clients: installed once and kept in pytest's cache, if it has one."""
    name = "-".join(CLIENTS).replace("==", "-")
    uv = Path(sys.executable).with_name("uv")
    command = [uv, "pip", "install", "--python", sys.executable]
    if not uv.exists():
        command = [sys.executable, "-m", "pip", "install"]
    command += ["--quiet", "--target", "site", *CLIENTS]
    return installed(pytestconfig, tmp_path_factory, name, "site", command)


@pytest.fixture
def environment(rig, monkeypatch):
    """Sets what a page exports, with the proxy's address; gives it."""

    def export(exported, page):
        here = {
            name: value.replace("127.0.0.1:8100", f"127.0.0.1:{rig.port}/{page}").replace("…", "none")
            for name, value in exported.items()
        }
        assert json.dumps(here).count(f":{rig.port}/{page}") == 1
        for name, value in here.items():
            monkeypatch.setenv(name, value)

    return export

"""What all tests share: real services are used where they are installed, and missed loudly."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import hypothesis
import pytest

# The same examples in each run; `make fuzz` draws others.
hypothesis.settings.register_profile("default", derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("fuzz", max_examples=1000, deadline=None, print_blob=True)
hypothesis.settings.load_profile("default")

# What is started here is read by tests, as a person would: the banner, and events as text.
os.environ.setdefault("EVENKEEL_LOG__FORMAT", "text")

SHARED_DATA = Path(__file__).parents[2] / "shared" / "data"

_SERVICES = {
    "chromium": "apt-get install chromium",
    "prometheus": "apt-get install prometheus",
    "promtool": "apt-get install prometheus",
    "redis-server": "apt-get install redis-server",
    "prometheus-alertmanager": "apt-get install prometheus-alertmanager",
}
_MODULES = {"sentence_transformers": "make semantic"}


def pytest_addoption(parser):
    """`--strict-services`: a missing service is a failure, as in CI. `--redis-cluster`: where stores are."""
    parser.addoption("--strict-services", action="store_true", help="a skipped test is a failure")
    parser.addoption("--redis-cluster", action="store_true", help="stores on a Redis Cluster of three nodes")


def _missing(name):
    if name in _SERVICES:
        return None if shutil.which(name) else _SERVICES[name]
    if name in _MODULES:
        return None if importlib.util.find_spec(name) else _MODULES[name]
    raise ValueError(f"unknown service {name!r}")


def pytest_runtest_setup(item):
    """Skip a test whose service is missing, saying what to install."""
    for marker in item.iter_markers("service"):
        for name in marker.args:
            install = _missing(name)
            if install:
                pytest.skip(f"needs {name}: {install}")
    if item.get_closest_marker("shared_data") and not SHARED_DATA.is_dir():
        pytest.skip("needs the public data sets beside the checkout")


def pytest_collection_modifyitems(items):
    """A test that is handed a Redis needs that service, whether it is marked or not."""
    for item in items:
        if "redis_server" in item.fixturenames and not item.get_closest_marker("service"):
            item.add_marker(pytest.mark.service("redis-server"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Under the strict flag a skip is a failure, whatever its reason."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.config.getoption("--strict-services"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped: {report.longrepr[2]}"
    return report


def pytest_terminal_summary(terminalreporter):
    """Say at the end what was not tested."""
    reasons = sorted({str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])})
    for reason in reasons:
        terminalreporter.write_line(f"NOT TESTED: {reason}", yellow=True)


@pytest.fixture(scope="session")
def redis_server(request, tmp_path_factory):
    """A real Redis, one for each test process; with `--redis-cluster` three nodes that share the keys."""
    if _missing("redis-server"):
        pytest.skip(f"needs redis-server: {_missing('redis-server')}")
    from tests.redis_server import RedisCluster, RedisServer  # noqa: PLC0415 - it needs the client library

    kind = RedisCluster if request.config.getoption("--redis-cluster") else RedisServer
    server = kind(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", pytest.param("redis", marks=pytest.mark.service("redis-server"))])
def backend(request):
    """A backend of the stores, empty: what every one of them must do is tested with this."""
    return request.getfixturevalue(f"on_{request.param}")


@pytest.fixture
def on_sqlite(tmp_path):
    """The backend on SQLite, for what is its own."""
    from tests.stores.backends import SqliteBackend  # noqa: PLC0415 - few tests need stores

    made = SqliteBackend(tmp_path)
    yield made
    made.close()


@pytest.fixture
def on_redis(redis_server):
    """The backend on Redis, for what is its own."""
    from tests.stores.backends import RedisBackend  # noqa: PLC0415 - as above

    made = RedisBackend(redis_server)
    yield made
    made.close()

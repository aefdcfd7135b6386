"""Fixtures and rules of all tests: real services are used where they are installed, and missed loudly."""

import functools
import gc
import importlib.util
import inspect
import os
import resource
import shutil
import tempfile
from itertools import chain, islice
from pathlib import Path

import httpcore2
import httpx2
import hypothesis
import jinja2
import pytest

# The same examples in each run; `make fuzz` draws others.
hypothesis.settings.register_profile(
    "default", max_examples=20, derandomize=True, deadline=None, database=None
)
hypothesis.settings.register_profile("fuzz", max_examples=1000, deadline=None, print_blob=True)
hypothesis.settings.load_profile("default")

# What somebody's shell says to an evenkeel and a tracer of their own is not said to these tests.
for _name in [name for name in os.environ if name.startswith(("EVENKEEL_", "OTEL_"))]:
    del os.environ[_name]
# What is started here is read by tests, as a person would: the banner, and events as text.
os.environ["EVENKEEL_TELEMETRY__LOG_FORMAT"] = "text"

# What tests serve on this machine is not asked for through somebody's proxy.
_around = f"{os.environ.get('no_proxy') or os.environ.get('NO_PROXY', '')},localhost,127.0.0.1"
os.environ["no_proxy"] = os.environ["NO_PROXY"] = _around.lstrip(",")

# A request of a test that says nothing of time would have five seconds, which is little on a busy machine.
_default = inspect.signature(httpx2.Client).parameters["timeout"].default
_default.connect = _default.read = _default.write = _default.pool = 240.0

# A client prepares for TLS when it is made, for 25 ms of processor time: all that trust the same share that.
_prepared = functools.cache(lambda trust_env, *_trusted: _prepare(_trust_env=trust_env))
_prepare = httpcore2.default_ssl_context


def _context_of_environment(*, _trust_env=True):
    return _prepared(_trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


httpcore2.default_ssl_context = _context_of_environment


class _CompiledTemplates(jinja2.BytecodeCache):
    """Templates that were compiled for one console, for the next one."""

    def __init__(self):
        self._code = {}

    def load_bytecode(self, bucket):
        if bucket.key in self._code:
            bucket.bytecode_from_string(self._code[bucket.key])

    def dump_bytecode(self, bucket):
        self._code[bucket.key] = bucket.bytecode_to_string()


# A console compiles its templates for 80 ms of processor time: all of one process share that.
jinja2.Environment.__init__ = functools.partialmethod(
    jinja2.Environment.__init__, bytecode_cache=_CompiledTemplates()
)

# Some tests hold both ends of 400 connections, and a shell may allow 256 open files.
_soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
if _soft < 2048 <= _hard:
    resource.setrlimit(resource.RLIMIT_NOFILE, (2048, _hard))

# As the product's own processes do: collections while a thousand modules are loaded find nothing.
gc.set_threshold(100_000, 20, 50)

_LONGEST = (
    "test_wheel",
    "test_silent",
    "test_changes",
    "test_roles",
    "test_incidents",
    "test_queries",
    "test_challenger",
    "test_planes",
    "test_reload",
    "test_benchmarks",
)
"""Parts of the names of the tests that take longest, which begin first."""

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
    """`--strict-services`: a missing service is a failure, as in CI."""
    parser.addoption("--strict-services", action="store_true", help="a skipped test is a failure")


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


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    """A test that is handed a Redis needs that service, marked or not; system tests go first."""
    for item in items:
        if "redis_server" in item.fixturenames and not item.get_closest_marker("service"):
            item.add_marker(pytest.mark.service("redis-server"))
    yield
    items[:] = _dealt(items, getattr(config, "workerinput", {}).get("workercount", 1))


def _dealt(items, workers):
    """Each worker's run of the list (`--dist worksteal`) begins with its share of the system tests.

    They take from ten seconds to minutes: none may be what everybody waits for at the end. Those that share
    a fixture of their module or folder stay together.
    """

    def rank(unit):
        return next((place for place, name in enumerate(_LONGEST) if name in unit[0].nodeid), len(_LONGEST))

    def whole(item):
        fixtures = [found[-1] for found in item._fixtureinfo.name2fixturedefs.values()]
        of_run = [fixture.baseid for fixture in fixtures if fixture.scope == "session"]
        folders = [folder for folder in of_run if folder.startswith("tests/")]
        shared = any(fixture.scope == "module" for fixture in fixtures)
        return folders[0] if folders else item.path if shared else item.nodeid

    together = {}
    for item in items:
        if item.get_closest_marker("system"):
            together.setdefault(whole(item), []).append(item)
    units = sorted(together.values(), key=rank)
    others = iter([item for item in items if not item.get_closest_marker("system")])
    dealt, left = [], len(items)
    for worker in range(workers):
        share = left // (workers - worker)
        hand = list(chain.from_iterable(units[worker::workers]))
        hand += islice(others, max(0, share - len(hand)))
        dealt += hand
        left -= len(hand)
    return dealt


def pytest_collection_finish():
    """Leave what is loaded by now out of garbage collections: to walk it takes a tenth of all the time."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Make a skip under the strict flag a failure, whatever its reason."""
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
def redis_server(tmp_path_factory):
    """A real Redis, one for each test process."""
    if _missing("redis-server"):
        pytest.skip(f"needs redis-server: {_missing('redis-server')}")
    from tests.redis_server import RedisServer  # noqa: PLC0415 - it needs the client library

    server = RedisServer(tmp_path_factory.mktemp("redis"))
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
def database(on_sqlite):
    """An SQLite file."""
    return on_sqlite.place


@pytest.fixture
def documents(on_sqlite):
    """The documents in it."""
    return on_sqlite.documents()


@pytest.fixture
def on_redis(redis_server):
    """The backend on Redis, for what is its own."""
    from tests.stores.backends import RedisBackend  # noqa: PLC0415 - as above

    made = RedisBackend(redis_server)
    yield made
    made.close()


@pytest.fixture(scope="module")
def socket_path():
    """A path for a Unix socket, which may have a hundred characters: temporary folders can have more."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield f"{folder}/model.sock"


@pytest.fixture
def start(tmp_path):
    """Starts `evenkeel up` with the given arguments."""
    from tests.up.starting import up  # noqa: PLC0415 - few tests start it

    return functools.partial(up, tmp_path)


@pytest.fixture
def simulation():
    """A simulated model with answers that depend on the request alone."""
    from evenkeel.lab.simulated_apis import APIS  # noqa: PLC0415 - as above
    from evenkeel.simulate import ModelState, Simulation, SimulationSettings  # noqa: PLC0415 - as above

    settings = SimulationSettings(deterministic=True)
    return Simulation([ModelState("simulated-1", fragility=0.3)], settings, apis=APIS)


@pytest.fixture
def upstream(simulation):
    """The simulated model's address."""
    from evenkeel.simulate import serving  # noqa: PLC0415 - as above

    with serving(simulation) as url:
        yield url

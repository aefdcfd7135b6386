"""Contenders: programs to be measured, each with the addresses at which it takes requests.

- no proxy: the load and the model by themselves, with which all others are compared
- evenkeel as users start it: the data plane alone, one request in ten sampled, telemetry on
- LiteLLM's proxy from PyPI: its OpenAI-compatible route, and its pass-through of the same requests; once
  more with its Rust core switched on
- nginx with one worker, a pool of kept connections, and no buffering in either direction; once with Debian's
  buffer sizes, and once with a buffer that reads a large request body with few calls
- Portkey's gateway from npm, on Node

A new contender is a class here and a line in `BUILTIN`.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from benchmarks.machine import HOST, NotMeasured, free_port, running
from evenkeel import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractContextManager

    from benchmarks.machine import Program


CHAT = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Site:
    """Folders, ports and cores for a contender."""

    folder: Path
    """Folder for its settings, data and output; it is deleted afterwards."""
    cache: Path
    """Folder for programs that take long to install; it is kept."""
    upstream: int
    """Port of the model."""
    cores: tuple[int, ...]
    """Cores of the contender."""
    rest: tuple[int, ...]
    """Cores of everything else."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address at which a contender takes requests."""

    name: str
    port: int
    path: str = CHAT
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that requests need in addition to the usual ones."""


@dataclass(frozen=True, slots=True)
class RunningContender:
    """A contender that runs."""

    program: Program | None
    """None if nothing is between the load and the model."""
    addresses: tuple[Address, ...]
    version: str


class Contender(Protocol):
    """A program to be measured."""

    name: str
    processes: int
    """Number of processes that share its port. It gets as many cores if the machine has them."""

    def start(self, site: Site) -> AbstractContextManager[RunningContender]:
        """Run it on the site's cores while the context lasts.

        Raises: NotMeasured, with the reason, if it cannot be installed or does not start.
        """
        ...


class Direct:
    """The model without a proxy."""

    name = "direct"
    processes = 1

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[RunningContender]:
        """Return the address of the model, which runs already."""
        yield RunningContender(None, (Address(self.name, site.upstream),), "")


SAMPLING_RATE = 0.1
DATABASE = Path("evenkeel-data", "evenkeel.db")
# Log whose last line is the number of stored exchanges.
DRAINED = Path("drained.log")

_ROOT = Path(__file__).parents[2]


class Evenkeel:
    """Command `evenkeel proxy` of this checkout, in one process or several."""

    def __init__(self, processes: int = 1, sampling_rate: float = SAMPLING_RATE) -> None:
        self.processes = processes
        self.name = "evenkeel" if processes == 1 else f"evenkeel x {processes}"
        if sampling_rate != SAMPLING_RATE:
            self.name += f", {sampling_rate:.0%} sampled"
        self._sampling_rate = sampling_rate

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[RunningContender]:
        """Start it with its data in the site's folder."""
        port = free_port()
        command = [sys.executable, "-m", "evenkeel", "proxy", "--upstream", f"http://{HOST}:{site.upstream}"]
        command += ["--port", str(port), "--sampling-rate", str(self._sampling_rate)]
        if self.processes > 1:
            command += ["--processes", str(self.processes)]
        # Nothing replays the samples here, so that another program has to empty the queue.
        drain = (sys.executable, "-m", "benchmarks.machine", site.folder / DATABASE)
        with (
            _started(command, site, port) as program,
            running(drain, cores=site.rest, log=site.folder / DRAINED, port=None, cwd=_ROOT),
        ):
            yield RunningContender(program, (Address(self.name, port),), __version__)


def _started(command: list[str], site: Site, port: int) -> AbstractContextManager[Program]:
    log = site.folder / "evenkeel.log"
    # This checkout comes before the installed package, which may be another one's.
    environment = {"PYTHONPATH": str(_ROOT)}
    return running(command, cores=site.cores, log=log, port=port, cwd=site.folder, env=environment)


_INSTALL_S = 900  # longest time of an installer
_THROUGH = "/through"  # path of LiteLLM's pass-through

_ENVIRONMENT = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_TELEMETRY": "False",
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOG": "ERROR",
    # LiteLLM checks no keys, because the other contenders do not check any either.
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",
}


class LiteLLM:
    """LiteLLM with one worker, in an environment of its own."""

    processes = 1

    def __init__(self, name: str, *, title: str = "LiteLLM", rust: bool = False) -> None:
        """Prepare the contender.

        Args:
            name: Name of the contender.
            title: Beginning of the names of its addresses.
            rust: True to use the Rust parts of its wheel instead of their Python equivalents.
        """
        self.name = name
        self._title = title
        self._environment = {**_ENVIRONMENT, "LITELLM_RUST": str(rust).lower()}

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[RunningContender]:
        """Install it if necessary, and start it."""
        folder = site.cache / "litellm"
        _install_litellm(folder)
        port = free_port()
        base = f"http://{HOST}:{site.upstream}"
        settings = {
            "model_list": [
                {
                    "model_name": "m",
                    "litellm_params": {"model": "openai/m", "api_base": f"{base}/v1", "api_key": "none"},
                }
            ],
            "general_settings": {
                "pass_through_endpoints": [
                    {"path": _THROUGH, "target": base + CHAT, "headers": {"content-type": "application/json"}}
                ]
            },
        }
        config = site.folder / "litellm.yaml"
        config.write_text(json.dumps(settings))  # JSON is YAML
        command = (folder / "bin" / "litellm", "--config", config, "--host", HOST, "--port", str(port))
        log = site.folder / "litellm.log"
        with running(
            command, cores=site.cores, log=log, port=port, cwd=site.folder, env=self._environment
        ) as program:
            addresses = (Address(self._title, port), Address(f"{self._title} pass-through", port, _THROUGH))
            yield RunningContender(program, addresses, _version(folder))


def _install(command: list[str], folder: Path | None = None) -> None:
    """Run an installer.

    Raises: NotMeasured with the last line of its errors if that fails.
    """
    try:
        subprocess.run(command, check=True, capture_output=True, cwd=folder, timeout=_INSTALL_S)
    except subprocess.CalledProcessError as error:
        printed = error.stderr.decode(errors="replace").strip().splitlines()
        raise NotMeasured(f"cannot be installed: {printed[-1][:200] if printed else error}") from error
    except subprocess.TimeoutExpired as error:
        raise NotMeasured(f"not installed within {_INSTALL_S} s") from error


def _install_litellm(folder: Path) -> None:
    done = folder / "installed"
    if done.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    print("  installing litellm[proxy] from PyPI", flush=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _install([sys.executable, "-m", "venv", str(folder)])
    _install([*pip, "litellm[proxy]"])
    done.touch()


def _version(folder: Path) -> str:
    ask = "import importlib.metadata as m; print(m.version('litellm'))"
    done = subprocess.run(
        [str(folder / "bin" / "python"), "-c", ask], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


_CONFIG = Path(__file__).with_name("nginx.conf")
LARGE_BODIES = "client_body_buffer_size 256k; "


class Nginx:
    """Debian's nginx, if it is installed."""

    processes = 1

    def __init__(self, name: str, tuning: str = "") -> None:
        """Prepare the contender, with further settings if any."""
        self.name = name
        self._tuning = tuning

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[RunningContender]:
        """Start it in the foreground with its own configuration."""
        program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
        if program is None:
            raise NotMeasured("not installed (apt-get install nginx-light)")
        port = free_port()
        config = site.folder / "nginx.conf"
        config.write_text(
            _CONFIG.read_text().format(
                folder=site.folder, host=HOST, port=port, upstream=site.upstream, tuning=self._tuning
            )
        )
        printed = subprocess.run([program, "-v"], capture_output=True, text=True, check=True).stderr
        command = (program, "-p", site.folder, "-c", config)
        with running(command, cores=site.cores, log=site.folder / "nginx.log", port=port) as nginx:
            yield RunningContender(nginx, (Address(self.name, port),), printed.strip().rpartition("/")[2])


_PACKAGE = "@portkey-ai/gateway"

# With the versions of this dependency that npm would choose, every streamed answer is a 500:
# Portkey-AI/gateway#1389.
_MANIFEST = json.dumps({"private": True, "overrides": {"@hono/node-server": "1.13.8"}})


class Portkey:
    """Gateway of Portkey with one Node process."""

    name = "portkey"
    processes = 1

    @contextlib.contextmanager
    def start(self, site: Site) -> Iterator[RunningContender]:
        """Install it if necessary, and start it."""
        node = shutil.which("node")
        if node is None:
            raise NotMeasured("it needs Node, which is not installed (apt-get install nodejs npm)")
        folder = site.cache / "portkey"
        _install_portkey(folder)
        package = folder / "node_modules" / _PACKAGE
        port = free_port()
        headers = {
            "x-portkey-provider": "openai",
            "x-portkey-custom-host": f"http://{HOST}:{site.upstream}/v1",
        }
        command = (node, package / "build" / "start-server.js", f"--port={port}", "--headless")
        log = site.folder / "portkey.log"
        with running(
            command, cores=site.cores, log=log, port=port, env={"NODE_ENV": "production"}
        ) as program:
            version = json.loads((package / "package.json").read_text())["version"]
            yield RunningContender(program, (Address("Portkey", port, headers=headers),), version)


def _install_portkey(folder: Path) -> None:
    done = folder / "installed"
    if done.exists() and done.read_text() == _MANIFEST:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise NotMeasured("it needs npm, which is not installed (apt-get install npm)")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(_MANIFEST)
    print(f"  installing {_PACKAGE} from npm", flush=True)
    command = [npm, "install", "--no-audit", "--no-fund", "--loglevel=error", _PACKAGE]
    _install(command, folder)
    done.write_text(_MANIFEST)


# In the order of the tables.
BUILTIN: tuple[Contender, ...] = (
    Direct(),
    Nginx("nginx"),
    Nginx("nginx-tuned", LARGE_BODIES),
    Evenkeel(),
    LiteLLM("litellm"),
    LiteLLM("litellm-rust", title="LiteLLM (Rust on)", rust=True),
    Portkey(),
)

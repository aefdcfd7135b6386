"""The demo's processes: the commands a person would type, on free ports."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import yaml

from evenkeel.supervisor import ListenError, listen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_START_S = 30.0
_STOP_S = 30.0


class DemoError(Exception):
    """The demo cannot go on. The message says why."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where things are, as URLs without a slash at the end."""

    simulation: str
    proxy: str
    admin: str


def free_port(preferred: int) -> int:
    """The preferred port if it is free, else any free one."""
    for port in (preferred, 0):
        with contextlib.suppress(ListenError), listen("127.0.0.1", port, option="") as sock:
            return int(sock.getsockname()[1])
    raise DemoError("no free port on 127.0.0.1")


@contextlib.contextmanager
def running(folder: Path, settings: dict[str, Any], simulated_models: tuple[str, ...]) -> Iterator[Addresses]:
    """Start the simulated model and evenkeel, wait until both answer, and stop them at the end.

    Args:
        folder: for the settings file, the data and the logs.
        settings: `evenkeel.yaml` without addresses and upstreams; these are filled in.
        simulated_models: names of the models to serve.
    """
    ports = {"simulation": free_port(8102), "proxy": free_port(8100), "admin": free_port(8101)}
    addresses = Addresses(**{name: f"http://127.0.0.1:{port}" for name, port in ports.items()})
    models = [part for name in simulated_models for part in ("--model", name)]
    complete = {
        **settings,
        "listen": {"port": ports["proxy"]},
        "admin": {"port": ports["admin"]},
        "data_dir": str(folder / "data"),
        "simulated": True,
        "routes": [{**route, "upstream": f"{addresses.simulation}/v1"} for route in settings["routes"]],
    }
    config = folder / "evenkeel.yaml"
    config.write_text(yaml.safe_dump(complete, sort_keys=False), encoding="utf-8")
    with (
        _process(folder / "simulate.log", "simulate", "--port", str(ports["simulation"]), *models),
        _answering(f"{addresses.simulation}/healthz", folder / "simulate.log"),
        _process(folder / "evenkeel.log", "up", "--config", str(config)),
        _answering(f"{addresses.admin}/healthz", folder / "evenkeel.log"),
        _answering(f"{addresses.proxy}/v1/models", folder / "evenkeel.log"),
    ):
        yield addresses


@contextlib.contextmanager
def _process(log: Path, *arguments: str) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [sys.executable, "-m", "evenkeel", *arguments], stdout=output, stderr=output
        )
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def _answering(url: str, log: Path) -> Iterator[None]:
    deadline = time.monotonic() + _START_S
    while True:
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(url, timeout=2.0).is_success:
                break
        if time.monotonic() > deadline:
            raise DemoError(f"{url} does not answer; {log} ends with:\n{log.read_text()[-2000:]}")
        time.sleep(0.05)
    yield

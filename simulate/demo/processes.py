"""The demo's processes and its traffic: the commands a person would type, on free ports.

The application summarises support cases through the real openai SDK, half of them streamed.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2
import openai
import yaml

from evenkeel.simulate import make_case, summary_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


_AT_ONCE = 6


class Application:
    """Sends one request after the other to one route, a few at a time."""

    def __init__(self, base_url: str, model: str, first_seed: int) -> None:
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key="demo", max_retries=0)
        self._model = model
        self._seed = first_seed
        self.sent = 0
        self.failed = 0

    async def send(self, count: int, *, progress: Callable[[], None] = lambda: None) -> None:
        """Send `count` requests and wait for all answers."""
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(seed: int) -> None:
            async with slots:
                try:
                    await self._ask(seed)
                except openai.OpenAIError:
                    self.failed += 1
                self.sent += 1
                progress()

        seeds = range(self._seed, self._seed + count)
        self._seed += count
        await asyncio.gather(*(one(seed) for seed in seeds))

    async def _ask(self, seed: int) -> None:
        prompt = summary_prompt(make_case(seed))
        if seed % 2:
            stream = await self._client.chat.completions.create(
                model=self._model, messages=[{"role": "user", "content": prompt}], stream=True
            )
            async for _ in stream:
                pass
        else:
            await self._client.chat.completions.create(
                model=self._model, messages=[{"role": "user", "content": prompt}]
            )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


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
        with contextlib.suppress(OSError), socket.create_server(("127.0.0.1", port)) as sock:
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
    logs = folder / "simulate.log", folder / "evenkeel.log"
    with (
        _process(logs[0], "simulate", "--port", str(ports["simulation"]), *models) as simulation,
        _process(logs[1], "up", "--config", str(config)) as product,
    ):
        wait_for(f"{addresses.simulation}/healthz", simulation, logs[0], f"{addresses.simulation}/v1")
        for url in (f"{addresses.admin}/healthz", f"{addresses.proxy}/v1/models"):
            wait_for(url, product, logs[1], f"{addresses.proxy}/v1")
        yield addresses


@contextlib.contextmanager
def _process(log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command line
            [sys.executable, "-m", "evenkeel", *arguments], stdout=output, stderr=output
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path, banner: str) -> None:
    """Wait until a process has printed its banner and answers.

    The banner shows that the answer is its own: between choosing a port and listening on it another demo may
    have taken it, and two demos would measure each other's traffic.

    Args:
        url: what has to answer.
        process: what was started.
        log: what it prints.
        banner: what it prints once it listens.

    Raises: DemoError with what it printed, if it ends, or does not answer in half a minute.
    """
    deadline = time.monotonic() + _START_S
    while True:
        printed = log.read_text(encoding="utf-8", errors="replace")
        if banner in printed:
            with contextlib.suppress(httpx2.HTTPError):
                if httpx2.get(url, timeout=2.0).is_success:
                    return
        if process.poll() is not None:
            raise DemoError(f"a process ended while starting; try again. It said:\n{printed[-2000:]}")
        if time.monotonic() > deadline:
            raise DemoError(f"{url} does not answer. Its process said:\n{printed[-2000:]}")
        time.sleep(0.05)

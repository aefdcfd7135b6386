"""`evenkeel up` as a user starts it, in front of a simulated model."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import httpx2
import pytest

from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving


@dataclass
class Up:
    """A running `evenkeel up`."""

    process: subprocess.Popen
    proxy: str
    admin: str
    log: object

    def get(self, path):
        return httpx2.get(f"{self.admin}{path}", timeout=10).json()

    def metric(self, name, **labels):
        """Sum of the samples of that name whose labels include these."""
        total = 0.0
        for line in httpx2.get(f"{self.admin}/metrics", timeout=10).text.splitlines():
            match = re.fullmatch(rf"{name}(?:{{(.*)}})? (\S+)", line)
            if match and all(f'{key}="{value}"' in (match[1] or "") for key, value in labels.items()):
                total += float(match[2])
        return total

    def settle(self, timeout_s=60):
        """Wait until everything captured is scored and folded."""
        time.sleep(0.5)
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            pipeline = self.get("/api/pipeline")
            if pipeline["waiting"] + pipeline["leased"] == 0:
                time.sleep(1.5)
                return
            time.sleep(0.1)
        raise AssertionError(f"not settled in {timeout_s} s: {pipeline}")

    def child(self, name):
        """The pid of a child, as the log tells it."""
        return int(re.findall(rf"{name} started \(pid (\d+)\)", self.log.read_text())[-1])


@contextlib.contextmanager
def up(folder, *arguments, environment=None, exit_code=0):
    """Start `evenkeel up` on free ports; stop it and check that it ends well."""
    log = folder / "up.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "evenkeel",
                "up",
                "--port",
                "0",
                "--admin-port",
                "0",
                "--data-dir",
                str(folder / "data"),
                *arguments,
            ],
            stdout=output,
            stderr=output,
            # Loading an encoder takes longer than most of these tests.
            env={**os.environ, "EVENKEEL_SCORING__EMBEDDINGS": "false", **(environment or {})},
        )
    try:
        running = Up(process, *_addresses(process, log), log)
        yield running
    finally:
        process.terminate()
        try:
            code = process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
    assert code == exit_code, log.read_text()
    assert "Fatal Python error" not in log.read_text()
    assert "Traceback" not in log.read_text()


def _addresses(process, log):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        text = log.read_text()
        proxy = re.search(r"base URL +(http://\S+?)/v1 ", text)
        admin = re.search(r"console +(http://\S+?)/\n", text)
        if proxy and admin:
            with contextlib.suppress(httpx2.HTTPError):
                httpx2.get(f"{admin[1]}/healthz", timeout=5)
                return proxy[1], admin[1]
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    raise AssertionError(f"evenkeel up did not start:\n{log.read_text()}")


@pytest.fixture
def start(tmp_path):
    """Starts `evenkeel up` with the given arguments."""
    return lambda *arguments, **options: up(tmp_path, *arguments, **options)


@pytest.fixture
def simulation():
    """A simulated model with answers that depend on the request alone."""
    return Simulation([ModelState("simulated-1", fragility=0.3)], SimulationSettings(deterministic=True))


@pytest.fixture
def upstream(simulation):
    """Its address."""
    with serving(simulation) as url:
        yield url

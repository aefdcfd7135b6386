"""`evenkeel simulate` and `evenkeel up` as processes, and seeded requests through the proxy.

`evenkeel simulate` and `evenkeel up` as processes, on free ports and in a folder of their own.

Requests through the proxy, made of seeded cases: the same seed asks the same questions.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import httpx2

from benchmarks.proxy.machine import NotMeasured
from evenkeel.simulate import JUDGE_MODEL, make_prompt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


MODEL: Final = "simulated-1"
OTHER_MODEL: Final = "simulated-2"
_START_S: Final = 180.0
_STOP_S: Final = 60.0
_POLL_S: Final = 0.25
_UNCHANGED_S: Final = 3.0
"""The monitor looks at the log once a second: what has not moved for three was folded."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """Where things are, as URLs without a slash at the end."""

    simulation: str
    proxy: str
    admin: str

    def get(self, path: str) -> Any:
        """What the admin API says."""
        answer = httpx2.get(f"{self.admin}{path}", timeout=30)
        answer.raise_for_status()
        return answer.json()

    def text(self, path: str) -> str:
        """A page of the admin API."""
        return httpx2.get(f"{self.admin}{path}", timeout=30).raise_for_status().text

    def change(self, model: str, **state: Any) -> None:
        """Have a simulated model behave otherwise from now on."""
        url = f"{self.simulation}/simulate/models/{model}"
        httpx2.put(url, content=json.dumps(state), timeout=30).raise_for_status()

    def sum_of(self, name: str) -> float:
        """The sum of a metric's samples."""
        text = httpx2.get(f"{self.admin}/metrics", timeout=30).text
        return sum(
            float(found[1]) for found in re.finditer(rf"^{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
        )

    def drain(self, patience_s: float) -> None:
        """Wait until everything that was sampled is scored.

        Raises:
            NotMeasured: if that takes longer.
        """
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            pipeline = self.get("/api/pipeline")
            if pipeline["waiting"] + pipeline["leased"] == 0:
                return
            time.sleep(_POLL_S)
        raise NotMeasured(f"not drained in {patience_s:.0f} s: {pipeline}")

    def settle(self, patience_s: float) -> None:
        """Wait until all of that is folded, too."""
        deadline = time.monotonic() + patience_s
        seen, since = -1.0, time.monotonic()
        while time.monotonic() < deadline:
            self.drain(patience_s)
            folded = self.sum_of("evenkeel_monitor_verdicts_total")
            if folded != seen:
                seen, since = folded, time.monotonic()
            elif time.monotonic() - since > _UNCHANGED_S:
                return
            time.sleep(_POLL_S)
        raise NotMeasured(f"not folded in {patience_s:.0f} s")


@contextlib.contextmanager
def running(
    folder: Path, settings: Callable[[str], dict[str, Any]], models: Mapping[str, Mapping[str, Any]]
) -> Iterator[Deployment]:
    """Start both, wait until they listen, and stop them at the end.

    Args:
        folder: for settings, store and logs.
        settings: the settings of `evenkeel up`, given the address of the simulated model.
        models: state of each simulated model, the judge's included.
    """
    names = [part for name in models if name != JUDGE_MODEL for part in ("--model", name)]
    simulating = folder / "simulate.log"
    with _process(simulating, "simulate", "--port", "0", *names):
        simulation = _said(simulating, r"(http://\S+)/v1")
        config = folder / "evenkeel.json"
        config.write_text(json.dumps(settings(simulation)), encoding="utf-8")
        log = folder / "up.log"
        ports = ("--port", "0", "--admin-port", "0", "--data-dir", str(folder / "data"))
        with _process(log, "up", "--config", str(config), *ports):
            proxy = _said(log, r"base URL +(http://[^/\s]+)/")
            admin = _said(log, r"console +(http://[^/\s]+)/")
            found = Deployment(simulation, proxy, admin)
            for name, state in models.items():
                found.change(name, **state)
            _answering(f"{admin}/healthz", log)
            _answering(f"{simulation}/healthz", simulating)
            yield found


@contextlib.contextmanager
def _process(log: Path, *arguments: str) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "evenkeel", *arguments],
            stdout=output,
            stderr=output,
            env={
                **os.environ,
                "EVENKEEL_JUDGE_API_KEY": "simulated",
                "EVENKEEL_ADMIN__OPEN_ON_LOOPBACK": "true",
            },
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


def _said(log: Path, pattern: str) -> str:
    """What a process says about itself, as soon as it does."""
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        found = re.search(pattern, log.read_text(encoding="utf-8"))
        if found:
            return found[1]
        time.sleep(0.05)
    raise NotMeasured(f"{log.name} ends with: {log.read_text(encoding='utf-8')[-1000:]}")


def _answering(url: str, log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        with contextlib.suppress(httpx2.HTTPError):
            if httpx2.get(url, timeout=5).is_success:
                return
        time.sleep(0.05)
    raise NotMeasured(f"{url} does not answer; {log.name}: {log.read_text(encoding='utf-8')[-1000:]}")


_AT_ONCE: Final = 6
_TIMEOUT_S: Final = 60


@dataclass(frozen=True, slots=True)
class Manner:
    """How an application asks at one time."""

    tasks: Mapping[str, float]
    """Share of each task among its requests; they add up to 1."""
    model: str = MODEL
    version: str = "p1"
    """What it says about its prompt; "" = nothing."""
    system: str = ""
    """Said before the task's own prompt."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What it asks for beside the prompt."""
    every: int = 1
    """It asks about every so-many-th case."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request of one route."""

    route: str
    body: dict[str, object]
    headers: dict[str, str]


def requests_of(manners: Mapping[str, Manner], numbers: range, seed: int) -> list[Request]:
    """The requests of all routes, in turns.

    Args:
        manners: by route.
        numbers: of the cases.
        seed: chooses the tasks and the cases.
    """
    found = []
    for number in numbers:
        for route, manner in manners.items():
            if number % manner.every:
                continue
            rng = random.Random(f"{seed} {route} {number}")
            (task,) = rng.choices(list(manner.tasks), list(manner.tasks.values()))
            messages = make_prompt(task, rng.getrandbits(48))
            if manner.system:
                messages = [{"role": "system", "content": manner.system}, *messages]
            headers = {"x-evenkeel-prompt-version": manner.version} if manner.version else {}
            body = {"model": manner.model, "messages": messages, **manner.parameters}
            found.append(Request(route, body, headers))
    return found


def send(proxy: str, requests: Sequence[Request]) -> None:
    """Send them, some at a time, and wait for all answers.

    Raises:
        NotMeasured: if one is not answered with success.
    """
    with (
        httpx2.Client(base_url=proxy, timeout=_TIMEOUT_S) as client,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):

        def one(request: Request) -> None:
            path = f"/{request.route}/v1/chat/completions"
            status = client.post(path, json=request.body, headers=request.headers).status_code
            if status != httpx2.codes.OK:
                raise NotMeasured(f"{path} was answered with {status}")

        for _ in pool.map(one, requests):
            pass

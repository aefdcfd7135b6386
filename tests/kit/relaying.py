"""Starts `evenkeel proxy` or `evenkeel up` as a user does, and stops it."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import httpx2

from tests.kit.simulated_prompts import make_prompt

if TYPE_CHECKING:
    from pathlib import Path

START_S = 240.0
STOP_S = 120.0
PATIENCE_S = 240.0
_IDLE = 7
_STEPPED = "evenkeel_monitor_last_step_timestamp_seconds"


@dataclass(slots=True)
class Running:
    """A running evenkeel."""

    process: subprocess.Popen[bytes]
    port: int
    """Port for applications."""
    admin: str | None
    """Address of the admin port, if it serves one."""
    log: Path
    data: Path
    """Folder of the store."""
    auth: tuple[str, str] | None = None
    """Credentials of the admin port: a name, and the token."""
    requests: int = 0
    """Answered so far: those of `ask`, and what a test adds."""
    planted: int = 0
    """Exchanges that a test has put into the queue itself."""

    @property
    def url(self):
        """Address for applications, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def page(self, path):
        """Page of the admin port at a path."""
        return httpx2.get(f"{self.admin}{path}", auth=self.auth, timeout=PATIENCE_S).raise_for_status().text

    def get(self, path):
        """Answer of its API at a path."""
        return json.loads(self.page(path))

    def ask(self, numbers, task="case_summary", *, route="", **more):
        """`ask`, with the prefix of a route such as "/desk"."""
        answers = ask(f"{self.url}{route}", numbers, task, **more)
        self.requests += len(answers)
        return answers

    def settle(self):
        """Wait until everything captured is scored, folded, counted and exported.

        Nothing of it rests on time: the data plane has published a count that holds all requests, the worker
        one by which it is done with all exchanges, and the monitor has stepped three times since. The first
        step may have begun before, the second has folded the last verdicts, and its figures are written
        before the third. What a worker did not publish before it was killed is never counted: look into the
        store.
        """
        self.wait(lambda: self.metric("evenkeel_proxy_requests_total") >= self.requests, "all are counted")
        self.wait(lambda: self._left() <= 0, "all are scored")
        stepped = time.time()
        for _ in range(3):
            self.wait(partial(self._steps_after, stepped), "the monitor steps")
            stepped = self.metric(_STEPPED)

    def is_idle(self):
        """Tell whether no exchange is in the queue, nor with a worker."""
        pipeline = self.get("/api/pipeline")
        return bool(pipeline["waiting"] + pipeline["leased"] == 0)

    def _steps_after(self, time_s):
        return self.metric(_STEPPED) > time_s

    def _left(self):
        """Captured exchanges of which nothing has come so far."""
        page = self.page("/metrics")
        came = sum(total(page, f"evenkeel_exchanges_{name}_total") for name in ("scored", "dead", "skipped"))
        never = total(page, "evenkeel_exchanges_skipped_total", reason="replay")  # were not captured
        return self.planted + total(page, "evenkeel_exchanges_sampled_total") + never - came

    def wait(self, question, until):
        deadline = time.monotonic() + PATIENCE_S
        while not question():
            assert time.monotonic() < deadline, f"waited in vain until {until}:\n{self.page('/metrics')}"
            time.sleep(0.1)

    def metric(self, name, **labels):
        """`total` of what is exported now."""
        return total(self.page("/metrics"), name, **labels)

    def let_publish(self):
        """Wait until all that was counted before is exported: a process says what it counts every second.

        A page that shows the idle connections opened here was written after that: no test has as many.
        """
        with contextlib.ExitStack() as idle:
            for _ in range(_IDLE):
                idle.enter_context(socket.create_connection(("127.0.0.1", self.port)))
            self.becomes(_IDLE, "evenkeel_proxy_connections_open")

    def becomes(self, number, name, **labels):
        """Wait until a metric has a value."""
        self.wait(lambda: self.metric(name, **labels) == number, f"{name} {labels} is {number}")

    def check_log(self):
        """Fail if a callback raised: that ends nothing and is only logged."""
        text = self.log.read_text()
        assert "Traceback" not in text, text

    def child(self, name):
        """The pid of a child process, as the log tells it once it has started."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            pids = re.findall(rf"{name} started \(pid (\d+)\)", self.log.read_text())
            if pids:
                return int(pids[-1])
            time.sleep(0.02)
        raise AssertionError(f"{name} did not start:\n{self.log.read_text()}")


def total(page, name, **labels):
    """Sum of the samples of that name on a page of metrics whose labels include these."""
    amount = 0.0
    for line in page.splitlines():
        match = re.fullmatch(rf"{name}(?:{{(.*)}})? (\S+)", line)
        if match and all(f'{key}="{value}"' in (match[1] or "") for key, value in labels.items()):
            amount += float(match[2])
    return amount


def token_in(data):
    """The admin token that was made in a data folder; "" if none was."""
    file = data / "admin-token"
    return file.read_text(encoding="ascii").strip() if file.exists() else ""


def ask(url, numbers, task="case_summary", *, model="simulated-1", system="", **headers):
    """Put cases of a task to a model, four at a time; its answers, which all have to be good.

    Args:
        url: where, without `/v1`.
        numbers: of the cases.
        task: one of the simulated model.
        model: as requests name it.
        system: an instruction before the messages; "" for none.
        headers: of every request.
    """
    first = [{"role": "system", "content": system}] if system else []
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with httpx2.Client(base_url=url, headers=named, timeout=PATIENCE_S) as client:

        def answered(number):
            body = {"model": model, "messages": [*first, *make_prompt(task, number)]}
            answer = client.post("/v1/chat/completions", json=body).raise_for_status()
            return str(answer.json()["choices"][0]["message"]["content"])

        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(answered, numbers))


class Load:
    """Requests of an application that goes on asking, plain and streamed, on connections that stay open."""

    def __init__(self, url, *, pause_s=0.05, clients=2, model="simulated-1", **headers):
        self.system = ""
        """An instruction before the messages, from the next request on."""
        self.answered = 0
        self.failures = []
        self._url, self._pause_s, self._model, self._headers = url, pause_s, model, headers
        self._numbers = itertools.count()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(clients)]

    def _send(self):
        with httpx2.Client(base_url=self._url, headers=self._headers, timeout=PATIENCE_S) as client:
            while not self._stop.wait(self._pause_s):
                number = next(self._numbers)
                first = [{"role": "system", "content": self.system}] if self.system else []
                body = {"model": self._model, "messages": [*first, *make_prompt("case_summary", number)]}
                try:
                    answer = client.post("/v1/chat/completions", json={**body, "stream": number % 4 == 0})
                    assert answer.status_code == 200, answer.text
                    assert "[DONE]" in answer.text or answer.json()["choices"], answer.text
                    self.answered += 1
                except Exception as error:  # noqa: BLE001 - whatever it is, it is a failed request
                    self.failures.append(repr(error))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()


@contextlib.contextmanager
def running(command, folder, *arguments, admin=False, exit_code=0, open_files=None, environment=None):
    """Start `evenkeel COMMAND` on free ports with its store in a folder; check that it ends well.

    Args:
        command: `proxy` or `up`.
        folder: for the store and the log.
        arguments: more of the command line.
        admin: whether the admin port is served.
        exit_code: what it must end with.
        open_files: how many it may have at most.
        environment: more variables.
    """
    limited = ("sh", "-c", f'ulimit -n {open_files}; exec "$@"', "sh") if open_files else ()
    log = folder / f"{command}.log"
    data = folder / "data"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *limited,
                *(sys.executable, "-m", "evenkeel", command, "--port", "0", "--data-dir", str(data)),
                *(("--admin-port", "0") if admin else ()),
                *arguments,
            ],
            stdout=output,
            stderr=output,
            env={**os.environ, "EVENKEEL_TELEMETRY__LOG_FORMAT": "text", **(environment or {})},
        )
    try:
        started = _started(process, log, data, admin=admin)
        yield started
        started.check_log()
    finally:
        process.terminate()
        try:
            code = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
    assert code == exit_code, log.read_text()
    started.check_log()  # nor in its end


def _started(process, log, data, *, admin):
    """Wait for the banner: the sockets listen before it is printed, so nothing else need be waited for."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and process.poll() is None:
        text = log.read_text()
        base = re.search(r"base URL +http://\S+?:(\d+)\S*  ", text)
        probes = re.search(r"(?:console +(http://\S+?)/|metrics +(http://\S+?)/metrics)\n", text)
        if base and (probes or not admin):
            probed = probes and (probes[1] or probes[2])
            return Running(process, int(base[1]), probed, log, data, ("anyone", token_in(data)))
        time.sleep(0.02)
    process.kill()
    process.wait()
    raise AssertionError(f"evenkeel did not start:\n{log.read_text()}")


def settings_file(folder, **settings):
    """A settings file with these settings (JSON is YAML)."""
    path = folder / "evenkeel.yaml"
    path.write_text(json.dumps(settings), encoding="utf-8")
    return path

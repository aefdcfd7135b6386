"""Silent changes behind a worker and a monitor, at default settings, in simulated days.

    python -m benchmarks.detection.days [--changes 4] [--quiet 30] [--model gpt-4.1-mini]

Worker and monitor are wired as `evenkeel up` wires them, on SQLite, in one process under a simulated clock.
Exchanges are put into the queue as a data plane samples them, the worker makes its trials, the monitor asks
its reference prompts, folds the log and opens incidents. Replays go to a server that gives recorded answers
(../shared/data): LLMDrift's upgrades, with planted noise, and GPT-4o under other instructions, with its own.
There is no judge.
"""

from __future__ import annotations

import time

# The clock is replaced before evenkeel is imported, because its modules take `time.time` as their clock.
_NOW = [1_793_527_200.0]  # a list, so that the clock can be set
time.time = lambda: _NOW[0]

import argparse
import asyncio
import json
import random
import re
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.detection.references import PLANTED, Upgrade, altered, upgrades
from benchmarks.kit import ResultTable
from evenkeel.core.exchange import Exchange
from evenkeel.monitor.incidents import IncidentBoard
from evenkeel.runtime.instruments import Instruments
from evenkeel.runtime.roles.monitor import MonitorRole
from evenkeel.runtime.roles.worker import WorkerRole
from evenkeel.runtime.stores import connect
from evenkeel.settings import Settings
from evenkeel.shadow.timesheet import Timesheet

_HOUR_S: Final = 3_600.0
# Number of recorded changes that are played: the first are LLMDrift's, the others llm-stability's.
_CHANGES: Final = 4
_SAMPLED: Final = 0.1  # share of the requests that is sampled
_SYSTEM: Final = "You answer the questions of our users. Be exact."
_EDITED: Final = "You answer the questions of our users. Be precise."  # the same meaning in other words
# Finds the number of the question, which no rewording changes.
_PLACE: Final = re.compile(r"question (\d+):", re.IGNORECASE)
_JSON: Final = (("content-type", "application/json"),)


class DaysResult(NamedTuple):
    """Result of one play."""

    found_h: float | None
    """Hours from the change until its incident; None if there was none in the watched time."""
    false: int
    """Incidents before the change, or in a play without a change."""
    calls: int
    """Calls about reference prompts in the whole play."""
    usd_a_day: float
    """Dollars a day for all replays, at the model's list price."""
    requests: int
    """Requests of users until the incident or the end of the play, sampled or not."""


class UpgradedModel:
    """A model that answers each question with a recorded answer of the version in force."""

    def __init__(self, upgrade: Upgrade, model: str, seed: int) -> None:
        self.upgrade = upgrade
        self.changes_at = float("inf")
        self._model = model
        self._rng = random.Random(seed)

    def body(self, request: dict[str, object]) -> bytes:
        """Return the response to a request."""
        side = int(_NOW[0] >= self.changes_at)
        place = _PLACE.search(json.dumps(request["messages"]))
        assert place is not None, request
        samples = self.upgrade.prompts[int(place[1])][side]
        text = self._rng.choice(samples)
        if len(samples) == 1 and self._rng.random() < PLANTED:
            text = altered(text, self._rng.choice(self.upgrade.others[side]), self._rng)
        # A token has about four characters.
        asked = len(json.dumps(request["messages"])) // 4
        answered = len(text) // 4
        message = {"role": "assistant", "content": text}
        answer = {
            "id": "1",
            "object": "chat.completion",
            "model": self._model,
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": asked,
                "completion_tokens": answered,
                "total_tokens": asked + answered,
            },
        }
        return json.dumps(answer).encode()


class SimulatedRoute:
    """A route with its worker and its monitor, played for some simulated time."""

    def __init__(self, folder: Path, upgrade: Upgrade, model: str, seed: int) -> None:
        self._model = UpgradedModel(upgrade, model, seed)
        self._name = model
        self._rng = random.Random(f"traffic {seed}")
        self._folder = folder
        self._system = _SYSTEM
        self._sent = 0

    async def run(
        self, pause_s: float, *, before_h: float, watched_h: float, changes: bool = True, edited: bool = False
    ) -> DaysResult:
        """Play some hours before the change and some after it.

        Args:
            pause_s: Seconds between two sampled requests.
            before_h: Hours in which nothing changes.
            watched_h: Hours after the change within which it can be found.
            changes: False for a play in which nothing ever changes.
            edited: True to reword the system message at the time of the change, with the same meaning.
        """
        server = _serve(self._model)
        settings = Settings.model_validate(
            {
                "routes": [{"name": "desk", "upstream": f"http://127.0.0.1:{server.server_port}"}],
                "data_dir": str(self._folder),
            }
        )
        stores = connect(settings)
        instruments = await Instruments.set_up(settings, stores)
        worker = await WorkerRole.set_up(settings, stores, instruments, Timesheet.blank())
        monitor = await asyncio.to_thread(MonitorRole, settings, stores, instruments, list)
        board = IncidentBoard(stores.monitor)
        began = _NOW[0]
        change_at = began + before_h * _HOUR_S
        end = change_at + watched_h * _HOUR_S
        # While nothing changes, references are asked at most every five minutes.
        tick_s = 60.0 if changes else 300.0
        found_h = None
        false = day = 0
        # The cost tracker starts again every day: dollars of the days before, and of this one.
        spent = day_spent = 0.0
        try:
            while _NOW[0] < end and found_h is None:
                if changes and _NOW[0] >= change_at:
                    self._model.changes_at = change_at
                    self._system = _EDITED if edited else _SYSTEM
                stores.queue.put([self._exchange()])
                await worker.worker.drain()
                for _ in range(max(1, round(pause_s / tick_s))):
                    _NOW[0] += min(pause_s, tick_s)
                    while await monitor.asker.step():
                        monitor.monitor.step()
                    monitor.monitor.step()
                    today = instruments.ledger.today().usd
                    if int((_NOW[0] - began) // (24 * _HOUR_S)) != day:
                        day, spent = day + 1, spent + day_spent
                    day_spent = today
                false = 0
                for incident in board.all():
                    if incident.opened_at < change_at or not changes:
                        false += 1
                        continue
                    hours = (incident.opened_at - change_at) / _HOUR_S
                    found_h = hours if found_h is None else min(found_h, hours)
        finally:
            server.shutdown()
            server.server_close()
            await instruments.close()
            await worker.close()
            stores.close()
        days = (_NOW[0] - began) / (24 * _HOUR_S)
        requests = round(self._sent / _SAMPLED)
        return DaysResult(found_h, false, reference_calls(instruments), (spent + day_spent) / days, requests)

    def _exchange(self) -> Exchange:
        self._sent += 1
        place = self._rng.randrange(len(self._model.upgrade.questions))
        messages = [
            {"role": "system", "content": self._system},
            {"role": "user", "content": f"Question {place}: {self._model.upgrade.questions[place]}"},
        ]
        request = {"model": self._name, "messages": messages}
        return Exchange(
            id=f"{random.Random(f'{self._sent} {self._folder}').getrandbits(64):016x}",
            route="desk",
            received_at=_NOW[0],
            duration_s=1.0,
            method="POST",
            path="/v1/chat/completions",
            status=200,
            request_headers=_JSON,
            request_body=json.dumps(request).encode(),
            response_headers=_JSON,
            response_body=self._model.body(request),
            client="shop",
        )


def reference_calls(instruments: Instruments) -> int:
    """Return the number of calls about reference prompts."""
    rows = instruments.tally.snapshot()["counters"]
    return int(sum(number for name, _, number in rows if name == "references_asked"))


def _serve(model: UpgradedModel) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = model.body(request)
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    return server


def play(upgrade: Upgrade, model: str, seed: int, pause_s: float, **options: Any) -> DaysResult:
    """Play one route in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(SimulatedRoute(Path(folder), upgrade, model, seed).run(pause_s, **options))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, default=_CHANGES)
    parser.add_argument("--quiet", type=int, default=30, help="days without a change; 0 = no such play")
    parser.add_argument("--model", default="gpt-4.1-mini", help="model whose list price is paid")
    parser.add_argument("--rare", action="store_true", help="only a route with one request a minute")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows: list[tuple[str | float | None, ...]] = []
    recorded = list(islice(upgrades(), max(1, options.changes)))
    # Name of each pace, the seconds between two sampled requests, and the hours before the change.
    paces = [("1 a minute", 600.0, 12.0)]
    if not options.rare:
        paces.insert(0, ("10 a minute", 60.0, 5.0))
    for upgrade in recorded if options.changes else ():
        for pace, pause_s, before_h in paces:
            for edited in (False, True):
                result = play(
                    upgrade, options.model, options.seed, pause_s,
                    before_h=before_h, watched_h=6.0, edited=edited,
                )  # fmt: skip
                label = f"{upgrade.name}{', and a cosmetic edit' if edited else ''}"
                row = (label, pace, *result)
                print(row, flush=True)
                rows.append(row)
    if options.quiet:
        result = play(
            recorded[0], options.model, options.seed, 600.0,
            before_h=24.0 * options.quiet, watched_h=0.0, changes=False,
        )  # fmt: skip
        rows.append((f"none, {options.quiet} days", "1 a minute", *result))
    heads = ("change", "requests", "found after h", "false incidents", "calls", "usd a day", "requests until")
    notes = ("Default settings, 10 % sampled, no judge.",)
    print(ResultTable("silent-days", heads, tuple(rows), notes=notes).markdown())


if __name__ == "__main__":
    main()

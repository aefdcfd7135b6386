"""Silent changes behind worker and monitor, at default settings, in simulated days.

    python -m benchmarks.detection.days [--changes 4] [--quiet 30] [--model gpt-4.1-mini]

Worker and monitor are wired as `evenkeel up` wires them, on SQLite, in one process under a simulated clock.
Exchanges are put into the queue as a data plane samples them, the worker makes its trials, the monitor asks
its reference prompts, folds the log and opens incidents. Replays go to a server that answers as was recorded
(../shared/data): LLMDrift's upgrades, with noise planted, and GPT-4o under other instructions, with its own.
There is no judge.
"""

from __future__ import annotations

import time

# Before anything of evenkeel is loaded: its parts take `time.time` as their clock.
_NOW = [1_793_527_200.0]
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
from benchmarks.kit import Table
from evenkeel.core.exchange import Exchange
from evenkeel.monitor.incidents import IncidentBoard
from evenkeel.runtime.instruments import Instruments
from evenkeel.runtime.roles.monitor import MonitorRole
from evenkeel.runtime.roles.worker import WorkerRole
from evenkeel.runtime.stores import connect
from evenkeel.settings import Settings
from evenkeel.shadow.timesheet import Timesheet

_HOUR_S: Final = 3_600.0
# Recorded changes that are played: the first are LLMDrift's, the others llm-stability's.
_CHANGES: Final = 4
_SAMPLED: Final = 0.1
_SYSTEM: Final = "You answer the questions of our users. Be exact."
_EDITED: Final = "You answer the questions of our users. Be precise."
# Number of the question, which no rewording may change.
_PLACE: Final = re.compile(r"question (\d+):", re.IGNORECASE)
_JSON: Final = (("content-type", "application/json"),)


class Outcome(NamedTuple):
    """What one play brought."""

    found_h: float | None
    """Hours from the change until its incident; None if there was none in the time watched."""
    false: int
    """Incidents before the change, or of a play without one."""
    calls: int
    """Calls about reference prompts, of the whole play."""
    usd_a_day: float
    """Dollars of all replays by the model's list price, a day."""
    requests: int
    """Requests of users until the incident, sampled or not; of the whole play without one."""


class Recorded:
    """The model: answers a prompt by its place, as the version in force was recorded."""

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
        tokens = len(json.dumps(request["messages"])) // 4, len(text) // 4
        answer = {
            "id": "1",
            "object": "chat.completion",
            "model": self._model,
            "choices": [
                {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            ],
            "usage": {
                "prompt_tokens": tokens[0],
                "completion_tokens": tokens[1],
                "total_tokens": sum(tokens),
            },
        }
        return json.dumps(answer).encode()


class Play:
    """One route over some simulated time."""

    def __init__(self, folder: Path, upgrade: Upgrade, model: str, seed: int) -> None:
        self._model = Recorded(upgrade, model, seed)
        self._name = model
        self._rng = random.Random(f"traffic {seed}")
        self._folder = folder
        self._system = _SYSTEM
        self._sent = 0

    async def run(
        self, pause_s: float, *, before_h: float, watched_h: float, changes: bool = True, edited: bool = False
    ) -> Outcome:
        """Play some hours before the change, and some after it.

        Args:
            pause_s: Seconds between two sampled requests.
            before_h: Hours in which nothing changes.
            watched_h: Hours after the change within which it may be found.
            changes: False for a play in which nothing ever changes.
            edited: Whether the system message is edited at the time of the change; its sense stays.
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
        monitor = await MonitorRole.set_up(settings, stores, instruments, list)
        board = IncidentBoard(stores.monitor)
        began = _NOW[0]
        change_at = began + before_h * _HOUR_S
        end = change_at + watched_h * _HOUR_S
        # References are asked every five minutes: more often nothing happens while nothing changes.
        tick_s = 60.0 if changes else 300.0
        found_h, false, spent = None, 0, 0.0
        day, day_spent = 0, 0.0
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
                opened = board.all()
                early = [one for one in opened if one.opened_at < change_at or not changes]
                false = len(early)
                late = [one.opened_at for one in opened if one not in early]
                if late:
                    found_h = (min(late) - change_at) / _HOUR_S
        finally:
            server.shutdown()
            server.server_close()
            await instruments.close()
            await worker.close()
            stores.close()
        hours = (_NOW[0] - began) / _HOUR_S
        asked = stores_asked(instruments)
        return Outcome(found_h, false, asked, 24 * (spent + day_spent) / hours, round(self._sent / _SAMPLED))

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


def stores_asked(instruments: Instruments) -> int:
    """Return the calls about reference prompts that were counted."""
    rows = instruments.tally.snapshot()["counters"]
    return int(sum(number for name, _, number in rows if name == "references_asked"))


def _serve(model: Recorded) -> ThreadingHTTPServer:
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


def play(upgrade: Upgrade, model: str, seed: int, pause_s: float, **options: Any) -> Outcome:
    """Play one route in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(Play(Path(folder), upgrade, model, seed).run(pause_s, **options))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--changes", type=int, default=_CHANGES)
    parser.add_argument("--quiet", type=int, default=30, help="days without a change; 0 = no such play")
    parser.add_argument("--model", default="gpt-4.1-mini", help="whose list price is paid")
    parser.add_argument("--rare", action="store_true", help="only a route with a request a minute")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rows: list[tuple[str | float | None, ...]] = []
    recorded = list(islice(upgrades(), max(1, options.changes)))
    for upgrade in recorded if options.changes else ():
        for minutes, name in ((1.0, "10 a minute"), (10.0, "1 a minute"))[options.rare :]:
            for edited in (False, True):
                before_h = 5.0 if minutes == 1.0 else 12.0
                outcome = play(
                    upgrade, options.model, options.seed, 60.0 * minutes,
                    before_h=before_h, watched_h=6.0, edited=edited,
                )  # fmt: skip
                label = f"{upgrade.name}{', and a cosmetic edit' if edited else ''}"
                row = (label, name, *outcome)
                print(row, flush=True)
                rows.append(row)
    if options.quiet:
        outcome = play(
            recorded[0], options.model, options.seed, 600.0,
            before_h=24.0 * options.quiet, watched_h=0.0, changes=False,
        )  # fmt: skip
        rows.append((f"none, {options.quiet} days", "1 a minute", *outcome))
    heads = ("change", "requests", "found after h", "false incidents", "calls", "usd a day", "requests until")
    print(
        Table(
            "silent-days", heads, tuple(rows), notes=("Default settings, 10 % sampled, no judge.",)
        ).markdown()
    )


if __name__ == "__main__":
    main()

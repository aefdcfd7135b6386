"""What reloading the settings costs the requests that are forwarded meanwhile.

Run from the root of the repository: python -m benchmarks.reload [--rounds 200] [--live 20]

First, how long a reload holds up the event loop that forwards, by the number of routes, in milliseconds of
processor time. `DataPlane.reroute` is all that a reload does in that loop: reading, validating and comparing
the settings happen in another process, building the route table in another thread. Half of the upstreams are
others each time.

Then `evenkeel up` with two data-plane processes in front of a simulated model, 16 clients, a settings file
that is written anew every second, `--live` times, every third time with a SIGHUP: requests that failed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import signal
import statistics
import tempfile
import time
from pathlib import Path

import httpx2

from evenkeel.proxy import Counters, DataPlane, HandOff, Route, RouteTable, Upstream
from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from tests.kit.relaying import running

ROUTES = (1, 10, 100, 1000)
CLIENTS = 16
QUESTION = {"model": "simulated-1", "messages": [{"role": "user", "content": "Say hello."}]}


class Nowhere:
    """A queue that nothing is put into."""

    def put(self, exchanges: object) -> int:
        """Never called: nothing is forwarded here."""
        raise NotImplementedError(exchanges)


def table(count: int, generation: int) -> RouteTable:
    """So many routes, half of them to upstreams of this generation."""
    return RouteTable(
        Route(
            f"route-{number}",
            Upstream.parse(f"http://10.0.{number % 2 * (generation % 200)}.{number % 250}:{8000 + number}"),
            f"/route-{number}",
        )
        for number in range(count)
    )


def held_up_ms(count: int, rounds: int) -> list[float]:
    """How long each reload takes with so many routes."""
    plane = DataPlane(table(count, 0), HandOff(Nowhere(), Counters(), max_bytes=1))
    took = []
    for generation in range(1, rounds + 1):
        routes = table(count, generation)
        started = time.process_time()
        plane.reroute(routes)
        took.append((time.process_time() - started) * 1e3)
    return took


def write(path: Path, upstream: str, number: int) -> None:
    """Settings that differ from those before: the sampling, and how many more routes there are."""
    routes = [{"upstream": upstream, "sampling_rate": (0.02, 0.05)[number % 2]}]
    routes += [{"name": f"r{one}", "prefix": f"/r{one}", "upstream": upstream} for one in range(number % 7)]
    fields = {"routes": routes, "reload": {"poll_s": 0.2}, "scoring": {"embeddings": False}}
    path.write_text(json.dumps(fields))


async def send(url: str, stop: asyncio.Event, statuses: list[int]) -> None:
    """Ask until told to stop, plain and streamed in turn; 0 stands for a request without an answer."""
    async with httpx2.AsyncClient(base_url=url, timeout=30) as client:
        while not stop.is_set():
            question = {**QUESTION, "stream": len(statuses) % 2 == 0}
            try:
                statuses.append((await client.post("/v1/chat/completions", json=question)).status_code)
            except httpx2.HTTPError:
                statuses.append(0)


async def under_load(folder: Path, upstream: str, reloads: int) -> str:
    """Reload so often under load; reports what became of the requests."""
    path = folder / "settings.yaml"
    write(path, upstream, 0)
    with running("up", folder, "--config", str(path), "--processes", "2", admin=True) as up:
        stop, statuses = asyncio.Event(), list[int]()
        clients = [asyncio.create_task(send(up.url, stop, statuses)) for _ in range(CLIENTS)]
        for number in range(1, reloads + 1):
            await asyncio.sleep(1.0)
            write(path, upstream, number)
            if number % 3 == 0:
                up.process.send_signal(signal.SIGHUP)
        await asyncio.sleep(2.0)
        stop.set()
        await asyncio.gather(*clients)
    taken = len(re.findall(r"settings changed: routes\.default\.sampling_rate", up.log.read_text()))
    failed = sum(status != httpx2.codes.OK for status in statuses)
    return f"{taken} reloads under load: {len(statuses)} requests, {failed} failed"


def main() -> None:
    """Print one line for each number of routes, and one about requests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--live", type=int, default=20)
    arguments = parser.parse_args()
    print("routes   median ms   longest ms")
    for count in ROUTES:
        took = held_up_ms(count, arguments.rounds)
        print(f"{count:>6} {statistics.median(took):>11.3f} {max(took):>12.3f}")
    simulation = Simulation([ModelState("simulated-1")], SimulationSettings(deterministic=True))
    with serving(simulation) as upstream, tempfile.TemporaryDirectory() as folder:
        print(asyncio.run(under_load(Path(folder), upstream, arguments.live)))


if __name__ == "__main__":
    main()

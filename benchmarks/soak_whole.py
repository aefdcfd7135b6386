"""Whether the whole of evenkeel stays where it is: `evenkeel up` under a steady load, watched from outside.

    python -m benchmarks.soak --whole [--minutes 30] [--rate 5] [--json FILE]

A SIMULATED model, judge and rewriter; clients that stream, clients that leave within an answer, and bodies
up to 128 kB. Every few seconds the kernel is asked what each process of `up` has: resident
memory, open files, sockets among them, threads. The first half, in which caches fill, is left out. What is
left is averaged by the minute, since neighbouring readings are alike, and a line is fitted to it; "flat"
means that zero lies within two standard errors of its slope, "nearly flat" that it rises by less than 1 %
an hour. Tasks of an event loop cannot be seen from outside: each that waits for a connection holds a
socket, which can.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import sys
import tempfile
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.chaos.stage import Process, evenkeel, free_ports, series
from benchmarks.chaos.traffic import Door, Mix, Traffic
from benchmarks.proxy.machine import machine_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_EVERY_S: Final = 5.0
_BLOCK_S: Final = 60.0
_WARM_UP: Final = 1 / 2
_SEED: Final = 1
_FEWEST_BLOCKS: Final = 5
_NEARLY: Final = 0.01
_MB: Final = 1 << 20
_SAMPLED: Final = 0.4
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class Reading(NamedTuple):
    """One process at one moment."""

    at_s: float
    """Since the start of the load."""
    rss_mb: float
    files: int
    sockets: int
    threads: int


class Slope(NamedTuple):
    """A fitted line, per hour."""

    per_hour: float
    error: float
    """Standard error of `per_hour`."""
    mean: float

    @property
    def flat(self) -> bool:
        """Whether zero lies within two standard errors."""
        return abs(self.per_hour) <= 2 * self.error

    @property
    def nearly_flat(self) -> bool:
        """Whether it rises by less than 1 % of the mean an hour: windows of a day fill that fast."""
        return self.per_hour < _NEARLY * self.mean


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of one process."""

    process: str
    what: str
    slope: Slope | None
    lowest: float
    highest: float


def block_means(points: Sequence[tuple[float, float]], block_s: float) -> list[tuple[float, float]]:
    """The mean place and value of each block of time; blocks without a point are left out."""
    blocks: dict[int, list[tuple[float, float]]] = {}
    for at, value in points:
        blocks.setdefault(int(at // block_s), []).append((at, value))
    return [
        (sum(at for at, _ in block) / len(block), sum(value for _, value in block) / len(block))
        for _, block in sorted(blocks.items())
    ]


def slope_of(points: Sequence[tuple[float, float]], block_s: float = _BLOCK_S) -> Slope | None:
    """Least squares over means of blocks; None for fewer than five blocks. Times are in seconds."""
    blocks = block_means(points, block_s)
    if len(blocks) < _FEWEST_BLOCKS:
        return None
    count = len(blocks)
    mean_x = sum(x for x, _ in blocks) / count
    mean_y = sum(y for _, y in blocks) / count
    spread = sum((x - mean_x) ** 2 for x, _ in blocks)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in blocks) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in blocks)
    error = math.sqrt(rest / (count - 2) / spread)
    return Slope(slope * 3600, error * 3600, mean_y)


def read(pid: int, at_s: float) -> Reading | None:
    """What the kernel knows of a process; None once it has ended."""
    place = Path(f"/proc/{pid}")
    try:
        pages = int((place / "statm").read_text().split()[1])
        files = list((place / "fd").iterdir())
        sockets = sum(_points_to_socket(file) for file in files)
        threads = len(list((place / "task").iterdir()))
    except OSError:
        return None
    return Reading(at_s, pages * _PAGE / _MB, len(files), sockets, threads)


def _points_to_socket(file: Path) -> bool:
    try:
        return os.readlink(file).startswith("socket:")  # noqa: PTH115 - the target is no path
    except OSError:
        return False


def parts_of(pid: int) -> dict[str, int]:
    """The supervisor and its children, by the names they go by."""
    found = {"supervisor": pid}
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            command = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
            found[command[-2].decode()] = child
    return found


def rows_of(readings: dict[str, list[Reading]]) -> list[Row]:
    """Slopes of all figures of all processes, after the warm-up."""
    rows = []
    for process, found in sorted(readings.items()):
        end = found[-1].at_s
        kept = [one for one in found if one.at_s >= end * _WARM_UP]
        for what in ("rss_mb", "files", "sockets", "threads"):
            values = [float(getattr(one, what)) for one in kept]
            points = list(zip([one.at_s for one in kept], values, strict=True))
            rows.append(Row(process, what, slope_of(points), min(values), max(values)))
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    lines = [
        "| process | figure | mean | lowest–highest | slope per hour | verdict |",
        "|---|---|---:|---|---:|---|",
    ]
    for row in rows:
        if row.slope is None:
            lines.append(
                f"| {row.process} | {row.what} | – | {row.lowest:g}–{row.highest:g} | – | too short |"
            )
            continue
        verdict = "flat" if row.slope.flat else "nearly flat" if row.slope.nearly_flat else "not flat"
        lines.append(
            f"| {row.process} | {row.what} | {row.slope.mean:.1f} | {row.lowest:.1f}–{row.highest:.1f} "
            f"| {row.slope.per_hour:+.2f} ± {row.slope.error:.2f} | {verdict} |"
        )
    return "\n".join(lines)


async def _soak(folder: Path, minutes: float, rate: float) -> tuple[Traffic, dict[str, list[Reading]]]:
    ports = free_ports()
    upstream, judge, data, admin = (next(ports) for _ in range(4))
    settings = {
        "routes": [
            {
                "upstream": f"http://127.0.0.1:{upstream}",
                "sampling_rate": _SAMPLED,
                "perturbations": ["general.casing", "general.spelling", "general.paraphrase"],
                "trials_per_exchange": 1,
            }
        ],
        "listen": {"port": data},
        "admin": {"port": admin},
        "data_dir": str(folder / "data"),
        "judge": {"base_url": f"http://127.0.0.1:{judge}/v1", "model": "simulated-judge"},
        "rewriter": {"base_url": f"http://127.0.0.1:{judge}/v1", "model": "simulated-rewriter"},
        "budget": {"tokens_per_day": None, "usd_per_day": None},
        "scoring": {"embeddings": False},
        "simulated": True,
    }
    config = folder / "soak.yaml"
    config.write_text(json.dumps(settings))
    served = [sys.executable, "-m", "benchmarks.chaos.upstream", "--latency", "0.1"]
    simulated = [
        Process(name, [*served, "--port", str(port), "--log", folder / f"{name}.calls"], folder)
        for name, port in (("model", upstream), ("judge", judge))
    ]
    keys = {"EVENKEEL_JUDGE_API_KEY": "k", "EVENKEEL_REWRITER_API_KEY": "k"}
    up = Process("up", evenkeel("up", config), folder, ready="console +http", environment=keys)
    readings: dict[str, list[Reading]] = {}
    async with AsyncExitStack() as stack:
        for process in (*simulated, up):
            process.start()
            stack.push_async_callback(process.end)
            await process.serving()
        mix = Mix(streams=0.5, faults=0.01, leavers=0.15, large=0.1)
        traffic = Traffic([Door("up", "127.0.0.1", data)], random.Random(_SEED), rate=rate, mix=mix)
        load = asyncio.create_task(traffic.run())
        began = time.monotonic()
        said = 0
        while (elapsed_s := time.monotonic() - began) < minutes * 60:
            await asyncio.sleep(_EVERY_S)
            for name, pid in parts_of(up.pid).items():
                reading = read(pid, elapsed_s)
                if reading is not None:
                    readings.setdefault(name, []).append(reading)
            if elapsed_s // 60 > said:
                said = int(elapsed_s // 60)
                memory = ", ".join(f"{name} {found[-1].rss_mb:.0f} MB" for name, found in readings.items())
                print(f"{said} min: {traffic.tally()}; {memory}", flush=True)
        traffic.stop.set()
        await load
        verdicts = await asyncio.to_thread(series, f"http://127.0.0.1:{admin}", "evenkeel_verdicts_total")
        print(f"{sum(verdicts.values()):.0f} verdicts", flush=True)
    return traffic, readings


def run(options: argparse.Namespace) -> int:
    """Run it and print the table; 1 if a request failed or something is not even nearly flat."""
    machine = machine_line()
    with tempfile.TemporaryDirectory(prefix="evenkeel-soak-") as name:
        traffic, readings = asyncio.run(_soak(Path(name), options.minutes, options.rate))
    rows = rows_of(readings)
    failed = [one for one in traffic.requests if one.outcome == "failed"]
    print(f"\n{machine}\n\n{table(rows)}\n\n{traffic.tally()}, in {options.minutes:g} minutes.")
    for one in failed[:10]:
        print(f"failed: {one}")
    if options.json is not None:
        found = {
            "machine": machine,
            "requests": len(traffic.requests),
            "failed": len(failed),
            "rows": [asdict(row) for row in rows],
            "readings": readings,
        }
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(
        bool(failed) or any(row.slope and not (row.slope.flat or row.slope.nearly_flat) for row in rows)
    )

"""`python -m benchmarks.chaos`: faults on purpose, and the account of what became of everything.

    python -m benchmarks.chaos [--scenario redis|failover|sqlite|all] [--seed 1] [--faults 100]
    python -m benchmarks.chaos --rolling [--seconds 120]

Real processes on real stores, 64 clients at a bounded rate; the model and the judge are SIMULATED. The exit
code is 1 if something that must be zero is not. The folder with all logs is kept then, and named.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.chaos import on_redis, on_sentinel, on_sqlite
from benchmarks.chaos.account import of_drops, of_exchanges, of_requests, table
from benchmarks.chaos.scene import Options
from benchmarks.machine import NotMeasured, machine_line, raise_file_limit, stop_when_told

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from benchmarks.chaos.account import Evidence, Line
    from benchmarks.chaos.traffic import Request

SCENARIOS: dict[str, Callable[[Path, Options], Awaitable[Evidence]]] = {
    "redis": on_redis.run,
    "failover": on_sentinel.run,
    "sqlite": on_sqlite.run,
}
_ROLLING = "rolling"


def report(
    name: str, evidence: Evidence, of_clients: tuple[list[Line], list[Request]]
) -> tuple[bool, dict[str, Any]]:
    """Print the account; returns whether it balances, and the same as JSON-able data."""
    faults = Counter(f"{one.name} {one.target}" for one in evidence.happened)
    requests, ours = of_clients
    exchanges, open_ends = of_exchanges(evidence)
    drops = of_drops(evidence)
    listed = ", ".join(f"{what} {count}" for what, count in sorted(faults.items()))
    print(f"\n## {name}: {sum(faults.values())} faults or restarts\n\n{listed}.\n")
    for title, lines in (("requests", requests), ("exchanges", exchanges), ("drops", drops)):
        print(f"{table(title, lines)}\n")
    for one in ours[:10]:
        print(f"failed: {asdict(one)}")
    lines = [*requests, *exchanges, *drops]
    found = {
        "faults": dict(sorted(faults.items())),
        "lines": [line._asdict() for line in lines],
        "failed": [asdict(one) for one in ours],
        "open": open_ends,
    }
    return not any(line.bad for line in lines), found


async def _play(
    name: str, folder: Path, options: Options
) -> tuple[Evidence, tuple[list[Line], list[Request]]]:
    if name == _ROLLING:
        evidence, codes = await on_redis.restart_all(folder, options)
        return evidence, on_redis.of_restarts(evidence, codes)
    evidence = await SCENARIOS[name](folder, options)
    return evidence, of_requests(evidence)


def main() -> int:
    """Play scenarios, print accounts."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scenario", choices=[*SCENARIOS, "all"], default="all")
    parser.add_argument("--rolling", action="store_true", help="Restart every role under load instead.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=100, help="In each scenario.")
    parser.add_argument("--seconds", type=float, default=200.0, help="Of each scenario, at least.")
    parser.add_argument("--rate", type=float, default=15.0, help="Requests per second.")
    parser.add_argument("--fsync", choices=["always", "everysec"], default="always")
    parser.add_argument("--folder", type=Path, help="Keep the logs there.")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    options = Options(given.seed, given.faults, given.seconds, given.rate, given.fsync)
    raise_file_limit()
    stop_when_told()
    machine = machine_line()
    print(f"{machine}\nSIMULATED model and judge; seed {options.seed}", flush=True)
    names = list(SCENARIOS) if given.scenario == "all" else [given.scenario]
    if given.rolling:
        names = [_ROLLING]
    balanced, found = True, {}
    for name in names:
        folder = Path(given.folder or tempfile.mkdtemp(prefix="evenkeel-chaos-")) / name
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{name} …", flush=True)
        try:
            played = asyncio.run(_play(name, folder, options))
        except NotMeasured as reason:
            print(f"benchmarks.chaos: {reason}; logs in {folder}", file=sys.stderr)
            return 2
        good, found[name] = report(name, *played)
        balanced &= good
        if not good:
            print(f"The account does not balance; logs in {folder}")
        elif given.folder is None:
            shutil.rmtree(folder.parent)
    if given.json is not None:
        whole = {"machine": machine, "options": asdict(options), "scenarios": found}
        given.json.write_text(json.dumps(whole, indent=1) + "\n")
    return int(not balanced)


if __name__ == "__main__":
    sys.exit(main())

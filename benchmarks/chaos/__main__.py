"""Chaos tests: faults on purpose, and an account of every request and every exchange afterwards.

    python -m benchmarks.chaos [--scenario redis|failover|sqlite|all] [--seed 1] [--faults 100]
    python -m benchmarks.chaos --rolling [--seconds 120]

Real processes run on real stores, with 64 clients at a bounded rate; the model and the judge are SIMULATED.
If a number that must be zero is not, the exit code is 1, and the folder with all logs is kept and printed.
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

    from benchmarks.chaos.account import Line, RunEvidence
    from benchmarks.chaos.traffic import Request

SCENARIOS: dict[str, Callable[[Path, Options], Awaitable[RunEvidence]]] = {
    "redis": on_redis.run,
    "failover": on_sentinel.run,
    "sqlite": on_sqlite.run,
}
_ROLLING = "rolling"


def report(
    name: str, evidence: RunEvidence, of_clients: tuple[list[Line], list[Request]]
) -> tuple[bool, dict[str, Any]]:
    """Print the account; return True if it balances, and the account as data for JSON."""
    faults = Counter(f"{fault.name} {fault.target}" for fault in evidence.faults)
    requests, failed = of_clients
    exchanges, unsettled = of_exchanges(evidence)
    drops = of_drops(evidence)
    listed = ", ".join(f"{fault} {count}" for fault, count in sorted(faults.items()))
    print(f"\n## {name}: {faults.total()} faults or restarts\n\n{listed}.\n")
    for title, lines in (("requests", requests), ("exchanges", exchanges), ("drops", drops)):
        print(f"{table(title, lines)}\n")
    for request in failed[:10]:
        print(f"failed: {asdict(request)}")
    lines = [*requests, *exchanges, *drops]
    account = {
        "faults": dict(sorted(faults.items())),
        "lines": [line._asdict() for line in lines],
        "failed": [asdict(request) for request in failed],
        "open": unsettled,
    }
    return not any(line.bad for line in lines), account


async def _play(
    name: str, folder: Path, options: Options
) -> tuple[RunEvidence, tuple[list[Line], list[Request]]]:
    if name == _ROLLING:
        evidence, codes = await on_redis.restart_all(folder, options)
        return evidence, on_redis.of_restarts(evidence, codes)
    evidence = await SCENARIOS[name](folder, options)
    return evidence, of_requests(evidence)


def main() -> int:
    """Play the scenarios and print their accounts."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scenario", choices=[*SCENARIOS, "all"], default="all")
    parser.add_argument("--rolling", action="store_true", help="Restart every role under load instead.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=100, help="Faults of each scenario.")
    parser.add_argument("--seconds", type=float, default=200.0, help="Shortest length of each scenario.")
    parser.add_argument("--rate", type=float, default=15.0, help="Requests per second.")
    parser.add_argument("--fsync", choices=["always", "everysec"], default="always")
    parser.add_argument("--folder", type=Path, help="Keep the logs there.")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    options = Options(arguments.seed, arguments.faults, arguments.seconds, arguments.rate, arguments.fsync)
    raise_file_limit()
    stop_when_told()
    machine = machine_line()
    print(f"{machine}\nSIMULATED model and judge; seed {options.seed}", flush=True)
    names = list(SCENARIOS) if arguments.scenario == "all" else [arguments.scenario]
    if arguments.rolling:
        names = [_ROLLING]
    balanced = True
    accounts = {}
    for name in names:
        folder = Path(arguments.folder or tempfile.mkdtemp(prefix="evenkeel-chaos-")) / name
        folder.mkdir(parents=True, exist_ok=True)
        print(f"{name} …", flush=True)
        try:
            evidence, of_clients = asyncio.run(_play(name, folder, options))
        except NotMeasured as reason:
            print(f"benchmarks.chaos: {reason}; logs in {folder}", file=sys.stderr)
            return 2
        good, accounts[name] = report(name, evidence, of_clients)
        if not good:
            balanced = False
            print(f"The account does not balance; logs in {folder}")
        elif arguments.folder is None:
            shutil.rmtree(folder.parent)
    if arguments.json is not None:
        document = {"machine": machine, "options": asdict(options), "scenarios": accounts}
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    return int(not balanced)


if __name__ == "__main__":
    sys.exit(main())

"""Sends odd exchanges through a worker: near-valid requests and answers of all APIs, broken ones, junk.

Run from the root of the repository:

    python -m tests.security.fuzz_worker --examples 100000 --seed 1

Each exchange goes through a real queue, worker and log; replays are answered by a script, with odd
answers as well. Prints how many exchanges ended how and how many trials had which outcome. The exit
status is 1 if the worker met an exception, or an exchange came to no end that is counted.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.shadow.wild_exchanges import WildExchanges
from tests.shadow.wild_plane import WildPlane

_AT_ONCE = 500


def main() -> int:
    """Run the exchanges and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--examples", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        plane = WildPlane(Path(folder))
        try:
            asyncio.run(_run(plane, options.examples, options.seed))
            lag = plane.queue.lag()
            found = plane.outcomes()
        finally:
            plane.close()
    for name, number in sorted(found.items()):
        if not name.startswith("spend"):
            print(f"{number:9,}  {name}")
    ended = sum(number for name, number in found.items() if name.startswith("exchanges_"))
    errors = sum(number for name, number in found.items() if name.startswith("worker_errors"))
    lost = options.examples - ended
    print(f"{ended:,} exchanges ended, {lost} did not, {lag.waiting + lag.leased} are left in the queue")
    print(f"{errors} exceptions in the worker; {time.monotonic() - started:.0f} s")
    return 1 if errors or lost else 0


async def _run(plane: WildPlane, examples: int, seed: int) -> None:
    for first in range(0, examples, _AT_ONCE):
        numbers = range(first, min(first + _AT_ONCE, examples))
        # one generator an exchange, so that any of them can be made again alone
        await plane.work(
            [WildExchanges(random.Random(f"{seed}.{number}")).exchange(number) for number in numbers]
        )


if __name__ == "__main__":
    sys.exit(main())

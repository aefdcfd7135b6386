"""What redaction and encryption cost: time for an exchange, and for the event loop beside them.

    python -m benchmarks.protection

Prints a table. Times are medians of processor time. The last column is how late an event loop of the same
process was, 99 times out of a hundred at most, while another thread did nothing else; it only means something
on a quiet machine.
"""

from __future__ import annotations

import asyncio
import base64
import random
import statistics
import threading
import time
from typing import TYPE_CHECKING

from benchmarks.kit import captured
from evenkeel.runtime.process import take_short_turns
from evenkeel.shadow.protection import BUILTIN, Redactor
from evenkeel.stores.payloads import seal_exchange as sealed
from evenkeel.stores.sealing import KEY_VARIABLE, Seal, seal_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.exchange import Exchange

_SIZES_BYTES = (4_000, 100_000, 1_000_000)
_FOR_S = 1.5
_WORDS = [
    "the",
    "order",
    "arrived",
    "late",
    "and",
    "nobody",
    "at",
    "the",
    "front",
    "desk",
    "could",
    "say",
    "where",
    "it",
    "had",
    "been",
    "since",
    "noon",
    "on",
]


def exchange_of(size_bytes: int, rng: random.Random) -> Exchange:
    """A chat exchange of that size, with a value to hide in every twentieth line."""
    lines = []
    while sum(map(len, lines)) < size_bytes:
        line = " ".join(rng.choice(_WORDS) for _ in range(12))
        if len(lines) % 20 == 0:
            line += (
                f" write to user{rng.randrange(9)}@example.org or call +49 170 {rng.randrange(10**6, 10**7)}"
            )
        lines.append(line)
    messages = [{"role": "user", "content": "\n".join(lines)}]
    return captured(1, messages, lines[0], headers=(("content-type", "application/json"),))


def median_ms(work: Callable[[], object]) -> float:
    """Median processor time of one call."""
    times = []
    until = time.perf_counter() + _FOR_S
    while time.perf_counter() < until:
        started = time.thread_time()
        work()
        times.append(time.thread_time() - started)
    return statistics.median(times) * 1e3


def late_ms(work: Callable[[], object]) -> float:
    """99th percentile of how late a loop wakes up that sleeps a millisecond, while a thread does the work."""
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            work()

    async def watch() -> list[float]:
        late = []
        until = time.perf_counter() + _FOR_S
        while (before := time.perf_counter()) < until:
            await asyncio.sleep(0.001)
            late.append(time.perf_counter() - before - 0.001)
        return late

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        late = asyncio.run(watch())
    finally:
        stop.set()
        thread.join()
    return statistics.quantiles(late, n=100)[-1] * 1e3


def main() -> None:
    """Measure and print."""
    rng = random.Random(1)
    keyed, plain = seal_of({KEY_VARIABLE: base64.b64encode(bytes(32)).decode()}), Seal()
    redactor = Redactor(BUILTIN)
    take_short_turns()  # as a data plane that redacts does
    print(f"{'bytes':>9}  {'work':<24} {'ms':>8} {'loop late p99 ms':>17}")
    print(f"{'':>9}  {'nothing beside it':<24} {'':>8} {late_ms(lambda: time.sleep(0.01)):>17.2f}")
    for size in _SIZES_BYTES:
        exchange = exchange_of(size, rng)
        for name, work in (
            ("packed", lambda one=exchange: sealed(one, plain)),
            ("packed and encrypted", lambda one=exchange: sealed(one, keyed)),
            ("redacted", lambda one=exchange: redactor.redact(one)),
        ):
            print(f"{size:>9,}  {name:<24} {median_ms(work):>8.2f} {late_ms(work):>17.2f}", flush=True)


if __name__ == "__main__":
    main()

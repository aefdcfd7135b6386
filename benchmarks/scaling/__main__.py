"""The tables of docs/scaling.md.

Run from the root of the repository: python -m benchmarks.scaling [--seed 1] [--seconds 900] [--redis]

With --redis, Redis' own share is measured anew, on a server started for it.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace

from benchmarks.scaling.model import (
    AS_SHIPPED,
    PLANNED,
    RICH,
    Load,
    Measured,
    bottleneck,
    capacities,
    forwarding,
    measured_redis,
    play,
)

COUNTED = 1_000
FEW_PER_S = 100.0
"""Samples a second up to which it costs little to play as long as that takes."""


def table(head: list[str], rows: list[list[str]]) -> None:
    """Print Markdown."""
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def show_forwarding(measured: Measured) -> None:
    """What all requests take."""
    rows = []
    for load in PLANNED:
        plain = forwarding(replace(load, events_per_answer=1), measured)
        streamed = forwarding(load, measured)
        rows.append(
            [
                f"{load.requests_per_s:,}",
                f"{plain.cores:,.2f}",
                f"{streamed.cores:,.1f}",
                f"{streamed.streams:,.0f}",
                f"{streamed.stream_gigabytes:,.2f}",
            ]
        )
    table(
        [
            "requests/s",
            "cores, whole answers",
            "cores, streamed",
            "open streams",
            "GB for them",
        ],
        rows,
    )


def show_replays(loads: tuple[Load, ...], measured: Measured, seed: int, seconds: float) -> None:
    """What the sampled ones take: the model beside the simulation."""
    rows = []
    for load in loads:
        parts = capacities(load, measured)
        # Long enough that chance does not matter: a thousand exchanges or more are counted.
        counted_s = COUNTED / min(parts.values()) if load.sampled_per_s < FEW_PER_S else 0.0
        played = play(load, measured, random.Random(seed), max(seconds, 2 * counted_s))
        first = bottleneck(parts)
        second = bottleneck({name: one for name, one in parts.items() if name != first})
        rows.append(
            [
                load.name,
                f"{load.sampled_per_s:,.1f}",
                f"{parts[first]:,.2f}",
                f"{played.scored_per_s:,.2f}",
                f"{first}, then {second}",
                f"{played.unpaid_per_s:,.1f}",
                f"{played.full_per_s:,.1f}",
                f"{played.wait_s:,.1f}",
                f"{load.exchange_usd * played.scored_per_s * 86_400:,.0f}",
            ]
        )
    table(
        [
            "load",
            "sampled/s",
            "scored/s, model",
            "simulated",
            "what holds it",
            "unpaid/s",
            "queue full/s",
            "s in queue",
            "USD a day",
        ],
        rows,
    )


def show_parts(loads: tuple[Load, ...], measured: Measured) -> None:
    """How far each part would carry, were it alone."""
    names = list(capacities(loads[0], measured))
    rows = [[name, *(f"{capacities(load, measured)[name]:,.2f}" for load in loads)] for name in names]
    table(["exchanges/s that it carries alone", *(load.name for load in loads)], rows)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1, help="of the simulation (default 1)")
    parser.add_argument("--seconds", type=float, default=900.0, help="played (default 900)")
    parser.add_argument("--redis", action="store_true", help="measure Redis' share anew")
    arguments = parser.parse_args()
    measured = Measured()
    if arguments.redis:
        measured = measured_redis(measured)
        print(
            f"Redis: {measured.redis_exchange_s * 1e6:.0f} µs of its processor and "
            f"{measured.redis_exchange_bytes:,.0f} bytes an exchange\n"
        )
    show_forwarding(measured)
    show_replays(PLANNED, measured, arguments.seed, arguments.seconds)
    show_replays(RICH, measured, arguments.seed, arguments.seconds)
    # Ten thousand samples a second fill the queue in two; longer shows nothing more.
    show_replays(AS_SHIPPED, measured, arguments.seed, min(arguments.seconds, 120.0))
    show_parts(PLANNED, measured)


if __name__ == "__main__":
    main()

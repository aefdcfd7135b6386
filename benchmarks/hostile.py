"""How the work of the replay plane grows with hostile text, and what the longest texts cost.

    python -m benchmarks.hostile [--chars 64000] [--longest 1300000] [--only WORD] [--few]

Every reader, perturbation, metric and redaction pattern gets every shape of text, and one twice as
long. Then whole requests go through what a worker does before it sends anything. Times are processor time.
docs/research/other.md quotes the tables.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import time
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.kit import table
from evenkeel.core.exchange import Exchange
from evenkeel.core.languages import language_of
from evenkeel.shadow.original import Left, Reader
from evenkeel.shadow.perturbations import BUILTIN, Draft
from evenkeel.shadow.perturbations.gate import attempt
from evenkeel.shadow.planner import RoutePlan
from tests.kit.hostile import EVERYWHERE, SHAPES, Growth, Subject, forget, growth, in_many, in_one, subjects

if TYPE_CHECKING:
    from collections.abc import Collection


class Measured(NamedTuple):
    """One reader and one shape of text."""

    subject: Subject
    shape: str
    growth: Growth


def measured(only: str, largest: int, shapes: Collection[str]) -> list[Measured]:
    """The growth of everything with these shapes."""
    found: list[Measured] = []
    for subject in subjects():
        if only in subject.name:
            found += (
                Measured(subject, shape, growth(subject, shape, largest)) for shape in subject.shapes(shapes)
            )
            gc.collect()
    return found


def by_area(found: list[Measured]) -> str:
    """What grew fastest and what took longest for a character, by part of the plane."""
    areas: defaultdict[str, list[Measured]] = defaultdict(list)
    for one in found:
        areas[one.subject.area].append(one)
    rows = []
    for area, ones in areas.items():
        told = [one for one in ones if one.growth.tells]
        fastest = max(told, key=lambda one: one.growth.ratio, default=None)
        slowest = max(ones, key=lambda one: one.growth.microseconds)
        rows.append((
            area,
            str(len({one.subject.name for one in ones})),
            str(len(ones)),
            str(sum(one.growth.is_too_fast for one in ones)),
            f"{fastest.growth.ratio:.2f} ({fastest.subject.name}, {fastest.shape})" if fastest else "-",
            f"{slowest.growth.microseconds:.1f} µs ({slowest.subject.name}, {slowest.shape})",
        ))  # fmt: skip
    return "\n".join(
        table(("part", "readers", "pairs", "above 2.5", "greatest ratio", "most for a character"), rows)
    )


def exchange_of(body: bytes) -> Exchange:
    """A request with a short answer."""
    answer = {"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}}]}
    kind = (("content-type", "application/json"),)
    return Exchange(
        id="0123456789abcdef",
        route="main",
        received_at=0.0,
        duration_s=0.1,
        method="POST",
        path="/v1/chat/completions",
        status=200,
        request_headers=kind,
        request_body=body,
        response_headers=kind,
        response_body=json.dumps(answer).encode(),
    )


def whole_path_s(body: bytes) -> tuple[float, str]:
    """Processor time to read a request and to try every perturbation on it, and what became of it."""
    reader = Reader({"main": RoutePlan(BUILTIN, (0.5,), len(BUILTIN))})
    exchange = exchange_of(body)
    forget()
    start = time.thread_time()
    original = reader.read(exchange)
    outcome = original.reason if isinstance(original, Left) else "perturbed"
    if not isinstance(original, Left):
        for kind in BUILTIN:
            made = attempt(kind, original.view, 0.5, random.Random(1))
            if not isinstance(made, Draft) and hasattr(made, "for_replay"):
                made.for_replay()
    return time.thread_time() - start, outcome


def whole_paths(sizes: list[int], shown: int = 4) -> str:
    """The slowest shapes of requests by size."""
    rows = []
    for size in sizes:
        bodies = {f"{shape}": in_one(made(size)) for shape, made in SHAPES.items()}
        bodies["12-character messages"] = in_many(SHAPES["long line"](size))
        spent = sorted(((*whole_path_s(body), shape) for shape, body in bodies.items()), reverse=True)
        rows += ((f"{size:,}", shape, outcome, f"{took:.2f} s") for took, outcome, shape in spent[:shown])
    return "\n".join(table(("characters", "shape", "outcome", "processor time"), rows))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chars", type=int, default=64_000, help="Longest text whose growth is measured.")
    parser.add_argument("--longest", type=int, default=1_300_000, help="Characters of the largest requests.")
    parser.add_argument("--only", default="", help="Measure the growth of readers with this in their name.")
    parser.add_argument(
        "--few", action="store_true", help="Measure growth with the shapes of the tests only."
    )
    given = parser.parse_args()
    language_of("This loads the model that identifies languages.")
    gc.disable()
    found = measured(given.only, given.chars, EVERYWHERE if given.few else SHAPES)
    print(by_area(found))
    for one in found:
        if one.growth.is_too_fast:
            print(f"{one.subject.name}, {one.shape}: {one.growth}")
    print(whole_paths([100_000, 290_000, given.longest]))


if __name__ == "__main__":
    main()

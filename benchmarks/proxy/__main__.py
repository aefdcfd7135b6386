"""The command line: sets everything up, goes round, prints the tables, and stops all it started."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.machine import (
    Cores,
    NotMeasured,
    free_port,
    machine_line,
    raise_file_limit,
    stop_when_told,
    undisturbed,
)
from benchmarks.proxy.contenders import BUILTIN, Contender, Evenkeel, Site
from benchmarks.proxy.measures import Measure, Scale, Target, measures
from benchmarks.proxy.report import DIRECT, Results, markdown
from benchmarks.proxy.upstream import Model

if TYPE_CHECKING:
    from benchmarks.machine import Running

_QUICK = Scale(seconds=1.0, crowds=(200,), crowd_events=3, crowd_pause_s=0.3, crowd_limit_s=15.0)

_IDLE_S = 2.0
"""After which a program that listens has settled."""


@dataclass(frozen=True, slots=True)
class _Options:
    rounds: int
    scale: Scale
    only: frozenset[str]
    measures: tuple[str, ...]
    cache: Path
    processes: int
    json: Path | None
    realtime: bool
    sampling_rates: tuple[float, ...]


def _options() -> _Options:
    names = [contender.name for contender in BUILTIN]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round, few streams: does it work?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=Scale().seconds, help="of each load (default 4)")
    parser.add_argument("--only", default=",".join(names), help=f"of {','.join(names)}")
    parser.add_argument(
        "--processes", type=int, default=1, help="above 1: evenkeel also with so many, on as many cores"
    )
    parser.add_argument(
        "--measures", default="", metavar="START,…", help="those whose titles start so, e.g. '1 KB,SSE'"
    )
    parser.add_argument(
        "--sampling-rates", default="", metavar="RATE,…", help="evenkeel also with these, e.g. '0,1'"
    )
    parser.add_argument(
        "--realtime", action="store_true", help="real-time priority for latencies: for a machine in use; root"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure of every round")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "evenkeel-bench")
    given = parser.parse_args()
    only = frozenset(given.only.split(",")) | {DIRECT}
    if unknown := only - set(names):
        parser.error(f"--only: {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    scale = _QUICK if given.quick else Scale(seconds=given.seconds)
    rounds = 1 if given.quick else given.rounds
    starts = tuple(given.measures.split(","))
    rates = tuple(float(rate) for rate in given.sampling_rates.split(",") if rate)
    return _Options(
        rounds,
        scale,
        only,
        starts,
        given.cache.absolute(),
        given.processes,
        given.json,
        realtime=given.realtime,
        sampling_rates=rates,
    )


def _contenders(options: _Options) -> list[Contender]:
    chosen = [contender for contender in BUILTIN if contender.name in options.only]
    if "evenkeel" in options.only:
        more = [Evenkeel(options.processes)] if options.processes > 1 else []
        more += [Evenkeel(sampling_rate=rate) for rate in options.sampling_rates]
        place = next(n for n, one in enumerate(chosen, 1) if one.name == "evenkeel")
        chosen[place:place] = more
    return chosen


def _measure(
    measure: Measure, targets: list[Target], rounds: int, results: Results, model: Running | None
) -> None:
    """Take a measure at each target in turn; with a model, it and the target at real-time priority."""
    given_up: set[str] = set()
    for number in range(1, 2 if measure.once else rounds + 1):
        for target in targets:
            name = target.door.name
            if name in given_up:
                continue
            try:
                programs = [model, target.program] if model is not None else []
                with undisturbed([one for one in programs if one is not None]):
                    figures = measure.take(target)
            except (NotMeasured, OSError) as reason:
                given_up.add(name)
                results.missing[f"{name}, {measure.title}"] = str(reason)
                print(f"  {name}: not measured: {reason}", flush=True)
                continue
            finally:
                target.settle()
            results.add(measure.title, name, figures)
            shown = "  ".join(f"{value:,.2f} {figure}" for figure, value in list(figures.items())[:4])
            print(
                f"  {measure.title} {number}/{1 if measure.once else rounds}  {name:22} {shown}", flush=True
            )


def _warm_up(measure: Measure, targets: list[Target]) -> None:
    """Let compilers, caches and pools settle before anything is counted."""
    for target in targets:
        print(f"warming up {target.door.name}", flush=True)
        with contextlib.suppress(NotMeasured):
            measure.take(target)


def _go_round(options: _Options, cores: Cores, results: Results) -> None:
    """Start everything, take all measures, and stop everything."""
    os.sched_setaffinity(0, cores.rest)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-bench-")))
        model = stack.enter_context(Model.running(free_port(), cores.rest, folder))
        targets: list[Target] = []
        for contender in _contenders(options):
            home = folder / contender.name
            home.mkdir()
            site = Site(home, options.cache, model.port, cores.of_proxy(contender.processes), cores.rest)
            print(f"starting {contender.name}", flush=True)
            try:
                place = stack.enter_context(contender.start(site))
            except NotMeasured as reason:
                results.missing[contender.name] = str(reason)
                print(f"  {contender.name}: not measured: {reason}", flush=True)
                continue
            results.versions[contender.name] = place.version
            targets += [Target(door, place.program, site.cores[-1], home) for door in place.doors]
        time.sleep(_IDLE_S)
        results.idle_mb = {t.door.name: t.program.rss_mb() for t in targets if t.program is not None}
        everything = measures(options.scale)
        model.behave(everything[0].manner)
        _warm_up(everything[0], targets)
        for measure in (each for each in everything if each.title.startswith(options.measures)):
            model.behave(measure.manner)
            raised = options.realtime and measure.light
            _measure(measure, targets, options.rounds, results, model.program if raised else None)


def main() -> int:
    """Measure and print."""
    options = _options()
    try:
        cores = Cores.choose()
    except NotMeasured as reason:
        sys.exit(f"benchmarks.proxy: {reason}; nothing measured")
    if shutil.which("wrk") is None:
        sys.exit("benchmarks.proxy: wrk is not installed (apt-get install wrk); nothing measured")
    raise_file_limit()
    stop_when_told()
    results = Results(machine_line(), "python -m benchmarks.proxy " + shlex.join(sys.argv[1:]))
    try:
        _go_round(options, cores, results)
    finally:
        # What was found before an interruption is worth as much.
        print("\n" + markdown(results))
        if options.json is not None:
            options.json.write_text(json.dumps(results.to_json(), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

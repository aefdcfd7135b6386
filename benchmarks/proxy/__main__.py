"""Command line: set everything up, run the load tests, print the tables, and stop everything."""

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
from benchmarks.proxy.measures import LoadSize, LoadTarget, LoadTest, load_tests
from benchmarks.proxy.report import DIRECT, Results, markdown
from benchmarks.proxy.upstream import UpstreamModel

if TYPE_CHECKING:
    from benchmarks.machine import Program

_QUICK = LoadSize(seconds=1.0, crowds=(200,), crowd_events=3, crowd_pause_s=0.3, crowd_limit_s=15.0)

# Time after which a program that listens has settled.
_IDLE_S = 2.0


def _options() -> argparse.Namespace:
    names = [contender.name for contender in BUILTIN]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.proxy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round, few streams: does it work?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=LoadSize().seconds, help="of each load (default 4)")
    parser.add_argument("--only", default=",".join(names), help=f"some of {','.join(names)}")
    parser.add_argument(
        "--processes", type=int, default=1, help="above 1: evenkeel also with this many, on as many cores"
    )
    parser.add_argument(
        "--measures", default="", metavar="START,…", help="load tests by their first letters, e.g. '1 KB,SSE'"
    )
    parser.add_argument(
        "--sampling-rates", default="", metavar="RATE,…", help="evenkeel also with these, e.g. '0,1'"
    )
    parser.add_argument(
        "--realtime", action="store_true", help="real-time priority for latencies, on a machine in use; root"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure of every round")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "evenkeel-bench")
    options = parser.parse_args()
    options.only = {DIRECT, *options.only.split(",")}
    if unknown := options.only.difference(names):
        parser.error(f"--only: {', '.join(sorted(unknown))}: there are {', '.join(names)}")
    options.sampling_rates = [float(rate) for rate in options.sampling_rates.split(",") if rate]
    if options.quick:
        options.rounds = 1
    return options


def _contenders(options: argparse.Namespace) -> list[Contender]:
    chosen: list[Contender] = []
    for contender in BUILTIN:
        if contender.name in options.only:
            chosen.append(contender)
        if contender.name == "evenkeel" and "evenkeel" in options.only:
            if options.processes > 1:
                chosen.append(Evenkeel(options.processes))
            chosen += [Evenkeel(sampling_rate=rate) for rate in options.sampling_rates]
    return chosen


def _run_test(
    test: LoadTest, targets: list[LoadTarget], rounds: int, results: Results, model: Program | None
) -> None:
    """Run a load test at each target in turn; with a model, run it and the target at real-time priority."""
    failed: set[str] = set()
    if test.once:
        rounds = 1
    for number in range(1, rounds + 1):
        for target in targets:
            name = target.address.name
            if name in failed:
                continue
            programs = []
            if model is not None:
                programs = [model] if target.program is None else [model, target.program]
            try:
                with undisturbed(programs):
                    figures = test.take(target)
            except (NotMeasured, OSError) as reason:
                failed.add(name)
                results.missing[f"{name}, {test.title}"] = str(reason)
                print(f"  {name}: not measured: {reason}", flush=True)
                continue
            finally:
                target.settle()
            results.add(test.title, name, figures)
            first = "  ".join(f"{value:,.2f} {figure}" for figure, value in list(figures.items())[:4])
            print(f"  {test.title} {number}/{rounds}  {name:22} {first}", flush=True)


def _warm_up(test: LoadTest, targets: list[LoadTarget]) -> None:
    """Warm up compilers, caches and pools before anything counts."""
    for target in targets:
        print(f"warming up {target.address.name}", flush=True)
        with contextlib.suppress(NotMeasured):
            test.take(target)


def _run(options: argparse.Namespace, cores: Cores, results: Results) -> None:
    """Start everything, run all load tests, and stop everything."""
    os.sched_setaffinity(0, cores.rest)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="evenkeel-bench-")))
        model = stack.enter_context(UpstreamModel.running(free_port(), cores.rest, folder))
        targets: list[LoadTarget] = []
        for contender in _contenders(options):
            home = folder / contender.name
            home.mkdir()
            cache = options.cache.absolute()
            site = Site(home, cache, model.port, cores.of_proxy(contender.processes), cores.rest)
            print(f"starting {contender.name}", flush=True)
            try:
                started = stack.enter_context(contender.start(site))
            except NotMeasured as reason:
                results.missing[contender.name] = str(reason)
                print(f"  {contender.name}: not measured: {reason}", flush=True)
                continue
            results.versions[contender.name] = started.version
            for address in started.addresses:
                targets.append(LoadTarget(address, started.program, site.cores[-1], home))
        time.sleep(_IDLE_S)
        for target in targets:
            if target.program is not None:
                results.idle_mb[target.address.name] = target.program.rss_mb()
        tests = load_tests(_QUICK if options.quick else LoadSize(seconds=options.seconds))
        model.behave(tests[0].behaviour)
        _warm_up(tests[0], targets)
        for test in tests:
            if test.title.startswith(tuple(options.measures.split(","))):
                model.behave(test.behaviour)
                raised = options.realtime and test.light
                _run_test(test, targets, options.rounds, results, model.program if raised else None)


def main() -> int:
    """LoadTest and print."""
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
        _run(options, cores, results)
    finally:
        # Results before an interruption are just as valid.
        print("\n" + markdown(results))
        if options.json is not None:
            options.json.write_text(json.dumps(results.to_json(), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

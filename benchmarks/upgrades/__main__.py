"""Let detectors watch recorded upgrades and print how soon they find them: `python -m benchmarks.upgrades`.

Reads ../shared/data beside the repository; without it nothing is measured. Every figure follows from the
seeds 1 to `--runs`. Other tools are run by their own interpreters: `--rival stillsane=VENV/bin/python`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.kit import DOCS, filled
from benchmarks.upgrades import scenes
from benchmarks.upgrades.detectors import NotInstalledError
from benchmarks.upgrades.outcomes import (
    Outcome,
    changes_table,
    common,
    each_table,
    outcome,
    quiet_table,
    summary_table,
)
from benchmarks.upgrades.plots import delays, trade
from benchmarks.upgrades.recordings import NoDataError
from benchmarks.upgrades.rivals import RIVALS
from benchmarks.upgrades.simple import FixedProbes
from benchmarks.upgrades.watches import Goldens, Silent, Traits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.kit import Table
    from benchmarks.upgrades.detectors import Detector
    from benchmarks.upgrades.scenes import Scenario

PAGE: Final = DOCS / "research" / "silent-changes.md"
_OWN: Final[tuple[Detector, ...]] = (
    Traits(),
    Silent(with_traits=False),
    Silent(with_traits=True),
    Goldens(),
    FixedProbes(),
)


def main() -> None:
    """Measure and print."""
    options = _options()
    interpreters = dict(one.split("=", 1) for one in options.rival)
    every: list[Detector] = [*_OWN, *(rival(interpreters.get(name, "")) for name, rival in RIVALS.items())]
    wanted = _wanted([one.name for one in every], options.detector)
    detectors = [one for one in every if one.name in wanted]
    wanted = _wanted([one.name for one in scenes.SCENARIOS], options.scenario)
    scenarios = [one for one in scenes.SCENARIOS if one.name in wanted]
    if not detectors or not scenarios:
        known = "\n  ".join((*(one.name for one in every), *(one.name for one in scenes.SCENARIOS)))
        sys.exit(f"benchmarks.upgrades: no such detector or scenario; there are\n  {known}")
    found = list({(one.scenario, one.detector, one.seed): one for one in _read(options.read)}.values())
    for one in _measured(detectors, scenarios, range(1, options.runs + 1), options.minutes):
        found.append(one)
        if options.json:
            _keep(one, options.json)
    if not found:
        sys.exit("benchmarks.upgrades: nothing measured")
    found.sort(key=lambda one: _place(one, every))
    shared = common(found)
    tables = [summary_table(shared), changes_table(found), each_table(found), quiet_table(found)]
    tables = [table for table in tables if table.rows]
    for table in tables:
        print(f"## {table.name}\n\n{table.markdown()}", flush=True)
    if options.write:
        _write(options.write, tables, {"delays": delays(found), "trade": trade(shared)})


def _place(one: Outcome, every: Sequence[Detector]) -> tuple[int, int, int]:
    """In the order of the scenarios, detectors and plays."""
    scenarios = [scenario.name for scenario in scenes.SCENARIOS]
    detectors = [detector.name for detector in every]
    return scenarios.index(one.scenario), detectors.index(one.detector), one.seed


def _write(page: Path, tables: Sequence[Table], plots: Mapping[str, str]) -> None:
    """Put the tables on the page and the plots beside it."""
    page.write_text(filled(page.read_text(encoding="utf-8"), tables, keep=True), encoding="utf-8")
    for name, plot in plots.items():
        (page.parent / "pictures" / f"upgrades-{name}.svg").write_text(plot, encoding="utf-8")
    print(f"written to {page}", file=sys.stderr)


def _measured(
    detectors: Sequence[Detector], scenarios: Sequence[Scenario], seeds: range, minutes: float
) -> Iterator[Outcome]:
    deadline = time.monotonic() + 60 * minutes
    absent: set[str] = set()
    for scenario in scenarios:
        for detector in detectors:
            for seed in seeds:
                if detector.name in absent:
                    break
                if time.monotonic() > deadline:
                    print(
                        f"{minutes:g} minutes are over: {scenario.name} is not measured whole",
                        file=sys.stderr,
                    )
                    return
                try:
                    one = outcome(detector, scenario, seed)
                except NoDataError as reason:
                    print(f"{scenario.name}: skipped, {reason}", file=sys.stderr, flush=True)
                    break
                except NotInstalledError as reason:
                    print(f"{detector.name}: not installed, {reason}", file=sys.stderr, flush=True)
                    absent.add(detector.name)
                    break
                print(_line(one), file=sys.stderr, flush=True)
                yield one


def _line(one: Outcome) -> str:
    if one.requests is not None:
        said = (
            f"{one.kind} after {one.requests} requests, {one.calls} calls, {one.days:.1f} days ({one.about})"
        )
    else:
        said = "MISSED" if one.changes else "quiet"
    false = f"; false: {one.false_suspected} suspected, {one.false_found} found"
    return (
        f"{one.scenario}, {one.detector}, seed {one.seed}: {said}"
        f"{false if one.false_found or one.false_suspected else ''} [{one.seconds:.1f} s]"
    )


def _wanted(names: Sequence[str], patterns: Sequence[str]) -> set[str]:
    """The names that one of the patterns is, else those that it is a part of; all without a pattern."""
    if not patterns:
        return set(names)
    found: set[str] = set()
    for pattern in patterns:
        found |= {pattern} if pattern in names else {name for name in names if fnmatch(name, f"*{pattern}*")}
    return found


def _keep(one: Outcome, path: Path) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(one.as_json())}\n")


def _read(paths: Sequence[Path]) -> Iterator[Outcome]:
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield Outcome(**json.loads(line))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.upgrades", description=__doc__)
    parser.add_argument(
        "--scenario", action="append", default=[], help="a name or a part of it, wildcards allowed"
    )
    parser.add_argument("--detector", action="append", default=[], help="likewise")
    parser.add_argument("--runs", type=int, default=3, help="plays of each scenario; 0 = none")
    parser.add_argument("--minutes", type=float, default=60.0, help="no further play is begun after that")
    parser.add_argument(
        "--rival",
        action="append",
        default=[],
        metavar="NAME=PYTHON",
        help="interpreter that has another tool",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="append every outcome, a line each")
    parser.add_argument(
        "--read", type=Path, action="append", default=[], metavar="FILE", help="count what it holds, too"
    )
    parser.add_argument(
        "--write",
        type=Path,
        nargs="?",
        const=PAGE,
        metavar="PAGE",
        help=f"write tables and plots ({PAGE.name})",
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()

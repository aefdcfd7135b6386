"""Runs the cases and prints what was said: `python -m benchmarks.live_changes`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2

from benchmarks.live_changes.cases import CASES
from benchmarks.live_changes.deployment import NotMeasured
from benchmarks.live_changes.outcome import (
    case_row,
    expected_alerts,
    head,
    most_alerts,
    quiet_line,
    right_of,
    run_case,
    run_quiet,
)
from benchmarks.proxy.machine import stop_when_told

if TYPE_CHECKING:
    from benchmarks.live_changes.outcome import Outcome

_QUIET = "no change"
_RIGHT = 0.9


def main() -> int:
    """Run, print, and say by the exit code whether all is as stated."""
    options = _options()
    stop_when_told()
    names = options.case or [_QUIET, *(case.name for case in CASES)]
    print("SIMULATED model and judge: what they do is planted. evenkeel up and simulate are real processes.")
    found: dict[str, list[Outcome]] = {}
    deadline = time.monotonic() + 60 * options.minutes
    fine = True
    if _QUIET in names:
        try:
            quiet = run_quiet(
                options.trials, options.seed, lambda text: print(f"  no change: {text}", flush=True)
            )
        except NotMeasured as reason:
            sys.exit(f"benchmarks.live_changes: {reason}")
        found[_QUIET] = [quiet]
        print(quiet_line(quiet), flush=True)
        most = most_alerts(expected_alerts(quiet.watched))
        fine = len(quiet.other_alerts) <= most and not quiet.other_reports
    for number in range(options.runs):
        for case in CASES:
            if case.name not in names or time.monotonic() > deadline:
                continue
            try:
                outcome = run_case(case, options.seed + number)
            except (NotMeasured, httpx2.HTTPError) as reason:
                print(f"  {case.name}, seed {options.seed + number}: NOT MEASURED, {reason}", flush=True)
                fine = False
                continue
            found.setdefault(case.name, []).append(outcome)
            reports = outcome.markdown if options.reports else ()
            print("\n".join((f"  {case.name}, seed {outcome.seed}: {_told(outcome)}", *reports)), flush=True)
    print(f"\n{head()}")
    for case in CASES:
        outcomes = found.get(case.name, [])
        if outcomes:
            print(case_row(case, outcomes), flush=True)
            right = sum(one.clean and right_of(case, one) for one in outcomes)
            fine = fine and right >= _RIGHT * len(outcomes)
    if options.json is not None:
        record = {name: [asdict(one) for one in outcomes] for name, outcomes in found.items()}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0 if fine else 1


def _told(outcome: Outcome) -> str:
    said = [f"{cause} ({effect})" for cause, effect in zip(outcome.causes, outcome.effects, strict=True)]
    parts = [", ".join(said) or "nothing reported"]
    if outcome.noticed_after is not None:
        parts.append(f"after {outcome.noticed_after} exchanges")
    if outcome.other_reports:
        parts.append(f"OTHER REPORTS {list(outcome.other_reports)}")
    if outcome.raised:
        parts.append(f"alerts there {list(outcome.raised)}")
    if outcome.other_alerts:
        parts.append(f"OTHER ALERTS {list(outcome.other_alerts)}")
    return f"{'; '.join(parts)} ({outcome.trials:,} trials, {outcome.seconds:.0f} s)"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_changes", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each change")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trials", type=int, default=20_000, help="of the run without a change")
    parser.add_argument("--minutes", type=float, default=60.0, help="no further run is begun after that")
    parser.add_argument("--case", choices=(_QUIET, *(case.name for case in CASES)), action="append")
    parser.add_argument("--reports", action="store_true", help="print the reports, too")
    parser.add_argument("--json", type=Path, metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

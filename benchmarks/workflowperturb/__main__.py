"""Print the paper's Tables 2 to 5 beside ours, and what the metrics cost.

Run from the root of the repository: python -m benchmarks.workflowperturb [--quick] [--no-models] [--json FILE]

Some minutes of one core with MiniLM, seconds without. Needs the public data beside the repository
(../shared/data); without the extra `semantic` the columns of MiniLM are left out, which is said.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.workflowperturb import published, speed
from benchmarks.workflowperturb.compare import beside, sensitivities
from benchmarks.workflowperturb.goldens import FILE, goldens
from benchmarks.workflowperturb.measure import EXACT, Measured, Models, load_models, measure
from evenkeel.experiments.calibrate.degrade.workflow import (
    ADDED,
    DUPLICATED,
    REORDERED,
    REWORDED,
    compressed,
    missing,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.metrics.table import Table
    from evenkeel.experiments.calibrate.degrade.workflow import Degradation
    from evenkeel.metrics.workflow.workflow import Workflow

_NO_JUDGE = "LLM-as-Judge is not measured: it takes a judge."


def main() -> None:
    """Measure, print, and write the figures if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.workflowperturb", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="every tenth golden: does it work?")
    parser.add_argument("--no-models", action="store_true", help="leave out MiniLM and BERTScore")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the tables as data")
    options = parser.parse_args()
    if not FILE.is_file():
        sys.exit(f"benchmarks.workflowperturb: {FILE.name} is not beside the repository; nothing measured")
    found = goldens()[:: 10 if options.quick else 1]
    models: Models | None = None
    if options.no_models:
        print("NOT MEASURED: MiniLM alignment and BERTScore (--no-models)\n")
    else:
        loaded = load_models(found)
        if isinstance(loaded, Models):
            models = loaded
        else:
            print(f"NOT MEASURED: MiniLM alignment and BERTScore: {loaded}\n")
    start = time.perf_counter()
    tables = [*_tables(found, models), speed.measure(1)]
    for table in tables:
        print(f"## {table.name}\n\n{table.markdown()}", flush=True)
    print(f"{len(found)} goldens, {time.perf_counter() - start:.0f} s")
    if options.json:
        options.json.write_text(
            json.dumps([table.as_json() for table in tables], indent=1, ensure_ascii=False)
        )


def _tables(found: Sequence[Workflow], models: Models | None) -> list[Table]:
    def ours(*degradations: Degradation) -> dict[str, Measured]:
        columns = {}
        for one in degradations:
            columns[f"{one.name}, exact text"] = measure(found, one, EXACT, models)
            if models is not None:
                # The same workflows have the same BERTScore, however their steps are aligned.
                columns[f"{one.name}, MiniLM"] = measure(found, one, models.aligner, None)
        return columns

    gone = ours(missing("last"), missing("random"), missing("inner"))
    merged = ours(compressed("random"), compressed("together"))
    reworded = ours(REWORDED)
    others = ours(REORDERED, DUPLICATED, ADDED)
    rescaled = (
        f"BERTScore: MiniLM, rescaled so that {models.baseline:.2f} is 0, of every fourth workflow. "
        if models
        else ""
    )
    notes = [f"{len(found)} goldens, mean ± standard deviation at 10 / 30 / 50 %. {rescaled}{_NO_JUDGE}"]
    slopes = {
        how: (
            gone[f"missing_last, {how}"],
            merged[f"compressed_random, {how}"],
            reworded[f"reworded, {how}"],
        )
        for how in (["exact text", "MiniLM"] if models else ["exact text"])
    }
    return [
        beside("table-2-missing-steps", published.MISSING, gone, notes),
        beside("table-3-compressed-steps", published.COMPRESSED, merged, notes),
        beside("table-4-description-changes", published.REWORDED, reworded, notes),
        sensitivities(slopes, ["Missing (last) / compressed (random) / reworded by rule.", _NO_JUDGE]),
        beside("not-in-the-paper", {}, others, notes),
    ]


if __name__ == "__main__":
    main()

"""Measure the metrics on public data, print the tables, and write them into the documentation.

Run from the root of the repository: python -m benchmarks.metrics [--quick] [--only PARTS] [--write]

About five minutes of one core; `--quick` takes one and measures samples too small to quote. Needs the
public data beside the repository (../shared/data); without the extra `semantic` the columns of the
encoders are left out, which is said.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.kit import DOCS, Table, filled
from benchmarks.metrics import human, reruns, speed
from benchmarks.metrics.columns import Models, load_models
from tests.kit.recorded import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Measure = Callable[[Models | None, int], tuple[Table, ...]]


@dataclass(frozen=True, slots=True)
class Sizes:
    """Pairs of a kind at most; `elsewhere` is of each language but English."""

    human: int | None
    elsewhere: int | None
    reruns: int
    forms: int
    preferences: int
    speed: int


PAGE: Final = DOCS / "research" / "metrics.md"
MEASURED: Final = DOCS / "research" / "metrics-measured.json"
FULL: Final = Sizes(human=None, elsewhere=400, reruns=60, forms=200, preferences=40, speed=100)
QUICK: Final = Sizes(human=60, elsewhere=40, reruns=10, forms=50, preferences=10, speed=20)


def parts(sizes: Sizes) -> dict[str, Measure]:
    """What can be measured, by name."""
    return {
        "human": lambda models, seed: human.measure_human(
            models, seed=seed, most=sizes.human, elsewhere=sizes.elsewhere
        ),
        "reruns": lambda models, seed: reruns.measure_reruns(
            models, seed=seed, most=sizes.reruns, learn_on=sizes.human
        ),
        "forms": lambda models, seed: reruns.measure_forms(models, seed=seed, most=sizes.forms),
        "preferences": lambda models, seed: human.measure_preferences(
            models, seed=seed, most=sizes.preferences
        ),
        "speed": lambda models, seed: speed.measure(models, seed=seed, most=sizes.speed),
    }


def main() -> None:
    """Print the tables."""
    options = _options()
    if not DATA.is_dir():
        sys.exit("benchmarks.metrics: no data beside the repository (../shared/data); nothing measured")
    loaded = load_models()
    models = loaded if isinstance(loaded, Models) else None
    if models is None:
        print(f"NOT MEASURED: {loaded}", file=sys.stderr)
    tables: list[Table] = []
    for name, measure in parts(QUICK if options.quick else FULL).items():
        if options.only and name not in options.only.split(","):
            continue
        begun = time.process_time()
        for table in measure(models, options.seed):
            tables.append(table)
            print(f"## {table.name}\n\n{table.markdown()}")
        print(f"{name}: {time.process_time() - begun:.0f} s of processor time\n", file=sys.stderr)
    about = {"seed": options.seed, "python": platform.python_version()}
    if options.json:
        write(options.json, tables, **about)
    if options.write:
        # Parts that were not measured now stay as they are.
        known = {table.name: table for table in (read() if MEASURED.exists() else [])}
        every = list((known | {table.name: table for table in tables}).values())
        write(MEASURED, every, **about)
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), every), encoding="utf-8")


def read() -> list[Table]:
    """The tables that were written last."""
    raw: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return [Table.from_json(one) for one in raw["tables"]]


def write(path: Path, tables: Sequence[Table], **about: Any) -> None:
    """Write tables as JSON, and how they were measured."""
    content = {**about, "tables": [table.as_json() for table in tables]}
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.metrics", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small samples: does it run?")
    parser.add_argument("--only", default="", help=f"of {','.join(parts(QUICK))}")
    parser.add_argument("--seed", type=int, default=1, help="of all samples and halves (default 1)")
    parser.add_argument("--json", type=Path, help="write every table to this file")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/")
    options = parser.parse_args()
    unknown = [name for name in options.only.split(",") if name and name not in parts(QUICK)]
    if unknown:
        parser.error(f"--only: {', '.join(unknown)} is none of {', '.join(parts(QUICK))}")
    if options.write and options.quick:
        parser.error("--write needs the whole samples: leave out --quick")
    return options


if __name__ == "__main__":
    main()

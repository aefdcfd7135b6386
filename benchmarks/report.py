"""How long `evenkeel report` takes on a long log.

Run from the root of the repository: python -m benchmarks.report [--verdicts 100000]

The planted log of `benchmarks.monitor` (50 routes, 4 models, the resend and 24 kinds) in a real SQLite file,
and one of 2 routes with a model each. Times are processor time of one core, once each.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchmarks.kit import logged
from benchmarks.monitor import planted
from evenkeel.lab.report.document import as_csv, as_json, document
from evenkeel.lab.report.findings import Wish, make_report
from evenkeel.lab.report.period import span_of
from evenkeel.release.kit.renderings import html, pdf_maker
from evenkeel.runtime.stores import opened, settings_of_stores
from evenkeel.stores.sqlite.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from evenkeel.core.verdict import Verdict


T = TypeVar("T")


def main() -> None:
    """Fill both stores and print what each step takes."""
    parser = argparse.ArgumentParser(description="Time reports.")
    parser.add_argument("--verdicts", type=int, default=100_000)
    wanted = parser.parse_args().verdicts
    for name, verdicts in (("200 models, 5,000 cells", planted(10**9, 1)), ("2 models, 50 cells", _few())):
        with tempfile.TemporaryDirectory() as folder:
            fill(Path(folder), islice(verdicts, wanted))
            print(f"{wanted:,} verdicts, {name}")
            measure(Path(folder))


def _few() -> Iterator[Verdict]:
    for verdict in planted(10**9, 1):
        number = int(verdict.exchange_id, 16)
        yield replace(verdict, route=f"route-{number % 2}", model=f"model-{number % 2}")


def fill(folder: Path, verdicts: Iterable[Verdict]) -> None:
    """Write a log in one transaction."""
    database = Database(folder / "evenkeel.db")
    logged(database, verdicts)
    database.close()


def measure(folder: Path) -> None:
    """Make the report on all of it, and write it in every form."""
    settings = settings_of_stores(None, folder)
    with opened(settings) as stores:
        span = span_of(stores.verdicts)
        assert span is not None
        wish = Wish(replace(span, until=span.until + 1))
        report = timed(
            "  read and estimated", lambda: make_report(stores, wish, min_trials=30, clock=time.time)
        )
    page = timed("  HTML", lambda: html(document(report)))
    timed("  JSON", lambda: as_json(report))
    timed("  CSV", lambda: as_csv(report))
    to_pdf = pdf_maker()
    timed("  PDF", lambda: to_pdf(page))


def timed(what: str, step: Callable[[], T]) -> T:
    """Do a step, and print how long the processor was busy with it."""
    began = time.process_time()
    found = step()
    print(f"{what}: {time.process_time() - began:.2f} s")
    return found


if __name__ == "__main__":
    main()

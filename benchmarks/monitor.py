"""How fast the monitor folds, how long a checkpoint and a scrape take, and how much memory a state needs.

Run from the root of the repository: python -m benchmarks.monitor [--trials 40]

A planted log over 5,000 cells (50 routes, 4 models, the resend and 24 kinds), five verdicts an
exchange, one exchange every two seconds. The store is a real SQLite file. Times are processor time of one
core, medians where a step can be repeated.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, generate_latest

from benchmarks.kit import logged
from evenkeel.core.verdict import BASELINE, QualityScore, Verdict
from evenkeel.monitor.export import CellCollector, CellText, MonitorReading
from evenkeel.monitor.monitor import Monitor, MonitorSettings, MonitorState
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.monitor import SqliteMonitorStore
from evenkeel.stores.verdict_log import LoggedVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

ROUTES, MODELS, KINDS, TRIED = 50, 4, 24, 4
LOGGED = 50_000
"""Verdicts of the log that is read from a file."""
BATCH = 2000
PARTS = 25
"""That change 1 % of the cells each; the last ones also move the windows on."""
NOISE, FRAGILITY = 0.05, 0.12
SECONDS_BETWEEN = 2.0
"""Exchanges: the day's window is full, the hour's has too few trials of a cell for a number."""

TEMPLATE = Verdict(
    id="",
    exchange_id="",
    scored_at=0.0,
    route="",
    model="",
    perturbation=BASELINE,
    perturbation_version=1,
    severity=0.3,
    seed=1,
    scorer="judge",
    rating=3,
    baseline_rating=None,
    explanation="The same facts in the same order; only the wording differs.",
    details={"normalised": 0.0, "rouge_l": 0.81, "chrf": 0.77, "decided_by": 2.0},
    rated_by="similarity@1",
    prompt_version="v1",
    tokens=812,
    cost_usd=0.0004,
)


def planted(count: int, seed: int, *, first_exchange: int = 0) -> Iterator[Verdict]:
    """Verdicts in the order in which workers write them."""
    rng = random.Random(seed)
    kinds = [
        f"{category}.kind-{number}" for category in ("general", "positional") for number in range(KINDS // 2)
    ]
    number = first_exchange
    while True:
        exchange = f"{number:016x}"
        place = number % (ROUTES * MODELS)
        here = replace(
            TEMPLATE, exchange_id=exchange, route=f"route-{place // MODELS}", model=f"model-{place % MODELS}"
        )
        base = 2 if rng.random() < NOISE else 3
        first = number // (ROUTES * MODELS) * TRIED
        tried = [BASELINE, *(kinds[(first + step) % KINDS] for step in range(TRIED))]
        for kind in tried:
            if count == 0:
                return
            count -= 1
            rating = base if kind == BASELINE else rng.choice((1, 2)) if rng.random() < FRAGILITY else 3
            changed = QualityScore("faithfulness", 1, 3, rng.choice((2, 3)))
            yield replace(
                here,
                id=f"{exchange}.{kind}.0.3",
                scored_at=1.7e9 + number * SECONDS_BETWEEN,
                perturbation=kind,
                rating=rating,
                baseline_rating=None if kind == BASELINE else base,
                quality=() if rating == TEMPLATE.rating else (changed,),
            )
        number += 1


def timed(work: Callable[[], object]) -> float:
    """Seconds of processor time that one run takes: the machine may be busy with other things."""
    began = time.process_time()
    work()
    return time.process_time() - began


def show(what: str, value: str) -> None:
    """One line of the result."""
    print(f"{what:<58} {value:>16}")


def fill(state: MonitorState, verdicts: list[LoggedVerdict]) -> None:
    """Fold them."""
    for one in verdicts:
        state.apply(one)


def drain(monitor: Monitor) -> None:
    """Step until the log is used up."""
    while monitor.step():
        pass


def read_and_fold(log: SqliteVerdictLog) -> None:
    """As a step does, but for the commit."""
    state = MonitorState(MonitorSettings())
    while batch := log.read_after(state.offset, BATCH):
        fill(state, batch)


def folding(state: MonitorState, verdicts: list[LoggedVerdict], folder: Path) -> None:
    """Fold all from memory into `state`, and some from a file."""
    seconds = timed(lambda: fill(state, verdicts))
    show(f"fold, {len(verdicts):,} verdicts from memory", f"{len(verdicts) / seconds:,.0f} /s")
    database = Database(folder / "log.db")
    log = logged(database, (one.verdict for one in verdicts[:LOGGED]))
    seconds = timed(lambda: read_and_fold(log))
    show(f"read from SQLite and fold, {LOGGED:,} verdicts", f"{LOGGED / seconds:,.0f} /s")
    seconds = timed(lambda: drain(Monitor(log, SqliteMonitorStore(database), batch=BATCH)))
    show(f"the same with a commit every {BATCH:,}", f"{LOGGED / seconds:,.0f} /s")
    database.close()


def storing(state: MonitorState, parts: Iterator[list[LoggedVerdict]], folder: Path) -> None:
    """Checkpoints: the first, and after each of three parts that change 1 % of the cells."""
    database = Database(folder / "state.db")
    store = SqliteMonitorStore(database)

    def commit() -> None:
        made = state.checkpoint()
        store.commit(made.head, state.offset, [], [], parts=made.parts, whole=made.whole)

    show("checkpoint, first", f"{timed(commit) * 1e3:,.0f} ms")
    times = []
    for _ in range(3):
        fill(state, next(parts))
        times.append(timed(commit))
    show("checkpoint, 1 % of cells changed", f"{statistics.median(times) * 1e3:,.0f} ms")
    database.close()


def scraping(state: MonitorState, parts: Iterator[list[LoggedVerdict]]) -> None:
    """Scrapes: the first, with nothing changed, with 1 % of the cells, and when windows move on."""
    reading = MonitorReading(state.reports, state.rollups, state.changes)
    text = CellText(reading, version="bench", detail=True)
    first = timed(text.render)
    show(f"scrape of {len(state.reports()):,} cells, first", f"{first * 1e3:,.0f} ms")
    again = statistics.median(timed(text.render) for _ in range(5))
    show("scrape, nothing changed", f"{again * 1e3:,.0f} ms")
    times = []
    for _ in range(5):
        fill(state, next(parts))
        times.append(timed(text.render))
    show("scrape, 1 % of cells changed", f"{statistics.median(times) * 1e3:,.0f} ms")
    *_, last = parts
    fill(state, last)
    show("refresh when the windows move on", f"{timed(text.refresh) * 1e3:,.0f} ms")
    show("scrape after it", f"{timed(text.render) * 1e3:,.0f} ms")
    show("exposition", f"{len(text.render()) / 1e6:,.1f} MB")
    registry = CollectorRegistry()
    registry.register(CellCollector(reading, version="bench", detail=True))
    show("the same by a registry", f"{timed(lambda: generate_latest(registry)) * 1e3:,.0f} ms")


def memory(state: MonitorState) -> None:
    """What the state takes when it is read from a checkpoint."""
    data = state.to_bytes()
    tracemalloc.start()
    kept = MonitorState.from_bytes(data, MonitorSettings())
    show("memory of the state, without estimates", f"{tracemalloc.get_traced_memory()[0] / 1e6:,.1f} MB")
    tracemalloc.stop()
    del kept


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=40, help="of each cell")
    options = parser.parse_args()
    count = ROUTES * MODELS * (KINDS + 1) * options.trials
    verdicts = [LoggedVerdict(place, one) for place, one in enumerate(planted(count, 1), 1)]
    # Ten exchanges are 50 verdicts, each of another cell.
    later = [
        LoggedVerdict(place, one)
        for place, one in enumerate(planted(PARTS * 50, 2, first_exchange=count // (TRIED + 1)), count + 1)
    ]
    parts = (later[place : place + 50] for place in range(0, len(later), 50))
    state = MonitorState(MonitorSettings())
    with tempfile.TemporaryDirectory() as name:
        folding(state, verdicts, Path(name))
        storing(state, parts, Path(name))
    scraping(state, parts)
    memory(state)


if __name__ == "__main__":
    main()

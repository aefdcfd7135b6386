"""How fast the console is in front of a large store: time to first paint, and weight, of every page.

    python -m benchmarks.console [--verdicts 100000] [--runs 5]

Fills a store with made-up verdicts (5 routes, 2 models, 90 perturbations, of which 72 are pairs of
languages), has the monitor fold them, serves the console from this process and opens each page in
Chromium with an empty cache. Printed are, for each page, the processor time of the server, which depends
little on what else the machine does; the medians and maxima over the runs of the time to the first byte and
to the first contentful paint; and the bytes of the page with its style sheet and script before compression.
Browser, server and monitor share the machine: compare pages of one run.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import httpx2

from evenkeel.console import ConsoleSources, PipelineView, create_app
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import (
    BASELINE,
    DECIDED_BY,
    HEURISTIC_RATING,
    JUDGED_AGAIN,
    Evidence,
    QualityScore,
    Verdict,
)
from evenkeel.monitor.monitor import Monitor, MonitorSettings
from evenkeel.runtime.console_sources import document, settings_in_effect
from evenkeel.settings import Route, Settings
from evenkeel.stores.counters import RouteFlow
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.monitor import SqliteMonitorStore
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.kit.chromium import browser, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Response as PageResponse

_LANGUAGES = ("en", "de", "es", "fr", "fr-CA", "it", "ja", "nl", "pt-BR")
_KINDS = (
    *(f"general.{kind}" for kind in ("whitespace", "spelling", "punctuation", "casing")),
    *(f"positional.{kind}" for kind in ("context", "output_instructions", "reordering", "mixed")),
    *(f"format.{kind}" for kind in ("free", "json", "yaml", "xml", "html", "markdown")),
    *(f"multilingual.{language}" for language in _LANGUAGES[1:5]),
    *(f"crosslingual.{one}_to_{other}" for one in _LANGUAGES for other in _LANGUAGES if one != other),
)
_ROUTES = ("case-summaries", "billing-replies", "ticket-triage", "faq-answers", "chat")
_MODELS = ("steady-2026-05", "swift-2026-08")
_EVIDENCE = 2_000
"""Newest verdicts that have texts."""

_TEXT = "The parcel of order 4711 left the store on Monday and arrives within four working days. " * 8
_PAGES = (
    "/",
    "/routes/case-summaries",
    "/trials",
    "/incidents",
    "/judge",
    "/calibration",
    "/pipeline",
    "/settings",
)
_PAINT = """() => new Promise((done) => new PerformanceObserver((seen) => {
    const paint = seen.getEntriesByName("first-contentful-paint")[0];
    if (paint) done([performance.getEntriesByType("navigation")[0].responseStart, paint.startTime]);
}).observe({type: "paint", buffered: true}))"""


class Opened(NamedTuple):
    """One visit of a page."""

    first_byte_ms: float
    paint_ms: float
    size_bytes: int


def main() -> None:
    """Fill, fold, serve, measure, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--verdicts", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "evenkeel.db")
        began = time.perf_counter()
        log, monitor_store = SqliteVerdictLog(database), SqliteMonitorStore(database)
        fill(log, asked.verdicts)
        filled = time.perf_counter()
        monitor = Monitor(log, monitor_store, MonitorSettings(trend_interval_s=600.0), clock=time.time)
        while monitor.step():
            pass
        cells = len(monitor.reports())
        print(
            f"{asked.verdicts:,} verdicts in {cells} cells: stored in {filled - began:.0f} s, "
            f"folded in {time.perf_counter() - filled:.0f} s"
        )
        print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        with (
            served(create_app(sources(log, monitor_store, monitor))) as address,
            browser() as chromium,
        ):
            titles = f"{'server CPU ms':>15}{'first byte ms':>16}{'first paint ms':>16}{'kB':>6}"
            print(f"{'page':26}{titles}    (median, max)")
            for path in _PAGES:
                visits = [opened(chromium, address + path) for _ in range(asked.runs)]
                report(path, server_ms(address + path, asked.runs), visits)
        database.close()


def fill(log: SqliteVerdictLog, count: int) -> None:
    """Exchanges with a resend and two perturbed trials each, spread over the last day."""
    rng = random.Random(4)
    start = time.time() - 86_400
    for place in range(count):
        exchange, trial = divmod(place, 3)
        route = _ROUTES[exchange % len(_ROUTES)]
        model = _MODELS[place > count * 0.6] if exchange % len(_ROUTES) < 2 else _MODELS[0]  # noqa: PLR2004 - two routes swap
        kind = BASELINE if trial == 0 else rng.choice(_KINDS)
        shifted = rng.random() < (0.04 if trial == 0 else 0.3 if model == _MODELS[1] else 0.08)
        rating = rng.choice((1, 2)) if shifted else 3
        details = {"rouge_l": 0.5 if shifted else 0.98, DECIDED_BY: float(rng.choice((0, 1, 2)))}
        if rng.random() < 0.1:  # noqa: PLR2004 - a share
            details |= {HEURISTIC_RATING: float(rating), JUDGED_AGAIN: float(rating)}
        verdict = Verdict(
            id=f"{exchange:016x}.{kind}.{trial}",
            exchange_id=f"{exchange:016x}",
            scored_at=start + 86_400 * place / count,
            route=route,
            model=model,
            perturbation=kind,
            perturbation_version=1,
            severity=0.0 if trial == 0 else 0.3,
            seed=place,
            scorer="judge",
            rating=rating,
            baseline_rating=None if trial == 0 else 3,
            quality=(QualityScore("faithfulness", 1, 3, rating),) if shifted else (),
            details=details,
            tokens=420,
            cost_usd=0.0009,
        )
        texts = None
        if place >= count - _EVIDENCE:
            texts = Evidence(_TEXT, _TEXT.upper(), Answer(_TEXT), Answer(_TEXT[:300]))
        log.append(verdict, texts)


def sources(log: SqliteVerdictLog, store: SqliteMonitorStore, monitor: Monitor) -> ConsoleSources:
    """What `evenkeel up` gives the console, without a replay plane."""
    upstream = "https://api.example/v1"
    settings = Settings(routes=[Route(name=name, prefix=f"/{name}", upstream=upstream) for name in _ROUTES])
    flows = tuple(RouteFlow(name, 100_000, 10_000, 9_990, 9_900, {"budget": 90}) for name in _ROUTES)
    return ConsoleSources(
        reports=monitor.reports,
        rollups=monitor.rollups,
        changes=monitor.changes,
        log=log,
        monitor_store=store,
        exposition=lambda: b"",
        ready=dict,
        pipeline=lambda: PipelineView("http://127.0.0.1:8100/v1", routes=flows),
        clock=time.time,
        settings=lambda: settings_in_effect(settings),
        documents=document,
    )


def opened(chromium: Browser, address: str) -> Opened:
    """Open a page with an empty cache and wait for its first contentful paint."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    parts: list[PageResponse] = []
    page.on("response", lambda one: parts.append(one))  # noqa: PLW0108 - it takes functions only
    page.goto(address)
    first_byte, paint = page.evaluate(_PAINT)
    size = sum(len(one.body()) for one in parts if "/fragments/" not in one.url)
    context.close()
    return Opened(first_byte, paint, size)


def server_ms(address: str, runs: int) -> float:
    """Processor time of this process for one answer, the request from here included."""
    with httpx2.Client(timeout=60.0) as client:
        client.get(address)
        began = time.process_time()
        for _ in range(runs):
            client.get(address)
        return (time.process_time() - began) * 1000 / runs


def report(path: str, processor_ms: float, visits: list[Opened]) -> None:
    """Print one line."""
    columns = [
        f"{statistics.median(values):.0f}, {max(values):.0f}"
        for values in ([one.first_byte_ms for one in visits], [one.paint_ms for one in visits])
    ]
    size_kb = visits[0].size_bytes / 1000
    print(f"{path:26}{processor_ms:>15.0f}{columns[0]:>16}{columns[1]:>16}{size_kb:>6.0f}")


if __name__ == "__main__":
    main()

"""Scenes for the console: in-memory sources filled with a seeded, realistic set of data."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkeel.console import ConsoleSources, PipelineView
from evenkeel.core.cells import ChangeMark
from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import BASELINE, Evidence, Failure, QualityScore
from evenkeel.monitor.measuring import Measuring
from evenkeel.stores.counters import RouteFlow
from evenkeel.stores.monitor_state import AlertEvent, TrendPoint
from tests.console.memory_stores import MemoryLog, MemoryMonitorStore, other_stores
from tests.console.planted_trials import (
    FRAGILE,
    NOW,
    PERTURBATIONS,
    ROUTES,
    STEADY,
    cell,
    trend_points,
    verdict,
)
from tests.kit.records import altered

if TYPE_CHECKING:
    from evenkeel.core.cells import CellReport


@dataclass
class Scene:
    """Sources whose content a test may change while the console serves them."""

    reports: list[CellReport] = field(default_factory=list)
    log: MemoryLog = field(default_factory=MemoryLog)
    store: MemoryMonitorStore = field(default_factory=MemoryMonitorStore)
    pipeline: PipelineView = field(default_factory=lambda: PipelineView(base_url="http://127.0.0.1:8080/v1"))
    measuring: Measuring = field(default_factory=lambda: Measuring("measuring", NOW - 3600))
    now: float = NOW

    def sources(self):
        """Sources that the console reads; later changes of the scene show."""
        return ConsoleSources(
            reports=lambda: list(self.reports),
            log=self.log,
            monitor_store=self.store,
            exposition=lambda: b"# HELP evenkeel_up Serving.\n# TYPE evenkeel_up gauge\nevenkeel_up 1\n",
            measuring=lambda: self.measuring,
            pipeline=lambda: self.pipeline,
            clock=lambda: self.now,
            **other_stores(),
        )


def _pipeline(*, behind=False):
    flows = tuple(
        RouteFlow(
            route,
            eligible=4120 - 730 * place,
            sampled=412 - 73 * place,
            queued=409 - 73 * place,
            scored=401 - 73 * place,
            skipped={"budget": 4, "not_applicable": 3, "replay_rate_limited": 1} if place < 2 else {},
            unread={"embeddings": 7} if place < 2 else {},
        )
        for place, route in enumerate(ROUTES)
    )
    return PipelineView(
        base_url="http://127.0.0.1:8080/v1",
        routes=flows,
        waiting=38 if behind else 0,
        leased=4 if behind else 0,
        oldest_s=12.0 if behind else 0.0,
        tokens_today=641_220,
        usd_today=1.46,
        budget_usd=5.0,
        simulated=True,
    )


def _fill_trends(scene, rng):
    for report in scene.reports:
        if report.estimates.excess is None:
            continue
        key = report.key
        gone = report.last_scored_at is not None and report.last_scored_at < NOW - 60
        start, end = (NOW - 5400, NOW - 1500) if gone or key.model == STEADY else (NOW - 1480, NOW - 5)
        if key.model == STEADY and not gone:
            end = NOW - 5
        levels = (
            (0.0, report.estimates.excess.value)
            if key.model == FRAGILE
            else (report.estimates.excess.value, report.estimates.excess.value)
        )
        scene.store.points[key.route, key.model, key.perturbation] = trend_points(
            rng, start, end, 120, levels
        )


def quiet_scene():
    """Five routes on a steady model; the last of them has only just begun."""
    rng = random.Random(7)
    scene = Scene(pipeline=_pipeline())
    for row, route in enumerate(ROUTES):
        for column, perturbation in enumerate(PERTURBATIONS):
            scene.reports.append(
                cell(
                    route,
                    STEADY,
                    perturbation,
                    trials=12 + 2 * column if row == 4 else 214 - 30 * row + column,
                    moved=0.03 + 0.05 * rng.random() + (0.03 if row == 2 else 0),
                )
            )
    _fill_trends(scene, rng)
    for place in range(200):
        scene.log.append(*verdict(rng, place))
    return scene


def alert_scene():
    """The same after the model of two routes was swapped: one of them alerts in two cells."""
    rng = random.Random(11)
    scene = Scene(pipeline=_pipeline(behind=True))
    scene.pipeline = altered(
        scene.pipeline,
        notices=("The judge rejected its key (401): set judge.api_key. Until then heuristics decide.",),
    )
    moved = {"spelling": 0.46, "casing": 0.31, "punctuation": 0.15, "whitespace": 0.11, "identical": 0.05}
    for row, route in enumerate(ROUTES[:4]):
        for perturbation in PERTURBATIONS:
            at = NOW - 1500 if row < 2 else NOW - 8
            one = cell(
                route,
                STEADY,
                perturbation,
                trials=214 - 30 * row,
                moved=0.04 + 0.03 * rng.random(),
                at=at,
            )
            scene.reports.append(altered(one, retired=row < 2))
            if row < 2:
                kind = perturbation.partition(".")[2]
                scene.reports.append(
                    cell(
                        route,
                        FRAGILE,
                        perturbation,
                        trials=96 if row == 0 else 22,
                        moved=moved[kind],
                        quality=0.82,
                        alert=row == 0 and kind in {"spelling", "casing"},
                    )
                )
    _fill_trends(scene, rng)
    for kind, at, offset in (("spelling", NOW - 1020, 700), ("casing", NOW - 640, 820)):
        scene.store.history.append(
            AlertEvent(
                id=f"raised-{kind}",
                at=at,
                kind="raised",
                route=ROUTES[0],
                model=FRAGILE,
                perturbation=f"general.{kind}",
                offset=offset,
                trials=41,
                excess=0.3,
                measure="content",
                value=0.42 if kind == "spelling" else 0.27,
                limit=0.1,
                run_trials=40,
                change="c-7",
                incident="c-7",
                marks=(ChangeMark("model", STEADY, FRAGILE, NOW - 1500, 640),),
                clients={"3f9a": 31, "77c0": 9},
            )
        )
    for place in range(160):
        scene.log.append(*verdict(rng, place))
    for place in range(160, 199):
        scene.log.append(*verdict(rng, place, model=FRAGILE, fragile=True, route=ROUTES[0]))
    failed, texts = verdict(rng, 196, model=FRAGILE, fragile=True, route=ROUTES[0])
    scene.log.append(
        altered(
            failed,
            id="failed-1",
            scored_at=NOW - 9,
            rating=None,
            quality=(),
            explanation="",
            details={},
            failure=Failure("replay", 1, "timeout", "The upstream gave no answer within 60 s."),
        ),
        altered(texts, candidate=None),
    )
    scene.log.append(*verdict(rng, 199, model=FRAGILE, fragile=True, route=ROUTES[0]))
    return scene


HOSTILE = (
    '<script>alert("x")</script><img src=x onerror=alert(1)>{{ 7*7 }}'
    "\u202edetrevni\u202c\x00 \ud83d \"quotes' & <b>"
)
"""Markup, template syntax, a direction override, NUL and half a surrogate pair."""


def hostile_scene():
    """Every text a model or a client can choose is an attack, or very long."""
    scene = Scene(pipeline=altered(_pipeline(), notices=(HOSTILE,)))
    route, model, perturbation = f"r{HOSTILE}", f"m{HOSTILE}", "general.<b>kind</b>"
    scene.reports = [
        cell(route, model, perturbation, moved=0.4, alert=True),
        cell(route, model, BASELINE),
        cell("x" * 300, "y" * 300, "general.spelling", moved=0.2),
    ]
    scene.store.points[route, model, perturbation] = [
        TrendPoint(NOW - 60 + place, value, None, float("inf"))
        for place, value in enumerate((0.1, float("nan"), 0.2))
    ]
    scene.store.history.append(
        AlertEvent(
            *("e", NOW - 50, "raised", route, model, perturbation, 1, 30, 0.3),
            incident=f"i{HOSTILE}",
        )
    )
    found, _ = verdict(random.Random(1), 3)
    scene.log.append(
        altered(
            found,
            id=f"id/{HOSTILE[:18]}",
            route=route,
            model=model,
            perturbation=perturbation,
            explanation=HOSTILE,
            rating=2,
            quality=(QualityScore("<i>metric</i>", 1, 3, 1),),
            details={"<u>score</u>": float("inf")},
        ),
        Evidence(
            f"{HOSTILE} original",
            f"{HOSTILE} changed",
            Answer(HOSTILE + "a" * 5000, (ToolCall("<script>", HOSTILE),)),
            Answer(f"<del>{HOSTILE}"),
        ),
    )
    return scene


SCENES = {
    "empty": Scene,
    "quiet": quiet_scene,
    "alert": alert_scene,
    "hostile": hostile_scene,
}

"""Everything that the console can show at once: languages, formats, a judge, a calibration, dead letters."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkeel.console import (
    Amount,
    CalibrationInForce,
    JudgeSetup,
    Share,
    Spending,
)
from evenkeel.core.cells import ChangeMark, DriftReport, Estimate, WindowEstimates
from evenkeel.core.exchange import DeadLetter
from evenkeel.core.verdict import DECIDED_BY, HEURISTIC_RATING, JUDGED_AGAIN, JUDGED_SWAPPED
from evenkeel.experiments.calibrate.calibration import read_calibration
from evenkeel.monitor.changes.causes import Candidate, Cause
from evenkeel.monitor.changes.comparison import CellSides, Comparison, JudgeSides, Sides
from evenkeel.monitor.changes.effects import Finding
from evenkeel.monitor.changes.report import ChangeReport
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.runtime.console_sources import document, settings_in_effect
from evenkeel.settings import Route, Settings
from evenkeel.stores.counters import Untried
from evenkeel.stores.monitor_state import AlertEvent, TrendPoint
from tests.stores.examples import exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.console import ConsoleSources
    from evenkeel.core.exchange import Exchange
    from evenkeel.experiments.calibrate.calibration import Calibration

LANGUAGES = ("en", "de", "fr-CA", "ja", "pt-BR")
FORMATS = ("free", "json", "yaml", "xml", "html", "markdown")
POSITIONAL = ("context", "output_instructions", "reordering", "mixed")
SECRET = "sk_never_shown_0123456789"
"""Stands in places where a credential may stand."""


@dataclass
class Whole:
    """A scene and the sources over it."""

    scene: Any
    sources: ConsoleSources


def whole(scene: Any, make_cell: Callable[..., Any]) -> Whole:
    """Add to the scene of an alert what a large installation has."""
    rng = random.Random(5)
    route, model = scene.reports[1].key.route, scene.reports[1].key.model
    kinds = [f"positional.{kind}" for kind in POSITIONAL]
    kinds += [f"format.{kind}" for kind in FORMATS]
    kinds += [f"multilingual.{language}" for language in LANGUAGES[1:]]
    kinds += [
        f"crosslingual.{source}_to_{target}"
        for source in LANGUAGES
        for target in LANGUAGES
        if source != target
    ]
    for kind in kinds:
        moved = 0.02 + 0.3 * rng.random() ** 2
        trials = 12 if kind.endswith("ja_to_fr-CA") else 90 + rng.randrange(400)
        alert = kind == "crosslingual.en_to_ja"
        moved = 0.6 if alert else moved
        scene.reports.append(make_cell(route, model, kind, trials=trials, moved=moved, alert=alert))
    scene.reports = [_judged(report) for report in scene.reports]
    scene.log.verdicts = [_rated(rng, verdict) for verdict in scene.log.verdicts]
    now = scene.now
    for report in scene.reports:
        if report.excess and report.key.parts not in scene.store.points:
            scene.store.points[report.key.parts] = _points(rng, now, report.excess.value)
    scene.store.history[:0] = [
        _event("raised", now - 30000, scene.reports[4].key, "excess", ""),
        _event("resolved", now - 22000, scene.reports[4].key, "excess", ""),
        _event("raised", now - 19000, scene.reports[2].key, "drift", "risen"),
        _event("resolved", now - 12000, scene.reports[2].key, "drift", ""),
    ]
    scene.pipeline = replace(
        scene.pipeline,
        scorer="judge",
        judge="referee-2",
        dead=3,
        budget_tokens=2_000_000,
        untried=(Untried(route, "general.paraphrase", "no_rewriter", None),),
    )
    change = change_report(route, now)
    settings = Settings(
        routes=[
            Route(
                name="case-summaries",
                upstream="https://api.example/v1",
                headers={"x-key": SECRET},
            ),
            Route(name="chat", upstream="https://api.example/v1", sampling_rate=0.5),
        ],
        alert={"webhook": f"https://hooks.example/{SECRET}", "notify": ["EVENKEEL_NOTIFY_CHAT"]},
        judge={
            "model": "referee-2",
            "api_key_env": SECRET,
            "base_url": f"https://user:{SECRET}@judge.example/v1",
        },
    )
    sources = replace(
        scene.sources(),
        ready=lambda: dict(scene.missing),
        change_reports=lambda: (change,),
        spending=lambda: Spending(
            tuple(
                Amount(
                    flow.route, 9_000 * place + 12_000, 0.11 * place + 0.2, 100_000 if place == 1 else None
                )
                for place, flow in enumerate(scene.pipeline.routes)
            ),
            (Amount("replay", 90_000, 1.2), Amount("judge", 60_000, 0.8), Amount("rewriter", 0, 0.0)),
            tuple(
                Share(flow.route, purpose, 6_000, 0.15)
                for flow in scene.pipeline.routes
                for purpose in ("replay", "judge")
            ),
        ),
        dead_letters=lambda limit: [
            DeadLetter(f"{number:016x}", "too_many_attempts" if number else "expired", now - 500 * number)
            for number in range(3)
        ][:limit],
        dead_exchange=lambda name: _dead(now) if name == "0000000000000001" else None,
        judge=JudgeSetup("referee-2", "https://api.example/v1", 3, 0.5, 0.02, 0.05, cascade=True),
        calibration=CalibrationInForce("calibrations/support/calibration.yaml", calibration()),
        thresholds=MonitorSettings(),
        settings=lambda: settings_in_effect(settings),
        documents=document,
    )
    return Whole(scene, sources)


def change_report(route: str, now: float) -> ChangeReport:
    """A model swap that made answers worse."""

    def sides(before: float, after: float) -> Sides:
        return Sides(_estimate(before, 400), _estimate(after, 200))

    nothing = Sides(None, None)
    cells = (
        CellSides("baseline.identical", sides(0.04, 0.05), nothing, sides(0.98, 0.97)),
        CellSides("general.spelling", sides(0.05, 0.46), sides(0.01, 0.42), sides(0.97, 0.66)),
    )
    comparison = Comparison(
        400, 200, sides(0.05, 0.31), cells, (), JudgeSides(sides(0.05, 0.06), nothing, nothing)
    )
    return ChangeReport(
        id="c-7",
        route=route,
        at=now - 1500,
        marks=(ChangeMark("model", "steady-2026-05", "swift-2026-08", now - 1500, 640),),
        cause=Cause.MODEL,
        candidates=(
            Candidate(Cause.MODEL, weaker=False, why="Returned model: “steady-2026-05” → “swift-2026-08”."),
        ),
        evidence=("Another model answers.",),
        ruled_out=("The goldens are answered as before.",),
        effect="worse",
        findings=(
            Finding(
                "worse",
                "general.spelling: answers are worse than the original's in 40% of the trials, 3% before.",
            ),
        ),
        comparison=comparison,
        goldens=None,
    )


def calibration() -> Calibration:
    """Three modes: one watched twice, one harmless, one that nothing watches."""
    return read_calibration(Path(__file__).with_name("calibration.yaml").read_text(encoding="utf-8"))


def _estimate(value: float, n: int) -> Estimate:
    return Estimate(value, max(0.0, value - 0.05), min(1.0, value + 0.05), n)


def _judged(report: Any) -> Any:
    lately = WindowEstimates(80, report.content_delta, report.robustness, report.excess)
    drift = None
    if report.key.perturbation == "format.yaml":
        drift = DriftReport("risen", 0.04, 500, True, 0.0, 0.09, 3.2)
    return replace(
        report,
        scorer="judge",
        judge_noise=_estimate(0.06, 80),
        swap_consistency=_estimate(0.93, 120),
        cascade_agreement=_estimate(0.97, 66),
        decided={"equality": 400, "heuristic": 310, "judge": 290},
        windows={"24h": lately},
        drift=drift,
    )


def _rated(rng: random.Random, verdict: Any) -> Any:
    if verdict.rating is None:
        return verdict
    details = dict(verdict.details)
    details[DECIDED_BY] = float(rng.choice((0, 1, 2, 2)))
    for name, share, right in (
        (HEURISTIC_RATING, 0.4, 0.9),
        (JUDGED_AGAIN, 0.3, 0.94),
        (JUDGED_SWAPPED, 0.3, 0.9),
    ):
        if rng.random() < share:
            details[name] = float(verdict.rating if rng.random() < right else 4 - verdict.rating)
    return replace(verdict, scorer="judge", details=details, judge_model="referee-2")


def _event(kind: str, at: float, key: Any, what: str, direction: str) -> AlertEvent:
    return AlertEvent(
        f"{kind}-{what}-{at:.0f}", at, kind, *key.parts, 100, 40, 0.2, "", what=what, direction=direction
    )


def _points(rng: random.Random, now: float, level: float) -> list[TrendPoint]:
    found = []
    for place in range(40):
        value = level + rng.gauss(0, 0.01)
        wide = 0.3 / (2 + place**0.5)
        at = now - 40 * 36 + place * 36
        found.append(
            TrendPoint(
                at, 30 + 4 * place, value + 0.04, value, value - wide, value + wide, 0.9, 0.0, alert=False
            )
        )
    return found


def _dead(now: float) -> Exchange:
    return exchange(
        1,
        route="chat",
        received_at=now - 900,
        request_body=b'{"messages": [{"role": "user", "content": "How long is the delivery?"}]}',
        response_body=b"not JSON <b>at all</b>",
    )

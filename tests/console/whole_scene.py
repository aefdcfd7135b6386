"""Everything that the console can show at once: languages, formats, a judge, dead letters."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from evenkeel.console import JudgeSetup
from evenkeel.core.budget import Budget, Spend
from evenkeel.core.cells import ChangeMark, DriftReport, Estimate, WindowEstimates
from evenkeel.core.exchange import DeadLetter
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import DECIDED_BY, JUDGED_AGAIN, JUDGED_SWAPPED
from evenkeel.monitor.changes import ChangeRecord
from evenkeel.monitor.changes.record import ChangeTally
from evenkeel.monitor.changes.report import GoldenHistory, reports_of
from evenkeel.monitor.fold import SilentReport
from evenkeel.monitor.fold.silent import OpenChange
from evenkeel.monitor.notify import Contact, Writer
from evenkeel.settings import Route, Settings
from evenkeel.settings.settings import settings_in_effect
from evenkeel.stores.changes import AnswerScores, ScoredReference
from evenkeel.stores.counters import UntriedPerturbation
from evenkeel.stores.monitor_state import AlertEvent
from evenkeel.stores.references import AskedToday, KeptAnswer, ReferenceStore
from tests.console.planted_trials import trend_points
from tests.kit.cells import with_figures
from tests.kit.records import altered
from tests.monitor.changes import silent_evidence
from tests.monitor.changes.tallies import shifts, tally
from tests.stores.test_changes import GATE
from tests.stores.test_references import REFERENCE

if TYPE_CHECKING:
    from evenkeel.console import ConsoleSources

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


def whole(scene, make_cell):
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
        if report.estimates.excess and report.key.parts not in scene.store.points:
            levels = (report.estimates.excess.value,) * 2
            scene.store.points[report.key.parts] = trend_points(rng, now - 1440, now, 40, levels)
    scene.store.history[:0] = [
        _event("raised", now - 30000, scene.reports[4].key, "excess", ""),
        _event("resolved", now - 22000, scene.reports[4].key, "excess", ""),
        _event("raised", now - 19000, scene.reports[2].key, "drift", "risen"),
        _event("resolved", now - 12000, scene.reports[2].key, "drift", ""),
    ]
    scene.pipeline = altered(
        scene.pipeline,
        judge="referee-2",
        dead=3,
        budget_tokens=2_000_000,
        untried=(UntriedPerturbation(route, "general.paraphrase", "no_rewriter", None),),
    )
    changes = (change_report(route, now), silent_change(now))
    spelling = scene.store.history[-1]
    scene.store.history.append(
        altered(spelling, id="raised-en-ja", at=now - 500, perturbation="crosslingual.en_to_ja", value=0.56)
    )
    settings = Settings(
        routes=[
            Route(
                name="case-summaries",
                upstream="https://api.example/v1",
                match={"headers": {"x-key": SECRET}},
            ),
            Route(name="chat", upstream="https://api.example/v1", sampling_rate=0.5),
        ],
        alerts={"webhook": f"https://hooks.example/{SECRET}", "notify": ["EVENKEEL_NOTIFY_CHAT"]},
        judge={
            "model": "referee-2",
            "api_key_env": SECRET,
            "base_url": f"https://user:{SECRET}@judge.example/v1",
        },
    )
    sources = altered(
        scene.sources(),
        measuring=lambda: scene.measuring,
        change_reports=lambda: changes,
        releases=lambda: [altered(GATE, subject="new-" * 40, headline=f"REGRESSION: {'far ' * 60}.")],
        writer=Writer({route: Contact("@support-ml", "", "helm rollback support")}),
        spent=lambda: {
            (flow.route, purpose): Spend((9_000 * place + 12_000) // 2, (0.11 * place + 0.2) / 2)
            for place, flow in enumerate(scene.pipeline.routes)
            for purpose in ("replay", "judge")
        },
        budgets={scene.pipeline.routes[1].route: Budget(tokens_per_day=100_000)},
        dead_letters=lambda limit: [
            DeadLetter(f"{number:016x}", "too_many_attempts" if number else "expired", now - 500 * number)
            for number in range(3)
        ][:limit],
        judge=JudgeSetup("referee-2", "https://api.example/v1"),
        settings=lambda: settings_in_effect(settings),
    )
    return Whole(scene, sources)


def change_report(route, now):
    """Return a model swap that made answers worse."""
    mark = ChangeMark("model", "steady-2026-05", "swift-2026-08", now - 1500, 640)
    before, after = tally(400, 0.05), tally(200, 0.46)
    record = ChangeRecord("c-7", route, (mark,), before, after, after.exchanges, around=shifts(mark.at))
    (report,) = reports_of([record], GoldenHistory({}, {}))
    return report


def silent_change(now):
    """Return a silent change of the provider that shows on two routes."""
    found = silent_evidence.found(now - 3600, now - 8000, now - 12_000, "swift")
    named = {"models": ("swift-2026-08",), "fingerprints": ("fp_9a41",), "references": ("kept-1", "kept-2")}
    found = altered(found, references=altered(found.references, own=0.78, **named))
    moves = ("worse",) * 8 + ("better",) + ("same",) * 3
    results = tuple(
        ScoredReference(f"kept-{number}", {"completeness": move, "tone": "same"})
        for number, move in enumerate(moves)
    )
    scores = {"s-1": AnswerScores("s-1", "chat", now - 3000, judged=True, results=results)}
    mark = ChangeMark("references", "alike by 78%", "alike by 41%", now - 3600, 700)
    record = ChangeRecord("s-1", "chat", (mark,), ChangeTally(), ChangeTally(), 40, found)
    (report,) = reports_of([record], GoldenHistory({}, {}), scores=scores)
    return report


def references(documents, now):
    """Return the sources of two routes' reference prompts, with answers on both sides of `silent_change`."""
    store = ReferenceStore(documents)

    def kept(text, at):
        return KeptAnswer(Answer(text), at, "swift-2026-08", "asked")

    asked = (
        "Summarise the case: a printer stopped after the last update of its driver; the customer is waiting."
    )
    body = {"model": "swift", "messages": [{"role": "user", "content": asked}]}
    for number in range(5):
        answers = (kept("A printer fails. Cause: driver. Status: waiting.", now - 7000),) * (6 - number)
        store.add(
            altered(
                REFERENCE,
                id=f"kept-{number}",
                route="chat" if number < 4 else "case-summaries",
                requested_model="swift",
                prompt_version="v3" if number < 3 else "",
                request=json.dumps(body),
                taken_at=now - 50_000,
                answers=answers,
                former=(kept(LONG_ANSWER, now - 13_000),) if number != 1 else (),
                asked_at=now - 700.0,
            )
        )
    day = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
    store.put_asked(AskedToday("chat", day, calls=31, bursts=1, burst_calls=22, usd=0.083))
    tests = (
        SilentReport("chat", "swift", 0.4, 4.8, 310, found=OpenChange("s-1", now - 3600, alike=(0.41, 0.78))),
        SilentReport("mail", "swift", -2.0, 4.8, 0),
    )
    return {"references": store, "silent": lambda: tests}


LONG_ANSWER = (
    "Certainly! Here is a summary of the case:\n\n- The customer's printer stopped after a driver update.\n"
    "- The most likely cause is the driver.\n- The customer is still waiting for an answer."
)


def _estimate(value, n):
    return Estimate(value, max(0.0, value - 0.05), min(1.0, value + 0.05), n)


def _judged(report):
    lately = WindowEstimates(
        80, report.estimates.content_delta, report.estimates.robustness, report.estimates.excess
    )
    drift = None
    if report.key.perturbation == "format.yaml":
        drift = DriftReport("risen", 0.04, 500, True, 0.0, 0.09, 3.2)
    return with_figures(
        report,
        scorer="judge",
        judge_noise=_estimate(0.06, 80),
        swap_consistency=_estimate(0.93, 120),
        decided={"equality": 400, "empty": 310, "judge": 290},
        since_change=lately,
        drift=drift,
    )


def _rated(rng, verdict):
    if verdict.rating is None:
        return verdict
    details = verdict.scoring.details | {DECIDED_BY: float(rng.choice((0, 1, 2, 2)))}
    for name in (JUDGED_AGAIN, JUDGED_SWAPPED):
        if rng.random() < 0.3:
            details[name] = float(verdict.rating if rng.random() < 0.9 else 4 - verdict.rating)
    return altered(verdict, scorer="judge", details=details, judge_model="referee-2")


def _event(kind, at, key, what, direction):
    return AlertEvent(
        f"{kind}-{what}-{at:.0f}", at, kind, *key.parts, 100, 40, 0.2, what=what, direction=direction
    )

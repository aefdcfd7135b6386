"""Scenes for the console: in-memory sources filled with a seeded, realistic set of data."""

from __future__ import annotations

import math
import random
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest
from litestar.testing import TestClient

from console import ConsoleSources, PipelineView, RouteFlow, create_app
from metrics.cells import CellKey, CellReport, Estimate
from metrics.pair import Answer, ToolCall
from metrics.stores.protocols import ANYTHING, AlertEvent, LoggedVerdict, Stretch, TrendPoint
from metrics.verdict import BASELINE, Evidence, Failure, QualityScore, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from litestar import Litestar

    from metrics.stores.protocols import Narrow

NOW = 1_786_544_400.0
"""2026-08-12 14:20:00 UTC."""

ROUTES = ("case-summaries", "billing-replies", "ticket-triage", "faq-answers", "chat")
KINDS = ("whitespace", "punctuation", "casing", "spelling")
PERTURBATIONS = (BASELINE, *(f"general.{kind}" for kind in KINDS))
STEADY, FRAGILE = "steady-2026-05", "swift-2026-08"

_CASES = [
    tuple(" ".join(text.split()) for text in case.split("|"))
    for case in (
        """Reporter: Maja, order desk. Since this morning the label printer on line 4 prints every second
        label blank. The driver was updated to 8.2.1 on Monday at 07:30. Rolling back on a spare PC did not
        help, cleaning the head did for about 40 labels. 310 parcels wait, the pick-up is at 16:00.
        |The label printer on line 4 has printed every second label blank since this morning, after a driver
        update to 8.2.1 on Monday. Rolling back on a spare PC did not help; cleaning the print head helped
        for about 40 labels. 310 parcels wait and the pick-up is at 16:00.
        |The label printer on line 4 prints blank labels. The driver was updated to 8.2.1 on Monday. Rolling
        it back solved the problem on a spare PC.""",
        """Reporter: Tomas, field sales. The VPN drops after exactly 20 minutes on hotel networks, never at
        home. Client 5.1 on macOS, profile emea-full. Error shown: keepalive timeout (code 412). A colleague
        with profile emea-split is not affected. Tomas presents to a customer tomorrow at 09:00.
        |The VPN of Tomas drops after exactly 20 minutes on hotel networks with error 412, keepalive timeout,
        but not at home. He uses client 5.1 on macOS with profile emea-full; a colleague on emea-split is not
        affected. He needs it for a customer meeting tomorrow at 09:00.
        |Tomas has trouble with the VPN on hotel networks and needs it tomorrow at 09:00. The error is a
        keepalive timeout.""",
        """Reporter: Ines, accounting. The monthly close report shows 12 postings twice, all from cost centre
        7710 and all booked on the 30th between 22:00 and 23:00. The night job was restarted at 22:14 by
        hand. Totals differ from the ledger by 48,230.10 EUR. The auditors expect the report on Friday.
        |The monthly close report shows 12 postings of cost centre 7710 twice, all booked on the 30th between
        22:00 and 23:00, when the night job was restarted by hand at 22:14. Totals are off by 48,230.10 EUR;
        the auditors expect the report on Friday.
        |The monthly close report is off by 48,230.10 EUR because some postings are shown twice. The auditors
        expect it on Friday, and the night job ran normally.""",
    )
]
"""Cases with a good and a bad summary."""


@dataclass
class MemoryLog:
    """A verdict log in memory."""

    verdicts: list[Verdict] = field(default_factory=list)
    """Oldest first."""
    texts: dict[str, Evidence] = field(default_factory=dict)

    def append(self, verdict: Verdict, evidence: Evidence | None) -> bool:
        """Store once by id."""
        if any(known.id == verdict.id for known in self.verdicts):
            return False
        self.verdicts.append(verdict)
        if evidence:
            self.texts[verdict.id] = evidence
        return True

    def of_exchange(self, exchange_id: str) -> list[Verdict]:
        """All of one exchange, oldest first."""
        return [verdict for verdict in self.verdicts if verdict.exchange_id == exchange_id]

    def read_after(self, offset: int, limit: int) -> list[LoggedVerdict]:
        """A page of the log."""
        found = enumerate(self.verdicts[offset : offset + limit], start=offset + 1)
        return [LoggedVerdict(place, verdict) for place, verdict in found]

    def read_before(self, offset: int | None, limit: int, narrow: Narrow = ANYTHING) -> Stretch:
        """Backwards, without an index."""
        end = len(self.verdicts) if offset is None else min(offset - 1, len(self.verdicts))
        start = max(0, end - limit)
        read = [LoggedVerdict(place + 1, self.verdicts[place]) for place in range(end - 1, start - 1, -1)]
        found = [one for one in read if narrow.admits(one.verdict)]
        return Stretch(found, start + 1 if start else 0, len(read))

    def latest(
        self, limit: int, *, route: str | None = None, perturbation: str | None = None
    ) -> list[Verdict]:
        """Newest first."""
        found = [
            verdict
            for verdict in reversed(self.verdicts)
            if route in {None, verdict.route} and perturbation in {None, verdict.perturbation}
        ]
        return found[:limit]

    def find(self, verdict_id: str) -> Verdict | None:
        """By id."""
        return next((verdict for verdict in self.verdicts if verdict.id == verdict_id), None)

    def evidence(self, verdict_id: str) -> Evidence | None:
        """The texts."""
        return self.texts.get(verdict_id)


@dataclass
class MemoryMonitorStore:
    """A monitor's store in memory; only what the console reads does anything."""

    history: list[AlertEvent] = field(default_factory=list)
    """Oldest first."""
    points: dict[tuple[str, str, str], list[TrendPoint]] = field(default_factory=dict)

    def load(self) -> tuple[bytes | None, int]:
        """Nothing."""
        return None, 0

    def commit(
        self,
        state: bytes,
        offset: int,
        events: Sequence[AlertEvent],
        trend: Sequence[tuple[str, str, str, TrendPoint]],
    ) -> None:
        """Keep events and points."""
        self.history.extend(events)
        for route, model, perturbation, point in trend:
            self.points.setdefault((route, model, perturbation), []).append(point)

    def events(self, limit: int) -> list[AlertEvent]:
        """Newest first."""
        return self.history[::-1][:limit]

    def undelivered(self, limit: int) -> list[AlertEvent]:
        """All."""
        return self.history[:limit]

    def mark_delivered(self, event_id: str) -> None:
        """Nothing."""

    def trend(self, route: str, model: str, perturbation: str, limit: int) -> list[TrendPoint]:
        """One cell, oldest first."""
        return self.points.get((route, model, perturbation), [])[-limit:]


@dataclass
class Scene:
    """Sources whose content a test may change while the console serves them."""

    reports: list[CellReport] = field(default_factory=list)
    log: MemoryLog = field(default_factory=MemoryLog)
    store: MemoryMonitorStore = field(default_factory=MemoryMonitorStore)
    pipeline: PipelineView = field(default_factory=lambda: PipelineView(base_url="http://127.0.0.1:8080/v1"))
    missing: dict[str, str] = field(default_factory=dict)
    now: float = NOW

    def sources(self) -> ConsoleSources:
        """What the console reads; later changes of the scene show."""
        return ConsoleSources(
            reports=lambda: list(self.reports),
            log=self.log,
            monitor_store=self.store,
            exposition=lambda: b"# HELP evenkeel_up Serving.\n# TYPE evenkeel_up gauge\nevenkeel_up 1\n",
            ready=lambda: dict(self.missing),
            pipeline=lambda: self.pipeline,
            clock=lambda: self.now,
        )


def estimate(value: float, n: int, low: float = 0.0) -> Estimate:
    """A rate with an interval about as wide as a confidence sequence's."""
    half = 1.4 * math.sqrt(max(value * (1 - value), 0.02) / max(n, 1)) + 0.8 / max(n, 1)
    return Estimate(value, max(low, value - half), min(1.0, value + half), n)


def cell(
    route: str,
    model: str,
    perturbation: str,
    *,
    trials: int = 214,
    moved: float = 0.05,
    quality: float = 0.6,
    alert: bool = False,
    at: float = NOW - 4,
) -> CellReport:
    """A report that is consistent in itself; below 30 trials without any estimate."""
    key = CellKey(route, model, perturbation)
    shifted = round(trials * moved)
    report = CellReport(
        key=key,
        scorer="metrics",
        trials=trials,
        ratings={3: trials - shifted, 2: shifted - shifted // 3, 1: shifted // 3},
        last_scored_at=at,
        threshold=0.10,
        alarm_log10=4.0,
        evidence_log10=5.2 if alert else -0.4,
        alert=alert,
    )
    if trials < 30:
        return report
    return replace(
        report,
        content_delta=estimate(moved, trials),
        quality_delta=estimate(quality, shifted) if shifted >= 5 else None,
        robustness=estimate(1 - moved * quality, trials),
        noise_floor=estimate(0.04, trials),
        excess=None if perturbation == BASELINE else estimate(moved - 0.04, trials, low=-1.0),
    )


def trend_points(
    rng: random.Random, start: float, end: float, count: int, levels: tuple[float, float]
) -> list[TrendPoint]:
    """A line from one level to another with shrinking intervals."""
    points = []
    for place in range(count):
        share = place / (count - 1)
        trials = 30 + 3 * place
        value = levels[0] + (levels[1] - levels[0]) * (1 - math.exp(-4 * share)) + rng.gauss(0, 0.006)
        band = estimate(value, trials, low=-1.0) if value > 0 else estimate(0.0, trials, low=-1.0)
        points.append(
            TrendPoint(
                at=start + (end - start) * share,
                trials=trials,
                content_delta=value + 0.04,
                excess=value,
                excess_lower=band.lower,
                excess_upper=band.upper,
                robustness=1 - 0.6 * (value + 0.04),
                evidence_log10=0.0,
                alert=False,
            )
        )
    return points


def perturb(rng: random.Random, text: str, kind: str) -> str:
    """A small change of the given kind, for the eye only."""
    words = text.split(" ")
    for place in rng.sample(range(len(words)), 9):
        word = words[place]
        if kind == "whitespace":
            words[place] = word + rng.choice(("  ", " ", "\n"))
        elif kind == "casing":
            words[place] = word.upper() if rng.random() < 0.5 else word.capitalize()
        elif kind == "punctuation":
            words[place] = word.rstrip(".,;") + rng.choice((" ,", "!", " ;", ""))
        elif len(word) > 3 and word.isalpha():
            at = rng.randrange(1, len(word) - 1)
            words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return " ".join(words)


def verdict(
    rng: random.Random, place: int, *, model: str = STEADY, fragile: bool = False, route: str | None = None
) -> tuple[Verdict, Evidence]:
    """One trial with its texts; on a fragile model most answers move."""
    case, good, bad = _CASES[place % len(_CASES)]
    prompt = f"Summarise the support case in at most three sentences. Keep numbers and names.\n\n{case}"
    perturbation = PERTURBATIONS[place % len(PERTURBATIONS)]
    kind = perturbation.partition(".")[2]
    baseline = perturbation == BASELINE
    moved = not baseline and rng.random() < (0.65 if fragile else 0.08)
    rating = (1 if rng.random() < 0.3 else 2) if moved else 3
    exchange_id = f"{place // len(PERTURBATIONS):016x}"
    found = Verdict(
        id=f"{exchange_id}.{perturbation}.{place}",
        exchange_id=exchange_id,
        scored_at=NOW - 6 - 7 * (200 - place),
        route=route or ROUTES[place % 3],
        model=model,
        perturbation=perturbation,
        perturbation_version=1,
        severity=0.0 if baseline else 0.3,
        seed=place,
        scorer="metrics",
        rating=rating,
        baseline_rating=3,
        quality=(
            QualityScore("faithfulness_proxy", 1, 3, 2 if rating == 2 else 1),
            QualityScore("completeness_proxy", 1, 3, 2),
        )
        if moved
        else (),
        explanation="Numbers of the original are missing." if moved else "",
        details={"rouge_l": 0.46 if moved else 0.97, "numbers_kept": 0.5 if moved else 1.0},
        replay_s=1.3,
        tokens=412,
        cost_usd=0.0009,
    )
    variant = prompt if baseline else prompt[:80] + perturb(rng, prompt[80:], kind)
    return found, Evidence(prompt, variant, Answer(good), Answer(bad if moved else good))


def _pipeline(*, behind: bool = False) -> PipelineView:
    flows = tuple(
        RouteFlow(
            route,
            eligible=4120 - 730 * place,
            sampled=412 - 73 * place,
            queued=409 - 73 * place,
            scored=401 - 73 * place,
            skipped={"budget": 4, "not_applicable": 3, "replay_rate_limited": 1} if place < 2 else {},
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


def _fill_trends(scene: Scene, rng: random.Random) -> None:
    for report in scene.reports:
        if report.excess is None:
            continue
        key = report.key
        gone = report.last_scored_at is not None and report.last_scored_at < NOW - 60
        start, end = (NOW - 5400, NOW - 1500) if gone or key.model == STEADY else (NOW - 1480, NOW - 5)
        if key.model == STEADY and not gone:
            end = NOW - 5
        levels = (
            (0.0, report.excess.value) if key.model == FRAGILE else (report.excess.value, report.excess.value)
        )
        scene.store.points[key.route, key.model, key.perturbation] = trend_points(
            rng, start, end, 120, levels
        )


def quiet_scene() -> Scene:
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


def alert_scene() -> Scene:
    """The same after the model of two routes was swapped: one of them alerts in two cells."""
    rng = random.Random(11)
    scene = Scene(pipeline=_pipeline(behind=True))
    scene.pipeline = replace(
        scene.pipeline,
        notices=("The judge rejected its key (401): set judge.api_key. Until then cheap metrics decide.",),
    )
    moved = {"spelling": 0.46, "casing": 0.31, "punctuation": 0.15, "whitespace": 0.11, "identical": 0.05}
    for row, route in enumerate(ROUTES[:4]):
        for perturbation in PERTURBATIONS:
            at = NOW - 1500 if row < 2 else NOW - 8
            scene.reports.append(
                cell(
                    route,
                    STEADY,
                    perturbation,
                    trials=214 - 30 * row,
                    moved=0.04 + 0.03 * rng.random(),
                    at=at,
                )
            )
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
                summary="Answers move more than allowed.",
            )
        )
    for place in range(160):
        scene.log.append(*verdict(rng, place))
    for place in range(160, 199):
        scene.log.append(*verdict(rng, place, model=FRAGILE, fragile=True, route=ROUTES[0]))
    failed, texts = verdict(rng, 196, model=FRAGILE, fragile=True, route=ROUTES[0])
    scene.log.append(
        replace(
            failed,
            id="failed-1",
            scored_at=NOW - 9,
            rating=None,
            quality=(),
            explanation="",
            details={},
            failure=Failure("replay", 1, "timeout", "The upstream gave no answer within 60 s."),
        ),
        replace(texts, candidate=None),
    )
    scene.log.append(*verdict(rng, 199, model=FRAGILE, fragile=True, route=ROUTES[0]))
    return scene


HOSTILE = (
    '<script>alert("x")</script><img src=x onerror=alert(1)>{{ 7*7 }}'
    "\u202edetrevni\u202c\x00 \ud83d \"quotes' & <b>"
)
"""Markup, template syntax, a direction override, NUL and half a surrogate pair."""


def hostile_scene() -> Scene:
    """Every text a model or a client can choose is an attack, or very long."""
    scene = Scene(pipeline=replace(_pipeline(), notices=(HOSTILE,)))
    route, model, perturbation = f"r{HOSTILE}", f"m{HOSTILE}", "general.<b>kind</b>"
    scene.reports = [
        cell(route, model, perturbation, moved=0.4, alert=True),
        cell(route, model, BASELINE),
        cell("x" * 300, "y" * 300, "general.spelling", moved=0.2),
    ]
    scene.store.points[route, model, perturbation] = [
        TrendPoint(NOW - 60 + place, 30, value, value, None, float("inf"), value, float("nan"), alert=True)
        for place, value in enumerate((0.1, float("nan"), 0.2))
    ]
    scene.store.history.append(
        AlertEvent("e", NOW - 50, "raised", route, model, perturbation, 1, 30, 0.3, HOSTILE)
    )
    found, _ = verdict(random.Random(1), 3)
    scene.log.append(
        replace(
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


SCENES: dict[str, Callable[[], Scene]] = {
    "empty": Scene,
    "quiet": quiet_scene,
    "alert": alert_scene,
    "hostile": hostile_scene,
}


@pytest.fixture
def make_scene() -> Callable[[str], Scene]:
    """Makes a scene by name: empty, quiet, alert, hostile."""
    return lambda name: SCENES[name]()


@pytest.fixture
def make_cell() -> Callable[..., CellReport]:
    """Makes one consistent report."""
    return cell


@pytest.fixture
def make_verdict() -> Callable[[int], tuple[Verdict, Evidence]]:
    """Makes the verdict of a place in the log, with its texts."""
    return lambda place: verdict(random.Random(place), place)


@pytest.fixture
def console_client() -> Iterator[Callable[[Scene], TestClient[Litestar]]]:
    """Serves a scene in this process; closed at the end of the test."""
    with ExitStack() as stack:
        yield lambda scene: stack.enter_context(TestClient(create_app(scene.sources())))

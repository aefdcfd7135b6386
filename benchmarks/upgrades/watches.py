"""evenkeel's own detectors on a scene: traits of ordinary answers, reference prompts, and goldens."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from benchmarks.upgrades.answers import likeness, sketch, traits
from benchmarks.upgrades.detectors import Alarm
from benchmarks.upgrades.kept import MODEL, ROUTE, KeptReferences
from benchmarks.upgrades.scenes import DAY_S, START
from benchmarks.upgrades.simple import probes, rounds
from evenkeel.core.sightings import AnswerSeen
from evenkeel.monitor.changes import RouteWatch, kinds
from evenkeel.monitor.changes.goldens import GoldenWatch
from evenkeel.monitor.detect.references import alarm_level
from evenkeel.monitor.detect.traits import TraitTest
from evenkeel.monitor.fold.settings import MonitorSettings
from evenkeel.monitor.fold.silent import SilentChanges
from evenkeel.shadow.references.pace import (
    Found,
    Pace,
    Suspicion,
    counted,
    next_round,
    of_day,
    responded,
)
from evenkeel.stores.changes import GoldenResult, GoldenRun
from evenkeel.stores.references import AskedToday
from evenkeel.stores.verdict_log import LoggedSighting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.upgrades.scenes import Request, Scene
    from evenkeel.core.sightings import ReferenceAnswered


def seen(scene: Scene, number: int, request: Request) -> AnswerSeen:
    """What a worker notes of a sampled exchange."""
    return AnswerSeen(
        exchange_id=f"{number:016x}",
        at=request.at,
        route=ROUTE,
        model=MODEL,
        requested_model=MODEL,
        prompt_version=request.stated,
        parameters="",
        cluster=str(request.place),
        traits=traits(request.answer),
        prompt=sketch(scene.prompt(request.place)),
    )


@dataclass(frozen=True, slots=True)
class Traits:
    """Traits of ordinary answers, for no call at all: what they raise is a suspicion."""

    name: str = "evenkeel: traits"
    only_suspects: bool = True

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Suspicions."""
        test = TraitTest()
        for number, request in enumerate(scene.requests):
            evidence = test.add(seen(scene, number, request))
            if evidence is not None:
                moved = "; ".join(trait.said for trait in evidence.moved[:3])
                yield Alarm(request.at, "suspected", f"{evidence.pairs} pairs: {moved}")


@dataclass(frozen=True, slots=True)
class Silent:
    """The live fold: reference prompts asked again all day and, with traits, at once where those suspect.

    What is asked when, how answers are ranked and what becomes of them is evenkeel's own, with default
    settings; the references are kept in memory, and a request that becomes one has been resent once.
    """

    with_traits: bool
    calls_per_day: int = 96
    burst_calls: int = 60
    usd_per_day: float = 0.5
    false_alarms_per_year: float = 0.02
    only_suspects: bool = False

    @property
    def name(self) -> str:
        """As tables have it."""
        return "evenkeel: traits and references" if self.with_traits else "evenkeel: references"

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Findings, and suspicions that the references could not settle."""
        level = alarm_level(self.calls_per_day, self.burst_calls, self.false_alarms_per_year)
        pace = Pace(self.calls_per_day, self.burst_calls, self.usd_per_day)
        route = _Route(scene, MonitorSettings(reference_level=level), pace)
        due = START
        for number, request in enumerate(scene.requests):
            while due <= request.at:
                yield from route.ask(due)
                due += _LOOK_EVERY_S
            route.offer(number, request)
            if self.with_traits:
                yield from route.note(seen(scene, number, request))


_LOOK_EVERY_S: Final = 300.0
_CALL_S: Final = 3.0
"""From one call of a burst to the next."""


class _Route:
    """A route of the monitor's fold, and what is asked of its references."""

    def __init__(self, scene: Scene, settings: MonitorSettings, pace: Pace) -> None:
        self.references = KeptReferences()
        """Those of the route."""
        self._scene = scene
        self._routes: dict[str, RouteWatch] = {ROUTE: RouteWatch(ROUTE)}
        self._fold = SilentChanges(settings, self._routes)
        self._pace = pace
        self._asked = AskedToday(ROUTE, "")
        self._offset = 0
        self._call_usd = 0.0
        self._seen: dict[tuple[str, str], float] = {}
        self._entered = 0
        self._suspected: list[Suspicion] = []
        self._found: list[Found] = []

    def offer(self, number: int, request: Request) -> None:
        """Take a sampled request as a reference, if it says something new."""
        self._seen[MODEL, request.stated] = request.at
        self.references.offer(self._scene, number, request)

    def note(self, sighting: AnswerSeen | ReferenceAnswered) -> Iterator[Alarm]:
        """Fold what was seen; the alarms that it gives rise to."""
        self._offset += 1
        events = self._fold.observe(LoggedSighting(self._offset, sighting), sighting.at)
        for event in (*events, *self._fold.expire(self._offset, sighting.at)):
            if event.kind == "raised":
                yield Alarm(
                    event.at, "found" if event.measure == "references" else "suspected", event.summary
                )

    def ask(self, at: float) -> Iterator[Alarm]:
        """Make the calls that are due."""
        now = at
        while True:
            suspected, found = self._noticed()
            for one in found:
                self.references.renew(one)
            before = of_day(self._asked, ROUTE, now)
            self._asked = responded(before, suspected, found, self._pace, now)
            due = next_round(
                self.references.states(), self._asked, self._seen, self._pace, now, call_usd=self._call_usd
            )
            if due is None:
                return
            self._asked = counted(self._asked, due, now)
            for name in due.references:
                spent = self._scene.endpoint.usd
                answered = self.references.ask(self._scene, name, due.asked, now)
                self._call_usd = self._scene.endpoint.usd - spent
                self._asked = replace(self._asked, usd=self._asked.usd + self._call_usd)
                yield from self.note(answered)
            now += _CALL_S

    def _noticed(self) -> tuple[list[Suspicion], list[Found]]:
        """What the fold says that concerns the references."""
        watch = self._routes[ROUTE]
        entered = sum(watch.counts.get(kind, 0) for kind in kinds.SILENT)
        if entered != self._entered:
            self._entered = entered
            found = [record.silent for record in watch.records() if record.silent]
            self._suspected = [Suspicion(ROUTE, MODEL, one.traits.at) for one in found if one.traits]
            self._found = [
                Found(ROUTE, MODEL, one.references.at, one.references.since)
                for one in found
                if one.references
            ]
        return self._suspected, self._found


@dataclass(frozen=True, slots=True)
class Goldens:
    """Goldens that somebody approved, asked again every day and held against the first three rounds."""

    count: int = 50
    every_days: float = 1.0
    breach: float = 0.6
    """Likeness to the approved answer below which an answer breaches."""
    name: str = "evenkeel: 50 goldens, daily"
    only_suspects: bool = False

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Findings."""
        asked = probes(scene, self.count)
        approved = [scene.endpoint.ask(place, START + DAY_S) for place in asked]
        watch = GoldenWatch()
        for at in rounds(scene, self.every_days):
            answers = [scene.endpoint.ask(place, at) for place in asked]
            results = tuple(
                GoldenResult(str(place), {"likeness": likeness(good, answer) < self.breach})
                for place, good, answer in zip(asked, approved, answers, strict=True)
            )
            run = GoldenRun(
                id=str(at),
                route=ROUTE,
                at=at,
                trigger="canary",
                change="",
                asked="goldens",
                model=MODEL,
                deciding=("likeness",),
                scorer="likeness",
                judged=False,
                results=results,
            )
            alarm = watch.add(run)
            if alarm is not None:
                yield Alarm(at, about=f"{alarm.before:.0%} → {alarm.after:.0%} of the answers breach")

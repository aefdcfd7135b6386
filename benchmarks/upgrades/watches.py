"""evenkeel's own detectors on a scene: traits of ordinary answers, reference prompts, and goldens."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

from benchmarks.upgrades.answers import likeness, sketch, traits
from benchmarks.upgrades.detectors import Alarm
from benchmarks.upgrades.scenes import DAY_S, START
from benchmarks.upgrades.simple import probes, rounds
from evenkeel.core.sightings import AnswerSeen, ReferenceAnswered, reference_answer_id
from evenkeel.monitor.changes.goldens import GoldenWatch
from evenkeel.monitor.detect.references import ReferenceTest, alarm_level
from evenkeel.monitor.detect.traits import TraitTest
from evenkeel.stores.changes import GoldenResult, GoldenRun

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from benchmarks.upgrades.scenes import Request, Scene
    from evenkeel.core.sightings import Asked

_ROUTE: Final = "route"
_MODEL: Final = "recorded"


def seen(scene: Scene, number: int, request: Request) -> AnswerSeen:
    """What a worker notes of a sampled exchange."""
    return AnswerSeen(
        exchange_id=f"{number:016x}",
        at=request.at,
        route=_ROUTE,
        model=_MODEL,
        requested_model=_MODEL,
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


_REFERENCES: Final = 24
_ANSWERS: Final = 4
"""Of a reference before it counts as complete."""
_MOST_ANSWERS: Final = 16
"""At which a reference is retired."""


@dataclass(slots=True)
class _Reference:
    """A prompt of the traffic and its answers while nothing had changed."""

    place: int
    version: str
    answers: list[str]


@dataclass(slots=True)
class _Keeper:
    """The references of a route, asked again as evenkeel does with its default settings."""

    scene: Scene
    test: ReferenceTest
    chance: Random
    kept: list[_Reference] = field(default_factory=list)
    waiting: dict[tuple[str, int], str] = field(default_factory=dict)
    """Requests of the traffic that may become references, each with its answer."""
    turn: int = 0
    asked: int = 0

    def offer(self, request: Request) -> None:
        """Take a request of the traffic as a candidate."""
        self.waiting.setdefault((request.stated, request.place), request.answer)
        while len(self.waiting) > _WAITING:
            del self.waiting[next(iter(self.waiting))]

    def ask(self, at: float, why: Asked) -> Alarm | None:
        """One call: to the next reference in turn, which becomes complete first."""
        reference = self._next()
        if reference is None:
            return None
        answer = self.scene.endpoint.ask(reference.place, at)
        earlier = reference.answers
        bag = [*earlier, answer]
        reference.answers = bag
        if len(earlier) < _ANSWERS:
            return None
        if len(bag) >= _MOST_ANSWERS:
            self.kept.remove(reference)
        return self._weigh(reference, bag, at, why)

    def forget(self) -> None:
        """Begin anew after a finding: what comes next is the new normal."""
        self.kept.clear()
        self.waiting.clear()

    def _weigh(self, reference: _Reference, bag: Sequence[str], at: float, why: Asked) -> Alarm | None:
        means = [_mean_likeness(bag, place) for place in range(len(bag))]
        new = means[-1]
        earlier = bag[:-1]
        self.asked += 1
        name = f"{reference.version}/{reference.place}"
        evidence = self.test.add(
            ReferenceAnswered(
                id=reference_answer_id(f"{self.scene.seed}/{name}/{self.asked}", at),
                at=at,
                route=_ROUTE,
                model=_MODEL,
                requested_model=_MODEL,
                prompt_version=reference.version,
                reference=name,
                asked=why,
                compared=len(bag),
                below=sum(one < new - _EQUAL for one in means),
                ties=sum(abs(one - new) <= _EQUAL for one in means),
                likeness=new,
                own=sum(_mean_likeness(earlier, place) for place in range(len(earlier))) / len(earlier),
            )
        )
        if evidence is None:
            return None
        self.forget()
        about = f"{evidence.calls} calls: likeness {evidence.likeness:.2f}, was {evidence.own:.2f}"
        return Alarm(at, "found", about)

    def _next(self) -> _Reference | None:
        while len(self.kept) < _REFERENCES and self.waiting:
            name = self.chance.choice(sorted(self.waiting))
            self.kept.append(_Reference(name[1], name[0], [self.waiting.pop(name)]))
        incomplete = [one for one in self.kept if len(one.answers) < _ANSWERS]
        if incomplete:
            return incomplete[0]
        if not self.kept:
            return None
        self.turn += 1
        return self.kept[self.turn % len(self.kept)]


_WAITING: Final = 200
_EQUAL: Final = 1e-9


def _mean_likeness(bag: Sequence[str], place: int) -> float:
    others = [likeness(bag[place], one) for other, one in enumerate(bag) if other != place]
    return sum(others) / len(others)


@dataclass(frozen=True, slots=True)
class References:
    """Reference prompts, asked again all day; with traits, more of them at once on suspicion."""

    with_traits: bool
    calls_per_day: int = 96
    burst_calls: int = 60
    false_alarms_per_year: float = 0.5
    only_suspects: bool = False

    @property
    def name(self) -> str:
        """As tables have it."""
        return "evenkeel: traits and references" if self.with_traits else "evenkeel: references"

    def watch(self, scene: Scene) -> Iterator[Alarm]:
        """Findings, and suspicions before them."""
        level = alarm_level(self.calls_per_day, self.burst_calls, self.false_alarms_per_year)
        keeper = _Keeper(scene, ReferenceTest(level), Random(f"references/{scene.seed}"))
        traits_test = TraitTest()
        every = DAY_S / self.calls_per_day
        due = START + every
        for number, request in enumerate(scene.requests):
            while due <= request.at:
                alarm = keeper.ask(due, "round")
                if alarm:
                    yield alarm
                due += every
            keeper.offer(request)
            if self.with_traits and (suspicion := traits_test.add(seen(scene, number, request))):
                yield Alarm(request.at, "suspected", f"{suspicion.pairs} pairs")
                for _ in range(self.burst_calls):
                    alarm = keeper.ask(request.at, "suspicion")
                    if alarm:
                        yield alarm
                        break


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
                route=_ROUTE,
                at=at,
                trigger="canary",
                change="",
                asked="goldens",
                model=_MODEL,
                deciding=("likeness",),
                scorer="likeness",
                judged=False,
                results=results,
            )
            alarm = watch.add(run)
            if alarm is not None:
                yield Alarm(at, about=f"{alarm.before:.0%} → {alarm.after:.0%} of the answers breach")

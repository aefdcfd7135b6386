"""Reference prompts of a scene, kept in memory by the rules of evenkeel's keeper and ranked as it ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from benchmarks.upgrades.answers import likeness, sketch
from evenkeel.core.pair import Answer
from evenkeel.core.sightings import ReferenceAnswered, reference_answer_id
from evenkeel.shadow.references.keeper import A_ROUTE, A_SET
from evenkeel.shadow.references.ranking import Ranking, ranked
from evenkeel.stores.references import RIPE, KeptAnswer, Reference, ReferenceState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from benchmarks.upgrades.recordings import Prompt
    from benchmarks.upgrades.scenes import Request, Scene
    from evenkeel.core.sightings import Asked
    from evenkeel.shadow.references.pace import Found

ROUTE: Final = "route"
MODEL: Final = "recorded"
_LIKE: Final = 0.9
"""As the keeper has them: the cosine of prompts that are too alike, ..."""
_LIKE_ONES: Final = 8
"""... how many there may be of them, ..."""
_FEWEST: Final = 6
"""... and references of a prompt version, where a route has many."""
_SAME: Final = 1e-9
_VERIFIED: Final = 20
"""Rankings that are compared with those of `ranked`."""


@dataclass(slots=True)
class KeptReferences:
    """The references of a route."""

    _kept: dict[str, Reference] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)
    _renewed_at: float = 0.0
    _ranked: int = 0

    def states(self) -> list[ReferenceState]:
        """What the pace decides by, the longest kept first."""
        return [
            ReferenceState(
                one.id,
                one.route,
                one.requested_model,
                one.prompt_version,
                one.cluster,
                len(one.answers),
                one.failed,
                int(one.asked_at),
                int(one.taken_at),
                int(one.changed_at),
                0,
            )
            for one in sorted(self._kept.values(), key=lambda one: (one.taken_at, one.id))
        ]

    def offer(self, scene: Scene, number: int, request: Request) -> None:
        """Keep a sampled request with its answer and that of its resend, if there is room for it."""
        own = [one for one in self._kept.values() if one.prompt_version == request.stated]
        sets = len({one.prompt_version for one in self._kept.values()}) + (not own)
        room = len(own) < max(_FEWEST, min(A_SET, A_ROUTE // sets))
        ripe = [one for one in own if len(one.answers) >= RIPE]
        if not room and not ripe:
            return
        prompt = scene.prompt(request.place)
        alike = max((_cosine(prompt, scene.prompt(self._places[one.id])) for one in own), default=0.0)
        new = alike < _LIKE
        if alike >= 1 - _SAME or not (new or len(own) < _LIKE_ONES):
            return
        if not room:
            gone = min(ripe, key=lambda one: (one.taken_at, one.id))
            del self._kept[gone.id], self._places[gone.id]
        name = f"{number:016x}"
        resent = scene.endpoint.ask(request.place, request.at)
        answers = (_kept(request.answer, request.at), _kept(resent, request.at))
        self._kept[name] = Reference(
            id=name,
            route=ROUTE,
            requested_model=MODEL,
            prompt_version=request.stated,
            path="",
            request="",
            cluster=str(request.place),
            taken_at=request.at,
            answers=answers,
        )
        self._places[name] = request.place

    def ask(self, scene: Scene, name: str, why: Asked, at: float) -> ReferenceAnswered:
        """Make one call."""
        reference = self._kept[name]
        said = scene.endpoint.ask(self._places[name], at)
        ranking = self._rank(reference, said)
        self._kept[name] = reference.answered(_kept(said, at))
        return ReferenceAnswered(
            id=reference_answer_id(f"{scene.seed}/{name}", at),
            at=at,
            route=ROUTE,
            model=MODEL,
            requested_model=MODEL,
            prompt_version=reference.prompt_version,
            reference=name,
            asked=why,
            **ranking._asdict(),
        )

    def renew(self, found: Found) -> None:
        """Begin anew after a finding: what was answered before it is no longer compared with."""
        if found.at <= self._renewed_at:
            return
        self._renewed_at = found.at
        for name, one in self._kept.items():
            if one.taken_at <= found.at:
                self._kept[name] = one.renewed(
                    lambda answer: answer.at > found.at, at=found.at, since=found.since
                )

    def _rank(self, reference: Reference, said: str) -> Ranking:
        earlier = [one.answer.text for one in reference.answers]
        before = [one.answer.text for one in reference.before]
        ranking = ranking_of(earlier, said, before)
        if self._ranked < _VERIFIED:
            self._ranked += 1
            answers = [one.answer for one in reference.answers]
            own = ranked(answers, Answer(said), [one.answer for one in reference.before])
            assert own[:3] == ranking[:3], (own, ranking)
        return ranking


def ranking_of(earlier: Sequence[str], new: str, before: Sequence[str] = ()) -> Ranking:
    """As `evenkeel.shadow.references.ranking.ranked`, which computes every likeness anew."""
    texts = [*earlier, new]
    count = len(texts)
    alike = np.zeros((count, count))
    for one in range(count):
        for two in range(one):
            alike[one, two] = alike[two, one] = likeness(texts[one], texts[two])
    sums = alike.sum(axis=1)
    mine = float(sums[-1])
    pairs = (count - 1) * (count - 2)
    former = [likeness(one, new) for one in before]
    return Ranking(
        compared=count,
        below=int(np.count_nonzero(sums[:-1] < mine - _SAME)),
        ties=1 + int(np.count_nonzero(np.abs(sums[:-1] - mine) <= _SAME)),
        likeness=mine / (count - 1) if count > 1 else 0.0,
        own=float(alike[:-1, :-1].sum()) / pairs if pairs else 0.0,
        former=sum(former) / len(former) if former else None,
    )


def _kept(text: str, at: float) -> KeptAnswer:
    return KeptAnswer(Answer(text), at, MODEL, "asked")


@cache
def _unit(prompt: Prompt) -> NDArray[np.float64]:
    vector = np.array(sketch(prompt), dtype=np.float64)
    return vector / (float(np.linalg.norm(vector)) or 1.0)


def _cosine(one: Prompt, two: Prompt) -> float:
    return float(_unit(one) @ _unit(two))

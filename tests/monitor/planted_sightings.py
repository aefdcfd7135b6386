"""Sightings with a change halfway, to be folded with verdicts or alone."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from evenkeel.core.answer_traits import TRAITS, VERSION
from evenkeel.core.sightings import AnswerSeen, ReferenceAnswered
from evenkeel.stores.verdict_log import LoggedSighting, LoggedVerdict
from tests.kit.records import altered

if TYPE_CHECKING:
    from evenkeel.core.sightings import Sighting
    from evenkeel.stores.verdict_log import Logged

MINUTE_S = 60.0
NOON = 1_800_000_000.0
_SKETCH = 32


def seen(at, *, marker=0.0, route="chat", model="m"):
    """An answer whose first trait is the marker, the others 0."""
    vector = (marker, *(0.0,) * (len(TRAITS) - 1))
    return AnswerSeen(
        f"e{route}{at!r}", at, route, "m1", model, "v1", "", "c", vector, (0,) * _SKETCH, VERSION
    )


def answered(at, *, below=2, route="chat", model="m", reference="r1", compared=5, former=None, **changes):
    """An answer to a reference, like the earlier ones unless something else is said."""
    one = ReferenceAnswered(
        f"reference/{route}{reference}{at!r}", at, route, "m1", model, "v1", reference, "round",
        compared, below, 1, 0.8, 0.83, former,
    )  # fmt: skip
    return altered(one, **changes)


def sightings(count: int, seed: int) -> list[Sighting]:
    """One a minute on two routes: halfway vectors move, and references are answered differently."""
    choice = random.Random(seed)
    found: list[Sighting] = []
    for number in range(count):
        at = NOON + number * MINUTE_S
        route = choice.choice(["chat", "billing"])
        moved = number > count / 2
        if choice.random() < 0.3:
            rank = {"below": 0 if moved else choice.randrange(5), "likeness": 0.3 if moved else 0.8}
            found.append(answered(at, route=route, reference=f"r{choice.randrange(4)}", former=0.5, **rank))
            continue
        vector = tuple(
            max(0.0, round(choice.gauss(2.0 if moved and place < 8 else 1.0, 0.3), 2))
            for place in range(len(TRAITS))
        )
        sketch = tuple(choice.randrange(-90, 90) for _ in range(_SKETCH))
        found.append(altered(seen(at, route=route), traits=vector, prompt=sketch, exchange_id=f"e{number}"))
    return found


def logged(found: list[Sighting]) -> list[LoggedSighting]:
    """A log of them alone."""
    return [LoggedSighting(place, one) for place, one in enumerate(found, 1)]


def interleaved(verdicts: list[LoggedVerdict], found: list[Sighting]) -> list[Logged]:
    """A log of verdicts with sightings evenly among them; offsets begin anew."""
    every = max(1, len(verdicts) // max(1, len(found)))
    log: list[Logged] = []
    waiting = list(found)
    for place, one in enumerate(verdicts):
        log.append(LoggedVerdict(len(log) + 1, one.verdict))
        if waiting and place % every == 0:
            log.append(LoggedSighting(len(log) + 1, waiting.pop(0)))
    log += [LoggedSighting(len(log) + number, one) for number, one in enumerate(waiting, 1)]
    return log

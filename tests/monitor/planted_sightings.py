"""Sightings with a change halfway, to be folded with verdicts or alone."""

import random

from evenkeel.core.sightings import ReferenceAnswered
from evenkeel.stores.verdict_log import LoggedNote, LoggedVerdict
from tests.kit.records import altered

MINUTE_S = 60.0
NOON = 1_800_000_000.0


def answered(at, *, below=2, route="chat", model="m", reference="r1", compared=5, former=None, **changes):
    """An answer to a reference, like the earlier ones unless something else is said."""
    one = ReferenceAnswered(
        f"reference/{route}{reference}{at!r}", at, route, "m1", model, reference,
        compared, below, 1, 0.8, 0.83, former,
    )  # fmt: skip
    return altered(one, **changes)


def sightings(count, seed):
    """About one in three minutes on two routes: halfway, references are answered differently."""
    choice = random.Random(seed)
    found = []
    for number in range(count):
        route = choice.choice(["chat", "billing"])
        moved = number > count / 2
        if choice.random() < 0.3:
            rank = {"below": 0 if moved else choice.randrange(5), "likeness": 0.3 if moved else 0.8}
            at, name = NOON + number * MINUTE_S, f"r{choice.randrange(4)}"
            found.append(answered(at, route=route, reference=name, former=0.5, **rank))
    return found


def interleaved(verdicts, found):
    """A log of verdicts with sightings evenly among them; offsets begin anew."""
    every = max(1, len(verdicts) // max(1, len(found)))
    log = []
    waiting = list(found)
    for place, entry in enumerate(verdicts):
        log.append(LoggedVerdict(len(log) + 1, entry.verdict))
        if waiting and place % every == 0:
            log.append(LoggedNote(len(log) + 1, waiting.pop(0)))
    log += [LoggedNote(len(log) + number, sighting) for number, sighting in enumerate(waiting, 1)]
    return log

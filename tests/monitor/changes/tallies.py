"""Both sides of a change, with the shares that are asked for."""

from evenkeel.core.cells import ChangeMark
from evenkeel.core.verdict import BASELINE, QualityScore
from evenkeel.monitor.changes import ChangeRecord, kinds
from evenkeel.monitor.changes.onset import ExchangeShifts
from evenkeel.monitor.changes.record import ChangeTally
from evenkeel.monitor.estimate import outcome_of
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT

WORSE = (QualityScore("faithfulness", 1, 3, 2),)
SAME = (QualityScore("faithfulness", 1, 3, 3),)
KINDS = ("general.casing", "general.spelling")
MODEL = ChangeMark(kinds.MODEL, "a", "b", 100.0, 7)


def tally(
    exchanges=400, shifted=0.05, *, resends=0.0, invalid=0.0, strict=0.0,
    quality=WORSE, tried=KINDS, language="en",
):  # fmt: skip
    """Count exchanges of a resend and its trials; every share is met evenly, and a quarter is French.

    `strict` is the share of pairs rated 2 though the answers are as alike as all others: the judge's doing.
    """
    counted = ChangeTally()
    for number in range(exchanges):
        place = number * 37 % exchanges / exchanges
        resend = 2 if place < resends else 3
        trial = 2 if place < max(shifted, resends) or place >= 1 - strict else 3
        form = {"rating": None, "invalid": ("format",)} if place < invalid else {}
        own = {"scored_at": float(number), "rated_by": "similarity@2", "scorer": "judge"}
        for kind, rating in ((BASELINE, resend), *((kind, trial) for kind in tried)):
            verdict = altered(
                VERDICT,
                perturbation=kind,
                rating=rating,
                control_rating=None if kind == BASELINE else resend,
                quality=quality if rating < 3 else (),
                **own,
            )
            verdict = altered(verdict, **(form if kind != BASELINE else {}))
            counted.add(verdict, outcome_of(verdict))
        counted.add_exchange({"language": language if number % 4 else "fr"})
    return counted


def shifts(moved_at):
    """Return two hundred exchanges, one a minute: half of the answers shift from a time on."""
    exchanges = []
    for number in range(-100, 100):
        exchanges.append(ExchangeShifts(moved_at + 60.0 * number, (number + 1) % 2 * (number >= 0), 1))
    return exchanges


def record(*marks, before, after, name="c1", route="chat"):
    """Return a change with which answers began to move."""
    marks = marks or (MODEL,)
    around = shifts(marks[0].at)
    return ChangeRecord(name, route, marks, before, after, after.exchanges, around=around)

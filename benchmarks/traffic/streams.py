"""Traffic as it comes: independent, in bursts, in turn, in cycles, noisy. Every stream goes on forever.

In none of them anything happens, unless its docstring says so: whatever alerts here, alerts falsely.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count, cycle
from typing import TYPE_CHECKING, Final

from benchmarks.traffic.answers import Drawn, Law, Writer
from evenkeel.core.verdict import DECIDED_BY, HEURISTIC_RATING, STAGES
from evenkeel.stores.labels import Said, label_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from evenkeel.core.verdict import Verdict
    from evenkeel.stores.verdict_log import Entry

QUIET: Final = Law(0.1, 0.1)
LINE: Final = Law(0.05, 0.15, worse=1.0)
"""Exactly on every limit by default: .10 of content and of quality, .05 of similarity."""
EASY, HARD = Law(0.02, 0.02), Law(0.18, 0.18)
BURST: Final = 20
"""Near-equal prompts, one after another, with equal outcomes."""
BURSTY: Final = 0.2
"""Of all trials in bursts."""
_BEGINS: Final = BURSTY / (BURST * (1 - BURSTY) + BURSTY)
"""Probability with which the next exchange is the first of a burst."""
_GAP: Final = 5
"""Exchanges from one member of an interleaved burst to its next, in the mean."""


def independent(rng: np.random.Generator, law: Law = QUIET, kinds: int = 1) -> Iterator[Verdict]:
    """Every exchange by itself."""
    writer = Writer(kind_names(kinds))
    while True:
        yield from writer.exchange(law.draw(rng, kinds))


def on_the_line(rng: np.random.Generator) -> Iterator[Verdict]:
    """Every measure exactly at its limit: the hardest case of nothing to alert about."""
    return independent(rng, LINE)


def bursts(rng: np.random.Generator, law: Law = QUIET, kinds: int = 1) -> Iterator[Verdict]:
    """A fifth of the exchanges in bursts of twenty near-equal prompts, which are answered alike."""
    writer = Writer(kind_names(kinds))
    for number in count():
        drawn = law.draw(rng, kinds)
        if rng.random() >= _BEGINS:
            yield from writer.exchange(drawn)
            continue
        for _ in range(BURST):
            yield from writer.exchange(drawn, cluster=f"burst-{number}")


def interleaved(rng: np.random.Generator, law: Law = QUIET, kinds: int = 1) -> Iterator[Verdict]:
    """The same bursts, but other traffic comes between: a member in about every fifth exchange."""
    writer = Writer(kind_names(kinds))
    left: dict[str, int] = {}
    drawn_of: dict[str, Drawn] = {}
    for number in count():
        # As many bursts at a time as it takes for a fifth of the exchanges.
        if rng.random() < BURSTY / BURST:
            name = f"burst-{number}"
            left[name], drawn_of[name] = BURST, law.draw(rng, kinds)
        members = [name for name in left if rng.random() < 1 / _GAP]
        for name in members:
            yield from writer.exchange(drawn_of[name], cluster=name)
            left[name] -= 1
            if not left[name]:
                del left[name], drawn_of[name]
        if rng.random() < 1 - BURSTY:
            yield from writer.exchange(law.draw(rng, kinds))


def bursts_on_the_line(rng: np.random.Generator) -> Iterator[Verdict]:
    """Bursts, and every measure at its limit."""
    return bursts(rng, LINE)


def interleaved_on_the_line(rng: np.random.Generator) -> Iterator[Verdict]:
    """Interleaved bursts, and every measure at its limit."""
    return interleaved(rng, LINE)


def easy_and_hard_clusters(rng: np.random.Generator) -> Iterator[Verdict]:
    """Easy and hard prompts that come again and again: rates of .02 and .18, each prompt a cluster."""
    writer = Writer()
    while True:
        which = int(rng.integers(40))
        law = HARD if which % 2 else EASY
        yield from writer.exchange(law.draw(rng, 1), cluster=f"prompt-{which}")


def easy_and_hard_versions(rng: np.random.Generator) -> Iterator[Verdict]:
    """Two prompt versions in turn, one easy, one hard."""
    writer = Writer()
    for version, law in cycle((("v1", EASY), ("v2", HARD))):
        yield from writer.exchange(law.draw(rng, 1), prompt_version=version)


def easy_and_hard_blocks(rng: np.random.Generator) -> Iterator[Verdict]:
    """Five hundred short and easy prompts, then five hundred long and hard ones, and so on."""
    writer = Writer()
    for chars, law in cycle(((200, EASY), (5000, HARD))):
        for _ in range(500):
            yield from writer.exchange(law.draw(rng, 1), prompt_chars=chars)


def easy_and_hard_unmarked(rng: np.random.Generator) -> Iterator[Verdict]:
    """Easy and hard prompts in turn that nothing tells apart: alike to a mean of .10."""
    writer = Writer()
    for law in cycle((EASY, HARD)):
        yield from writer.exchange(law.draw(rng, 1))


def many_cells(rng: np.random.Generator) -> Iterator[Verdict]:
    """Two hundred cells, all on the line: ten routes with twenty perturbations, four an exchange."""
    names = kind_names(20)
    writer = Writer()
    while True:
        chosen = [names[place] for place in rng.choice(20, 4, replace=False)]
        yield from writer.exchange(LINE.draw(rng, 4), chosen, route=f"route-{rng.integers(10)}")


UP: Final = frozenset(f"general.kind-{place}" for place in range(8))
"""Perturbations that are up in `some_up`."""


def some_up(rng: np.random.Generator) -> Iterator[Verdict]:
    """Forty cells on two routes, of which the sixteen of `UP` are far beyond every limit for good."""
    names, up = kind_names(20), Law(0.05, 0.4, worse=1.0)
    writer = Writer()
    while True:
        chosen = [names[place] for place in rng.choice(20, 4, replace=False)]
        drawn = LINE.draw(rng, 4)
        variants = tuple(
            up.answer(rng, up.variant) if name in UP else answer
            for name, answer in zip(chosen, drawn.variants, strict=True)
        )
        yield from writer.exchange(
            drawn._replace(variants=variants), chosen, route=f"route-{rng.integers(2)}"
        )


def lost_resends(rng: np.random.Generator) -> Iterator[Verdict]:
    """The resend is lost whenever it would have shifted, which a fifth do, as the variants."""
    writer, law = Writer(), Law(0.2, 0.2)
    while True:
        drawn = law.draw(rng, 1)
        yield from writer.exchange(drawn, lost=drawn.control.shifted)


AUDITED: Final = 0.05
"""Of what heuristics decide: the judge is asked all the same. Default of the settings."""
LABELLED: Final = 0.05
"""Of all variants: a person is asked."""
_REWORDED, _REWORDED_CONTROL = 0.95, 0.16
"""Of answers that say the same in other words; the rest are equal to the letter."""


def judge_errs(rng: np.random.Generator, error: float, *, corrected: bool = True) -> Iterator[Entry]:
    """No answer ever says anything else, but the judge says so of a share of those that are worded otherwise.

    Equal answers skip the judge, and most resends are equal. Chance draws labels, and equal pairs for audits,
    unless nothing is to be corrected.
    """
    writer, law = Writer(), Law(0.0, 0.0)
    heuristic = {DECIDED_BY: float(STAGES.index("equality"))}

    def seen(verdict: Verdict, reworded: float) -> Verdict:
        rating = 2 if rng.random() < error else 3
        if rng.random() < reworded:
            return replace(verdict, rating=rating)
        if corrected and rng.random() < AUDITED:
            audit = {**verdict.details, HEURISTIC_RATING: 3.0}
            return replace(verdict, rating=rating, details=audit, audit_share=AUDITED)
        return replace(verdict, details=heuristic, audit_share=AUDITED if corrected else 0.0)

    while True:
        resend, variant = writer.exchange(law.draw(rng, 1))
        resend = seen(resend, _REWORDED_CONTROL)
        variant = seen(variant, _REWORDED)
        variant = replace(
            variant,
            baseline_rating=resend.rating,
            baseline_proven=resend.proven,
            label_share=LABELLED if corrected else 0.0,
        )
        yield from (resend, variant)
        if variant.drawn:
            yield label_of(variant, Said("ann", rating=3, drawn=True), at=variant.scored_at)


def judge_errs_in_5(rng: np.random.Generator) -> Iterator[Entry]:
    """A judge that is wrong in 5 %, corrected."""
    return judge_errs(rng, 0.05)


def judge_errs_in_15(rng: np.random.Generator) -> Iterator[Entry]:
    """A judge that is wrong in 15 %, corrected."""
    return judge_errs(rng, 0.15)


def judge_errs_uncorrected(rng: np.random.Generator) -> Iterator[Entry]:
    """A judge that is wrong in 15 %, and nobody tells."""
    return judge_errs(rng, 0.15, corrected=False)


def one_off_models(rng: np.random.Generator) -> Iterator[Verdict]:
    """Every fifth request names a model that nobody has named before."""
    writer = Writer()
    for number in count():
        model = "m-1" if rng.random() < 0.8 else f"try-{number}"  # noqa: PLR2004 - a fifth
        yield from writer.exchange(QUIET.draw(rng, 1), model=model, requested_model=model)


def new_models(rng: np.random.Generator) -> Iterator[Verdict]:
    """Another model every three hundred exchanges, never one that was there before, all alike."""
    writer = Writer()
    for number in count():
        model = f"m-{number // 300}"
        yield from writer.exchange(QUIET.draw(rng, 1), model=model, requested_model=model)


def nightly_batch(rng: np.random.Generator) -> Iterator[Verdict]:
    """Two hundred exchanges a day, and each night a hundred of another model that shifts more."""
    writer = Writer(step_s=288.0)
    day, night = Law(0.05, 0.08), Law(0.15, 0.2)
    while True:
        for _ in range(200):
            yield from writer.exchange(day.draw(rng, 1))
        for _ in range(100):
            yield from writer.exchange(night.draw(rng, 1), model="batch-1", requested_model="batch-1")


NIGHTS: Final = 30
NIGHTLY: Final = NIGHTS * 300 * 2
"""Trials of thirty days of `nightly_batch`."""


def versions_by_day(rng: np.random.Generator) -> Iterator[Verdict]:
    """Two prompt versions, a day each, of which the second shifts more."""
    writer = Writer(step_s=432.0)
    for version, law in cycle((("v1", Law(0.05, 0.08)), ("v2", Law(0.12, 0.18)))):
        for _ in range(200):
            yield from writer.exchange(law.draw(rng, 1), prompt_version=version)


def kind_names(kinds: int) -> tuple[str, ...]:
    """So many perturbations."""
    return tuple(f"general.kind-{place}" for place in range(kinds))

"""Trials as the adaptive plan draws them: strata, groups that are split, rewordings that hide each other.

The draws are those of `evenkeel.shadow.groups`; what answers do is planted. Exchanges are of three strata
that move in different shares and are tried with factors of 1, ½ and ¼ of all exchanges. Three rewordings are
tried together, of which two may hide each other: only drawn trials see those.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.traffic.answers import Law, Writer
from evenkeel.core.together import together_count
from evenkeel.core.verdict import BASELINE
from evenkeel.shadow.groups import (
    MOVED_WEIGHT,
    SETTLED,
    WATCHING,
    Stratum,
    drawn_of,
    is_split,
    plan_of,
    roots_of,
)
from evenkeel.shadow.perturbations import BUILTIN
from evenkeel.shadow.planner import Need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import numpy as np

    from benchmarks.traffic.answers import Answer
    from evenkeel.core.verdict import Verdict
    from evenkeel.shadow.groups import Looked, Root

TOGETHER: Final = ("general.casing", "general.spelling", "general.tone")
ALONE: Final = "general.paraphrase"
ROOTS: Final = roots_of(tuple(one for one in BUILTIN if one.name in {*TOGETHER, ALONE}))
GROUP: Final = next(root.perturbation.name for root in ROOTS if root.is_group)
CELLS: Final = (BASELINE, GROUP, ALONE, *TOGETHER)
SHOWN: Final = {
    BASELINE: "control",
    GROUP: "group of three",
    ALONE: "rewording alone",
    **dict.fromkeys(TOGETHER, "rewordings of the group"),
    "all": "roll-up of rewordings",
}
"""What cells and the roll-up of all are called in a table."""
_NEEDS: Final = dict.fromkeys(CELLS, Need(SETTLED, SETTLED))


class Part(NamedTuple):
    """A stratum of the traffic."""

    share: float
    """Of the exchanges."""
    factor: float
    """Of the chance with which they are tried."""
    noise: float
    """Probability that an answer moves by chance, that of the resend too."""
    fragility: float
    """By which the probabilities of all rewordings are multiplied."""
    chars: int
    """Length of its prompts."""


class Nature(NamedTuple):
    """What answers do."""

    parts: tuple[Part, ...]
    moves: Mapping[str, float]
    """Probability with which each rewording by itself moves an answer, chance aside."""
    worse: float = 1 / 3
    """Of answers that moved to be worse."""
    hiding: frozenset[str] = frozenset()
    """Two rewordings of the group of which neither moves the answer to a variant that has both."""

    def rate(self, name: str, part: Part) -> float:
        """With which the answers to a trial move in a stratum."""
        if name == BASELINE:
            return part.noise
        kinds = [one for one in TOGETHER if one not in self.hiding] if name == GROUP else [name]
        return 1 - (1 - part.noise) * prod(1 - part.fragility * self.moves[kind] for kind in kinds)

    def law(self, name: str) -> Law:
        """What all exchanges together are like: the truth of a cell."""
        control, variant = (
            sum(part.share * self.rate(one, part) for part in self.parts) for one in (BASELINE, name)
        )
        return Law(control, variant, self.worse)

    def rollup(self) -> dict[str, float]:
        """The truth of a roll-up over the rewordings by themselves.

        Every tried exchange has a trial of the one that stands alone; with chance 3/16 one of the three, too.
        """
        some = len(TOGETHER) * WATCHING.drawn
        alone = self.law(ALONE).variant
        mean = sum(self.law(name).variant for name in TOGETHER) / len(TOGETHER)
        delta = alone + some * (mean - alone) / 2
        control = self.law(ALONE).control
        return {"content_delta": delta, "excess": delta - control, "noise_floor": control}


def _parts(*rows: tuple[float, float]) -> tuple[Part, ...]:
    """Three strata of equal shares by noise and fragility."""
    places = zip((1.0, 0.5, 0.25), rows, (4000, 800, 200), strict=True)
    return tuple(Part(1 / 3, factor, *row, chars) for factor, row, chars in places)


FRAGILE: Final = Nature(
    _parts((0.12, 1.0), (0.06, 0.5), (0.01, 0.1)),
    dict(zip((*TOGETHER, ALONE), (0.2, 0.3, 0.3, 0.3), strict=True)),
    hiding=frozenset(("general.spelling", "general.tone")),
)
"""Where some rewordings move many answers, most of them in the stratum that is tried most."""
EXACTLY: Final = Nature(
    _parts((0.0, 2.0), (0.0, 0.9), (0.0, 0.1)), dict.fromkeys((*TOGETHER, ALONE), 0.1), worse=1.0
)
"""Every rewording by itself is exactly at the limits of content, quality and similarity: .20, .09 and .01
above noise in the strata are .10 over all."""


def adaptive(
    rng: np.random.Generator,
    nature: Nature = FRAGILE,
    *,
    weighted: bool = True,
    burst: int = 1,
) -> Iterator[Verdict]:
    """What is tried of traffic while everything is settled.

    Args:
        rng: Chance.
        nature: What answers do.
        weighted: Whether verdicts say with which chance they were drawn.
        burst: A fifth of the exchanges come so many at a time: near-equal prompts that are answered alike.
    """
    writer, number = Writer(), 0
    for place in count():
        part = nature.parts[int(rng.choice(len(nature.parts), p=[one.share for one in nature.parts]))]
        answers = _Answers(rng, nature, part)
        times = burst if burst > 1 and rng.random() < 0.2 / (0.8 * burst + 0.2) else 1
        for _ in range(times):
            number += 1
            members = {
                "exchange_id": f"x{number}",
                "prompt_chars": part.chars,
                "cluster": f"c{place}" if burst > 1 else "",
            }
            for one in _exchange(writer, answers, part, members):
                if weighted:
                    yield one
                elif not one.split_of or together_count(one.perturbation) == 1:
                    yield replace(one, exchange_weight=1.0, path_weight=1.0, split_of="")


class _Answers:
    """The answers to one prompt: the same to the same variant."""

    def __init__(self, rng: np.random.Generator, nature: Nature, part: Part) -> None:
        self._rng, self._part, self._hiding = rng, part, nature.hiding
        self._law = Law(0.0, 0.0, nature.worse)
        self._moves = {kind: rng.random() < part.fragility * chance for kind, chance in nature.moves.items()}
        self._known: dict[str, Answer] = {}

    def to(self, name: str, kinds: tuple[str, ...]) -> Answer:
        """The answer to a variant with these rewordings."""
        if name not in self._known:
            hidden = self._hiding if self._hiding <= set(kinds) else frozenset()
            moved = any(self._moves[kind] for kind in kinds if kind not in hidden)
            shifted = moved or self._rng.random() < self._part.noise
            self._known[name] = self._law.answer(self._rng, float(shifted))
        return self._known[name]


def _exchange(writer: Writer, answers: _Answers, part: Part, members: dict[str, object]) -> Iterator[Verdict]:
    """The trials of an exchange, if it is tried."""
    exchange = str(members["exchange_id"])
    plan = plan_of(exchange, ROOTS, _NEEDS, 1.0, stratum=Stratum(part.factor, 0.25))
    if not plan.roots:
        return
    writer.at += writer.step_s
    control = answers.to(BASELINE, ())
    members = members | {"exchange_weight": plan.weight}
    yield writer.verdict(BASELINE, control, None, members)

    def trial(root: Root, **more: object) -> Verdict:
        name = root.perturbation.name
        answer = answers.to(name, tuple(kind.name for kind in root.kinds))
        return writer.verdict(name, answer, control, members | more)

    for looked in plan.roots:
        whole = trial(looked.root)
        yield whole
        if looked.root.is_group:
            yield from _followed(exchange, looked, whole, trial)


def _followed(
    exchange: str, looked: Looked, whole: Verdict, trial: Callable[..., Verdict]
) -> Iterator[Verdict]:
    """What follows from a trial of a group, as in `evenkeel.shadow.stages`."""
    root, because = looked.root, {"path_weight": MOVED_WEIGHT, "split_of": whole.id}
    split = bool(whole.shifted) and is_split(exchange, root, looked.pace)
    drawn = drawn_of(exchange, root, looked.pace)
    for kind in root.kinds:
        if split or kind is drawn:
            said = because if split else {}
            said = said | {"split_of": ""} if kind is drawn else said
            yield trial(type(root)(kind, (kind,)), **said)

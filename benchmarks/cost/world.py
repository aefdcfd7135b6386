"""Exchanges and the rewordings that move their answers, drawn once each so that all trials agree.

An exchange belongs to an easy or a hard prompt version of its route, and perhaps to a cluster of near-equal
prompts. One draw per rewording decides whether it moves the answer. Several rewordings together move it if
any of them does, or if they hold two that were planted to move it only together. Every answer, also to the
identical resend, can move by itself, with the probability of its prompt's noise floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

REWORDINGS: Final = (
    "general.whitespace",
    "general.punctuation",
    "general.casing",
    "general.spelling",
    "general.tone",
    "general.paraphrase",
    "positional.context",
    "positional.output_instructions",
    "positional.reordering",
    "positional.mixed",
    "format.json",
    "multilingual.es",
)
ROUTES: Final = ("classify", "extract", "write")  # each has lengths in `bill.LENGTHS`
MODEL: Final = "recorded-1"


class Version(NamedTuple):
    """A prompt version."""

    name: str
    share: float
    """Share of the route's exchanges."""
    floor: float
    """Probability that an answer moves by itself."""
    fragility: float
    """Factor on the rates at which rewordings move the answer."""
    chars: int


VERSIONS: Final = (Version("easy", 0.7, 0.03, 0.5, 1_500), Version("hard", 0.3, 0.12, 2.0, 6_000))
# Without a change, rewordings move about 1 % to 5 % of the answers.
_LOWEST_RATE: Final = 0.01
_RATE_SPAN: Final = 0.04
# Share of the exchanges that are near-equal to others.
_CLUSTERED: Final = 0.15
# Mean number of exchanges of a cluster.
_CLUSTER: Final = 8


@dataclass(frozen=True, slots=True)
class Regression:
    """A change after which more answers move, as shares of the exchanges."""

    name: str
    alone: Mapping[str, float]
    """Share of the exchanges whose answer a rewording moves, by rewording."""
    common: float = 0.0
    """Share of the exchanges whose answer every rewording moves."""
    together: tuple[str, str, float] | None = None
    """Two rewordings that move the answer only if both are applied, and the share of the exchanges."""

    @property
    def affected(self) -> frozenset[str]:
        """The rewordings that have a reason to alert, in their own cells or in those of groups."""
        if self.common:
            return frozenset(REWORDINGS)
        if self.together:
            return frozenset((*self.alone, self.together[0], self.together[1]))
        return frozenset(self.alone)


QUIET: Final = Regression("nothing falls", {})
REGRESSIONS: Final = (
    Regression("one kind by 15 points, of a group", {"general.spelling": 0.15}),
    Regression("one kind by 15 points, that stands alone", {"format.json": 0.15}),
    Regression("all by 5 points, each on exchanges of its own", dict.fromkeys(REWORDINGS, 0.05)),
    Regression("all by 5 points, on the same exchanges", {}, common=0.05),
    Regression(
        "two together by 15 points, alone nothing", {}, together=("general.casing", "general.tone", 0.15)
    ),
)


@dataclass(frozen=True, slots=True)
class DrawnExchange:
    """A sampled exchange and the rewordings that move its answer."""

    number: int
    route: str
    version: Version
    moving: frozenset[str]
    """Rewordings that move the answer."""
    pair: frozenset[str]
    """Rewordings that move the answer if all of them are applied; empty if there are none."""
    seed: int

    @property
    def id(self) -> str:
        """Id of the exchange, in the form that proxies give."""
        return f"{self.number:016x}"

    def moved(self, rewordings: Collection[str], trial: str) -> bool:
        """Return True if the answer moves.

        Args:
            rewordings: The rewordings applied at once; none for the identical resend.
            trial: Name of the trial, whose answer has noise of its own.
        """
        if Random(f"{self.seed}/{self.number}/{trial}").random() < self.version.floor:
            return True
        if self.pair and self.pair <= set(rewordings):
            return True
        return not self.moving.isdisjoint(rewordings)


def draw_exchange(seed: int, number: int, regression: Regression = QUIET, changed: str = "") -> DrawnExchange:
    """Draw an exchange; everything but the change follows from seed and number.

    Args:
        seed: Seed of the play.
        number: Number of the exchange, counted from 0 over all routes, which take turns.
        regression: The change that has happened.
        changed: Route of the change.
    """
    route = ROUTES[number % len(ROUTES)]
    draws = Random(f"{seed}/{number}")
    if draws.random() < _CLUSTERED:
        # A cluster has the same draws for a stretch of exchanges, so that its prompts are near in time too.
        stretch = number // round(_CLUSTER / _CLUSTERED * len(ROUTES))
        draws = Random(f"{seed}/{route}/{stretch}")
    version = VERSIONS[0] if draws.random() < VERSIONS[0].share else VERSIONS[1]
    moving = set()
    for place, rewording in enumerate(REWORDINGS):
        rate = _LOWEST_RATE + _RATE_SPAN * place / len(REWORDINGS)
        if draws.random() < rate * version.fragility:
            moving.add(rewording)
    # As many draws are made for every change, so that exchanges stay the same.
    here = regression if route == changed else QUIET
    for rewording in REWORDINGS:
        if draws.random() < here.alone.get(rewording, 0.0):
            moving.add(rewording)
    if draws.random() < here.common:
        moving.update(REWORDINGS)
    pair: frozenset[str] = frozenset()
    if here.together and draws.random() < here.together[2]:
        pair = frozenset(here.together[:2])
    return DrawnExchange(number, route, version, frozenset(moving), pair, seed)

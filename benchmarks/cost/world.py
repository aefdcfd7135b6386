"""Exchanges, and what moves their answers: drawn once for each, so that its trials agree with each other.

An exchange belongs to one of two prompt versions of its route, an easy one and a hard one, and perhaps to a
cluster of near-equal prompts. For each rewording one draw decides whether it moves the answer; several
rewordings together move it if any of them does, unless two are planted that move it only together, or that
cancel each other. Every answer, also that to the identical resend, moves by itself besides, with the chance
of its prompt's noise floor.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

KINDS: Final = (
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
ROUTES: Final = ("classify", "extract", "write")
MODEL: Final = "recorded-1"


class Version(NamedTuple):
    """A prompt version."""

    name: str
    share: float
    """Of the route's exchanges."""
    floor: float
    """Chance that an answer moves by itself."""
    fragility: float
    """Factor on how often rewordings move the answer."""
    chars: int


VERSIONS: Final = (Version("easy", 0.7, 0.03, 0.5, 1_500), Version("hard", 0.3, 0.12, 2.0, 6_000))
_OWN: Final = {kind: 0.01 + 0.04 * place / len(KINDS) for place, kind in enumerate(KINDS)}
"""How often each rewording moves an answer while all is well: 1 % to 5 %, about."""
_CLUSTERED: Final = 0.15
"""Share of exchanges that are near-equal to others."""
_CLUSTER: Final = 8
"""Exchanges of a cluster, about."""


@dataclass(frozen=True, slots=True)
class Fall:
    """What changes, as shares of the exchanges whose answers move from then on."""

    name: str
    alone: Mapping[str, float]
    """By rewording."""
    common: float = 0.0
    """On so many exchanges every rewording moves the answer."""
    together: tuple[str, str, float] | None = None
    """Two that move it only if both are applied."""

    @property
    def affected(self) -> frozenset[str]:
        """The rewordings whose cells are right to alert, or whose groups are."""
        pair = map(str, (self.together or ())[:2])
        return frozenset(KINDS if self.common else (*self.alone, *pair))


QUIET: Final = Fall("nothing falls", {})
FALLS: Final = (
    Fall("one kind by 15 points, of a group", {"general.spelling": 0.15}),
    Fall("one kind by 15 points, that stands alone", {"format.json": 0.15}),
    Fall("all by 5 points, each on exchanges of its own", dict.fromkeys(KINDS, 0.05)),
    Fall("all by 5 points, on the same exchanges", {}, common=0.05),
    Fall("two together by 15 points, alone nothing", {}, together=("general.casing", "general.tone", 0.15)),
)


@dataclass(frozen=True, slots=True)
class Exchange:
    """One sampled exchange, and what moves its answer."""

    number: int
    route: str
    version: Version
    cluster: str
    moving: frozenset[str]
    """Rewordings that move the answer."""
    pair: frozenset[str]
    """Rewordings that move it if all are applied; empty = none."""
    seed: int

    @property
    def id(self) -> str:
        """Names it."""
        return f"{self.number:016x}"

    def moved(self, kinds: Collection[str], trial: str) -> bool:
        """Whether the answer moves under these rewordings at once; none = the identical resend.

        Args:
            kinds: What is applied.
            trial: Names the trial, whose answer has noise of its own.
        """
        noise = Random(f"{self.seed}/{self.number}/{trial}").random() < self.version.floor
        return noise or self.is_struck(kinds)

    def is_struck(self, kinds: Collection[str]) -> bool:
        """Whether anything but noise moves the answer under these rewordings at once."""
        if self.pair and self.pair <= set(kinds):
            return True
        return not self.moving.isdisjoint(kinds)


class Struck(NamedTuple):
    """What a fall strikes on one exchange, as `Exchange` has it."""

    moving: frozenset[str] = frozenset()
    pair: frozenset[str] = frozenset()


def struck(fall: Fall, draws: Random, points: float = 1.0) -> Struck:
    """Draw what a fall strikes on an exchange.

    Args:
        fall: What has changed.
        draws: Of the exchange; as many are made for every fall.
        points: Of the exchanges to be struck, for each that the fall says move.
    """
    own = [draws.random() / points for _ in KINDS]
    common, together = draws.random() / points, draws.random() / points
    moving = {kind for kind, draw in zip(KINDS, own, strict=True) if draw < fall.alone.get(kind, 0.0)}
    return Struck(
        frozenset(KINDS if common < fall.common else moving),
        frozenset(fall.together[:2] if fall.together and together < fall.together[2] else ()),
    )


class Drawn(NamedTuple):
    """Where an exchange belongs, and the draws behind what it is about."""

    route: str
    cluster: str
    draws: Random
    """The same for all exchanges of a cluster."""


def drawn(seed: int, number: int) -> Drawn:
    """The route of an exchange, in turn, and its cluster, if it has one."""
    route = ROUTES[number % len(ROUTES)]
    own = Random(f"{seed}/{number}")
    if own.random() >= _CLUSTERED:
        return Drawn(route, "", own)
    # Those of a stretch of exchanges belong to one cluster: near in time as well.
    stretch = number // round(_CLUSTER / _CLUSTERED * len(ROUTES))
    cluster = f"{seed}/{route}/{stretch}"
    return Drawn(route, cluster, Random(cluster))


def exchange(seed: int, number: int, fall: Fall = QUIET, *, fallen: str = "") -> Exchange:
    """The exchange of a number; everything but the change follows from seed and number.

    Args:
        seed: Of the play.
        number: Counted from 0 over all routes, which take turns.
        fall: What has changed by now.
        fallen: The route on which it has.
    """
    route, cluster, draws = drawn(seed, number)
    version = VERSIONS[0] if draws.random() < VERSIONS[0].share else VERSIONS[1]
    moving = frozenset(kind for kind in KINDS if draws.random() < _OWN[kind] * version.fragility)
    fallen_now = struck(fall if route == fallen else QUIET, draws)
    return Exchange(
        number,
        route,
        version,
        cluster,
        moving | fallen_now.moving,
        fallen_now.pair,
        seed,
    )

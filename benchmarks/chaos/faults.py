"""Faults of the kinds in `faults.toml`, drawn from a seed with their times."""

from __future__ import annotations

import random
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Kind(NamedTuple):
    """A kind of fault."""

    name: str
    target: str
    """The process or connection that it affects. Faults of one target follow one another."""
    shortest_s: float
    longest_s: float
    weight: float = 1.0
    least: float = 0.0
    most: float = 0.0
    """Bounds of its amount, if it has one: seconds of delay, seconds of a clock's jump, or a share."""

    @property
    def lane(self) -> str:
        """Lane of the target. Faults of a lane never overlap, so that one proxy of two always works."""
        return self.target.rstrip("0123456789-") if self.target.startswith("proxy") else self.target


@dataclass(frozen=True, slots=True)
class PlannedFault:
    """A fault that was drawn."""

    at_s: float
    """Seconds since the start of the load."""
    kind: Kind
    for_s: float
    amount: float


@dataclass(frozen=True, slots=True)
class FaultRecord:
    """A fault as it happened, in Unix time."""

    name: str
    target: str
    began: float
    ended: float
    """Time at which the target worked again."""

    def kills(self, *targets: str) -> bool:
        """Return True if it ends one of these processes."""
        return self.name == "kill" and self.target in targets

    def overlaps(self, began: float, ended: float, margin_s: float) -> bool:
        """Return True if it overlaps an interval, with a margin on both sides."""
        return self.began - margin_s <= ended and began <= self.ended + margin_s


def draw(kinds: Sequence[Kind], seed: int, count: int, seconds: float) -> list[PlannedFault]:
    """Draw faults within some seconds, in order of time; the same for the same arguments."""
    rng = random.Random(seed)
    weights = [kind.weight for kind in kinds]
    faults = []
    for at_s in sorted(rng.uniform(0.0, seconds) for _ in range(count)):
        (kind,) = rng.choices(kinds, weights)
        length_s = rng.uniform(kind.shortest_s, kind.longest_s)
        faults.append(PlannedFault(at_s, kind, length_s, rng.uniform(kind.least, kind.most)))
    return faults


_KINDS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def kinds_of(group: str, *targets: str) -> list[Kind]:
    """Return the kinds of a group, for each target if they do not name one themselves."""
    kinds = []
    for target in targets or ("",):
        for name, own, *rest in _KINDS[group]:
            kinds.append(Kind(name, own or target, *rest))
    return kinds


def of_roles(proxies: Sequence[str], workers: Sequence[str], monitors: Sequence[str]) -> list[Kind]:
    """Return the faults of roles: being killed, standing still, and jumps of their clock."""
    return [
        *kinds_of("killed", *workers, *monitors, *proxies),
        *kinds_of("frozen", *workers, *monitors),
        *kinds_of("clocks", *proxies, *workers, *monitors),
    ]


def of_models() -> list[Kind]:
    """Return the faults of the simulated model and judge: gone, standing still, failing, slow."""
    return kinds_of("models", "upstream", "judge")

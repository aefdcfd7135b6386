"""What goes wrong, and when: drawn from a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Kind(NamedTuple):
    """A kind of fault."""

    name: str
    target: str
    """The process or connection that it happens to. Faults of one target follow one another."""
    shortest_s: float
    longest_s: float
    weight: float = 1.0
    least: float = 0.0
    most: float = 0.0
    """Bounds of its amount, where it has one: seconds of delay, of a clock's jump, or a share."""

    @property
    def lane(self) -> str:
        """What two faults may not touch at once: of two alike, one always works."""
        return self.target.rstrip("0123456789-") if self.target.startswith("proxy") else self.target


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault."""

    at_s: float
    """Since the start of the load."""
    kind: Kind
    for_s: float
    amount: float


@dataclass(frozen=True, slots=True)
class Happened:
    """A fault as it happened, in Unix time."""

    name: str
    target: str
    began: float
    ended: float
    """When what it touched worked again."""

    def during(self, began: float, ended: float, margin_s: float) -> bool:
        """Whether it overlaps a time, with a margin on both sides."""
        return self.began - margin_s <= ended and began <= self.ended + margin_s


def draw(kinds: Sequence[Kind], seed: int, count: int, seconds: float) -> list[Fault]:
    """So many faults in so many seconds, in order of time; the same for the same arguments."""
    rng = random.Random(seed)
    weights = [kind.weight for kind in kinds]
    faults = []
    for at_s in sorted(rng.uniform(0.0, seconds) for _ in range(count)):
        (kind,) = rng.choices(kinds, weights)
        length_s = rng.uniform(kind.shortest_s, kind.longest_s)
        faults.append(Fault(at_s, kind, length_s, rng.uniform(kind.least, kind.most)))
    return faults


def of_roles(proxies: Sequence[str], workers: Sequence[str], monitors: Sequence[str]) -> list[Kind]:
    """Roles that are killed, stand still, or see their clock jump."""
    kinds = [Kind("kill", name, 0.0, 3.0, 2.0) for name in (*workers, *monitors, *proxies)]
    kinds += [Kind("freeze", name, 3.0, 25.0, 0.7) for name in (*workers, *monitors)]
    for name in (*proxies, *workers, *monitors):
        kinds += [
            Kind("clock forward", name, 4.0, 15.0, 0.4, 20.0, 7200.0),
            Kind("clock back", name, 4.0, 15.0, 0.4, -7200.0, -20.0),
        ]
    return kinds


def of_models() -> list[Kind]:
    """The simulated model and judge: gone, standing still, failing, slow."""
    return [
        kind
        for target in ("upstream", "judge")
        for kind in (
            Kind("kill", target, 0.2, 4.0, 0.8),
            Kind("freeze", target, 0.5, 8.0, 0.8),
            Kind("errors", target, 1.0, 8.0, 0.8, 0.2, 1.0),
            Kind("slow", target, 1.0, 8.0, 0.8, 0.3, 3.0),
        )
    ]


def of_redis(*, cable: bool) -> list[Kind]:
    """One Redis: killed, standing still, full, slow, cut off; `cable`: a second host is cut off."""
    kinds = [
        Kind("kill", "redis", 0.1, 6.0, 1.0),
        Kind("freeze", "redis", 0.2, 12.0, 1.0),
        Kind("pause", "redis", 0.2, 5.0, 1.0),
        Kind("full", "redis", 1.0, 12.0, 1.0),
        Kind("slow", "redis", 2.0, 8.0, 1.0, 0.02, 1.0),
        Kind("cut", "redis", 0.2, 6.0, 1.0),
    ]
    return [*kinds, Kind("unplug", "cable", 1.0, 20.0, 1.5)] if cable else kinds


def of_failover() -> list[Kind]:
    """A Redis with a replica, watched by Sentinels."""
    return [
        Kind("kill", "primary", 4.0, 9.0, 2.0),
        Kind("freeze", "primary", 4.0, 9.0, 2.0),
        Kind("switch", "primary", 0.0, 0.0, 1.5),
        Kind("kill", "replica", 1.0, 5.0, 1.0),
    ]


def of_one_machine() -> list[Kind]:
    """`evenkeel up` on SQLite."""
    return [
        Kind("kill", "proxy", 0.0, 0.0, 2.0),
        Kind("kill", "worker", 0.0, 0.0, 3.0),
        Kind("kill", "up", 0.0, 2.0, 0.7),
        Kind("freeze", "worker", 3.0, 25.0, 1.0),
        Kind("full", "disk", 1.0, 20.0, 3.0),
        Kind("clock forward", "up", 4.0, 15.0, 1.0, 20.0, 7200.0),
        Kind("clock back", "up", 4.0, 15.0, 1.0, -7200.0, -20.0),
    ]

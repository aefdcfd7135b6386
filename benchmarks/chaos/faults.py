"""What goes wrong, of the kinds in `faults.toml`, and when: drawn from a seed."""

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


_KINDS: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def _kinds(group: str, *targets: str) -> list[Kind]:
    """The kinds of a group, once for each target where they have none of their own."""
    return [Kind(name, own or one, *rest) for one in targets or ("",) for name, own, *rest in _KINDS[group]]


def of_roles(proxies: Sequence[str], workers: Sequence[str], monitors: Sequence[str]) -> list[Kind]:
    """Roles that are killed, stand still, or see their clock jump."""
    return [
        *_kinds("killed", *workers, *monitors, *proxies),
        *_kinds("frozen", *workers, *monitors),
        *_kinds("clocks", *proxies, *workers, *monitors),
    ]


def of_models() -> list[Kind]:
    """The simulated model and judge: gone, standing still, failing, slow."""
    return _kinds("models", "upstream", "judge")


def of_redis(*, cable: bool) -> list[Kind]:
    """One Redis: killed, standing still, full, slow, cut off; `cable`: a second host is cut off."""
    return [*_kinds("redis"), *(_kinds("cable") if cable else ())]


def of_failover() -> list[Kind]:
    """A Redis with a replica, watched by Sentinels."""
    return _kinds("failover")


def of_one_machine() -> list[Kind]:
    """`evenkeel up` on SQLite."""
    return _kinds("one_machine")

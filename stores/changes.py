"""What the change response remembers: runs of goldens, what was responded to, and settings."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


RUNS_KEPT = 400
"""Of each route; a year of daily canaries."""


Trigger = Literal["canary", "change"]


@dataclass(frozen=True, slots=True)
class GoldenResult:
    """One golden in one run."""

    golden: str
    """Its id and version, as `key_of` writes them."""
    breaches: dict[str, bool] = field(default_factory=dict)
    """By measure whether the answer breaches it; those that could not be measured are left out."""
    scores: dict[str, float] = field(default_factory=dict)
    """By metric, in [0, 1], 1 = as approved."""
    failure: str = ""
    """Why there is no answer or no score, in snake case; "" if there is."""


@dataclass(frozen=True, slots=True)
class GoldenRun:
    """All goldens of a route, asked once."""

    id: str
    route: str
    at: float
    """Unix time in seconds."""
    trigger: Trigger
    change: str
    """Id of the change that it looks into; "" for a canary."""
    asked: str
    """What was asked, in a line for people."""
    model: str
    """Name in the answers, of the most."""
    deciding: tuple[str, ...]
    """Measures that can show a change; the others are only shown."""
    scorer: str
    """Who scored, and by which thresholds: runs of different ones are not compared."""
    judged: bool
    """Whether a judge took part in the scores."""
    results: tuple[GoldenResult, ...]
    left_out: dict[str, int] = field(default_factory=dict)
    """Goldens that could not be asked, by reason."""

    def to_json(self) -> dict[str, Any]:
        """The run as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, raw: dict[str, Any]) -> GoldenRun:
        """Read what `to_json` wrote."""
        results = tuple(GoldenResult(**one) for one in raw.pop("results"))
        return cls(results=results, deciding=tuple(raw.pop("deciding")), **raw)


class ChangeStore(Protocol):
    """Calls block on storage. Several processes may share it."""

    def put_run(self, run: GoldenRun) -> None:
        """Keep a run of goldens; one of the same id replaces it."""
        ...

    def runs(self) -> list[GoldenRun]:
        """All runs that are kept, oldest first."""
        ...

    def revision(self) -> int:
        """Grows with every run that is kept."""
        ...

    def respond(self, change: str, at: float) -> bool:
        """Claim the response to a change; False if somebody has it already."""
        ...

    def put_settings(self, fingerprint: str, values: Mapping[str, str]) -> None:
        """Remember what a fingerprint of settings stands for."""
        ...

    def settings(self, fingerprint: str) -> dict[str, str] | None:
        """What it stands for; None if that was never said."""
        ...

"""The judge of every route and model, as the monitor keeps it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkeel.monitor.noise.counts import JudgeCounts, JudgeEstimates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.verdict import Verdict


class _Place(NamedTuple):
    """Judges are watched over all perturbations together: their ratings are few and dear."""

    route: str
    model: str


class _Judge:
    """Counts, with what follows from them kept until they change."""

    __slots__ = ("counts", "encoded", "estimates")

    def __init__(self, counts: JudgeCounts) -> None:
        self.counts = counts
        self.encoded: str | None = None
        self.estimates: JudgeEstimates | None = None


_UNKNOWN = JudgeEstimates(None, None, None)


class Judges:
    """Counts of each route and model. Not thread-safe; goes into the monitor's checkpoint."""

    def __init__(self) -> None:
        self._judges: dict[_Place, _Judge] = {}

    def add(self, route: str, model: str, verdict: Verdict) -> None:
        """Count what a verdict tells of the judge; one of cheap metrics alone tells nothing."""
        if verdict.scorer != "judge":
            return
        place = _Place(route, model)
        judge = self._judges.get(place)
        if judge is None:
            judge = self._judges[place] = _Judge(JudgeCounts())
        if judge.counts.add(verdict):
            judge.encoded = judge.estimates = None

    def estimates(self, route: str, model: str, *, alpha: float, min_trials: int) -> JudgeEstimates:
        """What is known of a judge, computed once for each change of its counts.

        Args:
            route: Where it judges.
            model: Whose answers.
            alpha: Each interval misses the truth at some time with at most this probability; like
                `min_trials` the same at every call.
            min_trials: An estimate with fewer observations is None.
        """
        judge = self._judges.get(_Place(route, model))
        if judge is None:
            return _UNKNOWN
        if judge.estimates is None:
            judge.estimates = judge.counts.estimates(alpha=alpha, min_trials=min_trials)
        return judge.estimates

    def encode(self) -> str:
        """All judges as a JSON array; each is encoded once for each change of its own."""
        return f"[{','.join(_encode(place, judge) for place, judge in self._judges.items())}]"

    @classmethod
    def from_json(cls, raw: Sequence[dict[str, Any]]) -> Judges:
        """Read what `encode` wrote, parsed."""
        judges = cls()
        for one in raw:
            judges._judges[_Place(one["route"], one["model"])] = _Judge(JudgeCounts.from_json(one["counts"]))
        return judges


def _encode(place: _Place, judge: _Judge) -> str:
    if judge.encoded is None:
        record = {**place._asdict(), "counts": judge.counts.to_json()}
        judge.encoded = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    return judge.encoded

"""Near-equal prompts as one observation.

Traffic repeats itself: a client that tries again, a batch over one template, a probe every minute. Such
near-equal prompts form a *cluster*. Their answers are right or wrong together, so each as an observation of
its own would make intervals too narrow and alarms false. Of every hundred trials of a cell, a cluster gives
one.
"""

from __future__ import annotations

from typing import Any, Final

SPAN: Final = 100
"""Trials in which a cluster is observed once."""


class Clusters:
    """The clusters that were observed in the latest hundred trials of a cell, or exchanges of a roll-up."""

    __slots__ = ("_observed", "_trials")

    def __init__(self) -> None:
        self._trials = 0
        self._observed: dict[str, int] = {}
        """Cluster → number of the trial that was its observation, oldest first."""

    @property
    def empty(self) -> bool:
        """Whether no cluster is remembered, so that a trial that stands alone changes nothing."""
        return not self._observed

    def observe(self, cluster: str) -> bool:
        """Take the next trial; says whether it is an observation.

        Args:
            cluster: The trial's; "" if it stands alone, which is always an observation.
        """
        observed = self._observed
        if not cluster and not observed:
            return True  # no place is compared with, so none is counted
        self._trials += 1
        for first in list(observed):
            if self._trials - observed[first] < SPAN:
                break
            del observed[first]
        if not cluster:
            return True
        if cluster in observed:
            return False
        observed[cluster] = self._trials
        return True

    def to_json(self) -> list[Any]:
        """The state as JSON values."""
        return [self._trials, self._observed]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Clusters:
        """Read what `to_json` wrote."""
        clusters = cls()
        clusters._trials, clusters._observed = raw
        return clusters

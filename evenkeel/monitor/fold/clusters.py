"""Near-equal prompts as one observation.

Traffic repeats itself: a client that tries again, a batch over one template, a probe every minute. Such
near-equal prompts form a *cluster*. Their answers are right or wrong together, so each as an observation of
its own would make intervals too narrow and alarms false. Of every hundred trials of a cell, a cluster gives
one.

Trials that look into the movement of a group (`Verdict.split_of`) are likelier where answers move. To count
the first of them in a cluster would count clusters that move too often. So they count on the first exchange
of their cluster only, among a hundred that were tried, and hinder nothing. There a drawn trial has its whole
weight; on a further exchange, which is not looked into, its path weighs 1. None of this depends on what the
cluster's answers do, so no mean is biased.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from evenkeel.core.verdict import Verdict

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

    def weight(self, verdict: Verdict, *, leads: bool) -> float | None:
        """What the next rated trial counts for in estimates; None if it is no observation.

        Args:
            verdict: The trial's.
            leads: Whether its exchange is the first of its cluster.
        """
        cluster = verdict.origin.cluster
        leads = leads or not cluster
        if verdict.selection.split_of:
            return verdict.weight if leads and cluster not in self._observed else None
        if not self.observe(cluster):
            return None
        return verdict.weight if leads else verdict.selection.exchange_weight

    def to_json(self) -> list[Any]:
        """The state as JSON values."""
        return [self._trials, self._observed]

    @classmethod
    def from_json(cls, raw: list[Any]) -> Clusters:
        """Read what `to_json` wrote."""
        clusters = cls()
        clusters._trials, clusters._observed = raw
        return clusters

"""Requests that belong to no template yet: two of them that are alike show a new one."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.cluster import Cluster
from evenkeel.shadow.prompt.template.fitting import (
    COVERED_AT_LEAST,
    SHARED_AT_LEAST,
    coverage,
    has_label,
    weight,
    words_fixed,
)

if TYPE_CHECKING:
    from evenkeel.shadow.prompt.template.cluster import Shape, Texts

_POOLED_FIRST: Final = 6
"""Requests to wait for before two are taken for one template, so that the right two are."""
_MOST_POOLED: Final = 12
_PAIRED_FROM_WORDS: Final = 2


@dataclass(frozen=True, slots=True)
class Pooled:
    """A request that belongs to no template yet."""

    shape: Shape
    texts: Texts
    units: frozenset[tuple[int, str]]
    number: int


class Pool:
    """The latest of them."""

    def __init__(self) -> None:
        self._waiting: deque[Pooled] = deque(maxlen=_MOST_POOLED)

    def pair(self, request: Pooled) -> Cluster | None:
        """The cluster of a request and others of the same template; None while the request waits for them.

        Two are taken for one template once there are enough to choose from.
        """
        alike = [one for one in self._waiting if one.shape == request.shape]
        if any(one.texts == request.texts for one in alike):
            return None
        partner = max(alike, key=lambda one: weight(one.units & request.units), default=None)
        if (
            len(self._waiting) >= _POOLED_FIRST
            and partner is not None
            and weight(partner.units & request.units) >= _PAIRED_FROM_WORDS
        ):
            cluster = Cluster.of(partner.shape, partner.texts, partner.number)
            merged = cluster.merged(request.texts)
            if words_fixed(merged) >= _PAIRED_FROM_WORDS or has_label(merged):
                self._waiting.remove(partner)
                cluster.refine(merged)
                _absorb(cluster, request)
                self._join(cluster)
                return cluster
        self._waiting.append(request)
        return None

    def _join(self, cluster: Cluster) -> None:
        """Move those that have the template as well from the pool into its cluster."""
        for other in [one for one in self._waiting if one.shape == cluster.shape]:
            if coverage(cluster, other.units) >= COVERED_AT_LEAST:
                merged = cluster.merged(other.texts)
                if words_fixed(merged) >= SHARED_AT_LEAST * cluster.fixed_words:
                    cluster.refine(merged)
                    _absorb(cluster, other)
                    self._waiting.remove(other)


def _absorb(cluster: Cluster, request: Pooled) -> None:
    cluster.seen += 1
    cluster.born = min(cluster.born, request.number)
    cluster.last = max(cluster.last, request.number)
    spans = cluster.placed(request.texts)
    if spans is not None and not cluster.is_repeat(request.texts):
        cluster.take(request.texts, spans)

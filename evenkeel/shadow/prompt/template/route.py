"""Templates of one route, as clusters of requests that belong together.

A request goes to the cluster whose template it fits, else to the one that it almost fits. Those that come
near none wait in a pool, where two that are alike begin a new template.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.template.cluster import (
    SHARED_AT_LEAST,
    Cluster,
    Shape,
    Texts,
    place_all,
    units_in,
    words_fixed,
)
from evenkeel.shadow.prompt.template.skeleton import word_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.template.skeleton import Skeleton, Span

_COVERED_AT_LEAST: Final = 0.4
"""Share of a template's landmarks that a request has before the two are compared at all."""
_POOLED_FIRST: Final = 6
"""Requests to wait for before two are taken for one template, so that the right two are."""
_MOST_POOLED: Final = 12
_PAIRED_FROM_WORDS: Final = 2
_MOST_CLUSTERS: Final = 16
_MOST_VERSIONS: Final = 64
_FORGOTTEN_AFTER: Final = 20_000
_KNOWN_FROM: Final = 6
_NAMED_COUNTS: Final = 0.2
"""Margin of fit by which a template without a name must exceed one that has proved itself."""
_SHARES: Final = ((4, 0.8), (12, 0.25))
"""A template of fewer words than the first needs at least the second as its share of the requests:
two questions that begin with the same three words are no template."""
_SMALLEST_SHARE: Final = 0.03


@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """Wording of a template. Requests are numbered in the order the route sent them, from 1."""

    fingerprint: str
    """16 hex digits; equal texts have equal ones."""
    first_seen: int
    """Number of the first request with it."""
    last_seen: int
    """Number of the last request with it."""
    requests: int
    """Number of requests with this wording."""


@dataclass(frozen=True, slots=True)
class _PooledRequest:
    """A request that belongs to no template yet."""

    shape: Shape
    texts: Texts
    units: frozenset[tuple[int, str]]
    number: int


class RouteTemplates:
    """Templates learned from a route's requests. Not thread-safe."""

    def __init__(self) -> None:
        self.requests = 0
        self.clusters: list[Cluster] = []
        self.versions: OrderedDict[str, TemplateVersion] = OrderedDict()
        self.keys: OrderedDict[str, None] = OrderedDict()
        self._pool: deque[_PooledRequest] = deque(maxlen=_MOST_POOLED)

    def observe(self, shape: Shape, texts: Texts) -> None:
        """Learn from one request."""
        self.requests += 1
        cluster = _best_fitting(shape, texts, self.clusters)
        if cluster is not None:
            successor = cluster.fit(texts, self.requests)
        else:
            units = units_in(texts)
            near = _nearest(shape, texts, units, self.clusters)
            if near is None:
                self._pair(_PooledRequest(shape, texts, units, self.requests))
                return
            cluster, merged = near
            successor = cluster.miss(texts, merged, self.requests)
        if successor is not None:
            self._add(successor)
            cluster = successor
        self._name(cluster)
        if cluster not in self.clusters:
            fitting = _best_fitting(shape, texts, self.clusters)
            if fitting is None:
                return
            cluster = fitting
        self._count(cluster)

    def find(self, shape: Shape, texts: Texts) -> tuple[Cluster, Sequence[Sequence[Span]]] | None:
        """Return the template of a request and the spans of its fragments; None while it is unknown."""
        known = [cluster for cluster in self.clusters if self._is_known(cluster)]
        cluster = _best_fitting(shape, texts, known)
        if cluster is not None:
            spans = cluster.placed(texts)
        else:
            near = _nearest(shape, texts, units_in(texts), known) if known else None
            if near is None:
                return None
            cluster = near[0]
            spans = place_all(near[1], texts)
        return None if spans is None else (cluster, spans)

    def state(self) -> dict[str, Any]:
        """The named templates and the versions, as JSON-able values."""
        return {
            "requests": self.requests,
            "clusters": [cluster.state() for cluster in self.clusters if cluster.fingerprint is not None],
            "versions": [
                [version.fingerprint, version.first_seen, version.last_seen, version.requests]
                for version in self.versions.values()
            ],
        }

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RouteTemplates:
        """Restore templates from their `state`.

        Raises: KeyError, TypeError, ValueError and the like if it is damaged.
        """
        route = cls()
        route.requests = int(state["requests"])
        route.clusters = [Cluster.from_state(cluster) for cluster in state["clusters"]]
        for name, first, last, requests in state["versions"]:
            route.versions[str(name)] = TemplateVersion(str(name), int(first), int(last), int(requests))
        return route

    def _pair(self, request: _PooledRequest) -> None:
        """Begin a template with a waiting request that is like this one, or let this one wait."""
        alike = [waiting for waiting in self._pool if waiting.shape == request.shape]
        if any(waiting.texts == request.texts for waiting in alike):
            return
        partner = max(alike, key=lambda waiting: _shared_words(waiting, request), default=None)
        if (
            len(self._pool) >= _POOLED_FIRST
            and partner is not None
            and _shared_words(partner, request) >= _PAIRED_FROM_WORDS
        ):
            cluster = Cluster.of(partner.shape, partner.texts, partner.number)
            merged = cluster.merged(request.texts)
            has_label = any(":" in fragment for skeleton in merged for fragment in skeleton)
            if words_fixed(merged) >= _PAIRED_FROM_WORDS or has_label:
                self._pool.remove(partner)
                cluster.refine(merged)
                cluster.absorb(request.texts, request.number)
                self._join(cluster)
                self._add(cluster)
                return
        self._pool.append(request)

    def _join(self, cluster: Cluster) -> None:
        """Move the waiting requests that fit the template into its cluster."""
        for other in [waiting for waiting in self._pool if waiting.shape == cluster.shape]:
            merged = cluster.merged(other.texts)
            if words_fixed(merged) >= SHARED_AT_LEAST * cluster.fixed_words:
                cluster.refine(merged)
                cluster.absorb(other.texts, other.number)
                self._pool.remove(other)

    def _add(self, cluster: Cluster) -> None:
        self.clusters = [
            cluster for cluster in self.clusters if cluster.last > self.requests - _FORGOTTEN_AFTER
        ]
        if len(self.clusters) >= _MOST_CLUSTERS:
            self.clusters.remove(min(self.clusters, key=lambda one: (one.fingerprint is not None, one.last)))
        self.clusters.append(cluster)

    def _is_known(self, cluster: Cluster) -> bool:
        if cluster.fingerprint is not None:
            return True
        if cluster.support < _KNOWN_FROM:
            return False
        words = cluster.fixed_words
        needed = next((share for below, share in _SHARES if words < below), _SMALLEST_SHARE)
        return words > 0 and cluster.seen >= needed * (self.requests - cluster.born + 1)

    def _name(self, cluster: Cluster) -> None:
        """Give the template its fingerprint once it no longer changes, and drop special cases of it."""
        if cluster.fingerprint is not None or not cluster.is_settled() or not self._is_known(cluster):
            return
        if any(_is_special_case(cluster, other) for other in self.clusters):
            self.clusters.remove(cluster)
            return
        cluster.name()
        self.clusters = [
            other
            for other in self.clusters
            if other.fingerprint is not None or not _is_special_case(other, cluster)
        ]

    def _count(self, cluster: Cluster) -> None:
        cluster.seen += 1
        cluster.last = self.requests
        name = cluster.fingerprint
        if name is None:
            return
        known = self.versions.get(name)
        if known is None:
            self.versions[name] = TemplateVersion(name, cluster.born, self.requests, cluster.seen)
            if len(self.versions) > _MOST_VERSIONS:
                del self.versions[min(self.versions, key=lambda key: self.versions[key].last_seen)]
        else:
            self.versions[name] = replace(known, last_seen=self.requests, requests=known.requests + 1)


def _best_fitting(shape: Shape, texts: Texts, clusters: Sequence[Cluster]) -> Cluster | None:
    """Return the cluster whose template the request contains in full.

    Of several the longest that has a name. Before one has, that with most requests: the longest may owe
    its length to a value that a few requests share.
    """
    fitting = [
        cluster for cluster in clusters if cluster.shape == shape and cluster.placed(texts) is not None
    ]
    return max(
        fitting,
        key=lambda cluster: (
            (True, cluster.fixed_characters) if cluster.fingerprint else (False, cluster.support)
        ),
        default=None,
    )


def _nearest(
    shape: Shape, texts: Texts, units: frozenset[tuple[int, str]], clusters: Sequence[Cluster]
) -> tuple[Cluster, tuple[Skeleton, ...]] | None:
    """Return the cluster that the request almost fits, with the skeletons that would remain."""
    alike = [cluster for cluster in clusters if cluster.shape == shape]
    ranked = sorted(alike, key=lambda cluster: -cluster.coverage(units))
    tried = [cluster for cluster in ranked[:2] if cluster.coverage(units) >= _COVERED_AT_LEAST]
    named = [cluster for cluster in alike if cluster.fingerprint is not None]
    if named:
        tried += [max(named, key=lambda cluster: cluster.seen), max(named, key=lambda cluster: cluster.born)]
    best: tuple[Cluster, tuple[Skeleton, ...]] | None = None
    most = 0.0
    for cluster in dict.fromkeys(sorted(tried, key=lambda cluster: cluster.born)):
        merged = cluster.merged(texts)
        share = words_fixed(merged) / max(cluster.fixed_words, 1)
        if share < SHARED_AT_LEAST:
            continue
        share += _NAMED_COUNTS * (cluster.fingerprint is not None)
        # Of two that fit about as well the newer: its last details are still being learned.
        if share > most - _ABOUT_AS_WELL:
            best, most = (cluster, merged), share
    return best


_ABOUT_AS_WELL: Final = 0.03


def _is_special_case(cluster: Cluster, other: Cluster) -> bool:
    """Return whether the first is the second plus a frequent value, such as the same article."""
    if other is cluster or other.shape != cluster.shape or other.support < cluster.support:
        return False
    return other.placed(tuple("\x00".join(skeleton) for skeleton in cluster.skeletons)) is not None


def _shared_words(one: _PooledRequest, other: _PooledRequest) -> int:
    return sum(word_count(unit) for _, unit in one.units & other.units)

"""The templates of one route: which requests belong together, and when a template was edited."""

from __future__ import annotations

import copy
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.cluster import Cluster, Shape, Texts, fingerprint, place_all
from evenkeel.shadow.prompt.template.fitting import (
    COVERED_AT_LEAST,
    SHARED_AT_LEAST,
    best_fitting,
    coverage,
    is_special_case,
    lost_only_edges,
    units_in,
    words_fixed,
)
from evenkeel.shadow.prompt.template.pool import Pool, Pooled
from evenkeel.shadow.prompt.template.succession import extension_of, successor_of
from evenkeel.shadow.prompt.template.variants import SAMPLES, wordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.template.skeleton import Skeleton, Span

_MOST_CLUSTERS: Final = 16
_MOST_VERSIONS: Final = 64
_FORGOTTEN_AFTER: Final = 20_000
_KNOWN_FROM: Final = 6
_NAMED_FROM: Final = SAMPLES
_NAMED_AFTER_UNCHANGED: Final = 8
_NAMED_AT_LATEST: Final = 30
_EDITED_AFTER: Final = 4
"""Requests in a row that miss the same words and have the same others instead."""
_MOST_DOUBTS: Final = 8
_DOUBTED_FOR: Final = 30
_ABOUT_AS_WELL: Final = 0.03
_NAMED_COUNTS: Final = 0.2
"""How much better a template without a name has to fit than one that has proved itself."""
_SHARES: Final = ((4, 0.8), (12, 0.25))
"""A template of fewer words than the first needs at least the second as its share of the requests:
two questions that begin with the same three words are no template."""
_SMALLEST_SHARE: Final = 0.03


@dataclass(frozen=True, slots=True)
class TemplateVersion:
    """One wording of a template. Requests are numbered as the route sent them, from 1."""

    fingerprint: str
    """16 hex digits; equal texts have equal ones."""
    first_seen: int
    """Number of the first request with it."""
    last_seen: int
    """Number of the last request with it."""
    requests: int
    """How many had it."""


class RouteTemplates:
    """What a route's requests have shown of its templates. Not thread-safe."""

    def __init__(self) -> None:
        self.requests = 0
        self.clusters: list[Cluster] = []
        self.versions: OrderedDict[str, TemplateVersion] = OrderedDict()
        self.keys: OrderedDict[str, None] = OrderedDict()
        self._pool = Pool()

    def observe(self, shape: Shape, texts: Texts) -> None:
        """Learn from one request."""
        self.requests += 1
        cluster = self._fitting(shape, texts)
        if cluster is not None:
            cluster = self._took(cluster, texts)
        else:
            units = units_in(texts)
            near = self._nearest(shape, texts, units, self.clusters)
            if near is None:
                founded = self._pool.pair(Pooled(shape, texts, units, self.requests))
                if founded is not None:
                    self._add(founded)
                return
            cluster = self._almost(near[0], texts, near[1])
        if cluster not in self.clusters:
            cluster = self._fitting(shape, texts)
        if cluster is not None:
            self._count(cluster)

    def find(self, shape: Shape, texts: Texts) -> tuple[Cluster, Sequence[Sequence[Span]]] | None:
        """The template of a request and where its fragments stand; None while that is unknown."""
        known = [cluster for cluster in self.clusters if self._is_known(cluster)]
        cluster = best_fitting(shape, texts, known)
        if cluster is not None:
            spans = cluster.placed(texts)
        else:
            near = self._nearest(shape, texts, units_in(texts), known) if known else None
            if near is None:
                return None
            cluster = near[0]
            spans = place_all(near[1], texts)
        return None if spans is None else (cluster, spans)

    def _fitting(self, shape: Shape, texts: Texts) -> Cluster | None:
        return best_fitting(shape, texts, self.clusters)

    def _nearest(
        self, shape: Shape, texts: Texts, units: frozenset[tuple[int, str]], clusters: Sequence[Cluster]
    ) -> tuple[Cluster, tuple[Skeleton, ...]] | None:
        """The cluster that the request almost fits, and what it leaves of the skeletons."""
        alike = [one for one in clusters if one.shape == shape]
        ranked = sorted(alike, key=lambda one: -coverage(one, units))
        tried = [one for one in ranked[:2] if coverage(one, units) >= COVERED_AT_LEAST]
        named = max((one for one in alike if one.fingerprint), key=lambda one: one.seen, default=None)
        newest = max((one for one in alike if one.fingerprint), key=lambda one: one.born, default=None)
        tried += [one for one in (named, newest) if one is not None and one not in tried]
        best: tuple[Cluster, tuple[Skeleton, ...]] | None = None
        most = 0.0
        for cluster in dict.fromkeys(sorted(tried, key=lambda one: one.born)):
            merged = cluster.merged(texts)
            share = words_fixed(merged) / max(cluster.fixed_words, 1)
            if share < SHARED_AT_LEAST:
                continue
            if cluster.fingerprint is not None:
                share += _NAMED_COUNTS
            # Of two that fit about as well the newer: its last details are still being learned.
            if share > most - _ABOUT_AS_WELL:
                best, most = (cluster, merged), share
        return best

    def _took(self, cluster: Cluster, texts: Texts) -> Cluster:
        """A request that fits; returns its cluster, another one if the template was added to."""
        newer = cluster.extension
        if newer is not None and newer in self.clusters and newer.support < _NAMED_FROM:
            # It may have the added words, and miss only what the first requests had in common by chance.
            merged = newer.merged(texts)
            if words_fixed(merged) > cluster.fixed_words:
                return self._almost(newer, texts, merged)
        if cluster.is_repeat(texts):
            return cluster
        spans = cluster.placed(texts)
        assert spans is not None
        cluster.take(texts, spans)
        for doubtful in cluster.streak:
            cluster.doubt(doubtful)
        cluster.streak = []
        self._settle(cluster)
        self._name(cluster)
        # Settling may have changed where the fragments stand.
        spans = cluster.placed(texts)
        if spans is not None:
            successor = extension_of(cluster, texts, spans, self.requests)
            if successor is not None:
                self._add(successor)
                return successor
        return cluster

    def _almost(self, cluster: Cluster, texts: Texts, merged: tuple[Skeleton, ...]) -> Cluster:
        """A request that misses some words of a template: the template is refined, or was edited."""
        if cluster.is_repeat(texts):
            return cluster
        young = cluster.fingerprint is None or cluster.support < _NAMED_FROM
        if young or lost_only_edges(cluster.skeletons, merged):
            cluster.refine(merged)
            spans = cluster.placed(texts)
            assert spans is not None
            cluster.take(texts, spans)
            self._name(cluster)
            return cluster
        cluster.streak.append(texts)
        if len(cluster.streak) < _EDITED_AFTER:
            return cluster
        successor = successor_of(cluster, self.requests)
        if successor is None:
            # The oldest may have missed something else, just before an edit.
            cluster.doubt(cluster.streak.pop(0))
            self._settle(cluster)
            return cluster
        cluster.streak, cluster.doubts = [], []
        self._add(successor)
        return successor

    def _settle(self, cluster: Cluster) -> None:
        """What several requests missed, between others, recurred or is optional: it becomes a gap."""
        waited = bool(cluster.doubts) and cluster.support - cluster.doubted_at >= _DOUBTED_FOR
        if len(cluster.doubts) < _MOST_DOUBTS and not waited:
            return
        for texts in cluster.doubts:
            merged = cluster.merged(texts)
            if words_fixed(merged) >= SHARED_AT_LEAST * cluster.fixed_words:
                cluster.refine(merged)
                spans = cluster.placed(texts)
                if spans is not None:
                    cluster.take(texts, spans)
        cluster.doubts = []

    def _add(self, cluster: Cluster) -> None:
        self.clusters = [one for one in self.clusters if one.last > self.requests - _FORGOTTEN_AFTER]
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
        """Give the template its fingerprint once it no longer changes."""
        if cluster.fingerprint is not None or cluster.support < _NAMED_FROM or not self._is_known(cluster):
            return
        if cluster.unchanged < _NAMED_AFTER_UNCHANGED and cluster.support < _NAMED_AT_LATEST:
            return
        if any(is_special_case(cluster, other) for other in self.clusters):
            self.clusters.remove(cluster)
            return
        found = wordings(cluster.skeletons, cluster.samples)
        cluster.samples.clear()
        if found:
            self._split(cluster, found)
            return
        cluster.fingerprint = fingerprint(cluster.shape, cluster.skeletons)
        self.clusters = [
            one for one in self.clusters if one.fingerprint is not None or not is_special_case(one, cluster)
        ]

    def _split(self, cluster: Cluster, found: Sequence[tuple[Skeleton, ...]]) -> None:
        """Go on with one cluster for each wording of the template."""
        self.clusters.remove(cluster)
        for skeletons in found:
            one = Cluster(cluster.shape, skeletons, cluster.born, cluster.last)
            one.lines = copy.deepcopy(cluster.lines)
            one.words = cluster.words.copy()
            one.digests = cluster.digests.copy()
            one.seen, one.support = cluster.seen // len(found), cluster.support // len(found)
            one.fingerprint = fingerprint(one.shape, skeletons)
            self._add(one)

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

"""The templates of one route: which requests belong together, and when a template was edited.

A request goes to the cluster whose template it fits. Those that fit none wait in a pool, where two that are
alike begin a new template.
"""

from __future__ import annotations

import copy
from collections import OrderedDict, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.cluster import (
    SAMPLES,
    SHARED_AT_LEAST,
    Cluster,
    Shape,
    Texts,
    fingerprint,
    place_all,
    units_of,
    words_fixed,
)
from evenkeel.shadow.prompt.template.skeleton import fixed_words, word_count
from evenkeel.shadow.prompt.template.succession import extension_of, successor_of, wordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.template.skeleton import Skeleton, Span


COVERED_AT_LEAST: Final = 0.4
"""Share of a template's landmarks that a request has before the two are compared at all."""


def best_fitting(shape: Shape, texts: Texts, clusters: Sequence[Cluster]) -> Cluster | None:
    """The cluster whose template the request has in full.

    Of several the longest that has a name. Before one has, that with most requests: the longest may owe
    its length to a value that a few requests share.
    """
    fitting = [one for one in clusters if one.shape == shape and one.placed(texts) is not None]
    return max(
        fitting,
        key=lambda one: (True, one.fixed_characters) if one.fingerprint else (False, one.support),
        default=None,
    )


def is_special_case(cluster: Cluster, other: Cluster) -> bool:
    """Whether the first is the second with a value that came often, such as the same article."""
    if other is cluster or other.shape != cluster.shape or other.support < cluster.support:
        return False
    return other.placed(tuple("\x00".join(skeleton) for skeleton in cluster.skeletons)) is not None


def units_in(texts: Texts) -> frozenset[tuple[int, str]]:
    """Lines and sentences of a request, each with the number of its text."""
    return frozenset((number, unit) for number, text in enumerate(texts) for unit in units_of(text))


def coverage(cluster: Cluster, units: frozenset[tuple[int, str]]) -> float:
    """Share of a template's landmarks that a request has, in [0, 1]."""
    landmarks = cluster.landmarks
    return len(landmarks & units) / len(landmarks) if landmarks else 0.0


def weight(units: frozenset[tuple[int, str]]) -> int:
    """Words in some units."""
    return sum(word_count(unit) for _, unit in units)


def lost_only_edges(before: Sequence[Skeleton], after: Sequence[Skeleton]) -> bool:
    """Whether only marks beside gaps are gone, such as a full stop that most values end with."""
    return all(
        len(one) == len(other) and fixed_words(one) == fixed_words(other)
        for one, other in zip(before, after, strict=True)
    )


def has_label(skeletons: Sequence[Skeleton]) -> bool:
    """Whether a fragment may be a label, such as "Question:"."""
    return any(":" in fragment for skeleton in skeletons for fragment in skeleton)


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


_MOST_CLUSTERS: Final = 16
_MOST_VERSIONS: Final = 64
_FORGOTTEN_AFTER: Final = 20_000
_KNOWN_FROM: Final = 6
_NAMED_FROM: Final = SAMPLES
_NAMED_AFTER_UNCHANGED: Final = 8
NAMED_AT_LATEST: Final = 30
"""Requests of a template by which it has a name."""
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
        if cluster.unchanged < _NAMED_AFTER_UNCHANGED and cluster.support < NAMED_AT_LATEST:
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

"""The templates of one route: which requests belong together, and when a template was edited."""

from __future__ import annotations

import copy
from collections import OrderedDict, deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shadow.prompt.template.cluster import (
    Cluster,
    Shape,
    Texts,
    fingerprint,
    merge_all,
    place_all,
    units_of,
)
from shadow.prompt.template.edges import extended
from shadow.prompt.template.edit import edited, is_deletion
from shadow.prompt.template.skeleton import fixed_words
from shadow.prompt.template.tokens import word_count
from shadow.prompt.template.variants import SAMPLES, wordings

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from shadow.prompt.template.skeleton import Skeleton, Span

_POOLED_FIRST: Final = 6
"""Requests to wait for before two are taken for one template, so that the right two are."""
_MOST_POOLED: Final = 12
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
_LONG_CONSTANT: Final = 40
"""Requests after which words that vanish next to a gap were template, not a value that recurred."""
_SHARED_AT_LEAST: Final = 0.5
_COVERED_AT_LEAST: Final = 0.4
_ABOUT_AS_WELL: Final = 0.03
_NAMED_COUNTS: Final = 0.2
"""How much better a template without a name has to fit than one that has proved itself."""
_PAIRED_FROM_WORDS: Final = 2
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


@dataclass(frozen=True, slots=True)
class _Pooled:
    """A request that belongs to no template yet."""

    shape: Shape
    texts: Texts
    units: frozenset[tuple[int, str]]
    number: int


class RouteTemplates:
    """What a route's requests have shown of its templates. Not thread-safe."""

    def __init__(self) -> None:
        self.requests = 0
        self.clusters: list[Cluster] = []
        self.versions: OrderedDict[str, TemplateVersion] = OrderedDict()
        self.keys: OrderedDict[str, None] = OrderedDict()
        self._pool: deque[_Pooled] = deque(maxlen=_MOST_POOLED)

    def observe(self, shape: Shape, texts: Texts) -> None:
        """Learn from one request."""
        self.requests += 1
        cluster = self._fitting(shape, texts)
        if cluster is not None:
            cluster = self._took(cluster, texts)
        else:
            units = _units(texts)
            near = self._nearest(shape, texts, units, self.clusters)
            if near is None:
                self._pool_or_pair(_Pooled(shape, texts, units, self.requests))
                return
            cluster = self._almost(near[0], texts, near[1])
        if cluster not in self.clusters:
            cluster = self._fitting(shape, texts)
        if cluster is not None:
            self._count(cluster)

    def find(self, shape: Shape, texts: Texts) -> tuple[Cluster, Sequence[Sequence[Span]]] | None:
        """The template of a request and where its fragments stand; None while that is unknown."""
        known = [cluster for cluster in self.clusters if self._is_known(cluster)]
        cluster = _best(shape, texts, known)
        if cluster is not None:
            spans = cluster.placed(texts)
        else:
            near = self._nearest(shape, texts, _units(texts), known) if known else None
            if near is None:
                return None
            cluster = near[0]
            spans = place_all(near[1], texts)
        return None if spans is None else (cluster, spans)

    def _fitting(self, shape: Shape, texts: Texts) -> Cluster | None:
        return _best(shape, texts, self.clusters)

    def _nearest(
        self, shape: Shape, texts: Texts, units: frozenset[tuple[int, str]], clusters: Sequence[Cluster]
    ) -> tuple[Cluster, tuple[Skeleton, ...]] | None:
        """The cluster that the request almost fits, and what it leaves of the skeletons."""
        alike = [one for one in clusters if one.shape == shape]
        ranked = sorted(alike, key=lambda one: -_coverage(one, units))
        tried = [one for one in ranked[:2] if _coverage(one, units) >= _COVERED_AT_LEAST]
        named = max((one for one in alike if one.fingerprint), key=lambda one: one.seen, default=None)
        newest = max((one for one in alike if one.fingerprint), key=lambda one: one.born, default=None)
        tried += [one for one in (named, newest) if one is not None and one not in tried]
        best: tuple[Cluster, tuple[Skeleton, ...]] | None = None
        most = 0.0
        for cluster in dict.fromkeys(sorted(tried, key=lambda one: one.born)):
            merged = cluster.merged(texts)
            share = _words(merged) / max(cluster.fixed_words, 1)
            if share < _SHARED_AT_LEAST:
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
            if _words(merged) > cluster.fixed_words:
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
            successor = self._extension(cluster, texts, spans)
            if successor is not None:
                self._add(successor)
                return successor
        return cluster

    def _almost(self, cluster: Cluster, texts: Texts, merged: tuple[Skeleton, ...]) -> Cluster:
        """A request that misses some words of a template: the template is refined, or was edited."""
        if cluster.is_repeat(texts):
            return cluster
        young = cluster.fingerprint is None or cluster.support < _NAMED_FROM
        if young or _lost_only_edges(cluster.skeletons, merged):
            cluster.refine(merged)
            spans = cluster.placed(texts)
            assert spans is not None
            cluster.take(texts, spans)
            self._name(cluster)
            return cluster
        cluster.streak.append(texts)
        if len(cluster.streak) < _EDITED_AFTER:
            return cluster
        successor = self._successor(cluster)
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
            if _words(merged) >= _SHARED_AT_LEAST * cluster.fixed_words:
                cluster.refine(merged)
                spans = cluster.placed(texts)
                if spans is not None:
                    cluster.take(texts, spans)
        cluster.doubts = []

    def _successor(self, cluster: Cluster) -> Cluster | None:
        """The cluster of the edited template, None if the requests in the streak show no edit."""
        left = cluster.skeletons
        losses: list[int] = []
        for texts in cluster.streak:
            losses.append(_words(cluster.merged(texts)))
            left = merge_all(left, texts, trusted=True)
        if _words(left) < _SHARED_AT_LEAST * cluster.fixed_words:
            return None
        columns = [[texts[number] for texts in cluster.streak] for number in range(len(left))]
        skeletons = tuple(
            edited(before, after, column, cluster.words)
            for before, after, column in zip(cluster.skeletons, left, columns, strict=True)
        )
        replaced = _words(skeletons) > _words(left)
        deleted = any(
            is_deletion(before, after, column)
            for before, after, column in zip(cluster.skeletons, left, columns, strict=True)
        )
        vanished = cluster.support >= _LONG_CONSTANT and len(set(losses)) == 1
        if not (replaced or deleted or vanished):
            return None
        return self._succeeding(cluster, skeletons, cluster.streak)

    def _extension(self, cluster: Cluster, texts: Texts, spans: Sequence[Sequence[Span]]) -> Cluster | None:
        """The cluster of a template to which words were added beside a gap, None if there are none."""
        cluster.latest.append(texts)
        found = cluster.edges.observe(texts, spans)
        if cluster.fingerprint is None or cluster.support < _LONG_CONSTANT // 2 or not found:
            return None
        skeletons = cluster.skeletons
        for edge in found:
            skeletons = extended(skeletons, edge, [one[edge.text] for one in cluster.latest])
        if _words(skeletons) == cluster.fixed_words:
            return None
        cluster.extension = self._succeeding(cluster, skeletons, cluster.latest)
        return cluster.extension

    def _succeeding(
        self, cluster: Cluster, skeletons: tuple[Skeleton, ...], requests: Collection[Texts]
    ) -> Cluster:
        number = self.requests
        successor = Cluster(cluster.shape, skeletons, number - len(requests) + 1, number)
        successor.lines = copy.deepcopy(cluster.lines)
        successor.words = cluster.words.copy()
        successor.seen = successor.support = len(requests)
        for texts in requests:
            successor.is_repeat(texts)
        successor.fingerprint = fingerprint(cluster.shape, skeletons)
        return successor

    def _pool_or_pair(self, request: _Pooled) -> None:
        """Find a second request of the same template, once there are enough to choose from."""
        alike = [one for one in self._pool if one.shape == request.shape and one.texts != request.texts]
        if any(one.shape == request.shape and one.texts == request.texts for one in self._pool):
            return
        partner = max(alike, key=lambda one: _weight(one.units & request.units), default=None)
        if (
            len(self._pool) >= _POOLED_FIRST
            and partner is not None
            and _weight(partner.units & request.units) >= _PAIRED_FROM_WORDS
        ):
            cluster = Cluster.of(partner.shape, partner.texts, partner.number)
            merged = cluster.merged(request.texts)
            if _words(merged) >= _PAIRED_FROM_WORDS or _has_label(merged):
                self._pool.remove(partner)
                cluster.refine(merged)
                self._absorb(cluster, request)
                for other in [one for one in self._pool if one.shape == cluster.shape]:
                    if _coverage(cluster, other.units) >= _COVERED_AT_LEAST:
                        merged = cluster.merged(other.texts)
                        if _words(merged) >= _SHARED_AT_LEAST * cluster.fixed_words:
                            cluster.refine(merged)
                            self._absorb(cluster, other)
                            self._pool.remove(other)
                self._add(cluster)
                return
        self._pool.append(request)

    def _absorb(self, cluster: Cluster, request: _Pooled) -> None:
        cluster.seen += 1
        cluster.born = min(cluster.born, request.number)
        cluster.last = max(cluster.last, request.number)
        spans = cluster.placed(request.texts)
        if spans is not None and not cluster.is_repeat(request.texts):
            cluster.take(request.texts, spans)

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
        if any(_is_special_case(cluster, other) for other in self.clusters):
            self.clusters.remove(cluster)
            return
        found = wordings(cluster.skeletons, cluster.samples)
        cluster.samples.clear()
        if found:
            self._split(cluster, found)
            return
        cluster.fingerprint = fingerprint(cluster.shape, cluster.skeletons)
        self.clusters = [
            one for one in self.clusters if one.fingerprint is not None or not _is_special_case(one, cluster)
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


def _best(shape: Shape, texts: Texts, clusters: Sequence[Cluster]) -> Cluster | None:
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


def _is_special_case(cluster: Cluster, other: Cluster) -> bool:
    """Whether the first is the second with a value that came often, such as the same article."""
    if other is cluster or other.shape != cluster.shape or other.support < cluster.support:
        return False
    return other.placed(tuple("\x00".join(skeleton) for skeleton in cluster.skeletons)) is not None


def _units(texts: Texts) -> frozenset[tuple[int, str]]:
    return frozenset((number, unit) for number, text in enumerate(texts) for unit in units_of(text))


def _coverage(cluster: Cluster, units: frozenset[tuple[int, str]]) -> float:
    landmarks = cluster.landmarks
    return len(landmarks & units) / len(landmarks) if landmarks else 0.0


def _weight(units: frozenset[tuple[int, str]]) -> int:
    return sum(word_count(unit) for _, unit in units)


def _words(skeletons: Sequence[Skeleton]) -> int:
    return sum(map(fixed_words, skeletons))


def _lost_only_edges(before: Sequence[Skeleton], after: Sequence[Skeleton]) -> bool:
    """Whether only marks beside gaps are gone, such as a full stop that most values end with."""
    return all(
        len(one) == len(other) and fixed_words(one) == fixed_words(other)
        for one, other in zip(before, after, strict=True)
    )


def _has_label(skeletons: Sequence[Skeleton]) -> bool:
    return any(":" in fragment for skeleton in skeletons for fragment in skeleton)

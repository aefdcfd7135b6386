"""Clusters that follow another one: its template was edited, or words were added to it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.cluster import Cluster, fingerprint, merge_all
from evenkeel.shadow.prompt.template.edges import extended
from evenkeel.shadow.prompt.template.edit import edited, is_deletion
from evenkeel.shadow.prompt.template.fitting import SHARED_AT_LEAST, words_fixed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from evenkeel.shadow.prompt.template.cluster import Texts
    from evenkeel.shadow.prompt.template.skeleton import Skeleton, Span

_LONG_CONSTANT: Final = 40
"""Requests after which words that vanish next to a gap were template, not a value that recurred."""


def successor_of(cluster: Cluster, number: int) -> Cluster | None:
    """The cluster of the edited template, None if the requests in the streak show no edit.

    Args:
        cluster: That of the template so far.
        number: Number of the last request of the route.
    """
    left = cluster.skeletons
    losses: list[int] = []
    for texts in cluster.streak:
        losses.append(words_fixed(cluster.merged(texts)))
        left = merge_all(left, texts, trusted=True)
    if words_fixed(left) < SHARED_AT_LEAST * cluster.fixed_words:
        return None
    columns = [[texts[place] for texts in cluster.streak] for place in range(len(left))]
    skeletons = tuple(
        edited(before, after, column, cluster.words)
        for before, after, column in zip(cluster.skeletons, left, columns, strict=True)
    )
    replaced = words_fixed(skeletons) > words_fixed(left)
    deleted = any(
        is_deletion(before, after, column)
        for before, after, column in zip(cluster.skeletons, left, columns, strict=True)
    )
    vanished = cluster.support >= _LONG_CONSTANT and len(set(losses)) == 1
    if not (replaced or deleted or vanished):
        return None
    return _succeeding(cluster, skeletons, cluster.streak, number)


def extension_of(
    cluster: Cluster, texts: Texts, spans: Sequence[Sequence[Span]], number: int
) -> Cluster | None:
    """The cluster of a template to which words were added beside a gap, None if there are none.

    Args:
        cluster: That of the template so far; remembers the request.
        texts: A request that has the template.
        spans: Where its fragments stand.
        number: Number of the last request of the route.
    """
    cluster.latest.append(texts)
    found = cluster.edges.observe(texts, spans)
    if cluster.fingerprint is None or cluster.support < _LONG_CONSTANT // 2 or not found:
        return None
    skeletons = cluster.skeletons
    for edge in found:
        skeletons = extended(skeletons, edge, [one[edge.text] for one in cluster.latest])
    if words_fixed(skeletons) == cluster.fixed_words:
        return None
    cluster.extension = _succeeding(cluster, skeletons, cluster.latest, number)
    return cluster.extension


def _succeeding(
    cluster: Cluster, skeletons: tuple[Skeleton, ...], requests: Collection[Texts], number: int
) -> Cluster:
    successor = Cluster(cluster.shape, skeletons, number - len(requests) + 1, number)
    successor.lines = copy.deepcopy(cluster.lines)
    successor.words = cluster.words.copy()
    successor.seen = successor.support = len(requests)
    for texts in requests:
        successor.is_repeat(texts)
    successor.fingerprint = fingerprint(cluster.shape, skeletons)
    return successor

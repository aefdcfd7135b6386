"""How well a request fits the template of a cluster, and one template another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.cluster import units_of
from evenkeel.shadow.prompt.template.skeleton import fixed_words
from evenkeel.shadow.prompt.template.tokens import word_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.template.cluster import Cluster, Shape, Texts
    from evenkeel.shadow.prompt.template.skeleton import Skeleton

SHARED_AT_LEAST: Final = 0.5
"""Share of a template's words that a request of it has in order."""
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


def words_fixed(skeletons: Sequence[Skeleton]) -> int:
    """Words that a template's fragments hold."""
    return sum(map(fixed_words, skeletons))


def lost_only_edges(before: Sequence[Skeleton], after: Sequence[Skeleton]) -> bool:
    """Whether only marks beside gaps are gone, such as a full stop that most values end with."""
    return all(
        len(one) == len(other) and fixed_words(one) == fixed_words(other)
        for one, other in zip(before, after, strict=True)
    )


def has_label(skeletons: Sequence[Skeleton]) -> bool:
    """Whether a fragment may be a label, such as "Question:"."""
    return any(":" in fragment for skeleton in skeletons for fragment in skeleton)

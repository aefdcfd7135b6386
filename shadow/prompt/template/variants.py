"""Two wordings of a template that were in use from the start, as in a test of one against the other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.skeleton import gaps, place
from evenkeel.shadow.prompt.template.tokens import word_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.template.skeleton import Skeleton

SAMPLES: Final = 16
"""Requests that are looked at."""
_FEWEST_SAMPLES: Final = 12
_FEWEST_WORDS: Final = 3
_SMALLEST_SHARE: Final = 0.2


def wordings(skeletons: Sequence[Skeleton], samples: Sequence[tuple[str, ...]]) -> list[tuple[Skeleton, ...]]:
    """The two templates that a skeleton joins, by what fills gaps that hold one of two sentences.

    A gap tells wordings apart if it holds one of exactly two texts of several words in all samples. A
    field with short values is left alone, and so is a section that may be missing.

    Returns: two lists of skeletons, one per text; [] if the samples show one wording only.
    """
    if len(samples) < _FEWEST_SAMPLES:
        return []
    filled: list[dict[tuple[int, int], str]] = []
    for texts in samples:
        values: dict[tuple[int, int], str] = {}
        for number, (skeleton, text) in enumerate(zip(skeletons, texts, strict=True)):
            spans = place(skeleton, text)
            if spans is None:
                return []
            for index, gap in enumerate(gaps(spans)):
                values[number, index] = text[gap.start : gap.end]
        filled.append(values)
    telling = [key for key in filled[0] if _tells([values[key] for values in filled])]
    groups = Counter(tuple(values[key] for key in telling) for values in filled)
    if len(groups) != 2:  # noqa: PLR2004 - one wording against the other
        return []
    return [
        tuple(_filled(skeleton, number, dict(zip(telling, group, strict=True))) for number, skeleton in
              enumerate(skeletons))
        for group in sorted(groups)
    ]  # fmt: skip


def _tells(values: Sequence[str]) -> bool:
    counts = Counter(values)
    return (
        len(counts) == 2  # noqa: PLR2004 - one wording against the other
        and min(counts.values()) >= _SMALLEST_SHARE * len(values)
        and all(word_count(value) >= _FEWEST_WORDS for value in counts)
    )


def _filled(skeleton: Skeleton, number: int, values: dict[tuple[int, int], str]) -> Skeleton:
    fragments = [skeleton[0]]
    for index, fragment in enumerate(skeleton[1:]):
        if (number, index) in values:
            fragments[-1] += values[number, index] + fragment
        else:
            fragments.append(fragment)
    return tuple(fragments)

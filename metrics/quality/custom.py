"""Qualities of an application's own, described in words."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from evenkeel.metrics.judge.prompts import rubric_prompt
from evenkeel.metrics.quality.answer_prompts import CITATIONS, CONCISENESS, RELEVANCE
from evenkeel.metrics.similarity.protocol import SCALE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.metrics.judge.prompts import Prompt
    from evenkeel.metrics.quality.protocol import QualityMetric

RESERVED: Final = frozenset(
    ("similarity", "probe", "faithfulness", "completeness", RELEVANCE.name, CITATIONS.name, CONCISENESS.name)
)
"""Names that mean something already."""
_RESERVED_ENDING: Final = "_proxy"
_LONGEST_NAME: Final = 40
_FIRST_VERSION: Final = 1_000_000


def custom_prompt(name: str, description: str, scale: Mapping[int, str]) -> Prompt:
    """What a judge is asked about a quality that is described in words.

    The version follows from the words, in the millions: two wordings under one name are never taken for
    the same metric.

    Args:
        name: Snake case, up to 40 characters, e.g. "politeness".
        description: What to look at, in whole sentences.
        scale: What 3 (best), 2 and 1 mean; exactly these, as all ratings add up to one score.

    Raises: ValueError naming the quality and what is wrong with it.
    """
    if name in RESERVED:
        raise ValueError(f"the quality {name!r} is built in; choose another name")
    if name.endswith(_RESERVED_ENDING):
        raise ValueError(
            f"the quality {name!r} is judged, and names in _proxy are for stand-ins without a judge"
        )
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"the quality {name!r} has a name of more than {_LONGEST_NAME} characters")
    if tuple(sorted(scale)) != SCALE:
        given = ", ".join(str(step) for step in sorted(scale)) or "nothing"
        raise ValueError(f"the quality {name!r} must say what 3, 2 and 1 mean; it says {given}")
    texts = [name, " ".join(description.split()), *(" ".join(scale[step].split()) for step in SCALE)]
    digest = hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).digest()
    version = _FIRST_VERSION + int.from_bytes(digest[:4], "big") // 4
    return rubric_prompt(name, description, scale, version=version)


def custom_quality(
    name: str, description: str, scale: Mapping[int, str], judged: Callable[[Prompt], QualityMetric]
) -> QualityMetric:
    """A quality described in words, as a metric.

    Args:
        name: See `custom_prompt`, as for the next two.
        description: What to look at.
        scale: What 3, 2 and 1 mean.
        judged: Makes a metric of a prompt, e.g. `partial(JudgedQuality, judge)`.

    Raises: ValueError as of `custom_prompt`.
    """
    return judged(custom_prompt(name, description, scale))

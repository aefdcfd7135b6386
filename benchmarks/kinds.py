"""Kinds of pairs of real answers whose right rating is roughly known, from the public data."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from benchmarks.metrics.corpus import conclusion, pbss, rated, runs

if TYPE_CHECKING:
    import random

_PLAIN: Final = "0"
"""GPT-4o's prompt without any instruction on how to answer."""
_CLOSE, _FAR = 4.5, 2.0
"""Human similarity, of 5, from which sentences count as the same and below which as different."""

Kinds = dict[str, list[tuple[str, str]]]


def gpt4o() -> Kinds:
    """GPT-4o at temperature 0 on mathematics, under ten prompts: reruns, other prompts, other questions."""
    texts = {(one.condition, one.question, one.run): one.text for one in runs()}
    kinds: Kinds = defaultdict(list)
    for (condition, question, run), text in texts.items():
        if run:
            continue
        end, again = conclusion(text), texts.get((condition, question, 1), "")
        if end and (other := conclusion(again)):
            kinds[f"rerun, {'same' if end == other else 'other'} conclusion"].append((text, again))
        original = texts.get((_PLAIN, question, 0), "")
        if condition != _PLAIN and end and end == conclusion(original):
            kinds["other prompt, same conclusion"].append((original, text))
    plain = [text for (condition, _, run), text in texts.items() if condition == _PLAIN and not run]
    kinds["other question"] = list(zip(plain, [*plain[1:], plain[0]], strict=True))
    return kinds


def sentences() -> Kinds:
    """English sentences that people find the same, and others that they find different (STS-B)."""
    every = rated("en")
    return {
        "STS-B, people say same": [(one.first, one.second) for one in every if one.similarity >= _CLOSE],
        "STS-B, people say different": [(one.first, one.second) for one in every if one.similarity < _FAR],
    }


def every_kind(rng: random.Random) -> Kinds:
    """The kinds above, and answers of three models to the same, a reworded and another prompt (PBSS)."""
    said: Kinds = {f"PBSS, {kind}": [*pairs] for kind, pairs in pbss(rng).items()}
    return gpt4o() | said | sentences()

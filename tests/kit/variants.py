"""Variants of the application prompts: whether they keep what is protected, and a digest of every byte."""

from __future__ import annotations

import json
import random
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.perturbations import (
    by_name,
    protected_spans,
    seed_for,
)
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import TemplateLearner, fixed_template
from tests.kit.prompts import EVERY

if TYPE_CHECKING:
    from collections.abc import Iterable


TEXT_KINDS: Final = ("general.whitespace", "general.punctuation", "general.casing", "general.spelling")
_SEVERITIES: Final = (0.1, 0.5, 1.0)


def chat(text: str) -> PromptView:
    """A request of one user message, cut as a first request of a route is."""
    body = json.dumps({"messages": [{"role": "user", "content": text}]}, ensure_ascii=False)
    return PromptView.parse(body.encode(), TemplateLearner().classifier(""))


def applications() -> list[PromptView]:
    """The application prompts, cut by their templates."""
    return [PromptView.parse(one.body, fixed_template(one.layout.templates)) for one in EVERY]


def keeps(before: PromptView, after: PromptView) -> bool:
    """Whether all protected spans of the input stand in the variant, as often as in the original.

    Where the segments are the same ones, also in their order.
    """
    inputs = [one for one in before.segments if one.kind == "input"]
    aligned = len(before.segments) == len(after.segments) and all(
        old.kind == new.kind and old.slot == new.slot
        for old, new in zip(before.segments, after.segments, strict=True)
    )
    if aligned and all(_in_order(one.text, after.segments[one.index].text) for one in inputs):
        return True
    text = "\n".join(one.text for one in after.segments)
    wanted = Counter(one.text[span.start : span.end] for one in inputs for span in protected_spans(one.text))
    return all(text.count(kept) >= times for kept, times in wanted.items())


def _in_order(before: str, after: str) -> bool:
    at = 0
    for span in protected_spans(before):
        kept = before[span.start : span.end]
        at = after.find(kept, at)
        if at < 0:
            return False
        at += len(kept)
    return True


def digest(names: Iterable[str] = TEXT_KINDS) -> str:
    """Names every byte that the kinds make of the application prompts: the same on any platform."""
    read = blake2b(digest_size=8)
    for number, view in enumerate(applications()):
        for kind in by_name(names):
            for severity in _SEVERITIES:
                rng = random.Random(seed_for(f"digest.{number}", kind.name, severity, kind.version))
                outcome = kind.apply(view, severity, rng)
                read.update(outcome.body() if isinstance(outcome, PromptView) else b"-")
    return read.hexdigest()

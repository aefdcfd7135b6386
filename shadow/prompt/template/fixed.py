"""Templates that the settings name instead of having them learned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.shadow.prompt.template.labelling import typed, typed_by_role
from evenkeel.shadow.prompt.template.skeleton import Span, fixed_characters, place
from evenkeel.shadow.prompt.template.tokens import padded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.segments import Block, Classifier, SlotText
    from evenkeel.shadow.prompt.template.skeleton import Skeleton

PLACEHOLDER: Final = re.compile(r"\{\{[^{}\n]{1,80}\}\}|\{[A-Za-z_][\w. -]{0,80}\}")
"""Where an input goes in a template: `{name}` or `{{name}}`."""


def fixed_template(texts: Sequence[str]) -> Classifier:
    """A classifier for templates given as text with `{placeholders}` or `{{placeholders}}`.

    Each text stands for one whole message (system or user). A message that fits none is classified by
    its role. Earlier answers and results of tools stay history.

    Raises: ValueError if a text is empty or nothing but placeholders.
    """
    skeletons = [_skeleton(text) for text in texts]
    skeletons.sort(key=fixed_characters, reverse=True)

    def classify(slots: Sequence[SlotText]) -> Sequence[Sequence[Block]]:
        return [_classify(slot, skeletons) for slot in slots]

    return classify


def _skeleton(text: str) -> Skeleton:
    fragments = PLACEHOLDER.split(padded(text))
    inner = [fragment for fragment in fragments[1:-1] if fragment]
    skeleton = (fragments[0], *inner, fragments[-1]) if len(fragments) > 1 else (fragments[0],)
    if not fixed_characters(skeleton):
        raise ValueError("a template needs text besides its placeholders")
    return skeleton


def _classify(slot: SlotText, skeletons: Sequence[Skeleton]) -> tuple[Block, ...]:
    if slot.role not in {"system", "developer", "user"}:
        return typed_by_role(slot)
    text = padded(slot.text)
    for skeleton in skeletons:
        spans = place(skeleton, text)
        if spans is not None:
            return typed(slot.text, unpadded(spans, len(slot.text)))
    return typed_by_role(slot)


def unpadded(spans: Sequence[Span], length: int) -> list[Span]:
    """Stretches of a padded text as stretches of the text itself, empty ones left out."""
    cut = [Span(max(span.start - 1, 0), min(span.end - 1, length)) for span in spans]
    return [span for span in cut if span.end > span.start]

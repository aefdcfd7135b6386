"""What is computed of an answer or of a prompt, once: likeness, traits, sketches."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import Answer, Pair
from evenkeel.metrics.similarity.likeness import Likeness
from evenkeel.shadow.answer_traits import sketch_of, traits_of
from evenkeel.shadow.prompt import PromptView

if TYPE_CHECKING:
    from benchmarks.upgrades.recordings import Prompt

_LIKENESS: Final = Likeness()


def likeness(one: str, two: str) -> float:
    """How alike two answers are, as reference prompts are compared, in [0, 1]."""
    return 1.0 if one == two else _likeness(*sorted((one, two)))


@cache
def _likeness(one: str, two: str) -> float:
    found = _LIKENESS.score(Pair(Answer(one), Answer(two), ""))
    return found if isinstance(found, float) else 1.0


@cache
def traits(text: str) -> tuple[float, ...]:
    """How an answer looks."""
    return traits_of(Answer(text))


@cache
def sketch(prompt: Prompt) -> tuple[int, ...]:
    """What a prompt is about."""
    messages = [{"role": message.role, "content": message.text} for message in prompt.messages]
    return sketch_of(PromptView.parse(json.dumps({"model": "recorded", "messages": messages}).encode()))

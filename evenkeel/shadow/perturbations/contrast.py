"""Contrasts: changes of a question after which a right answer must be another one.

The opposite of a rewording. A constant answer, a cache that serves the nearest prompt, or a model that
ignores the question is perfectly robust to rewordings. Its answers do not move under a contrast either,
which tells it apart. The share of contrasts under which answers move is the *sensitivity*, shown beside
robustness; no other figure and no alert counts them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from evenkeel.core.rewordings import Category, Rewording
from evenkeel.core.verdict import CONTRAST
from evenkeel.shadow.perturbations.answer_language import inputs_of
from evenkeel.shadow.perturbations.protocol import (
    NO_INPUT,
    NOTHING_TO_CHANGE,
    Draft,
    NotApplicable,
    PerturbationBase,
    RewriteTask,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from evenkeel.shadow.perturbations.protocol import Outcome, Perturbation
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.prompt.segments import Segment

CATEGORY: Final = Category(
    CONTRAST,
    "Another question, whose right answer must be another one: the share of answers that move is the "
    "sensitivity. Only these are meant to move the answer, so they count in no other figure.",
    order=900,
    phrase="another question ({kind})",
    must_move=True,
)
# Small whole numbers that stand alone: no times, dates, versions, addresses, values of an option, parts of
# identifiers, or numbers of a list's items.
_NUMBER: Final = re.compile(r"(?<![\w.,:/#=$€£-])(?!(?m:^)\d+[.)])[1-9]\d{0,3}(?![\w.,:/%-]*\d)(?![\w])")
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
# Shorter texts are greetings or confirmations: there is no question to replace.
_FEWEST_WORDS: Final = 3
# Longest question of which each number decides the answer; a report may name many that do not matter.
_SHORT_CHARS: Final = 400
# Changes that a model is asked for; `rewriter/prompts.toml` words them.
_CHANGES: Final = ("name", "opposite", "aspect")
# Longest text that a model is asked to change.
_MOST_CHARS: Final = 8_000


class AnotherNumber(PerturbationBase):
    """Changes one number of a short question by a lot."""

    name: Final = "contrast.number"
    rewording: Final = Rewording(CATEGORY, order=10)
    requires = frozenset({"judge"})

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """Return a short question with another number; "nothing_to_change" if none stands alone."""
        del severity
        segment = question_of(view)
        if segment is None:
            return NO_INPUT
        if len(segment.text) > _SHORT_CHARS:
            return NotApplicable("too_long")
        numbers = list(_NUMBER.finditer(segment.text))
        if not numbers:
            return NOTHING_TO_CHANGE
        match = rng.choice(numbers)
        text = f"{segment.text[: match.start()]}{int(match[0]) * 3 + 4}{segment.text[match.end() :]}"
        return view.with_texts({segment.index: text})


class AnotherMeaning(PerturbationBase):
    """Has a model change what is asked: another name, the opposite of a condition, another aspect."""

    name: Final = "contrast.meaning"
    rewording: Final = Rewording(CATEGORY, order=20)
    requires = frozenset({"rewriter", "judge"})

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the draft of another question."""
        del severity
        segment = question_of(view)
        if segment is None:
            return NO_INPUT
        if len(segment.text) > _MOST_CHARS:
            return NotApplicable("too_long")
        index = segment.index

        def finish(texts: Sequence[str]) -> PromptView:
            return view.with_texts({index: texts[0]})

        return Draft((RewriteTask("contrast", segment.text, rng.choice(_CHANGES)),), finish)


CONTRASTS: Final[tuple[Perturbation, ...]] = (AnotherNumber(), AnotherMeaning())
"""Built-in contrasts."""


def question_of(view: PromptView) -> Segment | None:
    """Return the segment that holds the question: the last typed one of some words; None without any.

    Where a template is known, values such as a name or a date may stand behind the question.
    """
    typed = view.typed
    if not typed:
        typed = tuple(inputs_of(view))
    for segment in reversed(typed):
        if len(_WORD.findall(segment.text)) >= _FEWEST_WORDS:
            return segment
    return max(typed, key=lambda segment: len(segment.text), default=None)

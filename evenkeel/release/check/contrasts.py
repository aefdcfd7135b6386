"""Contrasts: changes of a question after which a right answer must be another one.

A constant answer, a cache that serves the nearest prompt, or a model that ignores the question is perfectly
robust to rewordings. Its answers do not move under a contrast either, which is how it is told apart.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from evenkeel.llm.chat import ChatRequest
from evenkeel.llm.faults import Fault
from evenkeel.llm.observer import Message
from evenkeel.release.check.trial import CONTRAST

if TYPE_CHECKING:
    import random
    from collections.abc import Awaitable, Callable, Sequence

    from evenkeel.core.budget import CallBudget
    from evenkeel.core.cache import Cache
    from evenkeel.llm.client import Endpoint
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.prompt.segments import Segment

    EqualMeaning = Callable[[str, str], Awaitable[bool | None]]

_NUMBER: Final = re.compile(r"(?<![\w.,:/#$€£-])[1-9]\d{0,3}(?![\w.,:/%-]*\d)(?![\w])")
"""Small whole numbers that stand alone: no times, dates, versions, addresses or parts of identifiers."""
_MOST_CHARS: Final = 8_000
"""Longest text that a model is asked to change."""
_WRITTEN: Final = 3
"""Changes that a model is asked for; they serve a whole check."""
_RULE_SHARE: Final = 1 / 2
_ASK: Final = """\
Below is a user's message to an assistant. Change what it asks, so that the correct answer to the new message
cannot be the correct answer to the old one. Make the smallest change that does this: another number, another
name or thing, the opposite of a condition, or another aspect of the same subject. Keep language, tone, format
and everything else. Write the new message only.

<<<MESSAGE
{text}
MESSAGE>>>"""
OTHER_QUESTIONS: Final = (
    "How many legs does a spider have?",
    "Which planet is closest to the sun?",
    "What do bees make from nectar?",
)
"""Questions asked in place of the prompt's own where nothing else can be changed."""


@dataclass(slots=True)
class Contrasts:
    """Makes contrasts of a prompt: by a model where there is one, else by rule."""

    model: Endpoint | None = None
    """Writes the changed question."""
    same_meaning: EqualMeaning | None = None
    """Judge that throws out a change of wording only; True rejects the contrast."""
    budget: CallBudget | None = None
    others: Sequence[str] = ()
    """Inputs of other rows, for templates: each stands for another question."""
    cache: Cache | None = None
    """Keeps what the model wrote, for a check that is resumed."""
    _made: dict[str, list[str]] = field(default_factory=dict)
    """Accepted texts by the text that they change."""
    _asked: Counter[str] = field(default_factory=Counter)

    async def make(self, view: PromptView, chance: random.Random) -> tuple[str, PromptView] | None:
        """Return the name of the change and the changed prompt; None if none could be made."""
        segment = asked_segment(view)
        if segment is None:
            return None
        kind, text = await self._changed(segment.text, chance)
        return f"{CONTRAST}.{kind}", view.with_texts({segment.index: text})

    async def _changed(self, text: str, chance: random.Random) -> tuple[str, str]:
        """Return the name of the change and the changed text: the closest to the original that can be had."""
        by_rule = other_number(text, chance)
        if by_rule is not None and (self.model is None or chance.random() < _RULE_SHARE):
            return "number", by_rule
        others = [other for other in self.others if other.strip() and other.strip() != text.strip()]
        if others and chance.random() < _RULE_SHARE:
            return "input", chance.choice(others)
        written = await self._written(text, chance)
        if written is not None:
            return "meaning", written
        if by_rule is not None:
            return "number", by_rule
        if others:
            return "input", chance.choice(others)
        return "question", chance.choice(OTHER_QUESTIONS)

    async def _written(self, text: str, chance: random.Random) -> str | None:
        """Return a text that a model changed and a judge found to mean something else; None without one."""
        if self.model is None or len(text) > _MOST_CHARS:
            return None
        known = self._made.setdefault(text, [])
        number = self._asked[text]
        if number < _WRITTEN:
            self._asked[text] += 1
            changed = await self._another(text, number)
            if changed is not None:
                known.append(changed)
        return chance.choice(known) if known else None

    async def _another(self, text: str, number: int) -> str | None:
        """Return one more text of the model; None if it wrote none that means something else."""
        assert self.model is not None
        key = hashlib.sha256(f"{self.model.model}\0{number}\0{text}".encode()).hexdigest()
        kept = await asyncio.to_thread(self.cache.get, key) if self.cache else None
        if kept is not None:
            return kept.decode() or None
        request = ChatRequest(
            purpose="rewriter",
            messages=[Message("user", _ASK.replace("{text}", text))],
            temperature=1.0,
            seed=number,
        )
        got = await self.model.chat(request, budget=self.budget)
        changed = got if isinstance(got, Fault) else got.text
        if isinstance(changed, Fault):
            return None
        changed = changed.strip()
        useless = not changed or changed == text.strip()
        if useless or (self.same_meaning and await self.same_meaning(text, changed)):
            changed = ""
        if self.cache:
            await asyncio.to_thread(self.cache.put, key, changed.encode())
        return changed or None


def asked_segment(view: PromptView) -> Segment | None:
    """Return the segment that holds the question: the last that a user typed; None without any."""
    typed = view.typed or tuple(
        segment for segment in view.segments if segment.kind == "input" and segment.text.strip()
    )
    return typed[-1] if typed else None


def other_number(text: str, chance: random.Random) -> str | None:
    """Return the text with one number changed by a lot; None if it has none that stands alone."""
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    match = chance.choice(found)
    value = int(match[0])
    return f"{text[: match.start()]}{value * 3 + 4}{text[match.end() :]}"

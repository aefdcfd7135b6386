"""Templates of one slot of a route's requests, such as the system message.

A text goes to the template that it fits, else to the one that it almost fits. Those that come near none wait,
until two that are alike begin a new template.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.shadow.prompt.template.learned import LearnedTemplate
from evenkeel.shadow.prompt.template.skeleton import (
    NOTHING_FIXED,
    fixed_characters,
    fixed_words,
    place,
    whole,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.segments import Span
    from evenkeel.shadow.prompt.template.skeleton import Skeleton

# Texts to wait for before two are taken for one template, so that the right two are.
_WAITED_FIRST: Final = 6
# Texts without a template that wait for one like them.
_MOST_WAITING: Final = 12
_ALIKE_FROM_WORDS: Final = 2
_MOST_TEMPLATES: Final = 16
# Texts after which a template that none of them used is dropped.
_FORGOTTEN_AFTER: Final = 20_000


class _WaitingText(NamedTuple):
    """A text that belongs to no template yet, and its number among those of the slot."""

    text: str
    number: int


class SlotTemplates:
    """Templates learned from the texts of one slot. Not thread-safe."""

    def __init__(self, *, of_system: bool) -> None:
        """Learn from no text yet. A user's repeated text is no template, a system message's is."""
        self.texts = 0
        self.templates: list[LearnedTemplate] = []
        self._of_system = of_system
        self._waiting: list[_WaitingText] = []

    def observe(self, text: str) -> None:
        """Learn from one text."""
        self.texts += 1
        template = _best_fitting(text, self.templates)
        if template is not None:
            successor = template.fit(text, self.texts)
        else:
            near = _nearest(text, self.templates)
            if near is None:
                self._wait(text)
                return
            template, merged = near
            successor = template.miss(text, merged, self.texts)
        if successor is not None:
            self._add(successor)
        if template.is_known(self.texts):
            template.name_if_proved()

    def find(self, text: str) -> tuple[LearnedTemplate, Sequence[Span]] | None:
        """Return the template of a text and the spans of its fragments; None while it is unknown."""
        known = [template for template in self.templates if template.is_known(self.texts)]
        template = _best_fitting(text, known)
        near = _nearest(text, known) if template is None else (template, template.skeleton)
        spans = place(near[1], text) if near is not None else None
        return (near[0], spans) if near is not None and spans is not None else None

    def state(self) -> dict[str, Any]:
        """Return the templates that have a fingerprint as JSON-able values."""
        named: list[dict[str, Any]] = []
        for template in self.templates:
            if template.fingerprint is not None:
                named.append(template.state())
        return {"texts": self.texts, "templates": named}

    @classmethod
    def from_state(cls, state: dict[str, Any], *, of_system: bool) -> SlotTemplates:
        """Restore templates from their `state`.

        Raises: KeyError, TypeError, ValueError and the like if it is damaged.
        """
        templates = cls(of_system=of_system)
        templates.texts = int(state["texts"])
        for template in state["templates"]:
            templates.templates.append(LearnedTemplate.from_state(template, of_system=of_system))
        return templates

    def _wait(self, text: str) -> None:
        if not self._of_system and any(waiting.text == text for waiting in self._waiting):
            return
        pairs = _pairs_in(text)
        partner = max(self._waiting, key=lambda other: len(_pairs_in(other.text) & pairs), default=None)
        self._waiting = [*self._waiting, _WaitingText(text, self.texts)][-_MOST_WAITING:]
        if partner is None or len(self._waiting) <= _WAITED_FIRST:
            return
        template = LearnedTemplate(whole(partner.text), self._of_system, partner.number, partner.number)
        merged = template.merged(text)
        # A label alone ("Ticket:") may be all that two texts share.
        if fixed_words(merged) >= _ALIKE_FROM_WORDS or ":" in "".join(merged):
            template.skeleton = merged
            self._begin(template)

    def _begin(self, template: LearnedTemplate) -> None:
        """Add a template, with the waiting texts that belong to it."""
        template.seen = template.support = 0
        rest: list[_WaitingText] = []
        for waiting in self._waiting:
            merged = template.merged(waiting.text)
            if template.shares_enough(merged):
                template.skeleton = merged
                template.fit(waiting.text, self.texts)
                template.born = min(template.born, waiting.number)
            else:
                rest.append(waiting)
        self._waiting = rest
        self._add(template)

    def _add(self, template: LearnedTemplate) -> None:
        recent = self.texts - _FORGOTTEN_AFTER
        kept: list[LearnedTemplate] = []
        for other in self.templates:
            if other.last > recent:
                kept.append(other)
        if len(kept) >= _MOST_TEMPLATES:
            kept.remove(min(kept, key=lambda other: (other.fingerprint is not None, other.last)))
        self.templates = [*kept, template]


def _best_fitting(text: str, templates: Sequence[LearnedTemplate]) -> LearnedTemplate | None:
    """Return the template that the text contains in full.

    Of several the longest that has a fingerprint. Before one has, that with most texts: the longest may
    owe its length to a value that a few texts share.
    """

    def preference(template: LearnedTemplate) -> tuple[bool, int]:
        named = template.fingerprint is not None
        return named, fixed_characters(template.skeleton) if named else template.support

    fitting: list[LearnedTemplate] = []
    for template in templates:
        if place(template.skeleton, text) is not None:
            fitting.append(template)
    return max(fitting, key=preference, default=None)


def _nearest(text: str, templates: Sequence[LearnedTemplate]) -> tuple[LearnedTemplate, Skeleton] | None:
    """Return the template that the text almost fits, with the skeleton that would remain."""
    pairs = _pairs_in(text)

    def rank(template: LearnedTemplate) -> tuple[int, int]:
        # Newest first among equals: an edited template shares most pairs with the one before.
        return len(_pairs_in("\n".join(template.skeleton)) & pairs), template.born

    if not templates:
        return None
    best = max(templates, key=rank)
    merged = best.merged(text)
    return (best, merged) if best.shares_enough(merged) and merged != NOTHING_FIXED else None


@lru_cache(maxsize=64)
def _pairs_in(text: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of neighbouring words in a text."""
    return frozenset(pairwise(words_of(text)))

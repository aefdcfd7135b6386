"""Learner of the templates of all routes, with a snapshot for the next start.

Each slot of a request, such as the system message, has templates of its own. A text goes to the template that
it fits, else to the one that it almost fits. Those that come near none wait, until two that are alike begin a
new template.
"""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.shadow.prompt.segments import Span
from evenkeel.shadow.prompt.template.labelling import candidates, typed, typed_by_role, unpadded
from evenkeel.shadow.prompt.template.learned import LearnedTemplate
from evenkeel.shadow.prompt.template.skeleton import (
    NOTHING_FIXED,
    condensed,
    fixed_characters,
    fixed_words,
    padded,
    place,
    restored,
    whole,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.segments import Block, Classifier, SlotText
    from evenkeel.shadow.prompt.template.skeleton import Skeleton


FORMAT: Final = 3
"""Format version of snapshots, raised when older ones can no longer be read."""


_MOST_ROUTES: Final = 256

# Texts to wait for before two are taken for one template, so that the right two are.
_WAITED_FIRST: Final = 6
# Texts without a template that wait for one like them.
_MOST_WAITING: Final = 12
_ALIKE_FROM_WORDS: Final = 2
_MOST_TEMPLATES: Final = 16
# Texts after which a template that none of them used is dropped.
_FORGOTTEN_AFTER: Final = 20_000


class TemplateLearner:
    """Learns, route by route, which text of a prompt is template. Thread-safe; does no I/O.

    Memory is bounded: by routes, by templates of a route, by what is read of a long text. What a route
    has not sent for long is forgotten.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._routes: OrderedDict[str, dict[str, SlotTemplates]] = OrderedDict()

    def observe(self, route: str, slots: Sequence[SlotText]) -> None:
        """Learn from the text of one request of a route."""
        texts = _read(slots)
        if not texts:
            return
        with self._lock:
            learned = self._routes.setdefault(route, {})
            self._routes.move_to_end(route)
            if len(self._routes) > _MOST_ROUTES:
                self._routes.popitem(last=False)
            for name, text in texts.items():
                if name not in learned:
                    learned[name] = SlotTemplates(of_system=_is_system(name))
                learned[name].observe(text)

    def classifier(self, route: str) -> Classifier:
        """Return a classifier that uses what is known of the route when called, or roles if nothing is."""

        def classify(slots: Sequence[SlotText]) -> Sequence[Sequence[Block]]:
            found = self._found(route, slots)
            stretches: dict[int, Sequence[Span]] = {}
            for index, template in zip(candidates(slots), found, strict=True):
                if template is not None:
                    stretches[index] = _spans(slots[index].text, template[1])
                elif any(found) and slots[index].role == "user":
                    # Beside a known system message all that a user says is input.
                    stretches[index] = ()
            blocks = []
            for index, slot in enumerate(slots):
                spans = stretches.get(index)
                blocks.append(typed_by_role(slot) if spans is None else typed(slot.text, spans))
            return blocks

        return classify

    def version(self, route: str, slots: Sequence[SlotText]) -> str | None:
        """Return the fingerprint of the template that a request was made with; None while that is unknown.

        The first few requests after an edit still count as the version before it. Requests that share no
        fixed text have no version.
        """
        found = self._found(route, slots)
        names: list[str] = []
        for template in found:
            if template is not None:
                names.append(template[0].fingerprint or "")
        # As long as one of the messages has no version, the whole has none.
        if "" in names or not names:
            return None
        return names[0] if len(names) == 1 else hashlib.sha256("".join(names).encode()).hexdigest()[:16]

    def snapshot(self) -> dict[str, Any]:
        """Return the learned templates as JSON-able values, without any input."""
        routes: dict[str, Any] = {}
        with self._lock:
            for route, learned in self._routes.items():
                routes[route] = {}
                for name, templates in learned.items():
                    routes[route][name] = templates.state()
        return {"format": FORMAT, "routes": routes}

    @classmethod
    def restore(cls, snapshot: object) -> TemplateLearner:
        """Restore a learner from a snapshot; return an empty one if the snapshot can't be read."""
        learner = cls()
        try:
            if isinstance(snapshot, dict) and snapshot.get("format") == FORMAT:
                for route, states in snapshot["routes"].items():
                    learned = {}
                    for name, state in states.items():
                        learned[str(name)] = SlotTemplates.from_state(state, of_system=_is_system(name))
                    learner._routes[str(route)] = learned
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):
            return cls()
        return learner

    def _found(
        self, route: str, slots: Sequence[SlotText]
    ) -> list[tuple[LearnedTemplate, Sequence[Span]] | None]:
        """Return the template of each candidate, with the spans of its fragments; None for those without."""
        texts = _read(slots)
        with self._lock:
            learned = self._routes.get(route, {})
            found = []
            for name, text in texts.items():
                found.append(learned[name].find(text) if name in learned else None)
        return found


def _is_system(name: str) -> bool:
    return not name.startswith("user")


def _read(slots: Sequence[SlotText]) -> dict[str, str]:
    """Return the texts that may hold template, by role and number among those of the role."""
    texts: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for index in candidates(slots):
        slot = slots[index]
        counts[slot.role] += 1
        texts[f"{slot.role} {counts[slot.role]}"] = condensed(padded(slot.text))
    return texts


def _spans(text: str, placed: Sequence[Span]) -> list[Span]:
    length = len(text) + 2
    return unpadded([Span(*restored(*span, length)) for span in placed], len(text))


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

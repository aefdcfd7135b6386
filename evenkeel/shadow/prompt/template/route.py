"""Templates of one route.

A request goes to the template that it fits, else to the one that it almost fits. Those that come near none
wait, until two that are alike begin a new template.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.template.learned import (
    SHARED_AT_LEAST,
    SYSTEM,
    LearnedTemplate,
    Shape,
    Texts,
    place_all,
    words_fixed,
)
from evenkeel.shadow.prompt.template.skeleton import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.segments import Span
    from evenkeel.shadow.prompt.template.skeleton import Skeleton

# Requests to wait for before two are taken for one template, so that the right two are.
_WAITED_FIRST: Final = 6
# Requests without a template that wait for one like them.
_MOST_WAITING: Final = 12
_ALIKE_FROM_WORDS: Final = 2
# Times that one request comes before its system message counts as the template.
_CONSTANT_FROM: Final = 16
_MOST_TEMPLATES: Final = 16
# Requests after which a template that none of them used is dropped.
_FORGOTTEN_AFTER: Final = 20_000
# Templates compared in full with a request: the best ones by their words.
_MOST_COMPARED: Final = 3
# Margin of fit by which a template without a fingerprint must exceed one that has proved itself.
_NAMED_COUNTS: Final = 0.2


@dataclass(slots=True)
class _WaitingRequest:
    """A request that belongs to no template yet."""

    shape: Shape
    texts: Texts
    pairs: frozenset[tuple[int, tuple[str, str]]]
    number: int
    times: int = 1


class RouteTemplates:
    """Templates learned from a route's requests. Not thread-safe."""

    def __init__(self) -> None:
        self.requests = 0
        self.templates: list[LearnedTemplate] = []
        self._waiting: list[_WaitingRequest] = []

    def observe(self, shape: Shape, texts: Texts) -> None:
        """Learn from one request."""
        self.requests += 1
        template = _best_fitting(shape, texts, self.templates)
        if template is not None:
            successor = template.fit(texts, self.requests)
        else:
            near = _nearest(shape, texts, self.templates)
            if near is None:
                self._wait(_WaitingRequest(shape, texts, _pairs_in(texts), self.requests))
                return
            template, merged = near
            successor = template.miss(texts, merged, self.requests)
        if successor is not None:
            self._add(successor)
        self._name(template)

    def find(self, shape: Shape, texts: Texts) -> tuple[LearnedTemplate, Sequence[Sequence[Span]]] | None:
        """Return the template of a request and the spans of its fragments; None while it is unknown."""
        templates_known = [template for template in self.templates if template.is_known(self.requests)]
        template = _best_fitting(shape, texts, templates_known)
        if template is None:
            near = _nearest(shape, texts, templates_known)
            if near is None:
                return None
            template, skeletons = near
        else:
            skeletons = template.skeletons
        spans = place_all(skeletons, texts)
        return None if spans is None else (template, spans)

    def state(self) -> dict[str, Any]:
        """Return the templates that have a fingerprint as JSON-able values."""
        named: list[dict[str, Any]] = []
        for template in self.templates:
            if template.fingerprint is not None:
                named.append(template.state())
        return {"requests": self.requests, "templates": named}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RouteTemplates:
        """Restore templates from their `state`.

        Raises: KeyError, TypeError, ValueError and the like if it is damaged.
        """
        route = cls()
        route.requests = int(state["requests"])
        route.templates = [LearnedTemplate.from_state(template) for template in state["templates"]]
        return route

    def _wait(self, request: _WaitingRequest) -> None:
        alike = [waiting for waiting in self._waiting if waiting.shape == request.shape]
        for waiting in alike:
            if waiting.texts == request.texts:
                waiting.times += 1
                if waiting.times >= _CONSTANT_FROM and set(waiting.shape) & SYSTEM:
                    self._begin(
                        LearnedTemplate.of_repeats(
                            waiting.shape, waiting.texts, waiting.number, waiting.times
                        )
                    )
                return
        partner = max(alike, key=lambda waiting: len(waiting.pairs & request.pairs), default=None)
        waited = sum(waiting.times for waiting in self._waiting) >= _WAITED_FIRST
        if waited and partner is not None:
            template = LearnedTemplate.of(partner.shape, partner.texts, partner.number)
            merged = template.merged(request.texts)
            # A label alone ("Ticket:") may be all that two requests share.
            fragments = "".join(chain.from_iterable(merged))
            if words_fixed(merged) >= _ALIKE_FROM_WORDS or ":" in fragments:
                template.refine(merged)
                template.fit(request.texts, request.number)
                self._begin(template)
                return
        self._waiting = [*self._waiting, request][-_MOST_WAITING:]

    def _begin(self, template: LearnedTemplate) -> None:
        rest: list[_WaitingRequest] = []
        for waiting in self._waiting:
            merged = template.merged(waiting.texts) if waiting.shape == template.shape else ()
            if merged and words_fixed(merged) >= SHARED_AT_LEAST * template.fixed_words:
                template.refine(merged)
                template.born = min(template.born, waiting.number)
                if waiting.texts not in template.recent:
                    template.fit(waiting.texts, self.requests)
                    template.seen += waiting.times - 1
            else:
                rest.append(waiting)
        self._waiting = rest
        self._add(template)

    def _add(self, template: LearnedTemplate) -> None:
        recent = self.requests - _FORGOTTEN_AFTER
        kept = []
        for other in self.templates:
            if other.last > recent:
                kept.append(other)
        if len(kept) >= _MOST_TEMPLATES:
            kept.remove(min(kept, key=lambda other: (other.fingerprint is not None, other.last)))
        self.templates = [*kept, template]

    def _name(self, template: LearnedTemplate) -> None:
        """Give a template its fingerprint once it no longer changes."""
        is_known = template.is_known(self.requests)
        if template.fingerprint is None and template.is_settled() and is_known:
            template.name()


def _best_fitting(shape: Shape, texts: Texts, templates: Sequence[LearnedTemplate]) -> LearnedTemplate | None:
    """Return the template that the request contains in full.

    Of several the longest that has a fingerprint. Before one has, that with most requests: the longest may
    owe its length to a value that a few requests share.
    """

    def preference(template: LearnedTemplate) -> tuple[bool, int]:
        named = template.fingerprint is not None
        return named, template.fixed_characters if named else template.support

    fitting: list[LearnedTemplate] = []
    for template in templates:
        if template.shape == shape and template.placed(texts) is not None:
            fitting.append(template)
    return max(fitting, key=preference, default=None)


def _nearest(
    shape: Shape, texts: Texts, templates: Sequence[LearnedTemplate]
) -> tuple[LearnedTemplate, tuple[Skeleton, ...]] | None:
    """Return the template that the request almost fits, with the skeletons that would remain."""
    pairs = _pairs_in(texts)

    def rank(template: LearnedTemplate) -> tuple[int, int]:
        fixed = tuple("\n".join(skeleton) for skeleton in template.skeletons)
        return len(_pairs_in(fixed) & pairs), template.born

    alike = [template for template in templates if template.shape == shape]
    best: tuple[LearnedTemplate, tuple[Skeleton, ...]] | None = None
    most = 0.0
    # Newest first among equals: an edited template shares most pairs with the one before.
    for template in sorted(alike, key=rank, reverse=True)[:_MOST_COMPARED]:
        merged = template.merged(texts)
        share = words_fixed(merged) / max(template.fixed_words, 1)
        if share < SHARED_AT_LEAST:
            continue
        share += _NAMED_COUNTS * (template.fingerprint is not None)
        if share > most + _ABOUT_AS_WELL:
            best, most = (template, merged), share
    return best


_ABOUT_AS_WELL: Final = 0.03


@lru_cache(maxsize=32)
def _pairs_in(texts: Texts) -> frozenset[tuple[int, tuple[str, str]]]:
    """Return the pairs of neighbouring words in a request, each with the number of its text."""
    pairs: set[tuple[int, tuple[str, str]]] = set()
    for number, text in enumerate(texts):
        for pair in pairwise(words_of(text)):
            pairs.add((number, pair))
    return frozenset(pairs)

"""Learner of the templates of all routes, with a snapshot for the next start."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.segments import Span
from evenkeel.shadow.prompt.template.labelling import candidates, typed, typed_by_role, unpadded
from evenkeel.shadow.prompt.template.route import RouteTemplates
from evenkeel.shadow.prompt.template.skeleton import condensed, padded, restored

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.shadow.prompt.segments import Block, Classifier, SlotText
    from evenkeel.shadow.prompt.template.learned import Shape, Texts


FORMAT: Final = 2
"""Format version of snapshots, raised when older ones can no longer be read."""


_MOST_ROUTES: Final = 256


class TemplateLearner:
    """Learns, route by route, which text of a prompt is template. Thread-safe; does no I/O.

    Memory is bounded: by routes, by templates of a route, by what is read of a long text. What a route
    has not sent for long is forgotten.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._routes: OrderedDict[str, RouteTemplates] = OrderedDict()

    def observe(self, route: str, slots: Sequence[SlotText]) -> None:
        """Learn from the text of one request of a route."""
        shape, texts = _read(slots)
        if not texts:
            return
        with self._lock:
            templates = self._routes.setdefault(route, RouteTemplates())
            self._routes.move_to_end(route)
            if len(self._routes) > _MOST_ROUTES:
                self._routes.popitem(last=False)
            templates.observe(shape, texts)

    def classifier(self, route: str) -> Classifier:
        """Return a classifier that uses what is known of the route when called, or roles if nothing is."""

        def classify(slots: Sequence[SlotText]) -> Sequence[Sequence[Block]]:
            blocks = []
            for slot in slots:
                blocks.append(typed_by_role(slot) if slot.role not in _SPOKEN else ())
            template = self._template(route, slots)
            for index, slot in enumerate(slots):
                if index in template:
                    blocks[index] = typed(slot.text, template[index])
                elif slot.role in _SPOKEN:
                    blocks[index] = typed_by_role(slot)
            return blocks

        return classify

    def version(self, route: str, slots: Sequence[SlotText]) -> str | None:
        """Return the fingerprint of the template that a request was made with; None while that is unknown.

        The first few requests after an edit still count as the version before it. Requests that share no
        fixed text have no version.
        """
        shape, texts = _read(slots)
        with self._lock:
            templates = self._routes.get(route)
            template_match = templates.find(shape, texts) if templates is not None and texts else None
            return template_match[0].fingerprint if template_match is not None else None

    def snapshot(self) -> dict[str, Any]:
        """Return the learned templates as JSON-able values, without any input."""
        with self._lock:
            return {"format": FORMAT, "routes": {name: route.state() for name, route in self._routes.items()}}

    @classmethod
    def restore(cls, snapshot: object) -> TemplateLearner:
        """Restore a learner from a snapshot; return an empty one if the snapshot can't be read."""
        learner = cls()
        try:
            if isinstance(snapshot, dict) and snapshot.get("format") == FORMAT:
                routes = []
                for name, state in snapshot["routes"].items():
                    routes.append((str(name), RouteTemplates.from_state(state)))
                learner._routes.update(routes)
        except (AttributeError, KeyError, TypeError, ValueError, IndexError):
            return cls()
        return learner

    def _template(self, route: str, slots: Sequence[SlotText]) -> Mapping[int, Sequence[Span]]:
        shape, texts = _read(slots)
        with self._lock:
            templates = self._routes.get(route)
            template_match = templates.find(shape, texts) if templates is not None and texts else None
            if template_match is None:
                return {}
            _, placed = template_match
        stretches: dict[int, Sequence[Span]] = {}
        for index, spans in zip(candidates(slots), placed, strict=True):
            stretches[index] = _spans(slots[index].text, spans)
        return stretches


_SPOKEN: Final = frozenset({"system", "developer", "user"})


def _read(slots: Sequence[SlotText]) -> tuple[Shape, Texts]:
    chosen = [slots[index] for index in candidates(slots)]
    return tuple(slot.role for slot in chosen), tuple(condensed(padded(slot.text)) for slot in chosen)


def _spans(text: str, placed: Sequence[Span]) -> list[Span]:
    length = len(text) + 2
    return unpadded([Span(*restored(*span, length)) for span in placed], len(text))

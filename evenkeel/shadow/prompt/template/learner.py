"""Learner of the templates of all routes, with a snapshot for the next start."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any, Final

from evenkeel.shadow.prompt.segments import Span
from evenkeel.shadow.prompt.template.labelling import candidates, typed, typed_by_role, unpadded
from evenkeel.shadow.prompt.template.skeleton import condensed, padded, restored
from evenkeel.shadow.prompt.template.slot import SlotTemplates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.shadow.prompt.segments import Block, Classifier, SlotText
    from evenkeel.shadow.prompt.template.learned import LearnedTemplate


FORMAT: Final = 3
"""Format version of snapshots, raised when older ones can no longer be read."""


_MOST_ROUTES: Final = 256


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

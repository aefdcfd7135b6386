"""Reference prompts: requests of the traffic with several answers each, which are asked again for changes.

They quote prompts and answers as the archive does, and are sealed, bounded and forgotten as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from evenkeel.core.pair import Answer  # noqa: TC001 - read by msgspec
from evenkeel.stores.archive import KEPT_S
from evenkeel.stores.documents import Collection, plain, sealed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkeel.stores.documents import Change, Documents

FULL: Final = 4
"""Answers a reference needs before it is asked in its turn; until then it is filled."""
RIPE: Final = 16
"""Answers a reference needs before another prompt may take its place."""
MOST_ANSWERS: Final = 40
"""Answers at which a reference starts again, if no other prompt has taken its place."""
FORMER_KEPT: Final = 12
KEPT_CHARS: Final = 16_000_000
"""Characters that all references may hold together, before compression."""
LARGEST_CHARS: Final = 400_000
"""Most characters that a reference may come to hold; a larger one is not kept."""
_PLACE: Final = "references"
VECTORS: Final = "embeddings"
"""Prompt version of references that ask for a vector."""

Source = Literal["original", "resend", "asked"]
"""Source of an answer: the traffic, the identical resend after it, or a call of the asker."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """Answer to a reference prompt, with its time, model and source."""

    answer: Answer
    at: float
    """Unix time in seconds."""
    model: str
    """Model as the endpoint returned it, else the one requested."""
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Request of the traffic and its answers. Credentials are never part of it."""

    id: str
    """Id of the exchange that it comes from."""
    route: str
    requested_model: str
    """Model that the request names; "" if it names none."""
    prompt_version: str
    """Version of the prompt; "" if it was not known."""
    path: str
    """Path of the API, without the route's prefix; a query with its credentials removed."""
    request: str
    """Body of the request, as JSON text."""
    headers: tuple[tuple[str, str], ...] = ()
    """Headers of the request among `API_HEADERS`."""
    task: str | None = None
    sketch: tuple[int, ...] = ()
    """Sketch of the prompt, a few hashes of its words (`evenkeel.shadow.references.keeper`)."""
    taken_at: float
    """Unix time in seconds of the request in the traffic."""
    answers: tuple[KeptAnswer, ...]
    """Answers that new ones are compared with, oldest first."""
    former: tuple[KeptAnswer, ...] = ()
    """Latest answers that new ones are no longer compared with since the last change."""
    changed_at: float = 0.0
    """Unix time in seconds at which that change was noticed; 0 if there was none."""
    changed_since: float = 0.0
    """Unix time in seconds of the first answer that showed the change.

    Former answers from then on were given after the change.
    """
    upstream: int = 0
    """Index of the route's upstream: 0 is the first, others are fallbacks."""
    asked_at: float = 0.0
    """Unix time in seconds of the last call, failed ones included; 0 before the first."""
    failed: int = 0
    """Calls that failed since the last successful one."""

    @property
    def chars(self) -> int:
        """Characters of the request and of all answers."""
        kept = (*self.answers, *self.former)
        return len(self.request) + sum(_chars(answer.answer) for answer in kept)

    @property
    def is_vector(self) -> bool:
        """True if the answers are vectors, which say nothing to people and judges."""
        return self.prompt_version == VECTORS and self.path.partition("?")[0].endswith("/embeddings")

    @property
    def before(self) -> tuple[KeptAnswer, ...]:
        """Former answers from before the last change."""
        answers: list[KeptAnswer] = []
        for answer in self.former:
            if answer.at < self.changed_since:
                answers.append(answer)
        return tuple(answers)

    def answered(self, answer: KeptAnswer) -> Reference:
        """Return the reference with one more answer.

        If it is full, it starts again with that answer.
        """
        # Answers of months would hide a change of today: beyond so many the comparison begins anew.
        full = len(self.answers) >= MOST_ANSWERS
        return replace(
            self,
            answers=(answer,) if full else (*self.answers, answer),
            asked_at=answer.at,
            failed=0,
        )

    def renewed(self, kept: Callable[[KeptAnswer], bool], *, at: float, since: float) -> Reference:
        """Return the reference after a change: only answers that `kept` accepts stay to be compared with.

        Args:
            kept: whether an answer is one of after the change.
            at: Unix time in seconds at which the change was noticed.
            since: and of the first answer that showed it.
        """
        answers = []
        for answer in self.answers:
            if not kept(answer):
                answers.append(answer)
        gone = tuple(answers)
        return replace(
            self,
            answers=tuple(answer for answer in self.answers if kept(answer)),
            # A second change before any new answer leaves what is known of before the first.
            former=gone[-FORMER_KEPT:] or self.former,
            changed_at=at,
            changed_since=since if gone else self.changed_since,
        )


class ReferenceState(NamedTuple):
    """State of a reference without the texts of its request and answers."""

    id: str
    route: str
    requested_model: str
    prompt_version: str
    answers: int
    failed: int
    asked_at: float
    """Time of the last call in whole seconds, like the other times here."""
    taken_at: float
    changed_at: float
    chars: int

    @property
    def ripe(self) -> bool:
        """True if another prompt may take its place."""
        return self.answers >= RIPE


@dataclass(frozen=True, slots=True)
class AskedToday:
    """Calls to the references of a route on one day, and the burst in progress."""

    route: str
    day: str
    """UTC date, such as "2026-11-23"."""
    calls: int = 0
    """Routine calls: those made in turn and those that fill a reference, without calls in bursts."""
    fills: int = 0
    """Calls among `calls` that fill a reference."""
    bursts: int = 0
    burst_calls: int = 0
    """Calls of all bursts, including fills paid from the calls that a burst left over (`spare`)."""
    usd: float = 0.0
    asked_at: float = 0.0
    """Unix time in seconds of the last call, of any day."""
    suspected_at: float = 0.0
    """Unix time in seconds of the latest suspicion that was looked into, of any day."""
    burst_model: str = ""
    """Requested model whose references are asked in a burst."""
    burst_at: float = 0.0
    """Unix time in seconds at which the last burst began."""
    burst_left: int = 0
    """Calls that the burst may still make; 0 if it is over."""
    spare: int = 0
    """Calls for fills that are left over from a burst that found the change."""


class ReferenceStore:
    """Reference prompts. Calls block on storage; several processes may use one store at a time."""

    def __init__(
        self, documents: Documents, *, kept_s: float = KEPT_S, total_chars: int = KEPT_CHARS
    ) -> None:
        """Open the store. `total_chars` is what all references may hold, before they are compressed."""
        self._documents = documents
        self._kept_s = kept_s
        self._total_chars = total_chars
        documents.open(_REFERENCES, _DAYS)

    def add(self, reference: Reference, instead_of: str | None = None) -> bool:
        """Keep a reference, perhaps in the place of another; False if its id is there or room is missing."""

        def work(change: Change) -> bool:
            # Counted within the change, so that two processes cannot both take the last room.
            states = []
            for state in self.states():
                if state.id != instead_of:
                    states.append(state)
            held = sum(state.chars for state in states) + reference.chars
            if held > self._total_chars or any(state.id == reference.id for state in states):
                return False
            if instead_of is not None:
                change.drop(_REFERENCES, instead_of)
            change.put(_REFERENCES, reference)
            return True

        return self._documents.change(_REFERENCES, work)

    def find(self, reference_id: str) -> Reference | None:
        """Return one reference; None if it was never kept or has been dropped."""
        return self._documents.find(_REFERENCES, reference_id)

    def of_route(self, route: str) -> list[Reference]:
        """Return the references of a route, the last kept first."""
        return self._documents.select(_REFERENCES, {"route": route})

    def states(self) -> list[ReferenceState]:
        """Return the states of all references, without their texts, the longest kept first."""
        rows = self._documents.values(_REFERENCES, *ReferenceState._fields)
        states = [ReferenceState(*row) for row in rows]  # type: ignore[arg-type]
        return sorted(states, key=lambda state: (state.taken_at, state.id))

    def update(self, reference_id: str, change: Callable[[Reference], Reference]) -> Reference | None:
        """Replace a reference by what `change` makes of it; None, changing nothing, if it is gone.

        Args:
            reference_id: which.
            change: is called again if somebody else changed the collection in between.
        """

        def work(writing: Change) -> Reference | None:
            reference = self.find(reference_id)
            if reference is None:
                return None
            changed = change(reference)
            # A put makes it the newest of its route, which an unchanged reference must not become.
            if changed != reference:
                writing.put(_REFERENCES, changed)
            return changed

        return self._documents.change(_REFERENCES, work)

    def drop(self, route: str | None = None) -> int:
        """Forget the references of a route, or all. Return how many there were."""
        return self._forget(state for state in self.states() if route in {None, state.route})

    def prune(self, now: float, routes: Sequence[str] | None = None) -> int:
        """Forget references that are too old or of a route not given. Return how many there were."""
        gone: list[ReferenceState] = []
        for state in self.states():
            # A route that has left the settings is not asked any more.
            too_old = state.taken_at <= now - self._kept_s
            if too_old or (routes is not None and state.route not in routes):
                gone.append(state)
        return self._forget(gone)

    def remove(self, reference_id: str) -> None:
        """Forget one reference, if it exists."""
        self._documents.drop(_REFERENCES, reference_id)

    def asked(self, route: str) -> AskedToday | None:
        """Return the latest record of a route's calls, of whichever day; None before the first."""
        return self._documents.find(_DAYS, route)

    def put_asked(self, asked: AskedToday) -> None:
        """Store the calls of a route's day."""
        self._documents.put(_DAYS, asked)

    def _forget(self, states: Iterable[ReferenceState]) -> int:
        ids = [state.id for state in states]
        for reference_id in ids:
            self.remove(reference_id)
        return len(ids)


def _chars(answer: Answer) -> int:
    return len(answer.text) + sum(len(call.name) + len(call.arguments) for call in answer.tool_calls)


_REFERENCES: Final = Collection(
    name="reference_prompts",
    key=("id",),
    fields=ReferenceState._fields,
    fields_of=lambda reference: (
        reference.id,
        reference.route,
        reference.requested_model,
        reference.prompt_version,
        len(reference.answers),
        reference.failed,
        int(reference.asked_at),
        int(reference.taken_at),
        int(reference.changed_at),
        reference.chars,
    ),
    body=sealed(Reference, _PLACE, lambda reference: reference.id),
)
_DAYS: Final = Collection(name="reference_days", key=("route",), body=plain(AskedToday))

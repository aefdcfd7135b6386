"""Store of the learned templates of the routes, as one document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.stores.documents import Collection, sealed

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents

_LEARNER: Final = "all"


class _State(NamedTuple):
    learner: str
    text: str


# Templates quote prompts, so they are sealed.
_STATE: Final = Collection(
    name="templates", key=("learner",), body=sealed(_State, "templates", lambda state: state.learner)
)


class TemplateStore:
    """State of a template learner, as JSON."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        documents.open(_STATE)

    def load(self) -> str:
        """Return the state that was saved last; "" if there is none."""
        state = self._documents.find(_STATE, _LEARNER)
        return state.text if state else ""

    def save(self, state: str) -> None:
        """Replace the saved state."""
        self._documents.put(_STATE, _State(_LEARNER, state))

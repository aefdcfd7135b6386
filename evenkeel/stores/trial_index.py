"""Index of trials: its columns, and a selection over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.core.verdict import Verdict

Value = str | int | None


def _state(verdict: Verdict) -> str:
    if verdict.failure is not None:
        return "failed"
    return "unsure" if verdict.unsure else "rated"


# A further column is also a column of the table on SQLite: nothing else has to know it.
COLUMNS: Final[Mapping[str, Callable[[Verdict], Value]]] = {
    "route": lambda verdict: verdict.route,
    "model": lambda verdict: verdict.model,
    "perturbation": lambda verdict: verdict.perturbation,
    "rating": lambda verdict: verdict.rating,
    "state": _state,
    "control": lambda verdict: {False: "held", True: "changed", None: "none"}[verdict.control.shifted],
    "client": lambda verdict: verdict.origin.client,
    "prompt_version": lambda verdict: verdict.origin.prompt_version,
    "session": lambda verdict: verdict.origin.session or None,
}
"""Columns of the index with the functions that compute them from a verdict.

`state` is rated, unsure or failed; `control` is held, changed or none. The time is a further column.
"""


@dataclass(frozen=True, slots=True)
class Narrow:
    """Selection of trials; the default selects all of them."""

    allowed: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    """Allowed values by column. All columns must fit."""
    since: float | None = None
    """Unix time in seconds of the earliest trial selected."""
    until: float | None = None
    """Unix time in seconds of the latest trial selected."""
    ids: frozenset[str] | None = None
    """Ids of the verdicts selected; None = no restriction."""

    @classmethod
    def by(cls, **values: Value | tuple[Value, ...] | None) -> Narrow:
        """Return a selection by values of columns.

        A tuple allows any of its values; None is left out.
        """
        allowed: list[tuple[str, tuple[Value, ...]]] = []
        for name, value in values.items():
            if value is not None:
                allowed.append((name, value if isinstance(value, tuple) else (value,)))
        return cls(tuple(allowed))

    def admits(self, verdict: Verdict) -> bool:
        """Return whether a verdict fits the selection."""
        return (
            all(COLUMNS[name](verdict) in values for name, values in self.allowed)
            and (self.ids is None or verdict.id in self.ids)
            and (self.since is None or verdict.scored_at >= self.since)
            and (self.until is None or verdict.scored_at <= self.until)
        )


ANYTHING: Final = Narrow()

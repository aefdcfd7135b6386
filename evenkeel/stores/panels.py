"""Pairs of answers that a judge rates again every day, and when it did (`evenkeel.core.panel`).

They quote answers as the archive does, and are sealed as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.pair import Answer  # noqa: TC001 - read by msgspec
from evenkeel.stores.documents import Collection, plain, sealed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.stores.documents import Documents

_PLACE: Final = "panel"


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPair:
    """Two answers, and what their judge said of them in the first rounds."""

    id: str
    """Id of the verdict that the answers come from."""
    judge: str
    """Model of the judge and version of its wording."""
    taken_at: float
    """Unix time in seconds at which the pair was taken from the traffic."""
    reference: Answer
    candidate: Answer
    ratings: tuple[int, ...] = ()
    """Ratings that later ones are compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelDays:
    """Times of the rounds of one judge; Unix times in seconds, 0 before the first."""

    judge: str
    rated_at: float = 0.0
    """Time of the last attempt at a whole round."""
    same_at: float = 0.0
    """Time of the last round that was as before."""
    suspected_at: float = 0.0
    """Time of the latest suspicion that a round looked into."""


class PanelStore:
    """Panels of all judges. Calls block on storage."""

    def __init__(self, documents: Documents, *, kept_s: float) -> None:
        """Open the store.

        Args:
            documents: Where they are.
            kept_s: Seconds for which a pair is kept.
        """
        self._documents = documents
        self._kept_s = kept_s
        documents.open(_PAIRS, _DAYS)

    def pairs(self, judge: str) -> list[PanelPair]:
        """Return the pairs of a judge, the last stored first."""
        return self._documents.select(_PAIRS, {"judge": judge})

    def put(self, pair: PanelPair) -> None:
        """Store a pair; one of the same id is replaced."""
        self._documents.put(_PAIRS, pair)

    def prune(self, now: float, judges: Sequence[str]) -> None:
        """Forget pairs that are too old, and those of judges that rate no longer."""
        for name, judge, taken_at in self._documents.values(_PAIRS, "id", "judge", "taken_s"):
            assert isinstance(taken_at, int)
            if judge not in judges or taken_at <= now - self._kept_s:
                self._documents.drop(_PAIRS, str(name))

    def days(self, judge: str) -> PanelDays:
        """Return the times of a judge's rounds."""
        return self._documents.find(_DAYS, judge) or PanelDays(judge=judge)

    def put_days(self, days: PanelDays) -> None:
        """Store the times of a judge's rounds."""
        self._documents.put(_DAYS, days)


_PAIRS: Final = Collection(
    name="panel_pairs",
    key=("id",),
    fields=("id", "judge", "taken_s"),
    fields_of=lambda pair: (pair.id, pair.judge, int(pair.taken_at)),
    body=sealed(PanelPair, _PLACE, lambda pair: pair.id),
)
_DAYS: Final = Collection(name="panel_days", key=("judge",), body=plain(PanelDays))

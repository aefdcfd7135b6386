"""Challengers, their pairs, and what people say of these (`evenkeel.core.challenge`).

A challenger may hold the text of a prompt, and texts quote answers, so they are sealed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.challenge import Challenge, ChallengeLabel, ChallengePair, ChallengeTexts
from evenkeel.stores.documents import Collection, plain, sealed

if TYPE_CHECKING:
    from evenkeel.stores.documents import Documents

_PLACE: Final = "challenge"
MOST_PAIRS: Final = 20_000
"""Pairs kept of each challenger, the newest."""
# Pairs of each challenger whose texts are kept, the newest.
_MOST_TEXTS: Final = 500


class ChallengeStore:
    """Challengers of all routes. Calls block on storage."""

    def __init__(self, documents: Documents, *, kept_s: float) -> None:
        """Open the store.

        Args:
            documents: Where they are.
            kept_s: Seconds for which texts are kept.
        """
        self._documents = documents
        self._kept_s = kept_s
        documents.open(_CHALLENGES, _PAIRS, _TEXTS, _LABELS)

    def all(self) -> list[Challenge]:
        """Return all challengers, the last changed first."""
        return self._documents.select(_CHALLENGES)

    def find(self, challenge_id: str) -> Challenge | None:
        """Return a challenger; None if there is none of that id."""
        return self._documents.find(_CHALLENGES, challenge_id)

    def running(self, route: str) -> Challenge | None:
        """Return the challenger that runs on a route; None if none does."""
        for challenge in self._documents.select(_CHALLENGES, {"route": route}):
            if challenge.stopped_at is None:
                return challenge
        return None

    def start(self, challenge: Challenge) -> None:
        """Start a challenger, go on with one that was stopped, or take over its new margins.

        Another one of the route is stopped, since a route has one at a time.
        """
        # Two challengers would be compared with one incumbent on different requests.
        other = self.running(challenge.route)
        if other is not None and other.id != challenge.id:
            self.stop(other, challenge.started_at)
        earlier = self.find(challenge.id)
        if earlier is not None:
            challenge = replace(challenge, started_at=earlier.started_at, told=earlier.told)
        self.put(replace(challenge, stopped_at=None))

    def put(self, challenge: Challenge) -> None:
        """Store a challenger as it is."""
        self._documents.put(_CHALLENGES, challenge)

    def stop(self, challenge: Challenge, at: float) -> None:
        """Stop a challenger. Its pairs and its decision stay.

        Args:
            challenge: Which.
            at: Unix time in seconds.
        """
        self.put(replace(challenge, stopped_at=at))

    def add(self, pair: ChallengePair) -> bool:
        """Store a pair. Return False, changing nothing, if the exchange was tried already."""
        return self._documents.add(_PAIRS, pair)

    def pairs(self, challenge_id: str) -> list[ChallengePair]:
        """Return the pairs of a challenger, oldest first."""
        return self._documents.select(_PAIRS, {"challenge": challenge_id})[::-1]

    def add_texts(self, texts: ChallengeTexts) -> None:
        """Keep the texts of a pair."""
        self._documents.put(_TEXTS, texts)

    def texts(self, challenge_id: str) -> list[ChallengeTexts]:
        """Return the texts that are kept of a challenger, newest first."""
        return self._documents.select(_TEXTS, {"challenge": challenge_id})

    def prune(self, now: float) -> None:
        """Forget texts that are too old."""
        for challenge, exchange, time_s in self._documents.values(_TEXTS, "challenge", "exchange", "time_s"):
            assert isinstance(time_s, int)
            # One by one: they are few, and a later run drops what this one did not reach.
            if time_s <= now - self._kept_s:
                self._documents.drop(_TEXTS, str(challenge), str(exchange))

    def label(self, label: ChallengeLabel) -> None:
        """Keep what a person says of a pair; the last word counts."""
        self._documents.put(_LABELS, label)

    def labels(self, challenge_id: str) -> dict[str, int]:
        """Return the places that people gave candidates, by exchange."""
        labels = self._documents.select(_LABELS, {"challenge": challenge_id})
        return {label.exchange: label.place for label in labels}

    def revision(self) -> tuple[int, int]:
        """Return numbers that grow with every pair and label; while they are the same, nothing is new."""
        return self._documents.revision(_PAIRS), self._documents.revision(_LABELS)


_CHALLENGES: Final = Collection(
    name="challenges",
    key=("id",),
    fields=("route",),
    body=sealed(Challenge, _PLACE, lambda challenge: challenge.id),
)
_PAIRS: Final = Collection(
    name="challenge_pairs",
    key=("challenge", "exchange"),
    fields=("challenge",),
    body=plain(ChallengePair),
    kept=MOST_PAIRS,
    kept_of="challenge",
)
_TEXTS: Final = Collection(
    name="challenge_texts",
    key=("challenge", "exchange"),
    fields=("challenge", "exchange", "time_s"),
    fields_of=lambda texts: (texts.challenge, texts.exchange, int(texts.time)),
    body=sealed(ChallengeTexts, _PLACE, lambda texts: texts.challenge),
    kept=_MOST_TEXTS,
    kept_of="challenge",
)
_LABELS: Final = Collection(
    name="challenge_labels",
    key=("challenge", "exchange"),
    fields=("challenge",),
    body=plain(ChallengeLabel),
)

"""Names, places and whatever else Microsoft Presidio recognises, as an optional detector."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from evenkeel.shadow.protection.detector import Found, ProtectionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Recognised(Protocol):
    """A value that the analyser recognised."""

    start: int
    end: int
    entity_type: str
    """As "PERSON"."""
    score: float
    """In [0, 1]."""


class Analyser(Protocol):
    """What is used of `presidio_analyzer.AnalyzerEngine`."""

    def analyze(self, text: str, language: str, entities: list[str] | None) -> Sequence[Recognised]:
        """What it recognises; `entities` None = all kinds it knows."""
        ...


class PresidioDetector:
    """Values that an analyser recognises with some certainty."""

    def __init__(
        self, analyser: Analyser, *, language: str, entities: Sequence[str] = (), score: float = 0.5
    ) -> None:
        """Wire it.

        Args:
            analyser: Recognises.
            language: Of the texts, as the analyser names it ("en").
            entities: Kinds that are wanted ("PERSON"); none = all it knows.
            score: Least certainty, in [0, 1].
        """
        self._analyser = analyser
        self._language = language
        self._entities = list(entities) or None
        self._score = score

    def find(self, text: str) -> Iterator[Found]:
        """As `Detector.find`."""
        for one in self._analyser.analyze(text=text, language=self._language, entities=self._entities):
            if one.score >= self._score and one.end > one.start:
                yield Found(one.start, one.end, one.entity_type.lower())


def load_analyser(language: str) -> Any:
    """Presidio's analyser with its standard recognisers.

    Raises: ProtectionError if Presidio or a model for the language is not installed.
    """
    try:
        from presidio_analyzer import AnalyzerEngine  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise ProtectionError(
            "redaction.presidio needs the extra `presidio`: pip install 'evenkeel[presidio]'"
        ) from error
    try:
        return AnalyzerEngine(supported_languages=[language])
    except (OSError, SystemExit, ValueError) as error:
        raise ProtectionError(
            f"Presidio cannot start for {language!r} ({error}); install a spaCy model of that language first"
        ) from error

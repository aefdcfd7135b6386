"""A text as units with something around them, so that it can be put together from other units."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, Protocol

from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError
from evenkeel.experiments.calibrate.degrade.text.items import read_items
from evenkeel.experiments.calibrate.degrade.text.sentences import read_sentences

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.pair import Answer

TextForm = Literal["prose", "list"]
NOUNS: Final[dict[TextForm, str]] = {"prose": "sentences", "list": "items"}


class UnitText(Protocol):
    """A text that was divided; what stands between the units is kept."""

    @property
    def units(self) -> tuple[str, ...]:
        """Sentences or items, in order."""
        ...

    def written(self, slots: Sequence[Sequence[str]]) -> str:
        """The text with other units.

        Args:
            slots: For each unit what stands there now: nothing, one text, or several. The units
                themselves, one each, give the same text back.
        """
        ...


def read_units(text: str, form: TextForm) -> UnitText:
    """Divide a text.

    Raises:
        NotDegradableError: "empty": there is no unit.
    """
    found: UnitText = read_sentences(text) if form == "prose" else read_items(text)
    if not found.units:
        raise NotDegradableError("empty", f"no {'sentence' if form == 'prose' else 'item'} in the text")
    return found


def with_text(answer: Answer, text: str) -> Answer:
    """The answer with another text."""
    return replace(answer, text=text)

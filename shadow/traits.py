"""What kind of prompt an exchange has: what is looked at to tell that the traffic of a route has moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import language_of

if TYPE_CHECKING:
    from evenkeel.shadow.prompt import PromptView


@dataclass(frozen=True, slots=True)
class Traits:
    """Of one prompt."""

    prompt_chars: int = 0
    template_share: float | None = None
    """Characters of the template over all, in [0, 1]; None of an empty prompt."""
    language: str | None = None
    """Base tag of the language most of the input is in, of the whole prompt if nothing in it is input; None
    if it is not certain."""


UNKNOWN: Final = Traits()


def traits_of(view: PromptView) -> Traits:
    """The traits of a prompt whose segments are those of its route's template."""
    chars = sum(len(segment.text) for segment in view.segments)
    template = sum(len(segment.text) for segment in view.segments if segment.kind == "template")
    said = "\n".join(segment.text for segment in view.segments if segment.kind == "input")
    return Traits(chars, template / chars if chars else None, language_of(said or view.text))

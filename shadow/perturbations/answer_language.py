"""The language of a prompt, and asking for the answer in another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.languages import language_of
from evenkeel.shadow.perturbations.prescribing import prescribes
from evenkeel.shadow.perturbations.protocol import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.shadow.prompt import PromptView, Segment

PRESCRIBED: Final = NotApplicable(
    "language_prescribed", "the prompt itself says in which language to answer, or asks for a translation"
)


def prescribes_language(view: PromptView) -> bool:
    """Whether the prompt speaks of the answer's language: asking for another would contradict it."""
    return any(prescribes(one.text) for one in view.segments if one.kind != "history")


def language_of_segments(segments: Iterable[Segment]) -> str | None:
    """The base tag of the language that segments are written in, code apart; None if unknown."""
    return language_of("\n\n".join(one.text for one in segments if one.type != "code"))


def may_be_in(text: str, language: str) -> bool:
    """Whether a text is in a language, as far as can be told: labels, schemas and few words are in any."""
    return language_of(text) in {language, None}


def asking(view: PromptView, request: str) -> PromptView | NotApplicable:
    """The prompt with a request appended to the last thing the user says."""
    last = next(
        (one for one in reversed(view.segments) if one.role == "user" and one.kind != "history"), None
    )
    if last is None:
        return NotApplicable("no_input", "the prompt holds no message of a user")
    return view.with_texts({last.index: f"{last.text.rstrip()}\n\n{request}"})

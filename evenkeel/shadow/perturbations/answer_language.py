"""Language of a prompt, and whether it prescribes the language of the answer."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.core.languages import english_request, language_of
from evenkeel.shadow.perturbations.protocol import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.shadow.prompt import PromptView, Segment


class _Wording(NamedTuple):
    """Wording by which a language prescribes the language of the answer."""

    tag: str
    names: dict[str, str]
    """Names of languages by tag; empty for English."""
    request: str | None
    """Sentence that asks for the answer in a language; None for English."""
    into: re.Pattern[str]
    """Pattern of a language in which something is to be written: "in German"."""


def _wording(table: dict[str, Any]) -> _Wording:
    edge = "" if table["tag"] in ("ja", "zh") else r"\b"
    languages, after = "|".join(table["languages"]), table.get("after", "")
    into = rf"{edge}{table['before']}(?:{languages}){after}{edge}"
    return _Wording(
        table["tag"], table.get("names", {}), table.get("request"), re.compile(into, re.IGNORECASE)
    )


_TABLES: Final = tomllib.loads(files(__package__).joinpath("answer_language.toml").read_text("utf-8"))
_WORDINGS: Final = tuple(map(_wording, _TABLES["wording"]))
_TRANSLATES: Final = re.compile(_TABLES["translates"], re.IGNORECASE)
_RELATIVE: Final = re.compile(_TABLES["relative"], re.IGNORECASE)


def prescribes(text: str) -> bool:
    """Return whether a text says in which language to write, or may say so: "in German", in any sentence.

    Wordings of English, German, Spanish, French, Italian, Dutch, Portuguese, Japanese and Chinese are known.
    """
    return any(wording.into.search(text) for wording in _WORDINGS)


def speaks_of_translation(text: str) -> bool:
    """Return whether a word of a text is about translating."""
    return _TRANSLATES.search(text) is not None


def prescribed(view: PromptView) -> NotApplicable | None:
    """Return why the answer to a prompt cannot be asked for in another language; None if it can.

    The reason is "translation_wanted", or "language_prescribed" where the prompt names a language for its
    answer: a second request would contradict it.
    """
    for segment in view.segments:
        if segment.kind == "history" or segment.type in ("document", "code"):
            continue
        if _RELATIVE.search(segment.text):
            return NotApplicable("language_prescribed")
        for line in segment.text.split("\n"):
            if speaks_of_translation(line):
                return NotApplicable("translation_wanted")
            if prescribes(line):
                return NotApplicable("language_prescribed")
    return None


def answer_request(target: str, language: str) -> str:
    """Return a sentence that asks for the whole answer in a language."""
    own = next((wording for wording in _WORDINGS if wording.tag == language), None)
    if own is None or own.request is None or target not in own.names:
        return english_request(target)
    return own.request.format(language=own.names[target])


def inputs_of(view: PromptView) -> list[Segment]:
    """Return the segments with what fills a template, without those of blanks only."""
    inputs: list[Segment] = []
    for segment in view.segments:
        if segment.kind == "input" and segment.text.strip():
            inputs.append(segment)
    return inputs


# Types of segments of an application that give the model no instructions.
_NO_INSTRUCTIONS: Final = frozenset({"code", "document"})


def instructions_of(view: PromptView) -> list[Segment]:
    """Return the segments in which an application instructs the model."""
    segments: list[Segment] = []
    for segment in view.segments:
        if segment.kind == "template" and segment.type not in _NO_INSTRUCTIONS:
            segments.append(segment)
    return segments


def language_of_segments(segments: Iterable[Segment]) -> str | None:
    """Return the base tag of the language that segments are written in, without code; None if unknown."""
    return language_of("\n\n".join(segment.text for segment in segments if segment.type != "code"))


def may_be_in(text: str, language: str) -> bool:
    """Return whether a text may be in a language: labels, schemas and a few words may be in any."""
    return language_of(text) in {language, None}

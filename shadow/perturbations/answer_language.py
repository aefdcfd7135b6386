"""The language of a prompt, whether it prescribes one, and asking for the answer in another."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.core.languages import language_of
from evenkeel.shadow.perturbations.protocol import NotApplicable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.shadow.prompt import PromptView, Segment


class _Wording(NamedTuple):
    """How a language says it, as patterns."""

    what: str
    """What is to be done."""
    into: str
    """In or into which language."""


def _wording(table: dict[str, Any]) -> _Wording:
    languages = "|".join(table["languages"])
    return _Wording("|".join(table["verbs"]), f"{table['before']}(?:{languages}){table.get('after', '')}")


_TABLES: Final = tomllib.loads(files(__package__).joinpath("answer_language.toml").read_text("utf-8"))
_ENGLISH, *_OTHERS = (_wording(table) for table in _TABLES["wording"])
_JAPANESE: Final = (
    r"(?:[日英独仏中韓][国本]?|ドイツ|フランス|スペイン|イタリア|オランダ|ポルトガル|ロシア)語[でに]"
    r"[^。\n]{0,20}(?:答え|回答|返答|書|訳|出力|要約)"
)
_ORDERS: Final = (
    rf"\b(?:{_ENGLISH.what})\b[^.!?\n]{{0,60}}\b{_ENGLISH.into}\b",
    # Verbs may stand last.
    *(rf"\b(?:{one.what})\b[^.!?\n]{{0,60}}\b{one.into}\b" for one in _OTHERS),
    *(rf"\b{one.into}\b[^.!?\n]{{0,30}}\b(?:{one.what})\b" for one in _OTHERS),
    _JAPANESE,
)
_PRESCRIBED: Final = re.compile("|".join(_ORDERS), re.IGNORECASE)
_NAMES_BEGIN: Final = tuple(_TABLES["names_begin"])
"""Looked for first, because the pattern is slow and most prompts name no language."""


def prescribes(text: str) -> bool:
    """Whether a text says in which language to write, or asks for a translation.

    Wordings of English, German, Spanish, French, Italian, Dutch, Portuguese and Japanese are known.
    """
    lowered = text.lower()
    return any(name in lowered for name in _NAMES_BEGIN) and _PRESCRIBED.search(text) is not None


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
    """Whether a text may be in a language: labels, schemas and a few words may be in any."""
    return language_of(text) in {language, None}


def asking(view: PromptView, request: str) -> PromptView | NotApplicable:
    """The prompt with a request appended to the last thing the user says."""
    last = next(
        (one for one in reversed(view.segments) if one.role == "user" and one.kind != "history"), None
    )
    if last is None:
        return NotApplicable("no_input", "the prompt holds no message of a user")
    return view.with_texts({last.index: f"{last.text.rstrip()}\n\n{request}"})

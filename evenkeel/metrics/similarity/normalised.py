"""Equality after normalisation, a metric that decides no rating."""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair, ToolCall

_LINE_MARK = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+•][ \t]+|(?:-{3,}|={3,}|\*{3,})[ \t]*$)", re.MULTILINE
)
# A star or an underscore with space on both sides, or letters on both sides, is arithmetic or a name.
# What stands before a mark is looked at from behind it, so that the search can jump from mark to mark.
_EMPHASIS = re.compile(
    r"[~`*_](?:(?<=~)~|(?<=`)`*|(?<=[*_])(?:(?<!\w[*_])[*_]{0,2}(?=\S)|(?<=[^\s*_][*_])[*_]{0,2}(?!\w)))"
)
_QUOTES_AND_DASHES = (
    ("\u201c", '"'), ("\u201d", '"'), ("\u201e", '"'), ("\u2018", "'"), ("\u2019", "'"), ("\u2013", "-"),
    ("\u2014", "-"),
)  # fmt: skip
_FENCE = "```"
_TRAILING = ".,;:!?\u3002\u3001"
"""NFKC has already made full-width marks ASCII and the ellipsis three dots."""


_DEEPEST = 100
"""Levels of nesting that are read as JSON. No answer needs more, and what walks through one recurses."""


def json_value(text: str) -> Any:
    """Return the JSON value of a text.

    Raises: ValueError if it is no JSON, or nested deeper than 100 levels.
    """
    try:
        value = json.loads(text)
    except RecursionError as fault:
        raise ValueError("nested too deeply") from fault
    layer = [value]
    for _ in range(_DEEPEST + 1):
        layer = [
            item
            for one in layer
            if isinstance(one, dict | list)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not layer:
            return value
    raise ValueError("nested too deeply")


def parse_json(text: str) -> Any | None:
    """Return the JSON object or array a text consists of, fenced or not; None if it is anything else.

    A bare string, number or literal is prose as far as answers go, so it gives None.
    """
    body = text.strip()
    if body.startswith(_FENCE) and body.endswith(_FENCE) and "\n" in body:
        body = body[body.index("\n") : -len(_FENCE)].strip()
    if not body or body[0] not in "{[":
        return None
    try:
        return json_value(body)
    except ValueError:
        return None


def normalise(text: str) -> str:
    """Return the text without everything that carries no content.

    Removed or unified: Unicode compatibility forms (NFKC), case, runs of whitespace, Markdown
    marks, kinds of quotes and dashes, and punctuation at the end of words.

    Returns: one line; "" for a text that is empty or only marks. `normalise` of it is itself.
    """
    if text.isascii() and text.isalnum():
        return text.lower()
    # Case folding and stripping marks can each expose more to normalise (a fold that decomposes,
    # a mark behind a mark), so it is repeated until nothing changes; text shrinks, so it ends.
    for _ in range(_ROUNDS):
        before, text = text, _normalise_once(text)
        if text == before:
            break
    return text


_ROUNDS = 8
"""Far beyond what text needs; a bound, so that no input can make normalisation slow."""


def _normalise_once(text: str) -> str:
    if text.isascii():
        text = text.lower()
    else:
        text = unicodedata.normalize("NFKC", text)
        for mark, plain in _QUOTES_AND_DASHES:
            text = text.replace(mark, plain)
        text = text.casefold()
    text = _EMPHASIS.sub("", _LINE_MARK.sub("", text))
    tokens = [token if token[-1] not in _TRAILING else _without_end_marks(token) for token in text.split()]
    return " ".join(filter(None, tokens))


def _without_end_marks(token: str) -> str:
    word = token.rstrip(_TRAILING)
    # "5!" is a factorial.
    return f"{word}!" if word[-1:].isdigit() and token.startswith(f"{word}!") else word


def canonical_json(value: Any) -> str:
    """Return the canonical JSON of a value: keys sorted, strings normalised, 1.0 equal to 1.

    Array order is content and is kept.
    """
    return json.dumps(_canonical(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _canonical(value: Any) -> Any:
    match value:
        case dict():
            return {normalise(str(key)): _canonical(item) for key, item in value.items()}
        case list():
            return [_canonical(item) for item in value]
        case str():
            return normalise(value)
        case float() if value.is_integer():
            return int(value)
        case _:
            return value


def canonical_text(text: str) -> str:
    """Return the canonical JSON of a text that is JSON, else the normalised text.

    Answers are kept after being read: the cascade, the rater and the next trial ask for the same.
    """
    return _kept_text(text) if len(text) <= _LONGEST_KEPT else _canonical_text(text)


def forget() -> None:
    """Forget the texts that were read, for measurements of what reading costs."""
    _kept_text.cache_clear()


def _canonical_text(text: str) -> str:
    value = parse_json(text)
    return normalise(text) if value is None else canonical_json(value)


_LONGEST_KEPT = 20_000
_kept_text = lru_cache(maxsize=128)(_canonical_text)


def canonical_call(call: ToolCall) -> str:
    """Return the name and arguments of a call in one spelling; unparsable arguments count as text."""
    try:
        arguments = canonical_json(json_value(call.arguments.strip() or "{}"))
    except ValueError:
        arguments = normalise(call.arguments)
    return f"{call.name}({arguments})"


class NormalisedEquality:
    """Equality of two answers once case, spacing, marks and JSON spelling are unified."""

    name: ClassVar[str] = "normalised"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("equality")

    def score(self, pair: Pair) -> float | Failure:
        """Return 1.0 if text and tool calls are both equal after normalisation, else 0.0.

        Two texts that are both JSON are compared as JSON values; tool calls by name and arguments,
        in order. One empty side gives 0.

        Returns: 0.0 or 1.0; a `Failure` "no_text" if neither side has text or a tool call.
        """
        if is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text or a tool call.")
        return float(_key(pair.reference) == _key(pair.candidate))


def _key(answer: Answer) -> tuple[str, ...]:
    return canonical_text(answer.text), *(canonical_call(call) for call in answer.tool_calls)

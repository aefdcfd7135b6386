"""Where texts stand in bodies: in the strings of JSON, and in those of the events of a stream.

Only string literals are replaced, so what was JSON stays JSON, and every other byte stays as it was. Words of
the API (`type`, `role`, …) are left alone, and so are numbers and the names of members.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

_CLOSED: Final = frozenset(
    ("type", "role", "object", "model", "status", "finish_reason", "stop_reason", "service_tier")
)
"""Members whose values are words of the API, as long as they look like one."""
_WORD: Final = re.compile(r"[A-Za-z][\w.:/-]{0,99}")
_OPAQUE: Final = frozenset(("encrypted_content", "signature", "thought_signature", "b64_json", "file_data"))
"""Members whose values are no text and useless once changed."""
_STREAMED: Final = frozenset(
    (
        *("content", "text", "arguments", "delta", "refusal", "partial_json", "thinking", "input"),
        *("reasoning", "reasoning_content"),
    )
)
"""Members whose strings go on from event to event."""
_LITERAL: Final = re.compile(
    r'"(?P<first>[^"\\]*(?:\\.[^"\\]*)*)"(?P<colon>\s*:\s*(?:"(?P<value>[^"\\]*(?:\\.[^"\\]*)*)")?)?',
    re.DOTALL,
)
"""A string, or a member's name with its value if that is a string. Linear: no part can be read twice."""
_DISCRIMINATORS: Final = re.compile(
    r'"(?:type|index|output_index|content_index|item_id)"\s*:\s*(?:"[^"\\]*"|\d+)'
)
"""What tells the texts of a stream apart."""
_LINE_END: Final = re.compile(r"(\r\n|\n|\r)")
_DATA: Final = re.compile(r"data: ?")
_OTHER_LINE: Final = re.compile(r"(?:event|id|retry):[\w .:-]{0,200}|:.{0,200}|")
_DONE: Final = "[DONE]"


class Unredactable(ValueError):  # noqa: N818 - named as the outcome it is; callers count its reason
    """A body in which texts cannot be told from structure. `args[0]` is the reason, in snake case."""


class _Text(NamedTuple):
    """A string of an event."""

    line: int
    start: int
    end: int
    """Where it stands in its line, quotes included."""
    text: str


def redact_json(body: str, redact: Callable[[str], str]) -> str:
    """A JSON text whose strings were redacted. Raises: Unredactable("not_json")."""
    if not _is_json(body):
        raise Unredactable("not_json")
    return _LITERAL.sub(lambda match: _redacted_literal(match, redact), body)


def redact_events(body: str, redact: Callable[[str], str]) -> str:
    """Server-sent events whose strings were redacted.

    A text that comes in pieces is redacted as a whole. If that changes it, all of it comes with its first
    piece and the others are empty. Lines that are no JSON and no field of the protocol, as the last one of a
    stream that was cut off, are dropped: what stands in them cannot be looked at.
    """
    pieces = _LINE_END.split(body)
    lines: list[str] = pieces[::2]
    pieced: dict[tuple[object, ...], list[_Text]] = defaultdict(list)
    changes: dict[int, list[tuple[_Text, str]]] = defaultdict(list)
    for number, line in enumerate(lines):
        data = _DATA.match(line)
        if data is None:
            lines[number] = line if _OTHER_LINE.fullmatch(line) else ""
        elif line[data.end() :].strip() == _DONE:
            continue
        elif _is_json(line[data.end() :]):
            _collect(number, line, pieced, changes, redact)
        else:
            lines[number] = ""
    for texts in pieced.values():
        whole = "".join(one.text for one in texts)
        redacted = redact_text(whole, redact)
        if redacted != whole:
            for one, text in zip(texts, (redacted, *("" for _ in texts[1:])), strict=True):
                changes[one.line].append((one, text))
    for number, changed in changes.items():
        lines[number] = _with_texts(lines[number], changed)
    pieces[::2] = lines
    return "".join(pieces)


def redact_text(text: str, redact: Callable[[str], str]) -> str:
    """A text redacted; one that is JSON itself, as the arguments of a call, within its strings."""
    if text.lstrip()[:1] in {"{", "["} and _is_json(text):
        return _LITERAL.sub(lambda match: _redacted_parts(match, redact), text)
    return redact(text)


def _collect(
    number: int,
    line: str,
    pieced: dict[tuple[object, ...], list[_Text]],
    changes: dict[int, list[tuple[_Text, str]]],
    redact: Callable[[str], str],
) -> None:
    """Sort the strings of an event into pieces of a longer text and those that stand for themselves."""
    told_apart = tuple(_DISCRIMINATORS.findall(line))
    seen: dict[str, int] = defaultdict(int)
    for match in _LITERAL.finditer(line):
        name, group = (match["first"], "value") if match["colon"] else ("", "first")
        if match[group] is None or _of_the_api(name, match[group]):
            continue
        start, end = match.start(group) - 1, match.end(group) + 1
        one = _Text(number, start, end, _string(line[start:end]))
        if name in _STREAMED:
            seen[name] += 1
            pieced[name, seen[name], told_apart].append(one)
        else:
            redacted = redact_text(one.text, redact)
            if redacted != one.text:
                changes[number].append((one, redacted))


def _with_texts(line: str, changed: list[tuple[_Text, str]]) -> str:
    for one, text in sorted(changed, reverse=True):
        line = line[: one.start] + json.dumps(text) + line[one.end :]
    return line


def _redacted_literal(match: re.Match[str], redact: Callable[[str], str]) -> str:
    """A string value, redacted unless the member it belongs to is one of the API's own."""
    if match["colon"] is None:
        return _changed(match[0], redact)
    if match["value"] is None or _of_the_api(match["first"], match["value"]):
        return match[0]
    literal_at = match.start("value") - 1 - match.start()
    return match[0][:literal_at] + _changed(match[0][literal_at:], redact)


def _redacted_parts(match: re.Match[str], redact: Callable[[str], str]) -> str:
    """A string of a text that is JSON; its members' names are data like all of it."""
    first = f'"{match["first"]}"'
    rest = match[0][len(first) :]
    if match["value"] is not None:
        literal_at = match.start("value") - 1 - match.start() - len(first)
        rest = rest[:literal_at] + _changed(rest[literal_at:], redact)
    return _changed(first, redact) + rest


def _of_the_api(name: str, value: str) -> bool:
    return name in _OPAQUE or (name in _CLOSED and _WORD.fullmatch(value) is not None)


def _changed(literal: str, redact: Callable[[str], str]) -> str:
    text = _string(literal)
    redacted = redact_text(text, redact)
    return literal if redacted == text else json.dumps(redacted)


def _string(literal: str) -> str:
    text: str = json.loads(literal, strict=False)
    return text


def _is_json(text: str) -> bool:
    """Whether a text is JSON as the worker reads it."""
    try:
        msgspec.json.decode(text, type=msgspec.Raw)  # builds nothing, but is stricter
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
    return True

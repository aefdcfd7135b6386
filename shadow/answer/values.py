"""Values of a response whose type nobody guarantees."""

from __future__ import annotations

import json
from typing import Any, Final

from evenkeel.shadow.encodings import UnreadableBody

_LONGEST_INT: Final = 100
_READER: Final = json.JSONDecoder(
    parse_int=lambda digits: int(digits) if len(digits) < _LONGEST_INT else float(digits)
)
"""`int` refuses numbers of more than 4,300 digits; JSON does not."""
_LONGEST_KIND: Final = 80
_LARGEST_COUNT: Final = 10**12
"""Nothing here is counted beyond that; stores can't hold whatever a server may make up."""


class UnreadableAnswer(UnreadableBody):
    """A response body that holds no answer to compare.

    Reasons: "not_json", "no_choices" (of the APIs with choices), "no_output" (of the others),
    "error_body", "unfinished", "truncated_stream".
    """


def json_object(text: str, reason: str) -> dict[str, Any]:
    """The one JSON object that `text` is.

    Raises: UnreadableAnswer with the given reason if it is something else.
    """
    try:
        found, end = _READER.raw_decode(text, len(text) - len(text.lstrip()))
    except (ValueError, RecursionError) as fault:
        raise UnreadableAnswer(reason, "a part that should be a JSON object can't be read") from fault
    if not isinstance(found, dict) or text[end:].strip():
        raise UnreadableAnswer(reason, "a part is not one JSON object")
    return found


def error_body(error: Any) -> UnreadableAnswer:
    """What an endpoint's report of an error is as an exception; its message is not quoted."""
    named = fields(error)
    kind = string(named.get("code")) or string(named.get("type")) or "no type"
    return UnreadableAnswer("error_body", f"the endpoint reports an error ({kind[:_LONGEST_KIND]})")


def fields(value: Any) -> dict[str, Any]:
    """An object; an empty one if it is something else."""
    return value if isinstance(value, dict) else {}


def elements(value: Any) -> list[Any]:
    """A list; an empty one if it is something else."""
    return value if isinstance(value, list) else []


def string(value: Any) -> str | None:
    """A string; None if it is something else."""
    return value if isinstance(value, str) else None


def text_of(value: Any) -> str:
    """A string, or the text parts of a part list, which some servers send; "" otherwise."""
    if isinstance(value, list):
        return "".join(text_of(fields(part).get("text")) for part in value)
    return value if isinstance(value, str) else ""


def written(value: Any) -> str:
    """Arguments of a call: their text, or their JSON from servers that send the object; "" for null."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def count(value: Any, otherwise: int | None) -> int | None:
    """A whole number from 0 to 10^12; `otherwise` if it is something else."""
    counted = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_COUNT
    return value if counted else otherwise

"""Reads a rating out of what a judge wrote: strict about the number, lenient about the wrapping."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from metrics.similarity.protocol import SCALE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_WRITTEN = re.compile(
    # "3", "3.0", "3/3", "3 - same content"; not "2-3", "2 or 3", "2.5".
    r"\A\s*([+-]?\d+)(?:\.0+)?\s*(?:/\s*(\d+))?\s*(?:[-\u2013:(]\s*[^\W\d].*)?\Z",
    re.DOTALL,
)
_REFUSAL = re.compile(
    r"\A\W*(?:sorry\b|i'?m sorry|i can(?:no|')t|i(?:'m| am) (?:unable|not able)"
    r"|i (?:won't|will not|must decline)"
    r"|as an ai\b)",
    re.IGNORECASE,
)
_READ_CHARS = 20_000
"""A reply longer than this is not a rating with one explanation; what follows is not looked at."""
_TRIED_BRACES = 64
_RATING_CHARS = 80
_EXPLANATION_CHARS = 600


@dataclass(frozen=True, slots=True)
class Ruling:
    """A rating on the scale that was asked for (1–3 unless another was) and the judge's reason."""

    rating: int
    explanation: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why there is no rating in a reply."""

    reason: Literal["empty", "refused", "bad_schema", "out_of_scale"]
    detail: str


def read_ruling(text: str | None, scale: Sequence[int] = SCALE) -> Ruling | Unreadable:
    """The rating in a judge's reply: JSON alone, fenced, or inside prose.

    The rating may be a number or a number in a string. Several ratings that contradict each other
    are none: a judge may quote what an answer tried to make it say. `scale` holds the ratings that
    count, ascending.
    """
    if not text or not text.strip():
        return Unreadable("empty", "The judge's reply has no text.")
    found = list(_rated_objects(text[:_READ_CHARS]))
    if not found:
        if _REFUSAL.match(text.replace("\u2019", "'")):
            return Unreadable("refused", "The judge declined in prose.")
        return Unreadable("bad_schema", "No JSON object with a rating in the judge's reply.")
    rulings = [_ruling(item, scale) for item in found]
    if len({_key(ruling) for ruling in rulings}) > 1:
        return Unreadable("bad_schema", "The judge's reply holds several ratings that differ.")
    return rulings[-1]


def _key(ruling: Ruling | Unreadable) -> object:
    return ruling.rating if isinstance(ruling, Ruling) else ruling.reason


def _rated_objects(text: str) -> Iterator[dict[str, Any]]:
    """JSON objects in a text that have a rating, outermost first; also within others and arrays."""
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_TRIED_BRACES):
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            lowered = {str(key).lower(): item for key, item in value.items()}
            if "rating" in lowered:
                yield lowered
            else:
                end = at + 1
        at = text.find("{", end)


def _ruling(item: dict[str, Any], scale: Sequence[int]) -> Ruling | Unreadable:
    raw, name = item["rating"], f"{scale[0]}-{scale[-1]}"
    match raw:
        case bool() | None | list() | dict():
            return Unreadable("bad_schema", "The rating is not a number.")
        case str():
            written = _WRITTEN.match(raw.strip()[:_RATING_CHARS])
            if not written or (written[2] and int(written[2]) != scale[-1]):
                return Unreadable("bad_schema", "The rating is not one whole number.")
            rating = int(written[1])
        case float() if not raw.is_integer():
            return Unreadable("out_of_scale", f"The rating {raw} is between the steps of the scale {name}.")
        case _:
            rating = int(raw)
    if rating not in scale:
        return Unreadable("out_of_scale", f"The rating {rating} is not on the scale {name}.")
    explanation = item.get("explanation")
    text = " ".join(explanation.split()) if isinstance(explanation, str) else ""
    return Ruling(rating, text[:_EXPLANATION_CHARS])

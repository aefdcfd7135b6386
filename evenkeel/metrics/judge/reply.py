"""Parser of a judge's replies. Only one form is a rating; every other reply is a failure with a reason."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenkeel.core.budget import NOTHING, Spend
from evenkeel.core.text import well_formed
from evenkeel.core.thoughts import without_thoughts
from evenkeel.llm.faults import Fault
from evenkeel.metrics.protocol import SCALE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkeel.core.verdict import Failure


# Only tells a refusal from prose in the count of failures: neither is ever a rating.
_REFUSAL = re.compile(
    r"\A\W*(?:sorry\b|i'?m sorry|i can(?:no|')t|i(?:'m| am) (?:unable|not able)"
    r"|i (?:won't|will not|must decline)"
    r"|as an ai\b)",
    re.IGNORECASE,
)
_FENCED = re.compile(r"\A(`{3,}|~{3,})[ \t]*(?:[a-z][\w+.-]*)?\s*(.*?)\s*\1\Z", re.DOTALL | re.IGNORECASE)
_NAMES = ("eot_id", "im_end", "end", "endoftext", "end_of_text", "end_of_turn", "endofturn")
_END_TOKENS = (
    *(f"<|{name}|>" for name in (*_NAMES, "return", "eom", "eom_id", "eos")),
    "</s>",
    "<end_of_turn>",
    "<eos>",
    "[/INST]",
    "[end of text]",
    "</answer>",
    "</response>",
    "<|end_of_box|>",
)
# Beginning of a text as a template of a chat writes it.
_HEAD = re.compile(
    r"(?:\s|[\ufeff\u200b]|<s>|<bos>|\[/INST\]|<\|begin_of_text\|>|<\|im_start\|>assistant|<\|assistant\|>"
    r"|<\|start_header_id\|>assistant<\|end_header_id\|>|<start_of_turn>model|<\|begin_of_box\|>|<answer>|<response>)*",
    re.IGNORECASE,
)
# Judges quote paths and formulas and forget to escape them.
_LONE_BACKSLASH = re.compile(r"""\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)""")
# Only ASCII digits, of bounded length: int() reads other scripts, and takes long for millions of digits.
_NUMBER = re.compile(r"\s*-?[0-9]{1,9}\s*")
# Most characters of a reply with one rating and explanation.
_READ_CHARS = 20_000
# Characters of a reason that are kept with a verdict.
_EXPLANATION_CHARS = 600
_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class Ruling:
    """Rating on the scale that was asked for (1–3 unless another was), and the judge's reason."""

    rating: int
    explanation: str
    initial: int | None = None
    """Rating before the judge checked it, if it was asked for one and gave one on the scale."""


def read_ruling(text: str | None, scale: Sequence[int] = SCALE) -> Ruling | Fault:
    """Return the rating in a judge's reply.

    The reply is one JSON object with a whole number as "rating" and, if the judge gives them, a text as
    "explanation" and a whole number as "initial_rating"; further fields are ignored. It may stand in one
    code fence of any kind, after thoughts, and between a chat template's tokens, which some servers leave in
    the text; line ends in strings and single backslashes, as of LaTeX, do not matter. Nothing else may be
    there:

    - Prose around the object is "bad_schema". A judge may quote what an answer tried to make it say.
    - Several objects, an object within another or within an array, and a field given twice are
      "bad_schema", even if the ratings agree: which one the judge stands by would be a guess.
    - A rating is a number, also in quotation marks or with a point, as small models write it: "2", 2.0. Any
      other text is "bad_schema". A number that is not on `scale` (ascending) is "out_of_scale".

    A text that declines is "refused", one without words "empty".
    """
    value = _object(text, "rating")
    return value if isinstance(value, Fault) else _ruling(value, scale)


def read_rulings(text: str | None, count: int, scale: Sequence[int] = SCALE) -> list[Ruling | Fault] | Fault:
    """Return the ratings of several pairs in a judge's reply.

    The reply is one JSON object with a list "ratings", whose entries have the members that `read_ruling`
    reads, and "pair", counted from 1. An entry that is missing, stands there twice or cannot be read is a
    `Fault` of that pair alone. An entry that names no pair makes the whole reply "bad_schema": it may be
    about any of them.
    """
    value = _object(text, "ratings")
    if isinstance(value, Fault):
        return value
    entries = value["ratings"]
    if not isinstance(entries, list):
        return Fault("bad_schema", "The judge's ratings are no list.")
    rulings: dict[int, Ruling | Fault] = {}
    for entry in entries:
        number = entry.get("pair") if isinstance(entry, dict) else None
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= count:
            return Fault("bad_schema", "A rating of the judge names none of the pairs.")
        twice = Fault("bad_schema", "The judge rated a pair twice.")
        rulings[number] = twice if number in rulings else _ruling(entry, scale)
    missing = Fault("missing", "The judge left out a pair.")
    return [rulings.get(number, missing) for number in range(1, count + 1)]


def _object(text: str | None, field: str) -> dict[str, Any] | Fault:
    """Return the one object that a reply consists of and that has this field."""
    reply = _said(text)
    if isinstance(reply, Fault):
        return reply
    if len(reply) > _READ_CHARS:
        return Fault("bad_schema", f"The judge's reply is longer than {_READ_CHARS} characters.")
    try:
        value = _read(reply)
    except (ValueError, RecursionError):
        if _REFUSAL.match(reply.replace("\u2019", "'")):
            return Fault("refused", "The judge declined in prose.")
        return Fault("bad_schema", "The judge's reply is not exactly one JSON object.")
    if not isinstance(value, dict) or field not in value:
        return Fault("bad_schema", f"The judge's reply is not a JSON object with a {field}.")
    return value


def _without_end_tokens(text: str) -> str:
    """Return a text without the end tokens and white space behind it. Takes time in proportion to it."""
    end = len(text)
    while token := _end_token(text, end):
        end -= len(token)
        while end and text[end - 1].isspace():
            end -= 1
    return text[:end]


def _end_token(text: str, end: int) -> str:
    for token in _END_TOKENS:
        if text.endswith(token, 0, end):
            return token
    return ""


def _said(text: str | None) -> str | Fault:
    """Return the part of a reply after its thoughts, between a template's tokens, without a fence."""
    reply = _bare(text or "")
    if not reply:
        return Fault("empty", "The judge's reply has no text.")
    reply = _bare(without_thoughts(reply))
    fenced = _FENCED.match(reply)
    if fenced:
        reply = _bare(fenced[2])
    return reply or Fault("empty", "The judge's reply is a thought without a conclusion.")


def _bare(text: str) -> str:
    """Return a text without white space, byte order marks and a template's tokens at both ends."""
    head = _HEAD.match(text)
    return _without_end_tokens(text[head.end() if head else 0 :].rstrip())


def _read(text: str) -> Any:
    """Read JSON, also with raw line ends in strings and lone backslashes. Raises: ValueError."""
    try:
        return json.loads(text, object_pairs_hook=_once, strict=False)
    except json.JSONDecodeError as error:
        if "escape" not in error.msg:
            raise
        mended = _LONE_BACKSLASH.sub(lambda found: found[0] if found[1] else r"\\", text)
        return json.loads(mended, object_pairs_hook=_once, strict=False)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of an object. Raises: ValueError if a field is given twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is given twice")
    return fields


def _ruling(item: dict[str, Any], scale: Sequence[int]) -> Ruling | Fault:
    rating = item.get("rating")
    if isinstance(rating, str) and _NUMBER.fullmatch(rating):
        rating = int(rating)
    # True and False are numbers to Python.
    if isinstance(rating, bool) or not isinstance(rating, int | float):
        shown = json.dumps(rating)[:_SHOWN_CHARS]
        return Fault("bad_schema", f"The rating {shown} is not a number.")
    if rating not in scale:
        shown = str(rating)[:_SHOWN_CHARS]
        return Fault("out_of_scale", f"The rating {shown} is not on the scale {scale[0]}-{scale[-1]}.")
    explanation = item.get("explanation")
    text = well_formed(" ".join(explanation.split())) if isinstance(explanation, str) else ""
    initial = item.get("initial_rating")
    if isinstance(initial, bool) or initial not in scale:
        initial = None
    return Ruling(int(rating), text[:_EXPLANATION_CHARS], initial)


@dataclass(frozen=True, slots=True)
class GroupReply:
    """Outcome of one question about several pairs."""

    outcome: list[Ruling | Failure] | Failure
    """Outcomes in the order asked; a single failure if the whole reply cannot be used."""
    spent: Spend = NOTHING


@dataclass(frozen=True, slots=True)
class Reply:
    """Outcome of one question."""

    outcome: Ruling | Failure
    spent: Spend = NOTHING
    prompt_version: str = ""
    """Name and version of the wording, as "name@version"."""
    cached: bool = False
    """True if the ruling was remembered from an earlier call; it then cost nothing."""

    def plus(self, earlier: Reply) -> Reply:
        """Return this reply at the price of both."""
        return replace(self, spent=self.spent.plus(earlier.spent))

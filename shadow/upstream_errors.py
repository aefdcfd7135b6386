"""What an upstream says about a request that it refused, short and without secrets."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.surrogates import well_formed
from evenkeel.shadow.encodings import UnreadableBody, decode_body
from evenkeel.shadow.protection.patterns import API_KEY, EMAIL, JWT, SECRET

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LONGEST: Final = 200
"""Characters of an excerpt."""
_MASK: Final = "***"
_CUT: Final = "\0"
"""Stands for the mask meanwhile, so that no rule takes it for one of the upstream's."""
_READ_BYTES: Final = 65_536
"""A larger body is no error message."""
_READ_CHARACTERS: Final = 2_000
"""Of a message: secrets are looked for before it is cut, so that none is cut in half."""
_SHORTEST_CREDENTIAL: Final = 6
_NAMES: Final = ("type", "code")
_SECRETS: Final = (JWT, API_KEY, SECRET, EMAIL)
_LOOKS_SECRET: Final = re.compile(
    r"""
      (?<=://) [^\s/@]{1,200} @                             # who asks, in an address
    | [^\s*"']{0,100} \*{3,} [^\s"']{0,200}                 # masked by the upstream, but not all of it
    | \b (?:sk|pk|rk|key|org|proj|user|acct) [-_] [\w-]{6,200}
    | \b (?=[A-Za-z]{0,99}\d) (?=\d{0,99}[A-Za-z]) [0-9A-Za-z_]{24,200} \b   # long, of letters and digits
    """,
    re.VERBOSE,
)


def excerpt(
    headers: Mapping[str, str], body: bytes, credentials: Iterable[str] = (), *, message: bool = True
) -> str:
    """Type, code and message of an error body: "invalid_request_error, context_length_exceeded: The …".

    Bodies as OpenAI, Azure, Anthropic, vLLM, Ollama and FastAPI write them are known.

    Args:
        headers: Of the response, names in lower case.
        body: As on the wire.
        credentials: What the request was sent with; masked wherever the upstream repeats it.
        message: Whether its sentence is wanted. Upstreams put parts of a key that they refuse into it.

    Returns: one line of at most 200 characters, credentials, keys and addresses masked; "" if the body is
        none of these.
    """
    error = _error(headers, body)
    names = dict.fromkeys(
        str(error[name]) for name in _NAMES if isinstance(error.get(name), str | int) and error[name] != ""
    )
    parts = [", ".join(names)]
    said = next((error[key] for key in ("message", "detail", "msg") if isinstance(error.get(key), str)), "")
    if message:
        parts.append(said)
    line = " ".join(well_formed(": ".join(filter(None, parts))).split())
    # First what is not printed, or a key with such characters in it would be whole again without them.
    line = "".join(character for character in line if character.isprintable())
    line = _masked(line[:_READ_CHARACTERS], credentials)
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _error(headers: Mapping[str, str], body: bytes) -> Mapping[str, Any]:
    """The members of the error, {} if the body is none that is known."""
    try:
        decoded = json.loads(decode_body(headers, body, _READ_BYTES))
    except (UnreadableBody, ValueError, RecursionError):
        return {}
    if not isinstance(decoded, dict):
        return {}
    inner = decoded.get("error", decoded)
    if isinstance(inner, str):
        return {"message": inner}
    return inner if isinstance(inner, dict) else {}


def _masked(text: str, credentials: Iterable[str]) -> str:
    words = {word for value in credentials for word in (value, *value.split())}
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= _SHORTEST_CREDENTIAL:
            text = text.replace(word, _CUT)
    for pattern in _SECRETS:
        for found in sorted(pattern.find(text), key=lambda one: -one.start):
            text = f"{text[: found.start]}{_CUT}{text[found.end :]}"
    text = _LOOKS_SECRET.sub(lambda match: f"{_CUT}@" if match[0].endswith("@") else _CUT, text)
    return text.replace(_CUT, _MASK)

"""A short text of a request's parameters, all but the prompt, that shows which of them changed.

Numbers and plain words stand as they are. What holds free text or structure (tools, schemas, stop sequences)
is a short hash, so that no word of a prompt and no secret gets into a verdict. Members that say nothing about
the answer (streams, users, metadata) and members that are not known are left out.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.verdict import NO_PARAMETERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.shadow.prompt.view import PromptView

# Parameters of any API that are numbers or words.
_PLAIN: Final = (
    "best_of",
    "frequency_penalty",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "min_p",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning_effort",
    "repetition_penalty",
    "seed",
    "temperature",
    "tool_choice",
    "top_k",
    "top_p",
    "truncation",
    "verbosity",
)
# Members with free text or structure, and the names under which their hashes appear.
_HASHED: Final = {
    "logit_bias": "logit_bias",
    "stop": "stop",
    "stop_sequences": "stop",
    "tools": "tools",
    "functions": "tools",
    "function_call": "tool_choice",
}
# Member, key and name of parameters that are nested one level deep. Gateways accept these in every API, and
# each API adds its own.
_NESTED: Final = (("reasoning", "effort", "reasoning_effort"),)
_WORD: Final = re.compile("[A-Za-z0-9_.-]{1,24}")
# Bytes of a hash; it only has to show that a value changed.
_HASH_BYTES: Final = 4


def parameters_of(view: PromptView) -> str:
    """Return the parameters of a request, sorted by name: "max_tokens=300 temperature=0.2 tools=1a2b3c4d".

    Returns: at most 1,000 characters; "none" if the request sets no parameter.
    """
    parameters = {}
    for name, value in _found(view):
        if value:
            parameters[name] = value
    return " ".join(f"{name}={parameters[name]}" for name in sorted(parameters)) or NO_PARAMETERS


def _found(view: PromptView) -> Iterator[tuple[str, str]]:
    for name in _PLAIN:
        yield name, _value(view.get(name))
    for member, name in _HASHED.items():
        value = view.get(member)
        if value not in (None, [], {}):
            yield name, _hash(value)
    for member, key, name in (*_NESTED, *view.api.parameters):
        held = view.get(member)
        if isinstance(held, dict):
            yield name, _form(held.get(key)) if name == "response_format" else _value(held.get(key))
    thinking = view.get("thinking")
    if isinstance(thinking, dict):
        yield "thinking", _value(thinking.get("budget_tokens")) or _value(thinking.get("type"))
    yield "response_format", _form(view.get("response_format"))


def _form(value: Any) -> str:
    if not isinstance(value, dict):
        return _value(value)
    kind = _value(value.get("type"))
    schema = {}
    for key, item in value.items():
        if key != "type":
            schema[key] = item
    return f"{kind}:{_hash(schema)}" if schema else kind


def _value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):  # the reader of bodies returns every number as a float
        return f"{value:.10g}"
    return value if isinstance(value, str) and _WORD.fullmatch(value) else _hash(value)


def _hash(value: Any) -> str:
    try:
        written = json.dumps(value, sort_keys=True)
    except RecursionError:  # bodies may be nested more deeply than `json` writes
        return "deep"
    return blake2b(written.encode(), digest_size=_HASH_BYTES).hexdigest()

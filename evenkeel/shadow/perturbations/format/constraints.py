"""Members of a request that bind its answer to a format, or forbid one."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from evenkeel.llm.answer import fields
from evenkeel.shadow.perturbations.format.outline import outline_of_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.shadow.prompt import PromptView

_SCHEMAS: Final = ("guided_json",)
# Members by which inference servers constrain the format.
_GRAMMARS: Final = (
    "guided_regex",
    "guided_grammar",
    "guided_choice",
    "guided_decoding_backend",
    "structured_outputs",
    "grammar",
    "json_schema",
)
# Members that hold a format among other things: `text` of the Responses API, `output_config` of Anthropic's.
_NESTED: Final = ("text", "output_config")
_PLAIN: Final = ("response_format", "output_format")
# Value that asks for JSON of any structure. Two of these members accept it: `response_format` and
# `text.format`.
_JSON_OBJECT: Final = {"type": "json_object"}


@dataclass(frozen=True, slots=True)
class Constraint:
    """Constraint that the members of a request put on its answer."""

    is_json: bool = False
    outline: str | None = None
    """Outline of what a JSON Schema requires."""
    removed: Mapping[str, str | None] = field(default_factory=dict)
    """Changes that lift the constraint, for `PromptView.with_members`."""
    any_json: Mapping[str, str | None] = field(default_factory=dict)
    """Changes that still demand JSON, but of any structure."""


def constraint_of(view: PromptView) -> Constraint:
    """Return the format constraints that a request's members put on its answer, with its JSON Schema read."""
    is_json = False
    outline: str | None = None
    removed: dict[str, str | None] = {}
    any_json: dict[str, str | None] = {}
    for key in (*_PLAIN, *_NESTED):
        member = view.get(key)
        if not isinstance(member, dict):
            continue
        wanted = member.get("format") if key in _NESTED else member
        kind = wanted.get("type") if isinstance(wanted, dict) else None
        if kind is None or kind == "text":
            continue
        rest = {name: value for name, value in member.items() if name != "format"} if key in _NESTED else {}
        removed[key] = any_json[key] = _written(rest) if rest else None
        if kind in ("json_object", "json_schema"):
            is_json = True
            outline = outline or _outline_of(wanted)
            if key == "response_format":
                any_json[key] = _written(_JSON_OBJECT)
            elif key == "text":
                any_json[key] = _written({**member, "format": _JSON_OBJECT})
    for key in (*_SCHEMAS, *_GRAMMARS):
        member = view.get(key)
        if member is None:
            continue
        removed[key] = any_json[key] = None
        if key in _SCHEMAS:
            is_json = True
            outline = outline or outline_of_schema(_decoded(member))
    return Constraint(is_json, outline, removed, any_json)


def forces_tools(view: PromptView) -> bool:
    """Return whether the request makes the model call a tool, so that it writes no answer."""
    choice = view.get("tool_choice")
    if choice is None:
        choice = view.get("function_call")
    if isinstance(choice, dict):
        kind = choice.get("type")
        mode = choice.get("mode") or fields(choice.get("allowed_tools")).get("mode")
        return kind not in ("auto", "none") and not (kind == "allowed_tools" and mode != "required")
    return choice in ("required", "any")


def _outline_of(wanted: Any) -> str | None:
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        return None
    inner = wanted.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, dict) else wanted.get("schema")
    return outline_of_schema(schema) if isinstance(schema, dict) else None


def _decoded(member: Any) -> Any:
    if not isinstance(member, str):
        return member
    try:
        return json.loads(member)
    except ValueError:
        return None


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

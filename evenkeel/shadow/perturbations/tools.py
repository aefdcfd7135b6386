"""Perturbations of an agent's tools: how they are offered, and how their results are written.

Names, types and required members of tools stay as they are, and so do the values of results: an agent that
calls another tool because the definitions come in another order is fragile.
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

from evenkeel.core.rewordings import Category, Rewording
from evenkeel.shadow.perturbations.protocol import (
    NOTHING_TO_CHANGE,
    Draft,
    NotApplicable,
    PerturbationBase,
    RewriteTask,
)
from evenkeel.shadow.prompt.body import UnreadablePrompt, outermost

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator, Sequence

    from evenkeel.shadow.perturbations.protocol import Outcome, Perturbation
    from evenkeel.shadow.prompt import PromptView

CATEGORY: Final = Category(
    "tools",
    "Tools offered in another order or in other words, and their results written in another layout. Only for "
    "requests that offer tools or hold results.",
    order=35,
    on_template=True,
    phrase="{kind} of tools",
)
# Tools beyond which none is added: providers refuse more than 128.
_MOST_TOOLS: Final = 100
# Words of a description that can be said in other words.
_LEAST_WORDS: Final = 4


def _of_tools(label: str, phrase: str, order: int) -> Rewording:
    return Rewording(CATEGORY, label=label, phrase=phrase, order=order)


class _ToolChange(PerturbationBase):
    """Base of what changes the tools that a request offers."""

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the request with other tools; "no_tools", or "nothing_to_change"."""
        del severity
        tools = _tools(view)
        return self._changed(view, copy.deepcopy(tools), rng) if tools else NotApplicable("no_tools")

    def _changed(self, view: PromptView, tools: list[dict[str, Any]], rng: random.Random) -> Outcome:
        raise NotImplementedError


class ToolOrdering(_ToolChange):
    """Offers the same tools in another order."""

    name: Final = "tools.order"
    rewording: Final = _of_tools("order", "another order of the tools", 10)

    def _changed(self, view: PromptView, tools: list[dict[str, Any]], rng: random.Random) -> Outcome:
        shuffled = _shuffled(tools, rng)
        return NOTHING_TO_CHANGE if shuffled == tools else _with_tools(view, shuffled)


class EnumOrder(_ToolChange):
    """Lists the values that a parameter may have in another order."""

    name: Final = "tools.enum_order"
    rewording: Final = _of_tools("enum order", "another order of a tool's allowed values", 20)

    def _changed(self, view: PromptView, tools: list[dict[str, Any]], rng: random.Random) -> Outcome:
        for schema in _schemas(tools):
            if isinstance(schema.get("enum"), list):
                schema["enum"] = _shuffled(schema["enum"], rng)
        return NOTHING_TO_CHANGE if tools == _tools(view) else _with_tools(view, tools)


class UnrelatedTool(_ToolChange):
    """Offers one more tool, which no request of the application has a use for."""

    name: Final = "tools.unrelated"
    rewording: Final = _of_tools("one more", "one more tool that has nothing to do with it", 30)

    def _changed(self, view: PromptView, tools: list[dict[str, Any]], rng: random.Random) -> Outcome:
        written = json.dumps([tools, [segment.text for segment in view.segments]]).casefold()
        unused: list[tuple[str, str, str]] = []
        for tool in _UNRELATED:
            if not any(word in written for word in tool[0].split("_")):
                unused.append(tool)
        if not unused or len(tools) >= _MOST_TOOLS:
            return NOTHING_TO_CHANGE
        name, description, parameter = rng.choice(unused)
        schema = {
            "type": "object",
            "properties": {parameter: {"type": "string"}},
            "required": [parameter],
        }
        position = rng.randrange(len(tools) + 1)
        added = _shaped_like(tools[0], {"name": name, "description": description}, schema)
        return _with_tools(view, [*tools[:position], added, *tools[position:]])


class ToolDescription(_ToolChange):
    """Has a model say the description of a tool in other words."""

    name: str = "tools.description"
    rewording = _of_tools("description", "a tool's description in other words", 40)
    requires = frozenset({"rewriter"})

    def _changed(self, view: PromptView, tools: list[dict[str, Any]], rng: random.Random) -> Outcome:
        described: list[dict[str, Any]] = []
        for owner in self._owners(tools):
            description = owner.get("description")
            if isinstance(description, str) and len(description.split()) >= _LEAST_WORDS:
                described.append(owner)
        if not described:
            return NOTHING_TO_CHANGE
        chosen = rng.choice(described)

        def finish(texts: Sequence[str]) -> PromptView:
            chosen["description"] = texts[0]
            return _with_tools(view, tools)

        return Draft((RewriteTask("paraphrase", chosen["description"]),), finish)

    def _owners(self, tools: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        """Return what may have a description."""
        return map(_function, tools)


class ParameterDescription(ToolDescription):
    """Has a model say the description of a tool's parameter in other words."""

    name = "tools.parameter"
    rewording = _of_tools("parameter", "a parameter's description in other words", 50)

    def _owners(self, tools: Sequence[dict[str, Any]]) -> Iterable[dict[str, Any]]:
        return _schemas(tools)


class _ResultChange(PerturbationBase):
    """Base of what writes the last result of a tool otherwise."""

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the request with the result written otherwise; "no_results", or "nothing_to_change"."""
        del severity
        for segment in reversed(view.segments):
            members = _members(segment.text) if segment.source == "tool_results" else []
            if members:
                new = self._written(segment.text.strip(), members, rng)
                return NOTHING_TO_CHANGE if new is None else view.with_texts({segment.index: new})
        return NotApplicable("no_results")

    def _written(self, text: str, members: list[str], rng: random.Random) -> str | None:
        """Return a result written otherwise; None if it cannot be."""
        raise NotImplementedError


class ResultLayout(_ResultChange):
    """Writes the last result of a tool with other blanks and line ends."""

    name: Final = "tools.result_layout"
    rewording: Final = _of_tools("result layout", "another layout of a tool's result", 60)

    def _written(self, text: str, members: list[str], rng: random.Random) -> str | None:
        del members, rng
        new = msgspec.json.format(text, indent=0 if "\n" in text else 2)
        return None if new == text else new


class ResultKeys(_ResultChange):
    """Writes the members of the last result of a tool in another order."""

    name: Final = "tools.result_keys"
    rewording: Final = _of_tools("result keys", "another order of keys in a tool's result", 70)

    def _written(self, text: str, members: list[str], rng: random.Random) -> str | None:
        del text
        shuffled = _shuffled(members, rng)
        return None if shuffled == members else "{" + ", ".join(shuffled) + "}"


class ResultExtra(_ResultChange):
    """Adds a member that means nothing to the last result of a tool."""

    name: Final = "tools.result_extra"
    rewording: Final = _of_tools("result extra", "one more member in a tool's result", 80)

    def _written(self, text: str, members: list[str], rng: random.Random) -> str | None:
        del text, rng
        if any(member.startswith('"_schema_version"') for member in members):
            return None
        return "{" + ", ".join([*members, '"_schema_version": "2"']) + "}"


TOOLS: Final[tuple[Perturbation, ...]] = (
    ToolOrdering(),
    EnumOrder(),
    UnrelatedTool(),
    ToolDescription(),
    ParameterDescription(),
    ResultLayout(),
    ResultKeys(),
    ResultExtra(),
)
"""Built-in perturbations of tools."""

# Tools that hardly any application has a use for: name, description, parameter.
_UNRELATED: Final = (
    ("lunar_phase", "Return the phase of the moon on a date.", "date"),
    ("roman_numeral", "Convert a roman numeral to digits.", "numeral"),
    ("tide_table", "Return the times of high and low water at a harbour.", "harbour"),
)


def _tools(view: PromptView) -> list[dict[str, Any]]:
    """Return the functions that a request offers; none if it offers tools of other kinds, too."""
    tools = view.get("tools")
    key = _list_key(tools)
    tools = tools[0][key] if key else tools
    if not isinstance(tools, list) or not all(isinstance(tool, dict) for tool in tools):
        return []
    return tools if all(isinstance(_function(tool).get("name"), str) for tool in tools) else []


def _list_key(tools: object) -> str:
    """Return the key of the only list of functions in Gemini's shape; "" in any other."""
    only = tools[0] if isinstance(tools, list) and len(tools) == 1 else None
    if not isinstance(only, dict) or len(only) != 1:
        return ""
    (key,) = only
    return key if key in ("functionDeclarations", "function_declarations") else ""


def _function(tool: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a definition that holds name and description: chat completions nest it."""
    nested = tool.get("function")
    return nested if isinstance(nested, dict) else tool


def _schemas(tools: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for tool in tools:
        function = _function(tool)
        yield from _inner(function.get("parameters", function.get("input_schema")))


def _inner(schema: object) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    below = [*(properties.values() if isinstance(properties, dict) else ()), schema.get("items")]
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(key), list):
            below += schema[key]
    for inner in below:
        if isinstance(inner, dict):
            yield inner
            yield from _inner(inner)


def _shaped_like(tool: dict[str, Any], function: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return a definition of a function in the shape that another has."""
    if isinstance(tool.get("function"), dict):
        return {"type": "function", "function": {**function, "parameters": schema}}
    if "input_schema" in tool:
        return {**function, "input_schema": schema}
    kind = {"type": "function"} if "type" in tool else {}
    return {**kind, **function, "parameters": schema}


def _with_tools(view: PromptView, tools: Sequence[dict[str, Any]]) -> PromptView:
    key = _list_key(view.get("tools"))
    return view.with_members({"tools": json.dumps([{key: tools}] if key else tools, ensure_ascii=False)})


def _shuffled(values: Sequence[Any], rng: random.Random) -> list[Any]:
    """Return values in another order, if they have one."""
    shuffled = list(values)
    for _ in range(4):
        rng.shuffle(shuffled)
        if shuffled != list(values):
            break
    return shuffled


def _members(text: str) -> list[str]:
    """Return the members of a JSON object as they are written; none if a text is no such object."""
    try:
        members = outermost(text)
    except (UnreadablePrompt, json.JSONDecodeError, RecursionError):
        return []
    keys = {member.key for member in members}
    return [text[member.start : member.value.end] for member in members] if len(keys) == len(members) else []

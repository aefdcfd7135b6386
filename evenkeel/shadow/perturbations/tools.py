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
from evenkeel.shadow.perturbations.protocol import Draft, NotApplicable, PerturbationBase, RewriteTask
from evenkeel.shadow.prompt.body import UnreadablePrompt, outermost

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.perturbations.protocol import Outcome, Perturbation
    from evenkeel.shadow.prompt import PromptView
    from evenkeel.shadow.prompt.segments import Segment

CATEGORY: Final = Category(
    "tools",
    "Tools offered in another order or in other words, and their results written in another layout. Only for "
    "requests that offer tools or hold results.",
    order=35,
    on_template=True,
    phrase="{kind} of tools",
)
_NO_TOOLS: Final = NotApplicable("no_tools")
_NO_RESULTS: Final = NotApplicable("no_results")
_SAME: Final = NotApplicable("nothing_to_change")
# Tools beyond which none is added: providers refuse more than 128.
_MOST_TOOLS: Final = 100
# Words of a description that can be said in other words.
_LEAST_WORDS: Final = 4


class ToolOrdering(PerturbationBase):
    """Offers the same tools in another order."""

    name: Final = "tools.order"
    rewording: Final = Rewording(CATEGORY, label="order", phrase="another order of the tools", order=10)

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the request with its tools shuffled; "no_tools", or "nothing_to_change" for a single one."""
        del severity
        tools = _tools(view)
        if not tools:
            return _NO_TOOLS
        shuffled = _shuffled(tools, rng)
        return _SAME if shuffled == tools else _with_tools(view, shuffled)


class EnumOrder(PerturbationBase):
    """Lists the values that a parameter may have in another order."""

    name: Final = "tools.enum_order"
    rewording: Final = Rewording(
        CATEGORY, label="enum order", phrase="another order of a tool's allowed values", order=20
    )

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the request with every enumeration shuffled; "nothing_to_change" if there is none."""
        del severity
        tools = copy.deepcopy(_tools(view))
        if not tools:
            return _NO_TOOLS
        changed = False
        for schema in _schemas(tools):
            values = schema.get("enum")
            if isinstance(values, list):
                schema["enum"] = _shuffled(values, rng)
                changed = changed or schema["enum"] != values
        return _with_tools(view, tools) if changed else _SAME


class UnrelatedTool(PerturbationBase):
    """Offers one more tool, which no request of the application has a use for."""

    name: Final = "tools.unrelated"
    rewording: Final = Rewording(
        CATEGORY, label="one more", phrase="one more tool that has nothing to do with it", order=30
    )

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the request with a tool added at a place drawn by chance."""
        del severity
        tools = _tools(view)
        if not tools:
            return _NO_TOOLS
        written = json.dumps([tools, [segment.text for segment in view.segments]]).casefold()
        unused: list[tuple[str, str, str]] = []
        for tool in _UNRELATED:
            if not any(word in written for word in tool[0].split("_")):
                unused.append(tool)
        if not unused or len(tools) >= _MOST_TOOLS:
            return _SAME
        name, description, parameter = rng.choice(unused)
        schema = {
            "type": "object",
            "properties": {parameter: {"type": "string"}},
            "required": [parameter],
        }
        position = rng.randrange(len(tools) + 1)
        added = _shaped_like(tools[0], {"name": name, "description": description}, schema)
        return _with_tools(view, [*tools[:position], added, *tools[position:]])


class ToolDescription(PerturbationBase):
    """Has a model say the description of a tool in other words."""

    name: str = "tools.description"
    rewording = Rewording(
        CATEGORY, label="description", phrase="a tool's description in other words", order=40
    )
    requires = frozenset({"rewriter"})

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the draft of one description; "nothing_to_change" if none is a sentence."""
        del severity
        tools = copy.deepcopy(_tools(view))
        if not tools:
            return _NO_TOOLS
        described: list[dict[str, Any]] = []
        for owner in self.owners(tools):
            if _is_sentence(owner.get("description")):
                described.append(owner)
        if not described:
            return _SAME
        chosen = rng.choice(described)

        def finish(texts: Sequence[str]) -> PromptView:
            chosen["description"] = texts[0]
            return _with_tools(view, tools)

        return Draft((RewriteTask("paraphrase", chosen["description"]),), finish)

    def owners(self, tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return what may have a description: the functions."""
        return list(map(_function, tools))


class ParameterDescription(ToolDescription):
    """Has a model say the description of a tool's parameter in other words."""

    name = "tools.parameter"
    rewording = Rewording(
        CATEGORY, label="parameter", phrase="a parameter's description in other words", order=50
    )

    def owners(self, tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return what may have a description: the parameters."""
        return list(_schemas(tools))


class ResultLayout(PerturbationBase):
    """Writes the last result of a tool with other blanks and line ends."""

    name: Final = "tools.result_layout"
    rewording: Final = Rewording(
        CATEGORY, label="result layout", phrase="another layout of a tool's result", order=60
    )

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the request with the result indented or, if it was, on one line; "no_results"."""
        del severity, rng
        result = _last_result(view)
        if result is None:
            return _NO_RESULTS
        text = result.text.strip()
        indented = msgspec.json.format(text, indent=2)
        new = msgspec.json.format(text, indent=0) if "\n" in text else indented
        return _SAME if new == text else view.with_texts({result.index: new})


class ResultKeys(PerturbationBase):
    """Writes the members of the last result of a tool in another order."""

    name: Final = "tools.result_keys"
    rewording: Final = Rewording(
        CATEGORY, label="result keys", phrase="another order of keys in a tool's result", order=70
    )

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the request with the result's outermost members shuffled; "no_results"."""
        del severity
        result = _last_result(view)
        if result is None:
            return _NO_RESULTS
        members = _members(result.text)
        shuffled = _shuffled(members, rng)
        if shuffled == members:
            return _SAME
        return view.with_texts({result.index: "{" + ", ".join(shuffled) + "}"})


class ResultExtra(PerturbationBase):
    """Adds a member that means nothing to the last result of a tool."""

    name: Final = "tools.result_extra"
    rewording: Final = Rewording(
        CATEGORY, label="result extra", phrase="one more member in a tool's result", order=80
    )

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """Return the request with `_schema_version` added to the result; "no_results"."""
        del severity, rng
        result = _last_result(view)
        if result is None:
            return _NO_RESULTS
        members = _members(result.text)
        if any(member.startswith('"_schema_version"') for member in members):
            return _SAME
        return view.with_texts({result.index: "{" + ", ".join([*members, '"_schema_version": "2"']) + "}"})


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


def _is_sentence(text: object) -> bool:
    return isinstance(text, str) and len(text.split()) >= _LEAST_WORDS


def _last_result(view: PromptView) -> Segment | None:
    """Return the last result of a tool that is a JSON object with members; None without any."""
    for segment in reversed(view.segments):
        if segment.source == "tool_results" and _members(segment.text):
            return segment
    return None


def _members(text: str) -> list[str]:
    """Return the members of a JSON object as they are written; none if a text is no such object."""
    try:
        members = outermost(text)
    except (UnreadablePrompt, json.JSONDecodeError, RecursionError):
        return []
    keys = {member.key for member in members}
    return [text[member.start : member.value.end] for member in members] if len(keys) == len(members) else []

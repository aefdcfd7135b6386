"""Forms of an answer: formats that the words of a prompt ask for, and JSON schemas that parameters demand."""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Any, Final, cast

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evenkeel.core.pair import Format
    from evenkeel.simulate.content import Items, Value


_FREE: Final = (
    r"(?:plain|free|running|continuous|flowing|ordinary|normal)[\s-](?:text|prose|language|sentences)"
    r"|\b(?:in|as)\s(?:\w+\s)?prose\b|\bno\smarkup\b"
)
_NAMED: Final = re.compile(
    # What follows in a sentence on prose ("without any JSON or XML") names what is not wanted.
    rf"(?P<free>(?:{_FREE})[^.\n]*)|\b(?P<name>json|yaml|yml|xml|html|markdown)(?![a-z])",
    re.IGNORECASE,
)
_NOT: Final = (
    r"\b(?:not|without|instead\sof|rather\sthan|never|neither|nor|avoid)\b"
    # Alone, "no" is a preposition in Portuguese.
    r"|(?:[,;:(]|\b(?:and|or|with|use|contain|have)\b)\s*no\b"
)
_NEGATED: Final = re.compile(rf"(?:{_NOT})(?:[ ,/(*_`]+[\w-]+){{0,3}}[ ,/(*_`]*\Z", re.IGNORECASE)
_ASKED: Final = re.compile(
    r"\b(?:in|as|into|return|returns|reply|respond|answer|output|write|valid|format)\b\W+(?:\w+\W+){0,4}?\Z",
    re.IGNORECASE,
)
_LOOK_BACK: Final = 80
"""Characters before a format's name that decide how it is meant."""
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def wanted_format(text: str, *, loose: bool = True) -> Format:
    """The format that a prompt asks for last; "free" if it names none.

    Args:
        text: The words of the prompt.
        loose: Whether a bare mention counts. Otherwise only one that says what to do with it, as in
            "answer in valid JSON": a prompt on any subject may talk about formats.
    """
    wanted: Format = "free"
    for match in _NAMED.finditer(text):
        if match["free"]:
            wanted = "free"
            continue
        before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
        if _NEGATED.search(before) or not (loose or _ASKED.search(before)):
            continue
        name = match["name"].lower()
        wanted = cast("Format", "yaml" if name == "yml" else name)
    return wanted


def render(items: Items, prose: str, form: Format) -> str:
    """An answer's parts in a format: valid, without fences or words around it.

    "free" is the prose as it stands.
    """
    return prose if form == "free" else _WRITERS[form](items)


def _json(items: Items) -> str:
    return json.dumps(dict(items), ensure_ascii=False, indent=2)


def _yaml(items: Items) -> str:
    plain = {name: list(value) if isinstance(value, tuple) else value for name, value in items}
    # No line is folded, so that every part can be found as it was written.
    return str(yaml.safe_dump(plain, allow_unicode=True, sort_keys=False, width=1_000_000)).rstrip()


def _xml(items: Items) -> str:
    parts = "".join(f"  <{name}>{_xml_value(value)}</{name}>\n" for name, value in items)
    return f"<answer>\n{parts}</answer>"


def _xml_value(value: Value) -> str:
    if isinstance(value, tuple):
        return "".join(f"<item>{_xml_text(one)}</item>" for one in value)
    return _xml_text(value)


def _xml_text(value: str | int) -> str:
    return escape(_NOT_XML.sub("\ufffd", str(value)), quote=False)


def _html(items: Items) -> str:
    parts = "".join(f"  <h2>{_title(name)}</h2>\n  {_html_value(value)}\n" for name, value in items)
    return f"<article>\n{parts}</article>"


def _html_value(value: Value) -> str:
    if isinstance(value, tuple):
        return f"<ul>{''.join(f'<li>{_xml_text(one)}</li>' for one in value)}</ul>"
    return f"<p>{_xml_text(value)}</p>"


def _markdown(items: Items) -> str:
    return "\n\n".join(f"## {_title(name)}\n\n{_markdown_value(value)}" for name, value in items)


def _markdown_value(value: Value) -> str:
    return "\n".join(f"- {one}" for one in value) if isinstance(value, tuple) else str(value)


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


_WRITERS: Final[dict[str, Callable[[Items], str]]] = {
    "json": _json,
    "yaml": _yaml,
    "xml": _xml,
    "html": _html,
    "markdown": _markdown,
}


_DEEPEST: Final = 12
"""Levels of nesting that are filled; below, recursive schemas would never end."""


def fill(schema: dict[str, Any], values: Mapping[str, object], otherwise: str) -> str:
    """A JSON text that follows a schema.

    Args:
        schema: JSON schema; `$ref` into itself is followed, of alternatives the first is taken.
        values: What is known, by name: a property takes the value of its own name, or of the longest
            name that is a part of its own.
        otherwise: For texts of no known name.
    """
    return json.dumps(
        _value(schema, "", _Filling(schema, values, otherwise), 0), ensure_ascii=False, indent=2
    )


class _Filling:
    def __init__(self, root: dict[str, Any], values: Mapping[str, object], otherwise: str) -> None:
        self._root = root
        self._values = sorted(values.items(), key=lambda entry: -len(entry[0]))
        self._otherwise = otherwise

    def resolve(self, schema: object) -> dict[str, Any]:
        """The schema itself, behind references and alternatives."""
        for _ in range(_DEEPEST):
            if not isinstance(schema, dict):
                return {}
            reference = schema.get("$ref")
            choices = next(
                (
                    found
                    for name in ("anyOf", "oneOf", "allOf")
                    if isinstance(found := schema.get(name), list) and found
                ),
                None,
            )
            if isinstance(reference, str) and reference.startswith("#"):
                schema = self._follow(reference)
            elif choices is not None:
                schema = choices[0]
            else:
                return schema
        return {}

    def known(self, name: str) -> object:
        """The value for a property, None if nothing is known."""
        lowered = name.lower()
        return next((value for part, value in self._values if part in lowered), None)

    def text(self, name: str) -> str:
        """The text for a property."""
        value = self.known(name)
        if isinstance(value, tuple):
            return ", ".join(map(str, value))
        return self._otherwise if value is None else str(value)

    def _follow(self, reference: str) -> object:
        found: object = self._root
        for step in reference.lstrip("#/").split("/"):
            if step:
                found = found.get(step) if isinstance(found, dict) else None
        return found


def _value(raw: object, name: str, filling: _Filling, depth: int) -> object:
    schema = filling.resolve(raw)
    if "const" in schema:
        return schema["const"]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return next((choice for choice in choices if str(choice) == filling.text(name)), choices[0])
    match _kind(schema):
        case "object":
            properties = schema.get("properties")
            named = properties.items() if isinstance(properties, dict) and depth < _DEEPEST else ()
            return {key: _value(sub, key, filling, depth + 1) for key, sub in named}
        case "array":
            known = filling.known(name)
            if isinstance(known, tuple):
                return list(known)
            return [_value(schema.get("items"), name, filling, depth + 1)] if depth < _DEEPEST else []
        case kind:
            return _scalar(kind, name, filling)


def _kind(schema: dict[str, Any]) -> object:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    return "object" if kind is None and isinstance(schema.get("properties"), dict) else kind


def _scalar(kind: object, name: str, filling: _Filling) -> object:
    known = filling.known(name)
    match kind:
        case "integer" | "number":
            return int(str(known)) if str(known).isdecimal() else 0
        case "boolean":
            return bool(known)
        case "null":
            return None
        case _:
            return filling.text(name)

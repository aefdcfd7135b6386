"""The formats of an answer: which one a prompt asks for, and how parts are written in each."""

from __future__ import annotations

import json
import re
from html import escape
from typing import TYPE_CHECKING, Final, cast

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.pair import Format
    from evenkeel.simulate.tasks import Items, Value

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

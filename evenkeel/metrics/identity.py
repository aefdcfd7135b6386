"""Identity: the only equality that code decides. The judge decides everything else.

Two answers are identical if their text is the same after Unicode NFC, line ends, and blanks at the ends of
lines and of the text; or if both are data with the same values; and if they call the same tools in the same
order with arguments that are equal as JSON. Case, indentation, marks and line breaks can all carry meaning,
so none of them is folded.

Data is JSON, always; YAML and XML only where a fence or the variant's wanted format says so, because prose
such as "Status: open #2" is valid YAML. Two formats are compared only where the variant asked for one.
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from xml.etree import ElementTree as ET

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenkeel.core.pair import Answer, Pair, ToolCall

IDENTITY: Final = "identity"
"""Name under which pairs fail that have nothing to compare."""
DEEPEST: Final = 64
"""Levels of nesting that are compared; data nested more deeply counts as text."""
LONGEST: Final = 200_000
"""Characters that are read as data; longer data counts as text."""

Kind = Literal["string", "number", "boolean", "null", "untyped"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """Value without members, as its data format writes it."""

    kind: Kind
    """Kind of a value.

    `untyped` is a word of YAML that readers of its two versions take for a string or for another kind.
    """
    lexeme: str
    """A string without its quotes and escapes; a number to the letter, so that 2.10 differs from 2.1."""


Value: TypeAlias = "Scalar | list[Value] | dict[str, Value] | ET.Element"


class NotDataError(ValueError):
    """Text that is not data in one format, or is data in a form that parsers disagree about."""


def identical(pair: Pair) -> str | None:
    """Return in what way two answers are identical, as a sentence; None if they are not.

    Two empty answers are not compared: None.
    """
    if is_empty(pair.reference) or is_empty(pair.candidate):
        return None
    calls = pair.reference.tool_calls, pair.candidate.tool_calls
    if not same_calls(*calls):
        return None
    texts = pair.reference.text, pair.candidate.text
    if plain(texts[0]) == plain(texts[1]):
        return "The same tools with the same arguments." if calls[0] else "The texts are identical."
    return "The data has the same values." if same_data(*texts, wanted=pair.wanted.format) else None


def is_empty(answer: Answer) -> bool:
    """Return whether an answer has neither text nor a tool call."""
    return not answer.text.strip() and not answer.tool_calls


_LINE_END: Final = re.compile(r"\r\n?")


def plain(text: str) -> str:
    """Return a text in NFC with line feeds as line ends, without blanks at the ends of lines and of the text.

    The indentation of a first line is kept where other lines follow, since it may be that of a block.
    """
    normal = _LINE_END.sub("\n", unicodedata.normalize("NFC", text))
    # One line at a time: a pattern for blanks before a line end is quadratic in runs of blanks.
    lines = []
    for line in normal.split("\n"):
        lines.append(line.rstrip(" \t"))
    trimmed = "\n".join(lines).strip("\n")
    return trimmed if "\n" in trimmed else trimmed.lstrip(" \t")


def same_calls(reference: Iterable[ToolCall], candidate: Iterable[ToolCall]) -> bool:
    """Return whether two lists of tool calls have the same names in the same order and equal arguments."""
    left, right = list(reference), list(candidate)
    if len(left) != len(right):
        return False
    for call, other in zip(left, right, strict=True):
        if call.name != other.name or not same_arguments(call.arguments, other.arguments):
            return False
    return True


def same_arguments(reference: str, candidate: str) -> bool:
    """Return whether the arguments of two calls are equal as JSON; no arguments equal an empty object."""
    if reference == candidate:
        return True
    try:
        left, right = json_value(reference.strip() or "{}"), json_value(candidate.strip() or "{}")
    except NotDataError:
        return False
    return same_value(left, right)


def same_data(reference: str, candidate: str, *, wanted: str | None = None) -> bool:
    """Return whether two texts are nothing but data with the same values.

    Args:
        reference: The answer to the original request.
        candidate: The answer to the variant.
        wanted: The format that the variant asks for; None if it asks for none, and the formats must be equal.
    """
    if max(len(reference), len(candidate)) > LONGEST:
        return False
    try:
        left, right = _read(reference, wanted), _read(candidate, wanted)
    except NotDataError:
        return False
    if left.format != right.format and wanted not in _READERS:
        return False
    return same_value(left.value, right.value)


@dataclass(frozen=True, slots=True)
class _Data:
    format: str
    value: Value


_FENCED: Final = re.compile(
    r"\A(`{3,}|~{3,})[ \t]*(json|yaml|yml|xml)?[ \t]*\n(.*)\n[ \t]*\1[ \t]*\Z", re.DOTALL
)


def _read(text: str, wanted: str | None) -> _Data:
    """Read a text that is data, bare or in one fence; see the module for which formats are tried.

    Raises: NotDataError.
    """
    # Indentation of the first line is YAML's, and makes a difference there.
    body = _LINE_END.sub("\n", text).strip("\n").rstrip()
    declared = None
    fence = _FENCED.match(body)
    if fence is not None:
        # A fence inside the fence means that the whole is a document, not one block of data.
        if fence[1] in fence[3]:
            raise NotDataError("more than one fence")
        declared = "yaml" if fence[2] == "yml" else fence[2]
        body = fence[3].strip("\n")
    # The last line end is part of a YAML block scalar.
    body += "\n"
    formats = [declared] if declared else ["json"]
    if wanted in _READERS and not declared:
        formats += ["xml"] if body.lstrip().startswith("<") else ["yaml"]
    for name in formats:
        try:
            return _Data(name, _READERS[name](body))
        except NotDataError:
            continue
    raise NotDataError("no data")


def json_value(text: str) -> Value:
    """Read a JSON value by the standard; numbers keep their spelling.

    Raises: NotDataError for anything else: malformed, an object with a repeated key (whose value depends on
        the parser), a bare string or number (which is prose as far as answers go), or deeper than `DEEPEST`.
    """
    try:
        decoded = _JSON.decode(text)
    except (ValueError, RecursionError) as error:
        raise NotDataError(str(error)) from error
    value = _typed(decoded, 0)
    if isinstance(value, Scalar):
        raise NotDataError("a bare value")
    return value


class _Number(str):
    """Number of JSON, kept to the letter and distinct from a string."""

    __slots__ = ()


def _refuse_constant(constant: str) -> Any:
    raise NotDataError(f"{constant} is not JSON")


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    unique = dict(members)
    if len(unique) != len(members):
        raise NotDataError("a key is repeated")
    return unique


_JSON: Final = json.JSONDecoder(
    parse_int=_Number, parse_float=_Number, parse_constant=_refuse_constant, object_pairs_hook=_unique
)


def _typed(value: Any, depth: int) -> Value:
    if depth > DEEPEST:
        raise NotDataError("nested too deeply")
    match value:
        case dict():
            return {name: _typed(member, depth + 1) for name, member in value.items()}
        case list():
            return [_typed(member, depth + 1) for member in value]
        case _Number():
            return Scalar("number", str(value))
        case str():
            return Scalar("string", value)
        case bool():
            return Scalar("boolean", "true" if value else "false")
        case _:
            return Scalar("null", "null")


_YAML_KINDS: Final[dict[str, Kind]] = {
    "tag:yaml.org,2002:str": "string",
    "tag:yaml.org,2002:int": "number",
    "tag:yaml.org,2002:float": "number",
    "tag:yaml.org,2002:bool": "boolean",
    "tag:yaml.org,2002:null": "null",
}
# Unquoted words that PyYAML takes for a string, YAML 1.2 for a number (1e5, 0o17, 08), or some other readers
# for a boolean (y, n).
_YAML_UNTYPED: Final = re.compile(
    r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|0o[0-7]+|[yYnN]"
)
# Comments are lost when YAML is parsed, and may be what differs.
_YAML_COMMENT: Final = re.compile(r"(?:^|[ \t])#", re.MULTILINE)


def yaml_value(text: str) -> Value:
    """Read a YAML mapping or sequence; numbers and booleans keep their spelling.

    Raises: NotDataError for anything else, and for what readers take in two ways: comments, aliases, tags,
        repeated keys, several documents.
    """
    if _YAML_COMMENT.search(text):
        raise NotDataError("a comment, or a text that looks like one")
    try:
        _check_events(yaml.parse(text, yaml.CSafeLoader))
        node = yaml.compose(text, yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise NotDataError(str(error)) from error
    if not isinstance(node, yaml.CollectionNode):
        raise NotDataError("a bare value")
    return _typed_yaml(node, 0)


def _check_events(events: Iterable[yaml.Event]) -> None:
    """Refuse aliases, which can grow, tags, and deep nesting, on which the composer would recurse."""
    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            raise NotDataError("an alias")
        if isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None) is not None:
            raise NotDataError("a tag")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEEPEST:
            raise NotDataError("nested too deeply")


def _typed_yaml(node: yaml.Node, depth: int) -> Value:
    if depth > DEEPEST:
        raise NotDataError("nested too deeply")
    match node:
        case yaml.MappingNode():
            members: dict[str, Value] = {}
            for key, member in node.value:
                if not isinstance(key, yaml.ScalarNode) or _YAML_KINDS.get(key.tag) != "string":
                    raise NotDataError("a key that is no text, such as 1 or yes")
                if key.value in members:
                    raise NotDataError("a key is repeated")
                members[key.value] = _typed_yaml(member, depth + 1)
            return members
        case yaml.SequenceNode():
            return [_typed_yaml(member, depth + 1) for member in node.value]
        case yaml.ScalarNode() if node.tag in _YAML_KINDS:
            kind = _YAML_KINDS[node.tag]
            if kind == "string" and not node.style and _YAML_UNTYPED.fullmatch(node.value):
                kind = "untyped"
            return Scalar(kind, "null" if kind == "null" else node.value)
        case _:
            raise NotDataError(f"tag {node.tag}")


# Attributes that change how the rest is read: parsed values that agree prove nothing then.
_XML_READING: Final = re.compile(r"\sxml(?:ns|:\w+)[\w:.-]*\s*=")


def xml_value(text: str) -> Value:
    """Read an XML document; its root element stands for the value.

    Raises: NotDataError for anything else, and for documents with a comment, a processing instruction, a
        document type, or an attribute that changes how the rest is read: a namespace or white space to keep.
    """
    body = re.sub(r"\A<\?xml[^>]*\?>", "", text.strip()).strip()
    if "<!" in body or "<?" in body:
        raise NotDataError("a comment, a document type or an instruction")
    if _XML_READING.search(body):
        raise NotDataError("a namespace, or white space to keep")
    try:
        root = ET.fromstring(body)  # noqa: S314 - without a document type no entity can grow
    except (ET.ParseError, RecursionError, ValueError) as error:
        raise NotDataError(str(error)) from error
    _check_depth(root)
    return root


def _check_depth(root: ET.Element) -> None:
    layer = [root]
    for _ in range(DEEPEST + 1):
        below: list[ET.Element] = []
        for element in layer:
            below += element
        layer = below
        if not layer:
            return
    raise NotDataError("nested too deeply")


_READERS: Final = {"json": json_value, "yaml": yaml_value, "xml": xml_value}


def same_value(left: Value, right: Value) -> bool:
    """Return whether two values are the same: keys in any order, lists in order, strings to the letter."""
    if isinstance(left, ET.Element):
        return _same_elements(left, right) if isinstance(right, ET.Element) else _document_is(left, right)
    if isinstance(right, ET.Element):
        return _document_is(right, left)
    match left, right:
        case dict(), dict():
            if left.keys() != right.keys():
                return False
            return all(same_value(member, right[name]) for name, member in left.items())
        case list(), list():
            return len(left) == len(right) and all(map(same_value, left, right))
        case _:
            return left == right


def _is_record(element: ET.Element) -> bool:
    """Return whether an element holds elements, with only line breaks and indentation between them."""
    texts = [element.text, *(child.tail for child in element)]
    return len(element) > 0 and all(map(_is_layout, texts))


def _is_layout(text: str | None) -> bool:
    return not text or (not text.strip(" \t\n") and "\n" in text)


def _same_elements(left: ET.Element, right: ET.Element) -> bool:
    if left.tag != right.tag or left.attrib != right.attrib or len(left) != len(right):
        return False
    # In a sentence with marked words a line break parts two of them.
    records = _is_record(left) and _is_record(right)
    if not records and (left.text or "") != (right.text or ""):
        return False
    for child, other in zip(left, right, strict=True):
        if not _same_elements(child, other):
            return False
        if not records and (child.tail or "") != (other.tail or ""):
            return False
    return True


# Names of a root element that only say that there is one.
_ROOTS: Final = frozenset(
    ("root", "data", "response", "output", "answer", "document", "object", "record", "xml", "json")
)
# Items from which elements are a list. A list of one, or of none, looks like a single value in XML.
_FEWEST_ITEMS: Final = 2


def _document_is(root: ET.Element, value: Value) -> bool:
    """Return whether an XML document says the same as a value of JSON or YAML.

    XML needs a root where the others need none. A name that says something is the value's only key.
    """
    if root.tag in _ROOTS:
        return _element_is(root, value)
    if not isinstance(value, dict) or list(value) != [root.tag]:
        return False
    return _element_is(root, value[root.tag])


def _element_is(element: ET.Element, value: Value) -> bool:
    """Return whether an element says the same as a value of JSON or YAML.

    A member of a mapping is a child of its name. A list is a run of children of one name, or one child that
    holds elements named item, or its own name in the singular.
    """
    if element.attrib:
        return False
    children = list(element)
    match value:
        case Scalar():
            # An empty element may be an empty text as well as no value, or an empty list or mapping.
            return (
                not children and value.kind != "null" and bool(element.text) and element.text == value.lexeme
            )
        case _ if not _is_record(element):
            return False
        case list():
            names = {child.tag for child in children}
            return names <= {"item", element.tag.removesuffix("s")} and _are_items(children, value)
        case dict():
            return _are_members(children, value)
        case _:
            return False


def _are_items(elements: list[ET.Element], items: list[Value]) -> bool:
    if len(elements) < _FEWEST_ITEMS or len(elements) != len(items):
        return False
    # Items of two names say more than items of one.
    return len({element.tag for element in elements}) == 1 and all(map(_element_is, elements, items))


def _are_members(elements: list[ET.Element], members: dict[str, Value]) -> bool:
    by_name: dict[str, list[ET.Element]] = {}
    for element in elements:
        by_name.setdefault(element.tag, []).append(element)
    if by_name.keys() != members.keys():
        return False
    for name, member in members.items():
        if not _is_member(by_name[name], member):
            return False
    return True


def _is_member(elements: list[ET.Element], member: Value) -> bool:
    """Return whether the children of one name are a member: its items, or one child for the whole."""
    if isinstance(member, list) and _are_items(elements, member):
        return True
    return len(elements) == 1 and _element_is(elements[0], member)

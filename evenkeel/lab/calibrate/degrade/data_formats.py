"""Data within an answer: found in the text, read into a tree, written back in one layout for each format.

JSON, YAML and XML become one tree. Values keep their spelling and type, and XML its attributes; layout and
comments are lost, in the variants of an answer as in the answer that they are scored against.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from xml.sax.saxutils import escape, quoteattr

import yaml

from evenkeel.lab.calibrate.degrade.engine import NotDegradableError
from evenkeel.metrics.structured.json import find_json, read_json
from evenkeel.metrics.structured.reading import Structure, Structured, fences, read_structure
from evenkeel.metrics.structured.tree import UnreadableError
from evenkeel.metrics.structured.xml import Element, parse_xml, read_xml
from evenkeel.metrics.structured.yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evenkeel.core.pair import Answer
    from evenkeel.metrics.structured.tree import Tree


Path: TypeAlias = tuple[int, ...]
"""Path from the root: which entry, within that which entry …"""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value."""

    text: str
    """A text's content; for everything else how it is spelled."""
    is_text: bool = True
    style: object = None
    """Facts that its format needs to write it: a tag of YAML, attributes of XML."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Values with or without keys."""

    entries: tuple[Entry, ...]
    is_array: bool
    """True if its entries are of one kind and their order says something."""
    style: object = None


class Entry(NamedTuple):
    """A value in a branch."""

    node: Node
    key: str | None = None
    style: object = None


Node: TypeAlias = Leaf | Branch


def leaf_paths(node: Node, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the values, in order. An empty branch counts as one, as it does for the metrics."""
    if isinstance(node, Leaf) or not node.entries:
        yield path
        return
    for index, entry in enumerate(node.entries):
        yield from leaf_paths(entry.node, (*path, index))


def branches(node: Node, path: Path = ()) -> Iterator[tuple[Path, Branch]]:
    """All branches with anything in them, outer ones first."""
    if isinstance(node, Branch) and node.entries:
        yield path, node
        for index, entry in enumerate(node.entries):
            yield from branches(entry.node, (*path, index))


def weight(node: Node) -> int:
    """Count the values of a node."""
    return sum(1 for _ in leaf_paths(node))


def at(root: Node, path: Path) -> Entry:
    """The entry at a path; the root has no key."""
    entry = Entry(root)
    for index in path:
        assert isinstance(entry.node, Branch)
        entry = entry.node.entries[index]
    return entry


_NOTHING: Final[Mapping[Path, Sequence[Entry]]] = MappingProxyType({})


def edited(
    branch: Branch,
    edits: Mapping[Path, Sequence[Entry]],
    behind: Mapping[Path, Sequence[Entry]] = _NOTHING,
    path: Path = (),
) -> Branch:
    """A tree with other entries.

    Args:
        branch: The tree before.
        edits: For some paths what stands there now: nothing, an entry, or several.
        behind: For some paths what stands behind the entry there, in which something may be edited as well.
        path: Of the branch.

    Returns: the tree after it. A branch whose entries are all gone is gone too, other than the root.
    """
    entries: list[Entry] = []
    for index, entry in enumerate(branch.entries):
        here = (*path, index)
        if here in edits:
            entries += edits[here]
        elif isinstance(entry.node, Branch) and entry.node.entries:
            inner = edited(entry.node, edits, behind, here)
            if inner.entries:
                entries.append(entry._replace(node=inner))
        else:
            entries.append(entry)
        entries += behind.get(here, ())
    return replace(branch, entries=tuple(entries))


def arranged(branch: Branch, orders: Mapping[Path, Sequence[int]], path: Path = ()) -> Branch:
    """A tree whose branches at some paths have their entries in another order, inner ones first."""
    entries = [
        entry._replace(node=arranged(entry.node, orders, (*path, index)))
        if isinstance(entry.node, Branch)
        else entry
        for index, entry in enumerate(branch.entries)
    ]
    order = orders.get(path)
    return replace(branch, entries=tuple(entries if order is None else [entries[index] for index in order]))


_WORDS: Final = {True: "true", False: "false", None: "null"}


class _Literal(str):
    """A number as it is spelled."""

    __slots__ = ()


class _Fields(list[tuple[str, Any]]):
    """The pairs of an object, told from an array's items."""


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


_DECODER: Final = json.JSONDecoder(
    parse_int=_Literal, parse_float=_Literal, parse_constant=_refuse, object_pairs_hook=_Fields
)


def read_json_form(text: str) -> Branch:
    """The tree of one JSON object or array.

    Raises:
        NotDegradableError: "malformed".
    """
    try:
        tree = _json_node(_DECODER.decode(text))
    except (ValueError, RecursionError) as error:
        raise NotDegradableError("malformed", str(error)) from error
    if isinstance(tree, Leaf):
        raise NotDegradableError("malformed", "a single value")
    return tree


def write_json_form(root: Branch) -> str:
    """The tree as JSON on one line."""
    return _json_written(root)


def _json_node(value: Any) -> Node:
    if isinstance(value, _Fields):
        return Branch(tuple(Entry(_json_node(inner), key) for key, inner in value), is_array=False)
    if isinstance(value, list):
        return Branch(tuple(Entry(_json_node(inner)) for inner in value), is_array=True)
    if isinstance(value, str) and not isinstance(value, _Literal):
        return Leaf(value)
    return Leaf(str(value) if isinstance(value, str) else _WORDS[value], is_text=False)


def _json_written(node: Node) -> str:
    if isinstance(node, Leaf):
        return json.dumps(node.text) if node.is_text else node.text
    parts = (
        ("" if entry.key is None else f"{json.dumps(entry.key)}: ") + _json_written(entry.node)
        for entry in node.entries
    )
    said = ", ".join(parts)
    return f"[{said}]" if node.is_array else f"{{{said}}}"


_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_TEXT: Final = "tag:yaml.org,2002:str"
_RESOLVER: Final[Any] = yaml.resolver.Resolver()
_WIDTH: Final = 1_000_000
"""Long lines are not broken."""


def read_yaml_form(text: str) -> Branch:
    """The tree of one YAML document with a mapping or a sequence at its top.

    Raises:
        NotDegradableError: "malformed", or "several_documents".
    """
    printable = text.encode("utf-8", "replace").decode("utf-8")
    try:
        documents = list(yaml.compose_all(printable, Loader=_LOADER))
    except (yaml.YAMLError, RecursionError) as error:
        raise NotDegradableError("malformed", " ".join(str(error).split())[:200]) from error
    if len(documents) != 1:
        raise NotDegradableError("several_documents", f"{len(documents)} documents in one answer")
    tree = _yaml_node(documents[0])
    if isinstance(tree, Leaf):
        raise NotDegradableError("malformed", "a single value")
    return tree


def write_yaml_form(root: Branch) -> str:
    """The tree as YAML in block style."""
    written: str = yaml.serialize(_yaml(root), Dumper=_DUMPER, allow_unicode=True, width=_WIDTH)
    return written.rstrip("\n")


def _yaml_node(given: Any) -> Node:
    if isinstance(given, yaml.MappingNode):
        fields = tuple(Entry(_yaml_node(value), *_key(key)) for key, value in given.value)
        return Branch(fields, is_array=False)
    if isinstance(given, yaml.SequenceNode):
        return Branch(tuple(Entry(_yaml_node(value)) for value in given.value), is_array=True)
    return Leaf(given.value, is_text=given.tag == _TEXT, style=given.tag)


def _tag(leaf: Leaf) -> str:
    if leaf.is_text:
        return _TEXT
    return str(leaf.style or _RESOLVER.resolve(yaml.ScalarNode, leaf.text, (True, False)))


def _yaml(node: Node) -> Any:
    if isinstance(node, Leaf):
        return yaml.ScalarNode(_tag(node), node.text)
    if node.is_array:
        items = [_yaml(entry.node) for entry in node.entries]
        return yaml.SequenceNode("tag:yaml.org,2002:seq", items, flow_style=False)
    fields = [(_yaml_key(entry), _yaml(entry.node)) for entry in node.entries]
    return yaml.MappingNode("tag:yaml.org,2002:map", fields, flow_style=False)


def _key(key: Any) -> tuple[str, object]:
    """A key's text and tag; a key that is no scalar itself."""
    return (key.value, key.tag) if isinstance(key, yaml.ScalarNode) else ("", key)


def _yaml_key(entry: Entry) -> Any:
    if isinstance(entry.style, yaml.Node):
        return entry.style
    return yaml.ScalarNode(str(entry.style or _TEXT), entry.key)


class _Root(NamedTuple):
    tag: str
    attributes: dict[str, str]


def read_xml_form(text: str) -> Branch:
    """The tree of one XML document. Elements with text between their elements count as one value.

    Raises:
        NotDegradableError: "malformed", "entity", "too_deep", or "no_fields": the root has no elements.
    """
    try:
        root = parse_xml(text)
    except UnreadableError as error:
        raise NotDegradableError(error.reason, str(error)) from error
    tree = _xml_node(root)
    if isinstance(tree, Leaf):
        raise NotDegradableError("no_fields", "the document holds a single text")
    return Branch(tree.entries, tree.is_array, _Root(root.tag, root.attributes))


def write_xml_form(root: Branch) -> str:
    """The tree as XML on one line."""
    assert isinstance(root.style, _Root)
    return "".join(_xml_written(root.style.tag, root, root.style.attributes))


def _xml_node(element: Element) -> Node:
    children = element.elements()
    if not children:
        return Leaf(element.text().strip(), style=element.attributes)
    own = "".join(child for child in element.children if isinstance(child, str))
    if own.strip():
        return Leaf(" ".join(element.text().split()), is_text=False, style=element)
    is_array = len(children) > 1 and len({child.tag for child in children}) == 1
    entries = tuple(Entry(_xml_node(child), child.tag) for child in children)
    return Branch(entries, is_array, element.attributes)


def _xml_written(tag: str, node: Node, attributes: object) -> Iterator[str]:
    if isinstance(attributes, Element):
        yield from _kept(attributes)
        return
    opening = _opening(tag, attributes if isinstance(attributes, dict) else {})
    if isinstance(node, Leaf):
        yield f"{opening}>{escape(node.text)}</{tag}>" if node.text else f"{opening}/>"
        return
    yield f"{opening}>"
    for entry in node.entries:
        yield from _xml_written(entry.key or tag, entry.node, entry.node.style)
    yield f"</{tag}>"


def _opening(tag: str, attributes: Mapping[str, str]) -> str:
    """A tag up to its closing bracket."""
    return f"<{tag}" + "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())


def _kept(element: Element) -> Iterator[str]:
    """An element just as it was read."""
    yield f"{_opening(element.tag, element.attributes)}>"
    for child in element.children:
        yield from (escape(child),) if isinstance(child, str) else _kept(child)
    yield f"</{element.tag}>"


class _Format(NamedTuple):
    plain: Callable[[str], Tree]
    """Reader of the metrics."""
    read: Callable[[str], Branch]
    write: Callable[[Branch], str]


_FORMATS: Final[dict[Structured, _Format]] = {
    "json": _Format(read_json, read_json_form, write_json_form),
    "yaml": _Format(read_yaml, read_yaml_form, write_yaml_form),
    "xml": _Format(read_xml, read_xml_form, write_xml_form),
}


@dataclass(frozen=True, slots=True)
class Document:
    """Data within an answer."""

    format: Structured
    root: Branch
    before: str
    """Text before it in the answer: a fence, a word of introduction."""
    behind: str

    def written(self, root: Branch) -> str:
        """The answer's text with other data."""
        return self.before + _FORMATS[self.format].write(root) + self.behind

    def edited(self, answer: Answer, edits: Mapping[Path, Sequence[Entry]]) -> Answer:
        """The answer with other entries at some paths, see `edited`.

        Raises:
            NotDegradableError: "unchanged".
        """
        return self.degraded(answer, edited(self.root, edits))

    def degraded(self, answer: Answer, root: Branch) -> Answer:
        """The answer with other data.

        Raises:
            NotDegradableError: "unchanged": it would say the same as before.
        """
        if root == self.root:
            raise NotDegradableError("unchanged", "the data are the same as before")
        return replace(answer, text=self.written(root))


def read_document(text: str) -> Document:
    """Find the data in an answer: what the metrics read, if it is valid.

    Raises:
        NotDegradableError: "no_data", "not_valid" if it takes repairs to read it, "malformed", "too_deep",
            "too_large", "several_documents", "entity", "no_fields".
    """
    found = read_structure(text)
    if isinstance(found, UnreadableError):
        raise NotDegradableError(found.reason, str(found))
    if not isinstance(found, Structure) or found.format not in _FORMATS:
        raise NotDegradableError("no_data", "the answer is no JSON, YAML or XML")
    form = _FORMATS[found.format]
    for said in _pieces(text, found.format):
        try:
            same = form.plain(said) == found.tree
        except UnreadableError:
            continue
        if same:
            before, _, behind = text.partition(said)
            return Document(found.format, form.read(said), before, behind)
    raise NotDegradableError(
        "not_valid", f"the answer's {found.format.upper()} cannot be read without repairs"
    )


def _pieces(text: str, wanted: Structured) -> Iterator[str]:
    """Yield the texts that may be the data, the whole first."""
    body = text.strip()
    yield body
    pieces = [fence.text for fence in fences(body)]
    yield from pieces
    for piece in (body, *pieces):
        if wanted == "json":
            excerpt = find_json(piece)
            if excerpt is not None:
                yield piece[excerpt.start : excerpt.end]
        elif wanted == "xml":
            start = piece.find("<?xml") if "<?xml" in piece else piece.find("<")
            yield piece[max(0, start) : piece.rfind(">") + 1]

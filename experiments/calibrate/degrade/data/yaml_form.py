"""YAML: scalars keep their spelling and style; comments and anchors are lost."""

from __future__ import annotations

from typing import Any, Final

import yaml

from evenkeel.experiments.calibrate.degrade.data.tree import Branch, Entry, Leaf, Node
from evenkeel.experiments.calibrate.degrade.protocol import NotDegradableError

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER: Final[Any] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_TEXT: Final = "tag:yaml.org,2002:str"
_RESOLVER: Final[Any] = yaml.resolver.Resolver()
_WIDTH: Final = 1_000_000
"""Long lines are not broken."""


def read(text: str) -> Branch:
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
    tree = _node(documents[0])
    if isinstance(tree, Leaf):
        raise NotDegradableError("malformed", "a single value")
    return tree


def write(root: Branch, like: str) -> str:
    """The tree as YAML, in block or flow style as it was; a line of dashes at the top stays."""
    written: str = yaml.serialize(_yaml(root), Dumper=_DUMPER, allow_unicode=True, width=_WIDTH)
    return ("---\n" if like.startswith("---") else "") + written.rstrip("\n")


def _node(given: Any) -> Node:
    if isinstance(given, yaml.MappingNode):
        fields = tuple(Entry(_node(value), *_key(key)) for key, value in given.value)
        return Branch(fields, is_array=False, style=given.flow_style)
    if isinstance(given, yaml.SequenceNode):
        items = tuple(Entry(_node(value)) for value in given.value)
        return Branch(items, is_array=True, style=given.flow_style)
    return Leaf(given.value, is_text=given.tag == _TEXT, style=(given.tag, given.style))


def _key(key: Any) -> tuple[str, object]:
    """A key's text, and its tag and style; for a key that is no scalar itself."""
    return (key.value, (key.tag, key.style)) if isinstance(key, yaml.ScalarNode) else ("", key)


def _yaml_key(entry: Entry) -> Any:
    if isinstance(entry.style, yaml.Node):
        return entry.style
    tag, style = entry.style if isinstance(entry.style, tuple) else (_TEXT, None)
    return yaml.ScalarNode(tag, entry.key, style=style)


def _flow(branch: Branch) -> bool | None:
    return branch.style if isinstance(branch.style, bool) else None


def _tag(leaf: Leaf) -> str:
    if leaf.is_text:
        return _TEXT
    tag: str = _RESOLVER.resolve(yaml.ScalarNode, leaf.text, (True, False))
    return tag


def _yaml(node: Node) -> Any:
    if isinstance(node, Leaf):
        tag, style = node.style if isinstance(node.style, tuple) else (_tag(node), None)
        return yaml.ScalarNode(tag, node.text, style=style)
    if node.is_array:
        items = [_yaml(entry.node) for entry in node.entries]
        return yaml.SequenceNode("tag:yaml.org,2002:seq", items, flow_style=_flow(node))
    fields = [(_yaml_key(entry), _yaml(entry.node)) for entry in node.entries]
    return yaml.MappingNode("tag:yaml.org,2002:map", fields, flow_style=_flow(node))

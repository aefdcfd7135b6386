"""Skeletons rendered in each format: valid, and without losing a name."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.shadow.perturbations.format import FREE, HTML, JSON, MARKDOWN, XML, YAML
from evenkeel.shadow.perturbations.format.forms import element_name
from evenkeel.shadow.perturbations.format.readers import read_json
from evenkeel.shadow.perturbations.format.schema import Field, Leaf, Listing, Record, names_in

_words = st.text(st.sampled_from("abcXY é-:#<&\"'123_"), min_size=1, max_size=8).map(str.strip).filter(bool)
_leaves = st.builds(Leaf, _words, st.sampled_from(["hint", "literal"])) | st.just(Leaf("7", "bare"))


def _records(inner):
    fields = st.lists(st.builds(Field, _words, inner), min_size=1, max_size=4, unique_by=element_name)
    return st.builds(lambda found: Record(tuple(found)), fields)


_nodes = _records(
    st.recursive(_leaves, lambda inner: st.builds(Listing, inner) | _records(inner), max_leaves=6)
)


def _value(node):
    """What a reader of the format should find."""
    match node:
        case Leaf(text=text, form="bare"):
            return int(text)
        case Leaf(text=text, form="hint"):
            return f"<{text}>"
        case Leaf(text=text):
            return text
        case Listing(item=item):
            return [_value(item)]
        case Record(fields=fields):
            return {one.name: _value(one.value) for one in fields}


@settings(max_examples=60)
@given(_nodes)
def test_rendered_json_and_yaml_are_valid(node):
    """A strict reader finds the very structure, whatever the names and hints."""
    assert yaml.safe_load(YAML.render(node)) == _value(node)
    plain = JSON.render(node)
    # Numbers' placeholders stand without quotation marks, as people write them
    if '": <' not in plain and "[<" not in plain:
        assert json.loads(plain) == _value(node)
    assert list(names_in(read_json(plain))) == list(names_in(node))


class _Balance(HTMLParser):
    """Notes what is open, and fails at an end that closes something else."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@settings(max_examples=60)
@given(_nodes)
def test_rendered_xml_and_html_are_valid(node):
    """A strict reader finds every field as an element, and every element closed."""
    root = ET.fromstring(XML.render(node))
    expected = [element_name(Field(name, Leaf(""))) for name in names_in(node)]
    assert [one.tag for one in root.iter() if one.tag not in ("response", "item")] == [
        name for name in expected if name not in ("response", "item")
    ]
    balance = _Balance()
    balance.feed(HTML.render(node))
    balance.close()
    assert balance.open == []


@settings(max_examples=60)
@given(_nodes)
def test_no_rendering_loses_a_name(node):
    """Markdown and prose hold every field's name as it is."""
    for kind in (MARKDOWN, FREE):
        text = kind.render(node)
        assert all(name in text for name in names_in(node))

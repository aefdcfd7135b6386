"""Skeletons of formats as people write them, and the words that name a format."""

from __future__ import annotations

import pytest

from evenkeel.shadow.perturbations.format import YAML
from evenkeel.shadow.perturbations.format.readers import (
    read_html,
    read_json,
    read_markdown,
    read_xml,
    read_yaml,
)
from evenkeel.shadow.perturbations.format.schema import (
    Field,
    Leaf,
    Listing,
    Record,
    UnreadableSkeleton,
    leaf_of,
    names_in,
    read_json_schema,
)
from evenkeel.shadow.perturbations.format.skeletons import skeletons
from evenkeel.shadow.perturbations.format.words import named_format, renamed


@pytest.mark.parametrize("text", [
    '{"a": "<one>", "b": ["<two>"], "c": {"d": 1}}',
    "{ a: <one>, b: <list[two]>, c: { d: 1 } }",
    '{\n  "a": <one>,\n  "b": [<two>, ...],\n  "c": {"d": 1},\n}',
    "{'a': '{one}', 'b': ['[two]'], 'c': {'d': 1}}",
    '{{"a": <one>, "b": [<two>], "c": {{"d": 1}}}}',
    '{"a": <one>\n "b": <list of two>\n "c": {"d": 1}, ...}',
])  # fmt: skip
def test_json_as_people_write_it(text):
    """Placeholders, bare keys, missing and superfluous commas and doubled braces read the same."""
    assert read_json(text) == Record((
        Field("a", Leaf("one")),
        Field("b", Listing(Leaf("two"))),
        Field("c", Record((Field("d", Leaf("1", "bare")),))),
    ))  # fmt: skip


def test_remarks_in_json_are_hints():
    """Comments belong to the value before them; choices become one hint."""
    node = read_json('{"a": "<one>", // first\n "b": <two> // second\n, "c": "x" | "y" /* third */ }')
    assert node == Record((
        Field("a", Leaf("one: first")), Field("b", Leaf("two: second")), Field("c", Leaf("x | y: third")),
    ))  # fmt: skip


@pytest.mark.parametrize("text", ["", "{", "[1, 2", '{"a" 1}', '{"a": }', "{} and more", "a", '{"a": [' * 30])
def test_json_that_cannot_be_read(text):
    """It is refused, not guessed."""
    with pytest.raises(UnreadableSkeleton):
        read_json(text)


def test_yaml_as_people_write_it():
    """Nested lists of objects, remarks, block text and flow style are read."""
    text = 'a: <one>  # first\n"b c":\n- x: [<two>]\n  y: |\n    some text\n- x: <more>\nd:\n  e: 1\nf:\n'
    assert read_yaml(text) == Record((
        Field("a", Leaf("one: first")),
        Field("b c", Listing(Record((Field("x", Listing(Leaf("two"))), Field("y", Leaf("some text")))))),
        Field("d", Record((Field("e", Leaf("1", "bare")),))),
        Field("f", Leaf("…")),
    ))  # fmt: skip
    with pytest.raises(UnreadableSkeleton):
        read_yaml("just words")


def test_xml_as_people_write_it():
    """Repeated and list-like elements are lists, attributes fields, unclosed tags placeholders."""
    text = '<answer><a><one></a><steps><step>[x]</step></steps><b id="7">t</b><c>1</c><c>2</c></answer>'
    assert read_xml(text) == Record((
        Field("a", Leaf("one")),
        Field("steps", Listing(Leaf("x"))),
        Field("b", Record((Field("id", Leaf("7", "literal")), Field("text", Leaf("t", "literal"))))),
        Field("c", Listing(Leaf("1 | 2"))),
    ))  # fmt: skip
    for broken in ("<a><b></a></b>", "words", "words <a>b</a>"):
        with pytest.raises(UnreadableSkeleton):
            read_xml(broken)


def test_outlines_as_people_write_them():
    """Headings name fields, bullets are lists, bold names are fields too; tables are not read."""
    expected = Record((Field("Cause", Leaf("why")), Field("Steps", Listing(Leaf("a step")))))
    assert read_markdown("## Cause\n[why]\n\n## Steps\n- [a step]\n") == expected
    assert read_markdown("# Report\n\n## Cause\n[why]\n\n## Steps\n1. [a step]\n") == expected
    assert read_html("<h2>Cause</h2><p>[why]</p>\n<h2>Steps</h2><ul><li>[a step]</li></ul>") == expected
    assert read_markdown("**Cause:** [why]\n**Steps**: [all]") == Record((
        Field("Cause", Leaf("why")), Field("Steps", Leaf("all")),
    ))  # fmt: skip
    for broken in ("", "words", "words\n# Head\n"):
        with pytest.raises(UnreadableSkeleton):
            read_markdown(broken)
    with pytest.raises(UnreadableSkeleton):
        read_html("<table><tr><td>x</td></tr></table>")


def test_schemas_that_are_odd():
    """What can't be read is any value; a schema that refers to itself ends."""
    assert read_json_schema(None) == Leaf("…")
    assert read_json_schema({"$ref": "#/nowhere"}) == Leaf("…")
    endless = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    assert set(names_in(read_json_schema(endless))) == {"next"}


@pytest.mark.parametrize(("text", "expected"), [
    ("Use JSON.", "json"),
    ("Do not use Markdown, write HTML.", "html"),
    ("Return YAML rather than JSON.", "yaml"),
    ("without markdown code fences", None),
    ("see https://a.example/json or data.json", None),
    ("the json_object type", None),
    ("reply in yml", "yaml"),
])  # fmt: skip
def test_the_named_format(text, expected):
    """File names, identifiers and what is forbidden name no format."""
    assert named_format(text) == expected


def test_skeletons_are_found_where_they_stand():
    """Fenced ones first; bare ones only at a line's beginning or behind a colon."""
    (bare,) = skeletons('Say {x}: {"a": <b>} and stop.', "json")
    assert (bare.start, bare.end) == (9, 19)
    assert skeletons("Cite as [1] or {id}.", "json") == ()
    assert skeletons("Return YAML with:\n- name: who\n- due: when\n", "yaml") == ()
    (lines,) = skeletons("In YAML:\n\nname: <who>\ndue: <when>\n\nBe brief.", "yaml")
    assert (lines.start, lines.end) == (10, 33)


def test_words_are_renamed_only_where_a_format_is_meant():
    """File names and addresses keep theirs."""
    text = "Send JSON as in a.json or http://x.example/json/; mind application/json."
    assert renamed(text, "json", "yaml", YAML.words) == text.replace("Send JSON", "Send YAML")


def test_hints():
    """Type words, brackets and lists of something are read; quoted words are examples."""
    assert leaf_of("<list[string]>") == Listing(Leaf("string"))
    assert leaf_of("array of names") == Listing(Leaf("names"))
    assert leaf_of("string[]") == Listing(Leaf("string"))
    assert leaf_of("high", quoted=True) == Leaf("high", "literal")
    assert leaf_of("string", quoted=True) == Leaf("string")
    assert leaf_of("") == Leaf("…")
    assert [leaf_of(one).is_number for one in ("3", "true", "<integer>", "<string>")] == [
        True,
        True,
        True,
        False,
    ]


def test_nested_sections():
    """Sections of sections are objects in objects; text beside sections can't be read."""
    node = read_markdown("## A\n### B\n[b]\n### C\n## D\n[some]\n- [d]\n")
    assert node == Record((
        Field("A", Record((Field("B", Leaf("b")), Field("C", Leaf("…"))))),
        Field("D", Leaf("[some] [d]", "literal")),
    ))  # fmt: skip
    with pytest.raises(UnreadableSkeleton):
        read_markdown("## A\ntext\n### B\n[b]\n")
    assert read_markdown("## A\n- **x:** [1]\n  **y:** [2]\n- **x:** [3]\n  **z:** [4]\n") == Record((
        Field("A", Listing(Record((Field("x", Leaf("1")), Field("y", Leaf("2")), Field("z", Leaf("4")))))),
    ))  # fmt: skip


def test_remarks_and_empty_elements_in_xml():
    """A comment is a hint, an empty element any value, character data text."""
    assert read_xml("<r><a/><b><!-- why -->[x]</b><c><![CDATA[t]]></c></r>") == Record((
        Field("r", Record((
            Field("a", Leaf("…")), Field("b", Leaf("x: why")), Field("c", Leaf("t", "literal")),
        ))),
    ))  # fmt: skip


def test_remarks_on_lists_and_objects():
    """They stay with the first value inside."""
    node = read_json('{"a": [<x>], // many\n "b": {"c": <y>}, // one\n "d": {} // none\n}')
    assert node == Record((
        Field("a", Listing(Leaf("x: many"))),
        Field("b", Record((Field("c", Leaf("y: one")),))),
        Field("d", Record(())),
    ))  # fmt: skip

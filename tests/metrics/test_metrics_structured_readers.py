"""Each format into the one tree: valid, slightly broken, and hostile texts."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.structured.html_reader import read_html, repair_html
from metrics.structured.json_reader import find_json, read_json
from metrics.structured.markdown_reader import read_markdown, repair_markdown
from metrics.structured.markup import parse_soup, parse_xml
from metrics.structured.tree import DEEPEST, Tree, UnreadableError, flat, gather, leaves, scalar
from metrics.structured.xml_reader import read_xml, repair_xml
from metrics.structured.yaml_reader import read_yaml, repair_yaml

if TYPE_CHECKING:
    from collections.abc import Callable

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)
KEYS = st.text("abcdef é", min_size=1, max_size=6).map(str.strip).filter(bool)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def as_tree(value: object) -> Tree:
    """The tree of a Python value, written apart from the readers."""
    if isinstance(value, dict):
        return {key: as_tree(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(as_tree(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return scalar(value)


def reason(caught: pytest.ExceptionInfo[UnreadableError]) -> str:
    return caught.value.reason


def outcome(read: Callable[[str], object], text: str) -> str:
    """The word "read", or the reason why it was not."""
    try:
        read(text)
    except UnreadableError as error:
        return error.reason
    return "read"


# --- scalars and containers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        ("False", "false"),
        ("NULL", ""),
        ("1.0", "1"),
        (2.5, "2.5"),
        (" a ", "a"),
        ("007", "007"),
    ],
)
def test_a_scalar_has_one_spelling_in_all_formats(value: object, text: str) -> None:
    """Nulls are empty, booleans lower case, whole numbers without a fraction; the rest is kept."""
    assert scalar(value) == text


def test_entries_are_gathered_by_their_keys() -> None:
    """Repeated keys become a sequence, loose text has a key only beside others, one value is itself."""
    assert gather([("a", "1"), ("a", "2"), (None, "x")]) == {"a": ("1", "2"), "text": "x"}
    assert gather([(None, "x"), (None, "y")]) == ("x", "y")
    assert gather([(None, "x")]) == "x"
    assert gather([]) == ""


def test_leaves_and_flat_text_keep_the_order() -> None:
    """Every scalar once, an empty container as one empty scalar; keys are no text."""
    tree: Tree = {"a": "1", "b": ("2", {"c": "3"}), "d": ()}
    assert list(leaves(tree)) == ["1", "2", "3", ""]
    assert flat(tree) == "1\n2\n3"


# --- JSON


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_json_that_is_valid_is_read_as_it_is(value: dict[str, object]) -> None:
    """The tree of the text is the tree of the value, strictly and within other text."""
    text = json.dumps(value, ensure_ascii=False)
    assert read_json(text) == as_tree(value)
    if value:
        assert find_json(text).tree == as_tree(value)


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Kim", "tags": ["a", "b"], "age": 4,}',
        "{'name': 'Kim', 'tags': ['a', 'b'], 'age': 4}",
        '{name: "Kim", tags: ["a", "b"], age: 4}',
        '{"name": "Kim", // who\n "tags": ["a", "b" /* two */], "age": 4}',
        '{"name": "Kim" "tags": ["a" "b"] "age": 4}',
        '{\n"name": "Kim"\n"tags": ["a", "b"]\n"age": 4\n}',
        '{"name": "Kim", "tags": ["a", "b"], "age": 4',
        '{"name": "Kim", "tags": ["a", "b", "age": 4}',
        "{“name”: “Kim”, “tags”: [“a”, “b”], “age”: 4}",
        'Here you are: {"name": "Kim", "tags": ["a", "b"], "age": 4,} Anything else?',
    ],
)
def test_json_with_the_slips_of_models_is_repaired(text: str) -> None:
    """Commas, quotes, comments and brackets that are wrong or missing do not hide the content."""
    found = find_json(text)
    assert found is not None
    assert not found.strict
    assert found.tree == {"name": "Kim", "tags": ("a", "b"), "age": "4"}


def test_json_cut_at_any_place_keeps_what_came_before() -> None:
    """Every cut of a record gives a part of it, in order, and never an error."""
    text = '{"title": "Printer \\"jam\\"", "steps": ["open", "pull"], "done": false}'
    whole = list(leaves(read_json(text)))
    for end in range(len('{"title": "P'), len(text)):
        found = find_json(text[:end])
        assert found is not None
        got = [leaf for leaf in leaves(found.tree) if leaf]
        assert got[:-1] == whole[: len(got) - 1]
        assert whole[len(got) - 1].startswith(got[-1].rstrip("\\"))


def test_quotes_within_strings_do_not_end_them() -> None:
    """A quote ends a string only where something can follow."""
    assert find_json('{"a": "he said "stop" twice", "b": \'it\'s\'}').tree == {
        "a": 'he said "stop" twice',
        "b": "it's",
    }


def test_escapes_are_resolved_in_repaired_strings_too() -> None:
    """Line breaks, code points and both halves of a surrogate pair."""
    assert find_json(r"""{'a': 'x\ny \u00e9 \ud83d\ude00 \q',}""").tree == {"a": "x\ny é 😀 q"}


def test_python_literals_are_values() -> None:
    """A dict printed by Python is read like the JSON it stands for."""
    assert find_json("{'a': True, 'b': None, 'c': [1.0, -2]}").tree == {
        "a": "true",
        "b": "",
        "c": ("1", "-2"),
    }


def test_numbers_keep_their_digits() -> None:
    """No rounding, and no limit on how many there are."""
    digits = "9" * 6000
    assert read_json(f'{{"a": {digits}, "b": 0.10}}') == {"a": digits, "b": "0.10"}


def test_a_repeated_key_keeps_all_values() -> None:
    """Nothing a model wrote is dropped silently."""
    assert read_json('{"a": 1, "a": 2}') == {"a": ("1", "2")}


@pytest.mark.parametrize("text", ["NaN", '{"a": NaN}', "{", "{'a': 1}", '{"a": 1,}', "", "hello"])
def test_json_that_is_not_valid_is_refused_by_the_strict_reader(text: str) -> None:
    """Strict means the standard."""
    with pytest.raises(UnreadableError) as caught:
        read_json(text)
    assert reason(caught) == "malformed"


def test_prose_holds_no_json() -> None:
    """Brackets around nothing are none."""
    assert find_json("plain words") is None
    assert find_json("{} and []") is None


@pytest.mark.parametrize("opener", ["[", '{"a":', "[{", '{"a":[', "{ "])
def test_deep_json_is_refused_quickly(opener: str) -> None:
    """A hundred thousand levels neither overflow the stack nor take time."""
    started = time.process_time()
    with pytest.raises(UnreadableError) as caught:
        read_json(opener * 100_000)
    assert reason(caught) in ("too_deep", "malformed")
    assert outcome(find_json, opener * 100_000) in ("too_deep", "read")
    assert time.process_time() - started < 2


@settings(max_examples=150, deadline=None)
@given(st.text("{}[]\"':,\\ \nab1“”/*", max_size=60))
def test_no_text_breaks_the_json_reader(text: str) -> None:
    """Whatever brackets and quotes do, there is a value or there is none."""
    found = find_json(text)
    assert found is None or 0 <= found.start < found.end <= len(text)


# --- YAML


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_yaml_written_by_the_library_is_read_as_it_is(value: dict[str, object]) -> None:
    """Block style, quoting and escapes give back the tree of the value."""
    text = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    assert read_yaml(text) == as_tree(value)


def test_yaml_scalars_stay_texts() -> None:
    """No dates, octals or booleans of an older standard; a tilde is null, a quoted one is not."""
    text = "when: 2024-03-05\nid: 0o17\non: yes\nnone: ~\ntilde: '~'\n"
    assert read_yaml(text) == {"when": "2024-03-05", "id": "0o17", "on": "yes", "none": "", "tilde": "~"}


def test_yaml_aliases_are_refused() -> None:
    """The laughing document stays small, because nothing in an answer needs an alias."""
    bomb = "a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n"
    with pytest.raises(UnreadableError) as caught:
        read_yaml(bomb)
    assert reason(caught) == "alias"


def test_yaml_tags_construct_nothing() -> None:
    """A tag is passed over, its value is text."""
    assert read_yaml("a: !!python/object/apply:os.system ['true']\n") == {"a": ("true",)}


def test_several_yaml_documents_are_a_sequence() -> None:
    """Marks between documents do not hide the second one."""
    assert read_yaml("a: 1\n---\nb: 2\n") == ({"a": "1"}, {"b": "2"})


def test_prose_is_no_yaml_though_the_standard_says_so() -> None:
    """A lone scalar is refused."""
    with pytest.raises(UnreadableError):
        read_yaml("The printer jams.")


@pytest.mark.parametrize(
    "text",
    [
        "title: Error: disk full\nsteps:\n  - free space: 5 GB\n  - *retry* once\n",
        "title: Error: disk full\nsteps:\n\t- 'free space: 5 GB'\n\t- '*retry* once'\n",
    ],
)
def test_yaml_with_the_slips_of_models_is_repaired(text: str) -> None:
    """Colons in plain values, marks that look like aliases, tabs."""
    with pytest.raises(UnreadableError):
        read_yaml(text)
    tree = repair_yaml(text)
    assert isinstance(tree, dict)
    assert tree["title"] == "Error: disk full"
    assert flat(tree["steps"]).endswith("5 GB\n*retry* once")


def test_yaml_that_ends_in_something_else_keeps_its_begin() -> None:
    """Talk behind a document is left out."""
    assert repair_yaml('a: "1"\nb: [2]\n}}} and so on') == {"a": "1", "b": ("2",)}


def test_deep_yaml_is_refused() -> None:
    """Levels are limited in block and in flow style."""
    for text in ("a: " + "[" * 5000, "\n".join(" " * level + "a:" for level in range(200))):
        with pytest.raises(UnreadableError) as caught:
            read_yaml(text)
        assert reason(caught) == "too_deep"


@settings(max_examples=150, deadline=None)
@given(st.text("ab:- \n\t'\"[]{}&*!|>#%@`~?", max_size=50))
def test_no_text_breaks_the_yaml_reader(text: str) -> None:
    """Whatever stands there, there is a tree or the error of this project."""
    for read in (read_yaml, repair_yaml):
        assert outcome(read, text) in ("read", "malformed", "alias", "too_deep")


# --- XML


def test_xml_elements_become_fields_and_sequences() -> None:
    """The root's name is dropped; attributes are fields, repeated tags sequences, marked text is text."""
    text = (
        "<?xml version='1.0'?><case id='7'><title>No  &amp; no</title>"
        "<steps><step>open</step><step>pull</step></steps><tag>a</tag><tag>b</tag>"
        "<note>see <b>this</b> one</note><none/></case>"
    )
    assert read_xml(text) == {
        "id": "7",
        "title": "No & no",
        "steps": ("open", "pull"),
        "tag": ("a", "b"),
        "note": "see this one",
        "none": "",
    }


@pytest.mark.parametrize(
    "text",
    [
        "<case><title>Jam & more</title><n>1 < 2</n></case>",
        "<case><title>Jam &amp; more<n>1 &lt; 2</n></case>",
        "<case><title>Jam &amp; more</title><n>1 &lt; 2</n>",
        "<case><title>Jam &amp; more</title><n>1 &lt; 2</n></ca",
    ],
)
def test_broken_xml_is_repaired(text: str) -> None:
    """Bare marks, missing end tags and cut ends do not hide the text."""
    with pytest.raises(UnreadableError):
        read_xml(text)
    assert flat(repair_xml(text)).replace("\n", " ").split() == ["Jam", "&", "more", "1", "<", "2"]


BOMB = (
    '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x "haha"><!ENTITY y "&x;&x;&x;&x;&x;&x;&x;&x;">]>'
    "<a><b>&y;</b><c>1</c></a>"
)


@pytest.mark.parametrize(
    "text", [BOMB, '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a><b>&x;</b><c>1</c></a>']
)
def test_declared_entities_are_refused_and_never_expanded(text: str) -> None:
    """Neither a bomb nor a file is read; the repairing reader leaves the reference as it stands."""
    with pytest.raises(UnreadableError) as caught:
        parse_xml(text)
    assert reason(caught) == "entity"
    told = flat(repair_xml(text))
    assert "&" in told
    assert "haha" not in told


def test_deep_markup_is_refused() -> None:
    """Levels are limited for both readers."""
    text = "<a>" * (DEEPEST + 5) + "</a>" * (DEEPEST + 5)
    for read in (read_xml, repair_xml):
        with pytest.raises(UnreadableError) as caught:
            read(text)
        assert reason(caught) == "too_deep"


@settings(max_examples=150, deadline=None)
@given(st.text("<>/ab ='\"!-?[]&;\n", max_size=50), st.booleans())
def test_no_text_breaks_the_markup_reader(text: str, is_html: bool) -> None:  # noqa: FBT001 - drawn by hypothesis
    """All characters outside tags survive, whatever the tags are like."""
    soup = parse_soup(f"<p>{text}", is_html=is_html)
    assert soup.repairs >= 0
    assert soup.root.elements()


def test_unclosed_comments_and_tags_take_linear_time() -> None:
    """Half a megabyte of openings is read in a moment."""
    started = time.process_time()
    for piece in ("<!--", "<a ", '<a b="', "<", "<script>", "<![CDATA["):
        parse_soup(piece * (400_000 // len(piece)), is_html=True)
    assert time.process_time() - started < 5


# --- HTML and Markdown

DOCUMENT = {
    "Summary": "The drive is full.",
    "Owner": "Kim Lee",
    "Steps": ("delete logs", "restart"),
    "Limits": {"Disk": "5 GB", "Memory": "2 GB"},
}
HTML = """<!DOCTYPE html><html><head><title>x</title><style>p {}</style></head><body>
<h1>Case 7</h1><p><strong>Summary:</strong> The drive<br> is full.</p><p>Owner: Kim <i>Lee</i></p>
<h2>Steps</h2><ul><li>delete logs<li><p>restart</p></ul>
<h2>Limits</h2><table><thead><tr><th>Field<th>Value</tr></thead>
<tr><td>Disk<td>5 GB</tr><tr><td>Memory</td><td>2 GB</td></tr></table></body></html>"""
MARKDOWN = """# Case 7

**Summary:** The drive
is full.

Owner: Kim *Lee*

## Steps

1. delete logs
2. restart

## Limits

- **Disk:** 5 GB
- **Memory**: 2 GB
"""


def test_html_and_markdown_documents_give_the_tree_of_the_record_they_show() -> None:
    """Headings, bold keys, lists, tables: what looks like a record to a reader is one."""
    assert read_html(HTML) == DOCUMENT
    assert read_markdown(MARKDOWN) == DOCUMENT


def test_tables_are_records_or_fields() -> None:
    """Column heads are keys of records, unless the first column is headed as keys."""
    table = "| Name | Port |\n|---|---|\n| web | 80 |\n| db | 5432 |\n"
    assert read_markdown(table) == ({"Name": "web", "Port": "80"}, {"Name": "db", "Port": "5432"})
    assert read_markdown(table.replace("Name", "Key")) == {"web": "80", "db": "5432"}
    assert read_html("<table><tr><td>a</td><td>b</td><td>c</td></tr></table>") == (("a", "b", "c"),)
    assert read_html("<table><tr><th>a</th><td>1</td></tr><tr><th>b</th><td>2</td></tr></table>") == {
        "a": "1",
        "b": "2",
    }


def test_lone_keys_take_the_block_that_follows() -> None:
    """A bold line or one that ends in a colon heads the list behind it, and only that."""
    assert read_markdown("**Steps**\n\n- open\n- pull\n\nThat is all.") == {
        "Steps": ("open", "pull"),
        "text": "That is all.",
    }
    assert read_markdown("- Steps:\n  - open\n  - pull\n- Owner: Kim\n") == {
        "Steps": ("open", "pull"),
        "Owner": "Kim",
    }


def test_definition_lists_links_and_code_are_read() -> None:
    """Terms are keys, a link's address stands behind its text, code is text."""
    assert read_html("<dl><dt>Disk:</dt><dd>5 GB</dd></dl>") == {"Disk": "5 GB"}
    assert read_markdown("- see [the log](http://a.example/x)\n- `df -h`") == (
        "see the log http://a.example/x",
        "df -h",
    )


def test_html_tags_without_counterpart_are_not_valid() -> None:
    """End tags that HTML lets out are no fault; others are, and so is text without any element."""
    assert read_html("<ul><li>a<li>b</ul>") == ("a", "b")
    for text in ("<div><p>a</p>", "<p>a</b></p>", "plain", "<case>a</case>"):
        with pytest.raises(UnreadableError):
            read_html(text)
    assert repair_html("<div><p>a</p>") == "a"


def test_markdown_needs_a_mark_and_closed_fences() -> None:
    """Any text is Markdown for the standard, so structure is asked for."""
    for text in ("plain words", "```\ncode", ""):
        with pytest.raises(UnreadableError):
            read_markdown(text)
    assert repair_markdown("plain words") == "plain words"


def test_html_within_markdown_is_text() -> None:
    """A tag that is talked about is no element."""
    assert read_markdown("- use <b>bold</b>\n- done") == ("use <b>bold</b>", "done")


@settings(max_examples=80, deadline=None)
@given(st.text("#*-_|>`[]() ab:1.\n", max_size=60))
def test_no_text_breaks_the_markdown_reader(text: str) -> None:
    """Whatever the marks are like, there is a tree or the error of this project."""
    assert outcome(repair_markdown, text) in ("read", "malformed", "too_deep")

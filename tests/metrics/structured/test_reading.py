"""JSON, YAML, XML, HTML and Markdown into the tree: valid, slightly broken, and hostile texts."""

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.metrics.structured.html import read_html, read_markdown, repair_html, repair_markdown
from evenkeel.metrics.structured.json import find_json, read_json
from evenkeel.metrics.structured.reading import read_structure
from evenkeel.metrics.structured.tree import DEEPEST, UnreadableError, flat, leaves, scalar
from evenkeel.metrics.structured.xml import parse_soup, parse_xml, read_xml, repair_xml
from evenkeel.metrics.structured.yaml import read_yaml, repair_yaml
from tests.cases import cases, tupled

CASES = cases(__file__)
READERS = {
    "json": read_json,
    "repaired json": lambda text: find_json(text).tree,
    "yaml": read_yaml,
    "repaired yaml": repair_yaml,
    "xml": read_xml,
    "repaired xml": repair_xml,
    "html": read_html,
    "repaired html": repair_html,
    "markdown": read_markdown,
    "repaired markdown": repair_markdown,
}
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8)
KEYS = st.text("abcdef é", min_size=1, max_size=6).map(str.strip).filter(bool)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def as_tree(value):
    """The tree of a Python value, written apart from the readers."""
    if isinstance(value, dict):
        return {key: as_tree(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(as_tree(item) for item in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return scalar(value)


def outcome(read, text):
    """The word "read", or the reason why it was not."""
    try:
        read(text)
    except UnreadableError as error:
        return error.reason
    return "read"


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
def test_what_libraries_write_is_read_as_it_is(value):
    """The tree of JSON, strictly and within other text, and of block YAML is the tree of the value."""
    text = json.dumps(value, ensure_ascii=False)
    assert read_json(text) == find_json(text).tree == as_tree(value)
    assert read_yaml(yaml.safe_dump(value, allow_unicode=True, sort_keys=False)) == as_tree(value)


@pytest.mark.parametrize(("reader", "text", "tree"), CASES["trees"])
def test_texts_become_trees(reader, text, tree):
    """Each reader gives the content that a person sees."""
    assert READERS[reader](text) == tupled(tree)


@pytest.mark.parametrize(("reader", "text", "reason"), CASES["refused"])
def test_what_is_not_valid_is_refused_by_the_strict_reader(reader, text, reason):
    """Strict means the standard, without what bombs are made of."""
    assert outcome(READERS[reader], text) == reason


@pytest.mark.parametrize("text", CASES["slips in JSON"])
def test_json_with_the_slips_of_models_is_repaired(text):
    """Commas, quotes, comments and brackets that are wrong or missing do not hide the content."""
    found = find_json(text)
    assert not found.strict
    assert found.tree == {"name": "Kim", "tags": ("a", "b"), "age": "4"}


def test_json_cut_at_any_place_keeps_what_came_before():
    """Every cut of a record gives a part of it, in order, and never an error."""
    text = '{"title": "Printer \\"jam\\"", "steps": ["open", "pull"], "done": false}'
    whole = list(leaves(read_json(text)))
    for end in range(len('{"title": "P'), len(text)):
        found = find_json(text[:end])
        got = [leaf for leaf in leaves(found.tree) if leaf]
        assert got[:-1] == whole[: len(got) - 1]
        assert whole[len(got) - 1].startswith(got[-1].rstrip("\\"))


def test_numbers_have_no_limit_of_digits():
    digits = "9" * 6000
    assert read_json(f'{{"a": {digits}}}') == {"a": digits}


def test_windows_line_ends_make_no_difference():
    """Blank lines and fences are told by lines, whatever ends them."""
    for text in ("- Land: Japan\n  Stadt: Tokio\n\n- Land: Chile\n  Stadt: Lima", "```json\n[1,\n2]\n```"):
        assert read_structure(text.replace("\n", "\r\n")) == read_structure(text)


def test_prose_holds_no_json():
    assert find_json("plain words") is None
    assert find_json("{} and []") is None


@pytest.mark.parametrize("text", CASES["slips in YAML"])
def test_yaml_with_the_slips_of_models_is_repaired(text):
    """The values are those that were meant."""
    assert outcome(read_yaml, text) != "read"
    tree = repair_yaml(text)
    assert tree["title"] == "Error: disk full"
    assert flat(tree["steps"]).endswith("5 GB\n*retry* once")


@pytest.mark.parametrize("text", CASES["slips in XML"])
def test_broken_xml_is_repaired(text):
    assert outcome(read_xml, text) != "read"
    assert flat(repair_xml(text)).replace("\n", " ").split() == ["Jam", "&", "more", "1", "<", "2"]


@pytest.mark.parametrize("text", CASES["entities"])
def test_declared_entities_are_refused_and_never_expanded(text):
    """Neither a bomb nor a file is read; the repairing reader leaves the reference as it stands."""
    assert outcome(parse_xml, text) == "entity"
    told = flat(repair_xml(text))
    assert "&" in told
    assert "haha" not in told


@pytest.mark.parametrize("opener", ["[", '{"a":', "[{", '{"a":[', "{ "])
def test_deep_json_is_refused(opener):
    """A hundred thousand levels neither overflow the stack nor run into the test's time limit."""
    assert outcome(read_json, opener * 100_000) in ("too_deep", "malformed")
    assert outcome(find_json, opener * 100_000) in ("too_deep", "read")


def test_deep_yaml_and_markup_are_refused():
    """Levels are limited in block and in flow style, and for both readers of tags."""
    for text in ("a: " + "[" * 5000, "\n".join(" " * level + "a:" for level in range(200))):
        assert outcome(read_yaml, text) == "too_deep"
    markup = "<a>" * (DEEPEST + 5) + "</a>" * (DEEPEST + 5)
    assert outcome(read_xml, markup) == outcome(repair_xml, markup) == "too_deep"


@given(
    st.text("{}[]\"':,\\ \nab1“”/*", max_size=60),
    st.text("ab:- \n\t'\"[]{}&*!|>#%@`~?", max_size=50),
    st.text("<>/ab ='\"!-?[]&;\n", max_size=50),
    st.text("#*-_|>`[]() ab:1.\n", max_size=60),
)
def test_no_text_breaks_a_reader(brackets, block, markup, markdown):
    """Any brackets, tags and marks give a tree or the error of this project."""
    found = find_json(brackets)
    assert found is None or 0 <= found.start < found.end <= len(brackets)
    for read in (read_yaml, repair_yaml):
        assert outcome(read, block) in ("read", "malformed", "alias", "too_deep")
    for is_html in (True, False):
        soup = parse_soup(f"<p>{markup}", is_html=is_html)
        assert soup.repairs >= 0
        assert soup.root.elements()
    assert outcome(repair_markdown, markdown) in ("read", "malformed", "too_deep")

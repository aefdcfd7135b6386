"""XML, HTML and Markdown into the tree: valid, slightly broken, and hostile texts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.metrics.structured.html import read_html, read_markdown, repair_html, repair_markdown
from evenkeel.metrics.structured.tree import DEEPEST, UnreadableError, flat
from evenkeel.metrics.structured.xml import parse_soup, parse_xml, read_xml, repair_xml
from tests.metrics.structured_values import outcome, reason


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
    """Megabytes of openings are read; with quadratic time the test would run out of its limit."""
    for piece in ("<!--", "<a ", '<a b="', "<", "<script>", "<![CDATA["):
        parse_soup(piece * (500_000 // len(piece)), is_html=True)


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

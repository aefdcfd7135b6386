"""Protected spans: what no change of the input may touch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.protected_spans import RULES, protected_spans
from tests.cases import cases

CASES = cases(__file__)


def found(text):
    """(rule, protected text) pairs."""
    return [(span.rule, text[span.start : span.end]) for span in protected_spans(text)]


@pytest.mark.parametrize(("text", "rule", "kept"), CASES["spans"])
def test_each_rule_finds_its_span(text, rule, kept):
    """Each span is found whole, under the rule that people are shown."""
    assert (rule, kept) in found(text)
    assert rule in RULES


@pytest.mark.parametrize("text", CASES["prose"])
def test_prose_is_free(text):
    """Ordinary sentences hold nothing that needs protection."""
    assert found(text) == []


def test_long_text_between_delimiters_stays_free():
    """Tags and triple quotes around a document protect themselves, not the document."""
    document = "the printer stopped working after the office moved to another floor"
    assert [kept for _, kept in found(f"<case>{document}</case>")] == ["<case>", "</case>"]
    assert [kept for _, kept in found(f'"""{document}"""')] == ['"""', '"""']


_fragments = st.sampled_from([
    "word ", "Word. ", "\n", " - ", "`", '"', "'", "{", "}", "[", "]", '{"a": 1}', "<b>", "</b>", "$4",
    "http://a.b", "a@b.c", "x_y", "aB", "é", "。", "東京", "’s ", "--", "/", "\\", "=", "(", ")", "|",
    ";\n", "\t", "3.5 kg", "\ud800",
])  # fmt: skip


@given(st.one_of(st.text(max_size=200), st.lists(_fragments, max_size=40).map("".join)))
def test_spans_of_any_text_are_ordered_and_disjoint(text):
    """Spans of any text lie within it, in order, without overlap, and are not empty."""
    end = 0
    for span in protected_spans(text):
        assert end <= span.start < span.end <= len(text)
        end = span.end


@given(
    st.text(st.characters(categories=["L", "P", "Zs"]), max_size=30),
    st.from_regex(r"[0-9]{1,6}", fullmatch=True),
)
def test_every_digit_is_protected(around, number):
    """Each digit lies in a span, whatever stands around the number."""
    text = f"{around} {number} {around}"
    covered = {place for span in protected_spans(text) for place in range(span.start, span.end)}
    assert {place for place, letter in enumerate(text) if letter in "0123456789"} <= covered


def test_json_is_looked_for_in_a_bounded_number_of_places():
    """The lenient rule for objects takes over after many brackets that open no JSON."""
    text = "[0 " * 70 + '{"key": "some value"}'
    assert found(text)[-1] == ("object", '{"key": "some value"}')
    assert found("[0 " * 10 + '{"key": "some value"}')[-1] == ("json", '{"key": "some value"}')

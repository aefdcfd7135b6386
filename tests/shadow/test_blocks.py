"""Cutting a text into typed blocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.shadow.prompt.blocks import cut
from tests.cases import cases

CASES = cases(__file__)


def _types(text):
    return [(block.type, block.text) for block in cut(text)]


_LINES = """Doc 1: a lamp|Document [2]|[3] a heading|<context>|</context>|```json|```|- one|2. two
|Output format:|For example:|Input: a|Output: b|Q: why|A: so|### Context|## Article 4|Question: how?|{|}||-
|Plain words.|Plain words. Return only JSON. More.|Answer in one sentence.|Antworte nur in einem Satz.
|回答はJSONで返してください。"""
_lines = st.sampled_from([*_LINES.replace("\n", "").split("|"), '"""'])


@given(st.one_of(st.lists(_lines, max_size=14).map("\n".join), st.text(max_size=200)))
def test_blocks_join_to_the_text(text):
    """The blocks of any text join to the text, and none is empty, or blank beside others.

    Blank lines stay with a block, so a block that changes places takes its distance along.
    """
    blocks = cut(text)
    assert "".join(block.text for block in blocks) == text
    assert all(block.text for block in blocks)
    assert len(blocks) < 2 or not any(block.text.isspace() for block in blocks)


@pytest.mark.parametrize("blocks", CASES["blocks"])
def test_a_text_is_cut_into_typed_blocks(blocks):
    """Documents, examples, code, lists and how to answer are told from other text."""
    assert _types("".join(text for _, text in blocks)) == list(map(tuple, blocks))


@pytest.mark.parametrize("document", CASES["documents"])
def test_documents_are_recognised(document):
    """Labels, tags, headings and quotation marks delimit context, in several languages."""
    found = _types(f"Read this first.\n\n{document}Question: what is it?")
    assert ("document", document) in found
    assert found[-1] == ("text", "Question: what is it?")


@pytest.mark.parametrize("instruction", CASES["instructions"])
def test_output_instructions_are_recognised(instruction):
    """Sentences about the form of the answer are found, in several languages."""
    assert _types(f"Lamps and chairs.\n\n{instruction}\n\nThe lamp is blue.\n") == [
        ("text", "Lamps and chairs.\n\n"),
        ("output_instructions", f"{instruction}\n\n"),
        ("text", "The lamp is blue.\n"),
    ]

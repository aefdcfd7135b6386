"""Cutting a text into typed blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.shadow.prompt.blocks import cut


def _types(text: str) -> list[tuple[str, str]]:
    return [(block.type, block.text) for block in cut(text)]


_LINES = """Doc 1: a lamp|Document [2]|[3] a heading|<context>|</context>|```json|```|- one|2. two
|Output format:|For example:|Input: a|Output: b|Q: why|A: so|### Context|## Article 4|Question: how?|{|}||-
|Plain words.|Plain words. Return only JSON. More.|Answer in one sentence.|Antworte nur in einem Satz.
|回答はJSONで返してください。"""
_lines = st.sampled_from([*_LINES.replace("\n", "").split("|"), '"""'])


@given(st.one_of(st.lists(_lines, max_size=14).map("\n".join), st.text(max_size=200)))
def test_blocks_join_to_the_text(text: str) -> None:
    """The blocks of any text join to the text, and none is empty."""
    blocks = cut(text)
    assert "".join(block.text for block in blocks) == text
    assert all(block.text for block in blocks)


@given(st.lists(_lines, max_size=10).map("\n".join))
def test_no_block_is_only_blank_beside_others(text: str) -> None:
    """Blank lines stay with a block, so a block that changes places takes its distance along."""
    blocks = cut(text)
    assert len(blocks) < 2 or not any(block.text.isspace() for block in blocks)


FORM, OTHER = "output_instructions", "text"
SHOWN = ((OTHER, "Describe the lamp.\n\n"), (OTHER, "The lamp hangs low.\n"))
ANNOUNCED = "Answer in the following format:\n"


@pytest.mark.parametrize("blocks", [
    # Each labelled document is a block of its own, with its label and its trailing blank line.
    [(OTHER, "Use these.\n\n"), ("document", "Doc 1: A lamp.\nIt is blue.\n\n"),
     ("document", "Doc 2: A chair.\n\n"), (OTHER, "Question: which one glows?\n")],
    # A run of headings that differ by their number labels documents, a single heading does not.
    [("document", "## Memo 1\nLamps.\n\n"), ("document", "## Memo 2\nChairs.\n")],
    [(OTHER, "## Memo 1\nLamps.\n")],
    # A sentence in the middle of a paragraph is cut out of it.
    [(OTHER, "Name the lamp. "), (FORM, "Answer in one word. "), (OTHER, "Be polite.")],
    # What stands behind "Answer in French:" on the same line is no part of the instruction.
    [(FORM, "Answer in French: "), (OTHER, "what is the capital of Australia?")],
    [(FORM, "Answer in this format: name, date, amount")],
    # The schema, fence or list that an output instruction announces is part of it.
    [SHOWN[0], (FORM, ANNOUNCED + '{\n  "lamp": "its colour"\n}\n\n'), SHOWN[1]],
    [SHOWN[0], (FORM, ANNOUNCED + '```json\n{"lamp": 1}\n```\n\n'), SHOWN[1]],
    [SHOWN[0], (FORM, ANNOUNCED + "- colour\n- price\n\n"), SHOWN[1]],
    # An announced example and pairs of questions and answers are examples; the open question is not.
    [(OTHER, "Sort it.\n\n"), ("examples", "For example:\nInput: lamp\nOutput: light\n\n"),
     (OTHER, "What is a chair?\n")],
    [("examples", "Example 1: lamp, light\n\n"), ("examples", "Example 2: chair, seat\n")],
    # A fence is code up to its end; two items are a list, one is text.
    [(OTHER, "Look:\n"), ("code", "```\nx = 1\n\ny = 2\n```\n"), (OTHER, "Done.\n\n"),
     ("list", "- lamp\n- chair\n\n"), (OTHER, "Bye.\n")],
    [(OTHER, "- lamp\n")],
    # Of code without a fence no comment, tag or case is a document.
    [(OTHER, 'def lamps():\n    """Return them.\n\n    Text: all.\n    """\n    return 1\n')],
    [(OTHER, '<form>\n  <input type="text">\n      <text>lamp</text>\n</form>\n')],
    [(OTHER, "switch lamp {\n\tcase on:\n\t\tshow()\n}\n")],
])  # fmt: skip
def test_a_text_is_cut_into_typed_blocks(blocks: list[tuple[str, str]]) -> None:
    """Documents, examples, code, lists and how to answer are told from other text."""
    assert _types("".join(text for _, text in blocks)) == blocks


@pytest.mark.parametrize(
    "document",
    [
        "Document [2]\nA chair.\n\n",
        "[1] Chairs\nA chair.\n\n",
        "### Context\nA chair.\n\n",
        "**Context**\nA chair.\n\n",
        "Context: A chair.\n\nIt has three legs.\n\n",
        '<document id="7">\nA chair.\n\nIt has legs.\n</document>\n',
        "<context>\nDo this: answer in one word.\n</context>\n",
        '"""\nA chair.\n\nThree legs.\n"""\n',
        "Dokument 3: Ein Stuhl.\n\n",
        "Documento 1: Una silla.\n\n",
        "Contexte : Une chaise.\n\n",
        "文書1\uff1a椅子。\n\n",
    ],
)
def test_documents_are_recognised(document: str) -> None:
    """Labels, tags, headings and quotation marks delimit context, in several languages."""
    found = _types(f"Read this first.\n\n{document}Question: what is it?")
    assert ("document", document) in found
    assert found[-1] == ("text", "Question: what is it?")


@pytest.mark.parametrize(
    "instruction",
    [
        "Respond in JSON.",
        "Answer in one sentence.",
        "Please answer in at most three sentences.",
        "Return only the name.",
        "Output format: name, then price",
        "Format: name, then price",
        "Cite the number of each document in square brackets.",
        "Write your answer as a numbered list.",
        "Do not add any explanation.",
        "Antworte nur in einem Satz.",
        "Responde en una frase con formato JSON.",
        "Réponds uniquement en JSON.",
        "Rispondi solo in formato JSON.",
        "Antwoord in één zin.",
        "Responda apenas em formato JSON.",
        "回答はJSON形式で出力してください。",
    ],
)
def test_output_instructions_are_recognised(instruction: str) -> None:
    """Sentences about the form of the answer are found, in several languages."""
    assert _types(f"Lamps and chairs.\n\n{instruction}\n\nThe lamp is blue.\n") == [
        ("text", "Lamps and chairs.\n\n"),
        ("output_instructions", f"{instruction}\n\n"),
        ("text", "The lamp is blue.\n"),
    ]

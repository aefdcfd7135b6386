"""Thoughts at the head of an answer."""

from __future__ import annotations

import pytest

from evenkeel.core.thoughts import without_thoughts


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Noon.", "Noon."),
        ("<think>hm</think>\nNoon.", "\nNoon."),
        ("<Thinking>hm</Thinking><think>so</think>Noon.", "Noon."),
        ("[THINK]hm[/THINK]Noon.", "Noon."),
        ("hm, at noon?</think>Noon.", "Noon."),
        (
            "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Noon.",
            "Noon.",
        ),
        ("<think>hm", ""),
        ("<|channel|>analysis<|message|>hm", ""),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
        ("<p>the tag </think></p>", "<p>the tag </think></p>"),
        ("<think>a</think>Close it with </think>.", "Close it with </think>."),
        ("The tag <think> begins them.", "The tag <think> begins them."),
    ],
)
def test_thoughts_are_set_aside(text, answer):
    """Every form that servers leave in the text; an answer that only speaks of tags stays whole."""
    assert without_thoughts(text) == answer

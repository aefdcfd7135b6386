"""Thoughts at the head of an answer."""

from __future__ import annotations

import pytest

from evenkeel.core.thoughts import without_thoughts

ANSWER = "Take a coat."


@pytest.mark.parametrize(
    "thought",
    [
        "<think>Rain.</think>",
        "\n<THINK>\nRain.\n</think>\n\n",
        "<thinking>Rain, <b>wet</b> feet.</thinking>",
        "<thought>Rain.</thought>\n",
        "<reasoning>Rain.</reasoning>\n",
        "<seed:think>Rain.</seed:think>",
        "[THINK]Rain.[/THINK]",
        "◁think▷Rain.◁/think▷",
        "<|begin_of_thought|>Rain.<|end_of_thought|>\n\n<|begin_of_solution|>",
        "<|START_THINKING|>Rain.<|END_THINKING|><|START_RESPONSE|>",
        "<think></think>\n\n<think>Rain.</think>",
        "Rain means wet feet.\n</think>\n\n",
        "Rain means wet feet.</think>\n",
        "Rain, wet feet?</think>",
        "\n</think>\n\n",
        "<|channel|>analysis<|message|>Rain.<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|channel|>analysis<|message|>Rain.<|end|><|channel|>final <|constrain|>json<|message|>",
    ],
)
def test_thoughts_at_the_head_are_set_aside(thought):
    """Tags, marks and channels in every known form; marks behind the answer go with them."""
    assert without_thoughts(thought + ANSWER) == ANSWER
    ends = {"solution": "<|end_of_solution|>", "RESPONSE": "<|END_RESPONSE|>", "channel": "<|return|>"}
    end = next((end for mark, end in ends.items() if mark in thought), "")
    assert without_thoughts(thought + ANSWER + end) == ANSWER


@pytest.mark.parametrize(
    "text",
    [
        ANSWER,
        "Write `<think>` before and `</think>` behind it.",
        'He said: "</think>", and left.',
        '{"note": "a\n</think>\nb"}',
        "```\nx\n</think>\n```",
        "A <think>tag</think> within a sentence.",
        "The tag <think> begins them, and </think> ends them.",
        "<p>the tag </think></p>",
        "",
    ],
)
def test_a_tag_that_the_answer_is_about_stays(text):
    """Thoughts stand at the head of a text only."""
    assert without_thoughts(text) is text


def test_floods_of_marks_are_read_in_linear_time():
    """A hundred thousand thoughts, or closing marks that close nothing, take no longer than their length."""
    assert without_thoughts("<think></think>" * 100_000 + ANSWER) == ANSWER
    assert without_thoughts("<think>" * 200_000) == ""
    assert without_thoughts(". </think>." * 100_000)
    assert without_thoughts("<|channel|>analysis<|message|>x<|end|>" * 50_000 + ANSWER) == ANSWER

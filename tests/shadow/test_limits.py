"""Exchanges beyond a worker's limits are skipped, and counted by their reason."""

import json
import random
from pathlib import Path

import pytest

from evenkeel.shadow import limits
from evenkeel.shadow.original import Original, Reader, UnreadableExchange
from evenkeel.shadow.perturbations import BUILTIN, NotApplicable
from evenkeel.shadow.perturbations.protocol import attempt
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt import PromptView
from tests.shadow.planes import captured

PAGE = Path(__file__).parents[2] / "docs" / "replays.md"


def read(messages, answer="Yes."):
    request = {"model": "m", "messages": [{"role": "user", "content": text} for text in messages]}
    response = {"model": "m", "choices": [{"index": 0, "message": {"role": "assistant", "content": answer}}]}
    exchange = captured(request, response, route="main")
    return Reader({"main": RoutePlan((), 0)}).read(exchange)


@pytest.mark.parametrize(
    ("messages", "answer", "reason"),
    [
        (["a " * 150_001], "Yes.", "prompt_too_long"),
        (["a"] * 2_001, "Yes.", "too_many_messages"),
        (["a"], "b " * 100_001, "answer_too_long"),
    ],
)
def test_what_is_beyond_a_limit_is_skipped(messages, answer, reason):
    """A prompt of 300,002 characters, 2,001 messages and an answer of 200,002 characters are not tried."""
    assert read(messages, answer) == UnreadableExchange(reason, dead=False)


def test_what_is_within_the_limits_is_read():
    """300,000 characters in 2,000 messages, answered in 200,000, are worked on."""
    assert isinstance(read(["a" * 150] * 2_000, "b" * 200_000), Original)


def test_a_prompt_in_too_many_parts_is_left_as_it_is():
    """A prompt in 2,001 blocks gets the identical resend and no perturbation."""
    body = json.dumps({"messages": [{"role": "user", "content": "x"}] * 2_001})
    view = PromptView.parse(body.encode())
    assert len(view.segments) == 2_001
    control, *others = (attempt(kind, view, 0.5, random.Random(1)) for kind in BUILTIN)
    assert control == view
    assert {outcome.reason for outcome in others if isinstance(outcome, NotApplicable)} == {"too_many_parts"}
    assert all(isinstance(outcome, NotApplicable) for outcome in others)


@pytest.mark.parametrize(
    ("reason", "limit"),
    [
        ("prompt_too_long", limits.LONGEST_PROMPT_CHARS),
        ("too_many_messages", limits.MOST_MESSAGES),
        ("answer_too_long", limits.LONGEST_ANSWER_CHARS),
        ("too_many_parts", limits.MOST_SEGMENTS),
    ],
)
def test_the_page_about_replays_names_every_limit(reason, limit):
    """Each reason has its line, with the figure of the code."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    (row,) = (line for line in lines if line.startswith(f"| `{reason}` |"))
    assert f"{limit:,}" in row

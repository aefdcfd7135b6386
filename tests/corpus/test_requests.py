"""Requests of agents in the shapes that APIs and servers document."""

import json

import pytest

from evenkeel.shadow.prompt import PromptView, refusal
from tests.cases import cases
from tests.kit.apis import API

PROMPTS = {
    "chat": {"messages": [{"role": "user", "content": "Hello there"}]},
    "messages": {"messages": [{"role": "user", "content": "Hello there"}]},
    "responses": {"input": "Hello there"},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hello there"}]}]},
}
CASES = [
    pytest.param(api, *case, id=f"{api}, {name}")
    for api, shapes in cases(__file__).items()
    for name, case in shapes.items()
]


@pytest.mark.parametrize(("api", "members", "reason"), CASES)
def test_every_documented_request_is_replayed_or_refused_for_a_true_reason(api, members, reason):
    """What the client's tools do is replayed; what the provider would do again is not."""
    body = json.dumps({"model": "m", **PROMPTS[api], **members}).encode()
    view = PromptView.parse(body, api=API[api])
    refused = refusal(view)
    assert (refused and refused.reason) == reason

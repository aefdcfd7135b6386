"""The other APIs, asked by the openai SDK and by a plain HTTP client."""

import pytest

from evenkeel.lab.simulated_apis import APIS
from evenkeel.simulate import (
    Condition,
    ModelState,
    PromptMessage,
    Simulation,
    SimulationSettings,
    make_case,
    serving,
    summary_prompt,
)
from evenkeel.simulate.model import read, say

CASE = make_case(6)
PROMPT = summary_prompt(CASE)
GOOD = say(read([PromptMessage("user", PROMPT)]), Condition.GOOD)
PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages")


@pytest.fixture(scope="module")
def url():
    """The base URL of a server with a sound and a bad model."""
    models = (ModelState("sound"), ModelState("always-worse", fragility=1, worse_share=1))
    settings = SimulationSettings(deterministic=True, api_key="right")
    with serving(Simulation(models, settings, apis=APIS)) as url:
        yield url


@pytest.mark.parametrize("prompt", [PROMPT, [PROMPT]])
def test_completions(sdk, prompt):
    """A completion answers the prompt like a chat, with consistent counts."""
    answer = sdk.completions.create(model="sound", prompt=prompt)
    assert answer.choices[0].text == GOOD
    assert (answer.object, answer.choices[0].finish_reason) == ("text_completion", "stop")
    assert answer.id.startswith("cmpl-simulated-")
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


@pytest.mark.parametrize(
    "asked",
    [
        {"input": PROMPT},
        {"input": [{"role": "user", "content": PROMPT}]},
        {"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": PROMPT}]}]},
        {"input": PROMPT, "instructions": "Be brief."},
    ],
)
def test_responses(sdk, asked):
    """A response answers a string and a list of items alike."""
    answer = sdk.responses.create(model="sound", **asked)
    assert answer.output_text == GOOD
    assert (answer.status, answer.model, answer.store) == ("completed", "sound", False)
    assert answer.id.startswith("resp_simulated_")
    assert answer.usage.total_tokens == answer.usage.input_tokens + answer.usage.output_tokens


def test_messages(http):
    """A message answers with one text block, a reason to stop and token counts."""
    for system in ("Be brief.", [{"type": "text", "text": "Be brief."}], None):
        request = {"model": "sound", "max_tokens": 100, "messages": [{"role": "user", "content": PROMPT}]}
        answer = http.post("/v1/messages", json={**request, "system": system}).json()
        assert answer["content"] == [{"type": "text", "text": GOOD}]
        assert (answer["type"], answer["role"], answer["stop_reason"]) == ("message", "assistant", "end_turn")
        assert answer["id"].startswith("msg_simulated_")
        assert answer["usage"]["output_tokens"] > 40


@pytest.mark.parametrize("path", PATHS)
def test_errors_in_the_shape_of_the_api(http, path):
    """Mistakes are answered in the shape of the API that was asked."""
    body = {"model": "sound", "max_tokens": 1, "messages": [{"role": "user"}], "input": "x", "prompt": "x"}
    reply = http.post(path, json=body, headers={"x-api-key": "wrong"})
    assert reply.status_code == 401
    error = reply.json()["error"]
    if path == "/v1/messages":
        assert (reply.json()["type"], error.keys()) == ("error", {"type", "message"})
        assert error["type"] == "authentication_error"
    else:
        assert set(error) == {"message", "type", "param", "code"}
    assert http.post(path, content=b"{").status_code == 400
    assert http.post(path, json={"messages": []}).status_code == 400
    assert http.get(path).status_code == 405

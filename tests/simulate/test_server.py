"""The simulated server: answers, faults on demand, and its admin calls."""

import httpx2
import openai
import pytest

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
from tests.cases import cases

CASE = make_case(3)
PROMPT = summary_prompt(CASE)
CHAT = [{"role": "user", "content": PROMPT}]
CALLS = {"change": ("PUT", "/simulate/models/sound"), "ask": ("POST", "/v1/chat/completions")}
SAID = {each: say(read([PromptMessage("user", PROMPT)]), each) for each in Condition}


@pytest.fixture(scope="module")
def simulated_url():
    """The base URL of a server with a sound model."""
    with serving(Simulation((ModelState("sound"),), SimulationSettings(deterministic=True))) as url:
        yield url


@pytest.fixture
def simulated_sdk(simulated_url):
    with openai.OpenAI(base_url=f"{simulated_url}/v1", api_key="any", max_retries=0, timeout=240) as sdk:
        yield sdk


@pytest.fixture
def simulated_http(simulated_url):
    with httpx2.Client(base_url=simulated_url, timeout=240) as plain:
        yield plain


def test_stream(simulated_sdk):
    """A stream brings the same text in small pieces, then the reason, then the counts."""
    whole = simulated_sdk.chat.completions.create(model="sound", messages=CHAT)
    with simulated_sdk.chat.completions.create(
        model="sound", messages=CHAT, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    *said, last = chunks
    texts = [chunk.choices[0].delta.content or "" for chunk in said]
    assert "".join(texts) == SAID[Condition.GOOD]
    assert len(texts) > 40
    assert max(map(len, texts)) <= 10
    assert said[0].choices[0].delta.role == "assistant"
    assert [chunk.choices[0].finish_reason for chunk in said[-2:]] == [None, "stop"]
    assert last.choices == []
    assert last.usage == whole.usage
    assert {chunk.id for chunk in chunks} == {whole.id}


def test_strict_models_and_key():
    """A wrong key gets 401 on every path of the API, an unknown model 404 where models are strict."""
    settings = SimulationSettings(api_key="right", strict_models=True)
    with serving(Simulation(settings=settings)) as url:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="wrong", max_retries=0) as sdk:
            with pytest.raises(openai.AuthenticationError, match="Incorrect API key"):
                sdk.chat.completions.create(model="simulated-1", messages=CHAT)
            with pytest.raises(openai.AuthenticationError):
                sdk.models.list()
        with openai.OpenAI(base_url=f"{url}/v1", api_key="right", max_retries=0) as sdk:
            sdk.chat.completions.create(model="simulated-1", messages=CHAT)
            with pytest.raises(openai.NotFoundError) as caught:
                sdk.chat.completions.create(model="other", messages=CHAT)
            assert caught.value.code == "model_not_found"
        assert "right" not in repr(settings)


def test_model_swap():
    """An admin call swaps a model while it serves, under its old name or a new one."""
    with (
        serving(Simulation((ModelState("m", noise=0.1),))) as url,
        httpx2.Client(base_url=url) as http,
        openai.OpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as sdk,
    ):
        changes = {"fragility": 1, "worse_share": 1.0, "returned_name": "m-2", "system_fingerprint": None}
        reply = http.put("/simulate/models/m", json=changes)
        kept = {"name": "m", "noise": 0.1, "latency_s": 0.0, "error_rate": 0.0}
        kept |= {"flex_refusals": 0.0, "judge_noise": 0.0}
        expected = {**kept, **changes}
        assert reply.json() == expected == http.get("/simulate/models/m").json()
        answer = sdk.chat.completions.create(model="m", messages=CHAT)
        assert (answer.model, answer.choices[0].message.content) == ("m-2", SAID[Condition.WORSE])
        assert answer.system_fingerprint is None
        http.put("/simulate/models/m", json={"returned_name": None, "fragility": 0, "noise": 0})
        answer = sdk.chat.completions.create(model="m", messages=CHAT)
        assert (answer.model, answer.choices[0].message.content) == ("m", SAID[Condition.GOOD])


@pytest.mark.parametrize(
    ("call", "body", "message"),
    [*cases(__file__)["bodies"], ("ask", "[" * 100_000, "not JSON"), ("ask", "\xff\xfe", "not JSON")],
    ids=range(15),
)
def test_a_body_that_makes_no_sense_is_refused(simulated_http, call, body, message):
    """The answer says what is wrong, in the form of the API, and no model has changed."""
    before = simulated_http.get("/simulate/models/sound").json()
    reply = simulated_http.request(*CALLS[call], content=body.encode("latin-1"))
    assert reply.status_code == 400
    error = reply.json()["error"]
    assert message in error["message"]
    assert (error["type"], set(error)) == ("invalid_request_error", {"message", "type", "param", "code"})
    assert simulated_http.get("/simulate/models/sound").json() == before

"""What is set and asked of the server beside its answers: models, keys, counts, ports."""

from __future__ import annotations

import signal
import subprocess
import sys

import httpx2
import openai
import pytest

from evenkeel.simulate import (
    Condition,
    ModelState,
    Simulation,
    SimulationSettings,
    planted,
    run,
    serving,
)
from tests.evenkeel.simulated_question import CHAT, SAID


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
        kept = {"name": "m", "noise": 0.1, "latency_s": 0.0, "error_rate": 0.0, "judge_noise": 0.0}
        expected = {**kept, **changes}
        assert reply.json() == expected == http.get("/simulate/models/m").json()
        answer = sdk.chat.completions.create(model="m", messages=CHAT)
        assert (answer.model, answer.choices[0].message.content) == ("m-2", SAID.worse)
        assert answer.system_fingerprint is None
        http.put("/simulate/models/m", json={"returned_name": None, "fragility": 0, "noise": 0})
        answer = sdk.chat.completions.create(model="m", messages=CHAT)
        assert (answer.model, answer.choices[0].message.content) == ("m", SAID.good)


def test_new_model():
    """Setting a model that is not served yet serves a copy of the first one, changed."""
    first = ModelState("m", noise=0.1, returned_name="m-1")
    with serving(Simulation((first,))) as url, httpx2.Client(base_url=url) as http:
        http.put("/simulate/models/org/n", json={"fragility": 0.2})
        assert [state["name"] for state in http.get("/simulate/models").json()] == [
            "m",
            "simulated-rewriter",
            "simulated-judge",
            "org/n",
        ]
        state = http.get("/simulate/models/org/n").json()
        assert (state["noise"], state["fragility"], state["returned_name"]) == (0.1, 0.2, None)
        truth = http.get("/simulate/truth", params={"model": "org/n"}).json()
        expected = planted(0.2, 0.1, 0.5)
        assert truth["model"] == "org/n"
        assert truth["perturbed_content_delta"] == expected.perturbed_content_delta
        assert truth["excess"] == expected.excess
        assert http.get("/simulate/truth").json()["model"] == "m"
        assert http.get("/simulate/truth", params={"model": "x"}).status_code == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"fragility": 1.5}', "fragility: Input should be less than or equal to 1"),
        (
            b'{"noise": -1, "latency_s": "x"}',
            "noise: Input should be greater than or equal to 0; latency_s: ",
        ),
        (b'{"fragilty": 0.1}', "fragilty: Extra inputs are not permitted. Known fields: fragility, noise,"),
        (b'{"returned_name": ""}', "returned_name: String should have at least 1 character"),
        (b"{", "body: Invalid JSON"),
        (b"[]", "body: "),
    ],
)
def test_bad_admin_calls(simulated_http, body, message):
    """A change that makes no sense changes nothing and says what is allowed."""
    before = simulated_http.get("/simulate/models/sound").json()
    reply = simulated_http.put("/simulate/models/sound", content=body)
    assert reply.status_code == 400
    assert message in reply.json()["error"]["message"]
    assert simulated_http.get("/simulate/models/sound").json() == before


def test_stats():
    """Calls are counted by model and by planted state."""
    models = (ModelState("m"), ModelState("n", fragility=1, worse_share=0))
    with serving(Simulation(models)) as url, httpx2.Client(base_url=url) as http:
        for model, stream in (("m", False), ("m", True), ("n", False), ("elsewhere", False)):
            http.post("/v1/chat/completions", json={"model": model, "messages": CHAT, "stream": stream})
        counts = http.get("/simulate/stats").json()
    assert (counts["m"]["calls"], counts["m"]["streamed"], counts["m"]["errors"]) == (3, 1, 0)
    assert counts["m"]["conditions"] == {Condition.GOOD: 3, Condition.WORSE: 0, Condition.DIFFERENT: 0}
    assert counts["n"]["conditions"] == {Condition.GOOD: 0, Condition.WORSE: 0, Condition.DIFFERENT: 1}




def test_port_in_use(simulated_url):
    """A port that is taken is an OSError for the caller, before anything is served."""
    port = int(simulated_url.rpartition(":")[2])
    with pytest.raises(OSError, match="in use"):
        run(Simulation(), "127.0.0.1", port)


def test_run_in_a_process():
    """`run` tells its address once it can be asked, and ends on an interrupt."""
    script = (
        "from evenkeel.simulate import Simulation, run\n"
        "run(Simulation(), '127.0.0.1', 0, on_listening=lambda url: print(url, flush=True))"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        with httpx2.Client(base_url=url, timeout=10) as http:
            assert http.get("/healthz").text == "ok\n"
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)
    finally:
        process.kill()
        process.communicate()

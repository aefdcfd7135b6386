"""The recorded endpoint over HTTP: all APIs, versions switched while it runs, and what is not recorded."""

import json
import random
import subprocess
import sys

import openai
import pytest
from click.testing import CliRunner

from evenkeel.cli.main import main
from evenkeel.lab.recorded.answers import RecordedAnswers, RecordedEndpoint
from evenkeel.lab.recorded.simulation import RecordedSimulation
from evenkeel.lab.simulated_apis import APIS
from evenkeel.simulate import ModelState, serving
from tests.cases import cases

CASES = cases(__file__)

PROMPT = "Is 17077 a prime number? Think first."
TYPED = "is 17077 a prme number?  think first. Answer in German."
ROWS = [
    {"prompt": PROMPT, "version": "old", "answer": "Yes. It is prime.", "task": "primes"},
    {"prompt": PROMPT, "version": "new", "answer": "No.", "task": "primes"},
    {"prompt": "Is 17079 a prime number? Think first.", "version": "old", "answer": "No. 3 divides it."},
    {"prompt": "Tell me a long story.", "version": "old", "answer": "Once upon", "finish_reason": "length"},
]


@pytest.fixture
def recorded_file(tmp_path):
    """A file of recorded answers."""
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
    return path


@pytest.fixture
def url(recorded_file):
    """A server of them, where `prod` is the old version."""
    endpoint = RecordedEndpoint(RecordedAnswers.load(recorded_file), {"prod": "old"})
    states = [ModelState(name) for name in endpoint.models]
    with serving(RecordedSimulation(endpoint, states, apis=APIS, rng=random.Random(1))) as url:
        yield url


def ask(sdk, text=TYPED, model="prod", **parameters):
    """A chat completion."""
    return sdk.chat.completions.create(
        model=model, messages=[{"role": "user", "content": text}], **parameters
    )


def switch(http, **change):
    """The state after an admin call."""
    reply = http.put("/simulate/recorded", json=change)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_all_apis(sdk, http):
    """Completions, responses and messages answer as chats do; an answer that was cut is cut again."""
    assert sdk.completions.create(model="prod", prompt=TYPED).choices[0].text == "Yes. It is prime."
    assert sdk.responses.create(model="prod", input=TYPED).output_text == "Yes. It is prime."
    story = "Tell me a long story!"
    assert ask(sdk, story).choices[0].finish_reason == "length"
    cut = sdk.responses.create(model="prod", input=story)
    assert (cut.status, cut.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert cut.usage.output_tokens > 0
    with sdk.responses.stream(model="prod", input=story) as stream:
        assert [event.type for event in stream][-1] == "response.incomplete"
    chat = {"model": "prod", "max_tokens": 9, "messages": [{"role": "user", "content": story}]}
    message = http.post("/v1/messages", json=chat).json()
    assert (message["content"][0]["text"], message["stop_reason"]) == ("Once upon", "max_tokens")


def test_a_version_is_switched_under_the_same_name(sdk, http):
    """The next version answers silently, or with another name and fingerprint, and back again."""
    assert ask(sdk).choices[0].message.content == "Yes. It is prime."
    switch(http, version="new")
    silent = ask(sdk)
    assert (silent.choices[0].message.content, silent.model) == ("No.", "prod")
    switch(http, name="prod-2", system_fingerprint="fp_2")
    stated = ask(sdk)
    assert (stated.choices[0].message.content, stated.model) == ("No.", "prod-2")
    assert stated.system_fingerprint == "fp_2"
    switch(http, version="old", name=None, system_fingerprint=None)
    back = ask(sdk)
    assert (back.choices[0].message.content, back.model) == ("Yes. It is prime.", "prod")
    assert back.system_fingerprint is None


def test_what_is_not_recorded_is_an_error_and_counted(sdk, http):
    """An unknown prompt, and one that the version did not answer, get status 404 with a code of their own."""
    with pytest.raises(openai.NotFoundError) as unknown:
        ask(sdk, "Is 17081 a prime number? Think first.")
    assert unknown.value.body["code"] == "prompt_not_recorded"
    with pytest.raises(openai.NotFoundError) as lacking:
        ask(sdk, "Is 17079 a prime number? Think first.", model="new")
    assert lacking.value.body["code"] == "answer_not_recorded"
    ask(sdk)
    ask(sdk, PROMPT)
    state = http.get("/simulate/recorded").json()
    assert (state["not_found"], state["not_answered"]) == (1, 1)
    assert state["not_found_last"] == ["Is 17081 a prime number? Think first."]
    assert state["found"] == {"exact": 1, "near": 1}
    assert state["versions"] == [
        {"version": "old", "prompts": 3, "answers": 3, "served": 2},
        {"version": "new", "prompts": 1, "answers": 1, "served": 0},
    ]


def test_the_command_serves_and_says_recorded(recorded_file):
    """A process of its own: the real SDK asks it, and the first line names the address."""
    command = [sys.executable, "-m", "evenkeel", "simulate", "--recorded", str(recorded_file), "--port", "0"]
    with subprocess.Popen(
        [*command, "--model", "prod=new", "--model", "other=old", "--seed", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            line = process.stdout.readline().strip()
            said, url = line.rsplit(": ", 1)
            assert said == "RECORDED answers, not a live model"
            with openai.OpenAI(base_url=url, api_key="any", max_retries=0) as client:
                assert ask(client).choices[0].message.content == "No."
                assert ask(client, model="other").choices[0].message.content == "Yes. It is prime."
        finally:
            process.terminate()
            told = process.stderr.read()
    assert "3 prompts, 2 versions: old, new. Now prod is new. Now other is old." in told


@pytest.mark.parametrize(("arguments", "message"), CASES["wrong options"])
def test_a_wrong_command_line(recorded_file, arguments, message):
    """The message says which option is wrong and what to do; nothing is served."""
    given = [str(recorded_file) if word == "FILE" else word for word in arguments]
    result = CliRunner().invoke(main, ["simulate", *given])
    assert result.exit_code != 0
    assert message in result.output

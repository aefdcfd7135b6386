"""The simulated batches, as OpenAI's own SDK reads them."""

from __future__ import annotations

import json

import pytest
from openai import NotFoundError, OpenAI
from openai.types import Batch, FileObject

from evenkeel.simulate import ModelState, Simulation, serving

LINES = [
    {
        "custom_id": f"r{number}",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"model": "simulated-1", "messages": [{"role": "user", "content": f"Case {number}?"}]},
    }
    for number in range(3)
]


@pytest.fixture
def simulation():
    time = [1_000_000.0]
    made = Simulation([ModelState("simulated-1")], clock=lambda: time[0])
    made.time = time
    return made


@pytest.fixture
def client(simulation):
    with serving(simulation) as url, OpenAI(base_url=f"{url}/v1", api_key="any") as client:
        yield client


def _begun(client, lines=LINES):
    content = "\n".join(map(json.dumps, lines)).encode()
    file = client.files.create(purpose="batch", file=("requests.jsonl", content))
    FileObject.model_validate(file.to_dict(), strict=True)
    return client.batches.create(
        input_file_id=file.id,
        endpoint="/v1/chat/completions",
        completion_window="24h",
        metadata={"evenkeel": "b1"},
    )


def test_a_batch_goes_its_way_as_the_sdk_of_openai_knows_it(client, simulation):
    """Every object has the SDK's fields and types; answers are matched by their ids, in any order."""
    simulation.desk.takes_s = 60.0
    batch = _begun(client)
    Batch.model_validate(batch.to_dict(), strict=True)
    assert (batch.status, batch.metadata, batch.output_file_id) == ("in_progress", {"evenkeel": "b1"}, None)
    simulation.time[0] += 60
    batch = client.batches.retrieve(batch.id)
    Batch.model_validate(batch.to_dict(), strict=True)
    assert (batch.status, batch.request_counts.completed) == ("completed", 3)
    lines = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    assert {line["custom_id"] for line in lines} == {"r0", "r1", "r2"}
    assert {line["response"]["body"]["object"] for line in lines} == {"chat.completion"}
    client.files.delete(batch.input_file_id)
    with pytest.raises(NotFoundError):
        client.files.content(batch.input_file_id)


def test_lists_have_pages_that_the_sdk_turns(client):
    """The newest first."""
    begun = [_begun(client).id for _ in range(5)]
    assert [one.id for one in client.batches.list(limit=2)] == begun[::-1]
    assert len(list(client.files.list(limit=2))) >= 5


def test_a_file_of_two_models_fails_its_validation(client):
    """With a code and a message, as OpenAI says it."""
    other = {**LINES[0], "custom_id": "r9", "body": {**LINES[0]["body"], "model": "other"}}
    batch = _begun(client, [*LINES, other])
    Batch.model_validate(batch.to_dict(), strict=True)
    assert batch.status == "failed"
    assert batch.errors.data[0].code == "mismatched_model"

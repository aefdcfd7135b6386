"""Streams, models and errors of servers that cannot run here, through a proxy."""

import asyncio
import json

import openai
import pytest

from evenkeel.core.verdict import Failure
from evenkeel.runtime.replays import reader, replay_target
from evenkeel.settings import load
from evenkeel.shadow.original import Original
from evenkeel.shadow.prompt.template import TemplateLearner
from tests.integrations.peers import MISSING, PEERS, PIECES, TEXT, says
from tests.integrations.replaying import replayed


@pytest.fixture(params=PEERS)
def name(request):
    return request.param


@pytest.fixture
def client(rig, name):
    """The openai SDK, which asks that server through the proxy."""
    base_url = f"http://127.0.0.1:{rig.port}/{name}/v1"
    with openai.OpenAI(base_url=base_url, api_key="none", max_retries=0) as client:
        yield client


def test_a_servers_stream_is_read_as_its_answer(rig, client, name, tmp_path):
    """Comments and reasoning are no part of it, its usage is counted, and a replay gets the same."""
    events = client.chat.completions.create(
        model="m",
        messages=[{"role": "user", "content": "Name one sign that a hard disk is about to fail."}],
        stream=True,
        stream_options={"include_usage": True},
    )
    pieces = [event.choices[0].delta.content for event in events if event.choices]
    assert tuple(piece for piece in pieces if piece) == PIECES
    path = tmp_path / "evenkeel.yaml"
    path.write_text("{}", encoding="utf-8")
    route = load(path, {}, {"upstream": rig.upstreams[name], "name": name, "match": {"prefix": f"/{name}"}})
    original = reader(route, TemplateLearner()).read(rig.captured(name))
    assert isinstance(original, Original)
    answer = original.answer
    assert (answer.text, answer.finish_reason, answer.model) == (TEXT, "stop", "m")
    assert (answer.prompt_tokens, answer.completion_tokens) == (21, 13)
    replay = asyncio.run(replayed(replay_target(route)(original.exchange), original.view))
    assert not isinstance(replay, Failure)
    assert replay.answer.text == TEXT


def test_a_servers_error_passes(client, name):
    """The SDK raises what it would raise without a proxy, with the server's own body."""
    with pytest.raises(openai.NotFoundError) as caught:
        client.chat.completions.create(model=MISSING, messages=[{"role": "user", "content": "a"}])
    assert caught.value.body == json.loads(says(name, "error.json"))["error"]

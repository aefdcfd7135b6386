"""Questions to each side of the gate: models, endpoints, edited prompts, and what is never asked."""

import json

import pytest

from evenkeel.core.endpoint import Upstream
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Failure
from evenkeel.release.gate.sides import NewSystemPrompt, NewTemplate, Side, SideEndpoint, prepare
from evenkeel.shadow.prompt import PromptView
from evenkeel.stores.goldens import Golden
from tests.cases import cases

CASES = cases(__file__)

MODELS = Upstream.parse("https://models.example/openai/v1")


def golden(body, path="/v1/chat/completions", **more):
    return Golden(id="g", path=path, request=json.dumps(body), answer=Answer("Only unused ones."), **more)


def chat(*messages, **more):
    return {"messages": [{"role": role, "content": text} for role, text in messages], **more}


def side(headers=(), **more):
    return Side(name="candidate", default=SideEndpoint(MODELS, headers), **more)


def request_of(one, made):
    """The request of a side for a golden, or why there is none."""
    prepared = prepare([made], [one])
    return prepared.left_out[0] if prepared.left_out else prepared.tasks[0].requests["candidate"]


def asked(one, body, **more):
    request = request_of(one, golden(body, **more))
    assert not isinstance(request, Failure), request
    return request, json.loads(request.body)


def test_a_side_asks_its_model_at_its_endpoint_without_effects():
    """The path moves under the endpoint's own; storing is off, all else stays."""
    one = side(model="new", headers=(("authorization", "Bearer k"),))
    request, body = asked(one, chat(("user", "Hi"), model="old", stream=True, store=True, temperature=0.2))
    assert request.target.url == "https://models.example/openai/v1/chat/completions"
    assert request.target.headers == (("authorization", "Bearer k"),)
    assert body == {
        "messages": [{"role": "user", "content": "Hi"}],
        "model": "new",
        "stream": True,
        "store": False,
        "temperature": 0.2,
    }


def test_the_goldens_own_model_is_the_one_asked_for_or_the_one_that_answered():
    """A request that names none is put to the model that gave the approved answer."""
    assert asked(side(), chat(("user", "Hi"), model="old"), model="old-2031")[1]["model"] == "old"
    assert asked(side(), chat(("user", "Hi")), model="old-2031")[1]["model"] == "old-2031"
    assert "model" not in asked(side(), chat(("user", "Hi")))[1]


CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


@pytest.mark.parametrize(
    ("path", "body", "system"),
    [
        (CHAT, chat(("system", "Be brief."), ("user", "Hi")), ("messages", 0, "content")),
        (CHAT, chat(("developer", "Be brief."), ("user", "Hi")), ("messages", 0, "content")),
        (RESPONSES, {"instructions": "Be brief.", "input": "Hi"}, ("instructions",)),
        (MESSAGES, chat(("user", "Hi"), system="Be brief."), ("system",)),
    ],
)
def test_a_new_system_prompt_goes_where_the_api_has_it(path, body, system):
    """The new text stands in the place of the system prompt in each API that has one."""
    request, found = asked(side(edit=NewSystemPrompt("Be kind.")), body, path=path)
    for key in system:
        found = found[key]
    assert found == "Be kind."
    assert (request.api.name == "messages") == (("anthropic-version", "2023-06-01") in request.target.headers)


@pytest.mark.parametrize(
    ("model", "name"), [("gemini-new", "gemini-new"), (None, "gemini-x"), ("a/b c", "a%2Fb%20c")]
)
def test_a_model_that_stands_in_the_path_is_replaced_there(model, name):
    """Google's bodies name none; the golden's own model needs no naming."""
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
    path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse"
    request, sent = asked(side(model=model), body, path=path, model="gemini-x-001")
    assert request.target.url == f"https://models.example{path.replace('gemini-x', name)}"
    assert sent == body


def edited(old, new, text):
    view = PromptView.parse(json.dumps(chat(("system", "S"), ("user", text))).encode())
    found = NewTemplate(old, new)(view)
    return found.reason if isinstance(found, Failure) else found.segments[1].text


@pytest.mark.parametrize(("old", "new", "text", "expected"), CASES["edits"])
def test_a_template_edit_puts_the_inputs_into_the_new_words(old, new, text, expected):
    """Inputs come out byte for byte, even if they look like placeholders; what does not fit is told."""
    assert edited(old, new, text) == expected


@pytest.mark.parametrize(
    ("body", "path", "more", "reason"),
    [
        (chat(("user", "Hi"), web_search_options={}), CHAT, {}, "server_side_tools"),
        ({"input": "Hi", "conversation": "c"}, RESPONSES, {}, "stateful"),
        ({"input": "Hi"}, "/v1/embeddings", {}, "api_unsupported"),
        ({"messages": "Hi"}, CHAT, {}, "unsupported_shape"),
        (chat(("user", "Hi")), CHAT, {"edit": NewSystemPrompt("Be kind.")}, "does_not_fit"),
        (
            chat(("system", "One."), ("system", "Two."), ("user", "Hi")), CHAT,
            {"edit": NewSystemPrompt("Be kind.")}, "does_not_fit",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_has_a_reason(body, path, more, reason):
    """No effects, nothing that could not be compared, and no guess at which system message is replaced."""
    found = request_of(side(**more), golden(body, path))
    assert isinstance(found, Failure)
    assert found.reason == reason


def test_goldens_without_a_request_or_an_endpoint_cannot_be_asked():
    """Both are counted by reason."""
    bare = Golden(id="g", answer=Answer("Yes."))
    assert request_of(side(), bare).reason == "no_request"
    nowhere = Side(name="candidate", endpoints={"other": SideEndpoint(MODELS)})
    assert request_of(nowhere, golden(chat(("user", "Hi")))).reason == "no_endpoint"
    by_route = Side(name="candidate", endpoints={"default": SideEndpoint(MODELS)})
    assert request_of(by_route, golden(chat(("user", "Hi")))).target.url.startswith("https://models.example")

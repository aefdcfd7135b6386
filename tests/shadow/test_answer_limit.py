"""Answers to replays are limited by the original's length, and none is compared that this limit has cut."""

import asyncio
import json

import httpx2
import pytest

from evenkeel.llm.wire import Wire
from evenkeel.metrics.scoring import heuristic_scorer
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt import COMPLETIONS, PromptView
from evenkeel.shadow.replay import Replayer, Target
from tests.cases import cases
from tests.shadow.planes import JSON, Plane, captured

CASES = cases(__file__)

ASKED = "Please tell me when the ferry to the island leaves on Sunday, and from where."
SAID = "It leaves at nine. " * 25
LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
USUAL = 2 * 120 + 256
"""Twice the 120 tokens of the original's answer (475 characters, an estimate of 119), and 256."""


def request_of(api, members):
    turn = [{"role": "user", "content": ASKED}]
    return {"model": "m", ("input" if api == "responses" else "messages"): turn} | members


def answer_of(api, text=SAID, tokens=120, *, cut=False, **usage):
    """A response of an API; `usage` is added to, or replaces, what it says about tokens."""
    if api == "messages":
        body = {"type": "message", "stop_reason": "max_tokens" if cut else "end_turn"}
        body |= {"content": [{"type": "text", "text": text}]}
    elif api == "responses":
        content = [{"type": "output_text", "text": text}]
        body = {"status": "incomplete" if cut else "completed"}
        body |= {"output": [{"type": "message", "role": "assistant", "content": content}]}
    else:
        choice = {"message": {"role": "assistant", "content": text}}
        body = {"choices": [choice | {"finish_reason": "length" if cut else "stop"}]}
    names = ("prompt_tokens", "completion_tokens") if api == "chat" else ("input_tokens", "output_tokens")
    return body | {"model": "m", "usage": dict(zip(names, (30, tokens), strict=True)) | usage}


class Pieces(httpx2.AsyncByteStream):
    """A body that has not been read."""

    def __init__(self, body):
        self.body = body

    async def __aiter__(self):
        yield self.body


class Scene(Plane):
    """A worker before an upstream whose full answers to replays have so many tokens."""

    def __init__(self, tmp_path, api="chat", *, kinds=("general.whitespace",), full=120):
        super().__init__(tmp_path)
        self.api = api
        self.kinds = by_name(list(kinds))
        self.full = full
        self.bodies = []
        self.sent = []

    def upstream(self, request):
        body = json.loads(request.content)
        self.bodies.append(body)
        self.sent.append(json.loads(request.content, object_pairs_hook=list))
        most = min((body[name] for name in LIMITS if body.get(name)), default=10**6)
        given = min(self.full, most)
        text = SAID * (self.full // 120)
        said = text if given == self.full else text[: len(text) * given // self.full]
        answer = json.dumps(answer_of(self.api, said, given, cut=given < self.full))
        return httpx2.Response(200, headers=dict(JSON), stream=Pieces(answer.encode()))

    def limits(self):
        """The limits that each replay stated."""
        return [{name: body[name] for name in LIMITS if name in body} for body in self.bodies]

    def play(self, members, answer):
        """The verdicts of one exchange."""
        path = {"chat": "chat/completions", "responses": "responses", "messages": "messages"}[self.api]
        self.queue.put([captured(request_of(self.api, members), answer, path=f"/v1/{path}")])
        asyncio.run(self._worked())
        verdicts = self.verdicts()
        self.database.close()
        return verdicts

    async def _worked(self):
        replayer = Replayer(concurrency=8, timeout_s=240)
        replayer._wire = Wire(transport=httpx2.MockTransport(self.upstream))
        worker = self.worker(
            {"default": RoutePlan(self.kinds, len(self.kinds), "short_qa")},
            *(heuristic_scorer(), replayer, self.costs()),
            lambda exchange: Target("http://up" + exchange.path, route="default"),
        )
        await worker.drain()
        await replayer.close()


@pytest.mark.parametrize(("api", "members", "sent"), CASES["limits"])
def test_an_answer_may_be_twice_as_long_as_the_original_s(tmp_path, api, members, sent):
    """The limit has the API's own name and never exceeds the client's; the control has it too."""
    scene = Scene(tmp_path, api)
    verdicts = scene.play(members, answer_of(api))
    found = [{name: most for name, most in limits.items() if most is not None} for limits in scene.limits()]
    assert found == [sent] * 2
    assert [verdict.rating for verdict in verdicts] == [3, 3]


@pytest.mark.parametrize("nothing", [None, 0, -1, True, "4000", [], {}])
@pytest.mark.parametrize(("api", "name", "other"), CASES["members"])
def test_our_limit_replaces_a_member_that_limits_nothing(tmp_path, api, name, other, nothing):
    """Servers differ in which of two members of one name they read, and some refuse the request."""
    scene = Scene(tmp_path, api)
    scene.play({name: nothing, **other}, answer_of(api))
    assert len(scene.sent) == 2
    for pairs in scene.sent:
        assert len(dict(pairs)) == len(pairs)
        assert [type(value) for key, value in pairs if key in LIMITS] == [int]


def test_completions_without_a_limit_get_none():
    """Completions have a limit by default, and another would change the answer."""
    view = PromptView.parse(b'{"model": "m", "prompt": "Hi", "max_tokens": null}', api=COMPLETIONS)
    assert view.for_replay(most_tokens=USUAL) == view.body()


@pytest.mark.parametrize("usage", CASES["thoughts"])
def test_an_answer_that_was_thought_about_sets_no_limit(tmp_path, usage):
    """Thoughts vary much more than answers do; without usage nobody knows of them."""
    scene = Scene(tmp_path)
    scene.play({"max_tokens": 4000}, answer_of("chat", **usage))
    assert scene.limits() == [{"max_tokens": 4000}] * 2


@pytest.mark.parametrize(
    ("members", "again"), [({"max_tokens": 4000}, 4000), ({}, 4 * USUAL)], ids=["stated", "not stated"]
)
def test_an_answer_that_our_limit_cut_is_asked_for_again(tmp_path, members, again):
    """The second limit is the client's, or four times the first; both answers are paid for."""
    scene = Scene(tmp_path, full=1200)
    verdicts = scene.play(members, answer_of("chat"))
    assert [limits["max_tokens"] for limits in scene.limits()] == [USUAL, again, USUAL, again]
    assert scene.tally.value("replays_cut", route="default") == 2
    assert [verdict.cost.tokens for verdict in verdicts] == [30 + USUAL + 30 + 1200] * 2


def test_an_answer_that_the_client_s_limit_cut_is_compared_as_it_is(tmp_path):
    """The user would have got the same."""
    scene = Scene(tmp_path, full=600)
    verdicts = scene.play({"max_tokens": 100}, answer_of("chat", SAID[:400], 100, cut=True))
    assert [limits["max_tokens"] for limits in scene.limits()] == [100, 100]
    assert scene.tally.value("replays_cut", route="default") == 0
    assert all(verdict.failure is None for verdict in verdicts)


def test_an_answer_in_another_format_may_be_as_long_as_the_client_allows(tmp_path):
    """The same content takes more tokens as XML; the control has its limit."""
    scene = Scene(tmp_path, kinds=("format.xml",))
    scene.play({"max_tokens": 4000}, answer_of("chat"))
    assert [limits["max_tokens"] for limits in scene.limits()] == [USUAL, 4000]

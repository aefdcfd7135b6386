"""Which requests belong to one run of an agent."""

from dataclasses import replace

import pytest

from evenkeel.shadow.original import Original, Reader
from evenkeel.shadow.planner import RoutePlan
from tests.shadow.planes import JSON, captured

TRACE = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
NEXT_SPAN = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01")


def call(name):
    return {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}


def said(text=None, *tools):
    message = {"role": "assistant", "content": text}
    return message | ({"tool_calls": [call(name) for name in tools]} if tools else {})


def user(text):
    return {"role": "user", "content": text}


def chat(messages, answer):
    response = {"model": "m", "choices": [{"index": 0, "message": answer}]}
    return captured({"model": "m", "messages": messages}, response, route="main")


def responses(response, previous=None):
    output = [{"type": "function_call", "name": "look", "arguments": "{}", "call_id": "1"}]
    asked = {"model": "m", "input": "Go on."} | ({"previous_response_id": previous} if previous else {})
    answer = {"id": response, "object": "response", "model": "m", "status": "completed", "output": output}
    return captured(asked, answer, route="main", path="/v1/responses")


def sessions(*exchanges):
    reader = Reader({"main": RoutePlan((), 0)})
    originals = [reader.read(step) for step in exchanges]
    return [original.origin.session for original in originals if isinstance(original, Original)]


OPENING = [{"role": "system", "content": "It is 12:01."}, user("Cancel my order.")]
LATER = [{"role": "system", "content": "It is 12:02."}, *OPENING[1:]]
STEPS = [
    chat(OPENING, said(None, "find")),
    chat([*LATER, said(None, "find"), {"role": "tool", "content": "7", "tool_call_id": "find"}], said("Ok?")),
]


def test_steps_with_one_opening_are_a_session():
    """The system prompt may change with the time; another client, and another question, are other runs."""
    other = chat([user("Cancel my flight.")], said(None, "find"))
    first, second, elsewhere, different = sessions(*STEPS, replace(STEPS[0], client="other"), other)
    assert first == second != ""
    assert len({first, elsewhere, different}) == 3


def test_a_question_that_is_answered_at_once_is_no_session():
    """The same question every night is not one run."""
    assert sessions(chat([user("Hello")], said("Hi."))) == [""]


def test_a_header_wins_over_everything_else():
    """The header names the session whatever was said."""
    greeting = chat([user("Hello")], said("Hi."))
    named = [replace(step, session="run 7") for step in (*STEPS, greeting)]
    assert len({*sessions(*named)}) == 1


def test_requests_of_one_trace_are_a_session():
    """Single calls of a run are found by the trace they were made in; a broken header is none."""
    calls = [
        replace(chat([user(text)], said("Yes.")), request_headers=(*JSON, trace))
        for text, trace in (("One?", TRACE), ("Two?", NEXT_SPAN), ("Three?", ("traceparent", "00-x-y-01")))
    ]
    first, second, third = sessions(*calls)
    assert first == second != ""
    assert third == ""


@pytest.mark.parametrize("known", [True, False])
def test_a_chain_of_responses_is_a_session(*, known):
    """The first one need not have been sampled."""
    chain = [responses("r1"), responses("r2", "r1"), responses("r3", "r2")]
    found = sessions(*chain if known else chain[1:])
    assert len({*found}) == 1
    assert found[0]

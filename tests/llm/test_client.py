"""The one client of models against a scripted server, over HTTP on the loopback."""

import asyncio

import pytest

from evenkeel.core.budget import Spend
from evenkeel.llm.chat import ChatRequest, Completion
from evenkeel.llm.faults import Fault
from evenkeel.llm.limits import Breaker, Pauses
from evenkeel.llm.observer import ObservedMessage
from tests.cases import cases
from tests.llm.scripted import KEY, Canned, Clock, NotedBudget, endpoint_of, error, run, said, serving

CASES = cases(__file__)

PLAIN = ChatRequest("judge", (ObservedMessage("user", "Do both say the same?"),))
FORMED = ChatRequest("judge", PLAIN.messages, schema={"type": "object"})
LIMITED = ChatRequest("rewriter", PLAIN.messages, limit_tokens=50)
GOOD = said("Yes.")
YES = Completion("Yes.", 100, 20)


def ask(script, *requests, chat=None, **settings):
    """Return the outcomes of some requests in a row, and the server."""

    async def scene(endpoint, server):
        return [await endpoint.chat(request, **(chat or {})) for request in requests], server

    return run(script, scene, **settings)


def reason(got):
    fault = got if isinstance(got, Fault) else got.text
    assert fault.detail
    assert KEY not in fault.detail
    return fault.reason


FAULTS = {
    "rejects the key": (error(401, f"Incorrect API key provided: {KEY}"), "unauthorized"),
    "forbids": (error(403), "unauthorized"),
    "knows no such model": (error(404, f"no such model for {KEY}"), "bad_request"),
    "throttles": (error(429, headers=("retry-after-ms: 1",)), "rate_limited"),
    "fails": (error(500), "server_error"),
    "is a broken gateway": (error(502), "server_error"),
    "sends elsewhere": (error(307, headers=("location: /v1/chat/completions",)), "bad_request"),
    "cuts": (Canned(cut=True), "connection"),
    "is slow": (Canned(body=GOOD.body, hang=True), "timeout"),
    "drips": (Canned(body=GOOD.body, drip_s=0.05), "timeout"),
    "sends a page": (Canned(body=b"<html>gateway</html>", content_type="text/html"), "bad_schema"),
    "sends broken JSON": (Canned(body=b'{"broken": '), "bad_schema"),
    "sends something else": (Canned(body={"unexpected": True}), "bad_schema"),
    "sends no choice": (Canned(body={"object": "chat.completion", "choices": []}), "bad_schema"),
    "hides an error": (Canned(body={"error": {"message": "busy", "code": 429}}), "rate_limited"),
    "hides another error": (Canned(body={"object": "error", "message": "busy"}), "server_error"),
    "fails in a choice": (Canned(body={"choices": [{"error": {"code": 502}}]}), "bad_schema"),
    "is out of tokens": (said("Ye", finish_reason="length"), "truncated"),
    "refuses": (said(None, refusal="I can't help with that."), "refused"),
    "filters": (said("", finish_reason="content_filter"), "refused"),
}
PASSING = {
    *("throttles", "fails", "is a broken gateway", "cuts", "is slow", "drips"),
    *("hides an error", "hides another error"),
}
"""Faults after which the same request is sent again."""


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_its_reason_and_the_passing_ones_a_second_attempt(name):
    """None raises; no detail holds the key; after one that passes the second attempt counts."""
    canned, expected = FAULTS[name]
    settings = {"timeout_s": 0.2 if expected == "timeout" else 240.0, "max_retries": 1}
    (got,), server = ask([canned], PLAIN, **settings)
    assert (reason(got), len(server.asked)) == (expected, 2 if name in PASSING else 1)
    if expected != "timeout":  # a second attempt in so short a time is for quiet machines only
        (got,), server = ask([canned, GOOD], PLAIN, **settings)
        assert got == YES if name in PASSING else reason(got) == expected


def test_a_completion_has_its_text_and_tokens():
    """The server reports them; usage of another type, or none, is not made up."""
    odd = Canned(body=GOOD.body | {"usage": {"prompt_tokens": "many", "completion_tokens": None}})
    (first, second), server = ask([GOOD, odd], PLAIN, PLAIN)
    assert (first, second) == (YES, Completion("Yes.", None, None))
    assert ask([said(None)], PLAIN)[0] == [Completion("", 100, 20)]
    # Some gateways parse the JSON that was asked for.
    assert ask([said({"rating": 3})], PLAIN)[0] == [Completion('{"rating": 3}', 100, 20)]
    # Mistral's reasoning models send their thoughts as a part of another type.
    thoughts = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert ask([said([thoughts, {"type": "text", "text": "Yes."}])], PLAIN)[0] == [YES]
    assert server.keys == [f"bearer {KEY}"] * 2
    assert KEY not in repr(endpoint_of(base_url="http://127.0.0.1:9/v1", model="m", api_key=KEY))
    assert server.asked[0]["messages"] == [{"role": "user", "content": "Do both say the same?"}]


def test_a_dead_server_is_no_connection_after_the_retries():
    """Half a second and a second of pause between three attempts, which certainly cost nothing."""
    clock = Clock()

    async def scene():
        async with serving([GOOD]) as server:
            url = server.url
        async with endpoint_of(base_url=url, model="m", api_key="", max_retries=2, sleep=clock.sleep) as dead:
            return await dead.chat(PLAIN)

    got = asyncio.run(scene())
    assert (got.reason, got.unbilled, clock.waited) == ("connection", True, [0.5, 1.0])


def test_a_server_may_say_that_repeating_is_of_no_use():
    """`x-should-retry: false` on a 429 (a used-up quota, say) ends the matter, and true on a 404 does not."""
    _, server = ask([error(429, headers=("x-should-retry: false",))], PLAIN, max_retries=2)
    assert len(server.asked) == 1
    (got,), _ = ask([error(404, headers=("x-should-retry: true",)), GOOD], PLAIN, max_retries=2)
    assert got == YES


def rejecting(rejects):
    """Answers 400 with a message if a request holds a rejected parameter or format."""

    def script(request):
        present = set(request) | {request.get("response_format", {}).get("type")}
        return next((error(400, message) for what, message in rejects.items() if what in present), GOOD)

    return script


@pytest.mark.parametrize(("calls", "role", "rejects", "expected"), CASES["rejected parameters"])
def test_rejected_parameters_are_dropped_and_stay_dropped(calls, role, rejects, expected):
    """One call is enough if the server names them, three if it does not; the next is accepted at once."""
    request = FORMED if role == "judge" else LIMITED

    async def twice(endpoint, server):
        for _ in range(calls):
            await endpoint.chat(request)
        before = len(server.asked)
        return (await endpoint.chat(request), server.asked[-1]), len(server.asked) - before

    (got, last), requests = run(rejecting(rejects), twice)
    assert (got, requests) == (YES, 1)
    kept = set(last) - {"model", "messages", "response_format"}
    kept |= {last["response_format"]["type"]} if "response_format" in last else set()
    assert kept == set(expected.split())


NOT_TAKEN = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}


@pytest.mark.parametrize(
    "body",
    [{"message": {"detail": [NOT_TAKEN]}}, {"detail": [NOT_TAKEN]}, [{"error": {"message": "no seed"}}]],
)
def test_a_structured_complaint_costs_only_what_it_names(body):
    """Mistral, FastAPI and Gemini nest their messages; every rejected request is paid for."""
    budget = NotedBudget()

    def script(request):
        return Canned(422, body) if "seed" in request else GOOD

    (got,), server = ask(script, FORMED, chat={"budget": budget})
    assert got == YES
    assert (len(budget.reserved), [spend.tokens for spend in budget.settled]) == (2, [0, 120])
    assert [set(FORMED_MEMBERS) - set(request) for request in server.asked] == [set(), {"seed"}]


FORMED_MEMBERS = {"response_format", "max_tokens", "temperature", "seed"}


def test_one_bad_generation_is_repeated_and_costs_no_parameter():
    """Groq's 400 about what the model wrote says nothing about the request."""
    bad = {"error": {"message": "Failed to validate JSON.", "code": "json_validate_failed"}}
    (first, second), server = ask([Canned(400, bad), GOOD], FORMED, FORMED, max_retries=1)
    assert first == second == YES
    assert all(set(request) >= FORMED_MEMBERS for request in server.asked)


@pytest.mark.parametrize(("body", "expected"), CASES["errors in every server's form"])
def test_errors_are_read_in_every_server_s_form(body, expected):
    """TGI, Gemini, FastAPI, Cohere, Bedrock, Hugging Face, Cloudflare and OpenRouter each write their own."""
    (got,), _ = ask(lambda _: Canned(422, body), FORMED)
    assert reason(got) == expected


def test_a_request_that_is_wrong_in_itself_costs_nothing_later():
    """A 400 that no omission cures is "bad_request", and the next request starts with everything."""
    long = ChatRequest("judge", (ObservedMessage("user", "long"),), schema={}, limit_tokens=5)

    def script(request):
        too_long = request["messages"][0]["content"] == "long"
        return error(400, "the moon is in the wrong house") if too_long else GOOD

    (first, second), server = ask(script, long, FORMED)
    assert reason(first) == "bad_request"
    assert "wrong house" in first.detail
    assert second == YES
    assert server.asked[-1]["response_format"]["type"] == "json_schema"
    assert [len(set(request) - {"model", "messages"}) for request in server.asked] == [4, 4, 3, 3, 2, 0, 4]


def test_a_failing_server_is_left_alone_and_tried_again():
    """Calls fail fast after two failures, without a request; after the pause one goes out and closes it."""
    now = [0.0]
    breaker = Breaker(failures=2, open_s=30.0, clock=lambda: now[0])

    async def scene(endpoint, server):
        seen = []
        for at in (0.0, 0.0, 1.0, 29.0, 30.0, 31.0):
            now[0] = at
            got = await endpoint.chat(PLAIN)
            seen.append((got.reason if isinstance(got, Fault) else got.text, len(server.asked)))
        return seen

    script = [error(500, headers=("retry-after: 0",))] * 2 + [GOOD]
    assert run(script, scene, breaker=breaker) == [
        ("server_error", 1),
        ("server_error", 2),
        ("circuit_open", 2),
        ("circuit_open", 2),
        ("Yes.", 3),
        ("Yes.", 4),
    ]


def test_unusable_replies_do_not_open_the_breaker():
    """A server that answers is up, whatever it says."""
    breaker = Breaker(failures=2)
    ask([said([]), Canned(body={}), error(400)], *[PLAIN] * 6, breaker=breaker)
    assert not breaker.is_open


def test_concurrency_is_bounded():
    """Eight requests at once are three at a time on the wire."""
    under_way, most, three = 0, 0, asyncio.Event()

    async def held(_):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        if most == 3:
            three.set()
        await three.wait()
        await asyncio.sleep(0.02)  # in which more would come
        under_way -= 1
        return GOOD

    async def flood(endpoint, _):
        await asyncio.gather(*(endpoint.chat(PLAIN) for _ in range(8)))

    run(held, flood, concurrency=3)
    assert most == 3


def test_a_cancelled_call_frees_its_place():
    """A call cancelled on the wire does not block the next, though there is one place."""

    async def scene(endpoint, server):
        waiting = asyncio.create_task(endpoint.chat(PLAIN))
        await server.hanging.wait()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        return await endpoint.chat(PLAIN)

    assert run([Canned(hang=True), GOOD], scene, concurrency=1) == YES


def test_a_probe_is_one_request_that_disturbs_nobody():
    """A probe is not repeated, tells the breaker nothing, and is not sent while the server wants a pause."""
    breaker, pauses = Breaker(failures=1), Pauses(clock=lambda: 0.0)

    async def scene(endpoint, server):
        first = await endpoint.probe(PLAIN)
        pauses.pause(30)
        return first, await endpoint.probe(PLAIN), len(server.asked)

    first, second, asked = run([error(500)], scene, breaker=breaker, pauses=pauses, max_retries=2)
    assert (reason(first), reason(second)) == ("server_error", "rate_limited")
    assert (asked, breaker.is_open) == (1, False)


# --- who pays


def price(model, prompt_tokens, completion_tokens, tier="standard", cached_tokens=0):
    assert model == "scripted"
    usd = prompt_tokens + 10 * completion_tokens - 0.1 * cached_tokens
    return usd / 2 if tier == "flex" else usd


def silent(canned):
    """The same without usage."""
    return Canned(body={name: value for name, value in canned.body.items() if name != "usage"})


@pytest.mark.parametrize(
    ("canned", "spent"),
    [
        (GOOD, Spend(120, 300)),
        (silent(GOOD), Spend(37 + 50, 37 + 500)),
        (Canned(body=GOOD.body | {"service_tier": "priority"}), Spend(37 + 50, 37 + 500)),
        (said(None, refusal="no"), Spend(120, 300)),
        (error(500), Spend(37 + 50, 37 + 500)),
        (error(401), Spend(0, 0)),
        (error(307), Spend(37 + 50, 37 + 500)),
        (Canned(body=b"<html>", content_type="text/html"), Spend(37 + 50, 37 + 500)),
        (Canned(hang=True), Spend(37 + 50, 37 + 500)),
        (Canned(cut=True), Spend(37 + 50, 37 + 500)),
    ],
    ids=["reported", "no usage", "dearer", "refused", "500", "401", "307", "no completion", "timeout", "cut"],
)
def test_each_request_is_reserved_before_and_booked_after(canned, spent):
    """21 bytes are 21 tokens and 16 around them at most; what nobody knows is booked as it was reserved."""
    budget = NotedBudget()
    ask([canned], LIMITED, chat={"budget": budget}, price=price, timeout_s=0.3 if canned.hang else 240.0)
    assert (budget.reserved, budget.settled) == ([Spend(37 + 50, 37 + 500)], [spent])


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 80}}, 80),
        ({"prompt_tokens_details": {"cached_tokens": 10**6}}, 100),
        ({"prompt_tokens_details": {"cached_tokens": "many"}}, 0),
        ({"prompt_tokens_details": None}, 0),
        ({"prompt_cache_hit_tokens": 30}, 30),
    ],
)
def test_prompt_tokens_from_a_cache_cost_less(usage, cached):
    """A tenth of a dollar off for each, of those that were sent at most; the tokens themselves all count."""
    budget = NotedBudget()
    canned = Canned(body=GOOD.body | {"usage": GOOD.body["usage"] | usage})
    ask([canned], LIMITED, chat={"budget": budget}, price=price)
    assert budget.settled == [Spend(120, pytest.approx(300 - 0.1 * cached))]


PATIENT = ChatRequest("judge", PLAIN.messages, flex=True)
FLEX = Canned(body=GOOD.body | {"service_tier": "flex"})
FULL = error(429, "Resource unavailable")


@pytest.mark.parametrize(
    ("script", "tiers", "answered", "usd"),
    [
        ([FLEX], ["flex"], "flex", 150),
        ([GOOD], ["flex"], "standard", 300),
        ([FULL, GOOD], ["flex", None], "standard", 300),
        ([error(400, "service_tier is not supported for this model"), GOOD], ["flex", None], "standard", 300),
        ([Canned(hang=True), GOOD], ["flex", None], "standard", 300),
    ],
    ids=["taken", "not said", "no room", "unknown", "too slow"],
)
def test_what_can_wait_is_asked_in_the_flex_tier(script, tiers, answered, usd):
    """The tier's price counts where the server says so; a full, missing or slow tier is left at once."""
    budget = NotedBudget()
    timeout_s = 1.0 if script[0].hang else 240.0
    (got,), server = ask(script, PATIENT, chat={"budget": budget}, price=price, timeout_s=timeout_s)
    assert got == Completion("Yes.", 100, 20, tier=answered)
    assert [request.get("service_tier") for request in server.asked] == tiers
    assert budget.settled[-1] == Spend(120, usd)


def test_a_server_without_a_flex_tier_is_not_asked_for_it_again():
    """A tier without room is asked for again."""
    rejecting = error(400, "service_tier is not supported for this model")
    _, server = ask([rejecting, GOOD, GOOD], PATIENT, PATIENT)
    assert [request.get("service_tier") for request in server.asked] == ["flex", None, None]
    _, server = ask([FULL, GOOD, FLEX], PATIENT, PATIENT)
    assert [request.get("service_tier") for request in server.asked] == ["flex", None, "flex"]


def test_calls_that_can_wait_leave_places_to_others():
    """Of two places, others find one free."""

    async def scene(endpoint, server):
        waiting = [asyncio.create_task(endpoint.chat(PATIENT)) for _ in range(3)]
        await server.hanging.wait()
        got = await endpoint.chat(PLAIN)
        for call in waiting:
            call.cancel()
        return got

    assert run([Canned(hang=True), GOOD], scene, concurrency=2) == YES


def test_without_a_budget_nothing_is_sent():
    """An empty budget is a fault of its own, and the breaker's trial call is given back."""
    breaker = Breaker(failures=1, open_s=30, clock=(clock := Clock()))
    breaker.record(ok=False)
    clock.now += 31

    async def scene(endpoint, server):
        poor = await endpoint.chat(PLAIN, budget=NotedBudget(full=False))
        asked, still_open = len(server.asked), breaker.is_open
        cancelled = asyncio.create_task(endpoint.chat(PLAIN, budget=(own := NotedBudget())))
        await server.hanging.wait()
        cancelled.cancel()
        await asyncio.gather(cancelled, return_exceptions=True)
        return reason(poor), asked, still_open, own.settled == own.reserved, await endpoint.chat(PLAIN)

    assert run([Canned(hang=True), GOOD], scene, breaker=breaker) == ("budget", 0, True, True, YES)

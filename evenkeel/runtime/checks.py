"""Checks of `evenkeel check-config`: one request, a replay, judge, rewriter, budget, notifications."""

from __future__ import annotations

import asyncio
import json
import os
import time
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple
from urllib.parse import urlsplit

import httpx2

from evenkeel.core import figures
from evenkeel.core.exchange import LOOP_GUARD_HEADER
from evenkeel.core.figures import NO_JUDGE
from evenkeel.core.text import visible
from evenkeel.core.verdict import Failure
from evenkeel.llm.wire import MissingResponse, RawResponse, Wire
from evenkeel.metrics.judge.prompts import KNOWN_RATING
from evenkeel.monitor.notify import NoticeMessage
from evenkeel.proxy.routing import Upstream
from evenkeel.runtime import replays
from evenkeel.runtime.instruments import judge_problem, make_judge
from evenkeel.runtime.notifications import sinks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.metrics.judge import Reply
    from evenkeel.settings import Settings
    from evenkeel.settings.credentials import Headers, UpstreamKeys

_PROMPT: Final = "Reply with the single word: pong"
# A reasoning model may take long for the first word.
_REQUEST_S: Final = 60.0
# Characters of an endpoint's error that are shown.
_ERROR_CHARS: Final = 120
_TITLE: Final = "Test message from evenkeel"
# Statuses of a request whose key was taken and whose model was not.
_ABOUT_THE_MODEL: Final = frozenset({400, 404, 422})
_ADVICE: Final = {
    400: "The answer says what the endpoint does not take. Check the model's name.",
    401: "Put a key that the endpoint takes into {variable}.",
    403: "Put a key that the endpoint takes into {variable}.",
    404: "Check the model's name, and that routes.upstream ends as the endpoint's base URL does.",
    407: "The proxy asks for credentials: write them as HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT.",
    429: "The endpoint throttles this key. Wait, or ask the provider for a higher limit.",
}


class Check(NamedTuple):
    """The result of checking a part of the set-up."""

    state: Literal["good", "note", "bad"]
    """Result; "note" means that the part works or is not set, and that there is something to know."""
    said: str
    """Finding, in one or two sentences."""
    next_step: str = ""
    """Next step to take, "" if there is none."""


def run_checks(settings: Settings, names: Sequence[str], model: str) -> list[tuple[str, Check]]:
    """Run checks one after the other, and return their results in the same order.

    Args:
        settings: Settings to check.
        names: Names of the checks: request, replay, judge, rewriter, budget, notification.
        model: Model to ask, "" for the judge's if it is at the first upstream.
    """
    asked = model or _judge_beside(settings)

    def ask_judge() -> Reply:
        async def ask() -> Reply:
            judge, _ = make_judge(settings, None, replays.budgeted_prices(settings))
            assert judge is not None
            async with judge:
                return await judge.probe()

        return asyncio.run(ask())

    checks: dict[str, Callable[[], Check]] = {
        "request": lambda: request_check(settings, asked),
        "replay": lambda: replay_check(settings, asked),
        "judge": lambda: judge_check(settings, ask_judge),
        "rewriter": lambda: rewriter_check(settings),
        "budget": lambda: budget_check(settings, model),
        "notification": lambda: notification_check(settings),
    }
    return [(name, checks[name]()) for name in names]


def _judge_beside(settings: Settings) -> str:
    """Return the judge's model if the first upstream answers for it, else ""."""
    judge, first = settings.judge, settings.keys[settings.routes[0].name][0]
    if judge is None or judge.local or Upstream.parse(judge.base_url).origin != first.upstream.origin:
        return ""
    return judge.model


def _without_keys(text: str, headers: Headers) -> str:
    """Remove any request key that an endpoint may have repeated in a text."""
    for _, value in headers:
        text = text.replace(value.removeprefix("Bearer "), "…")
    return text


class _TestCall(NamedTuple):
    """A small call of a model, as evenkeel itself makes it."""

    what: str
    """Subject of the sentence about it."""
    url: str
    body: Mapping[str, Any]
    headers: Headers
    variable: str
    """Variable of the key."""
    unix_path: str | None = None
    direct: bool = False
    """True if a proxy of the environment is not asked."""
    if_away: str = ""
    """Next step if no connection is made."""


def _tried(call: _TestCall) -> Check:
    """Make a call by the client of replays and judge."""

    async def post() -> RawResponse | MissingResponse:
        wire = Wire(
            headers={"user-agent": "evenkeel", LOOP_GUARD_HEADER.decode(): "1"},
            transport=httpx2.AsyncHTTPTransport() if call.direct else None,
        )
        try:
            return await wire.post(
                call.url, json.dumps(call.body).encode(), call.headers, _REQUEST_S, unix_path=call.unix_path
            )
        finally:
            await wire.close()

    response = asyncio.run(post())
    host = urlsplit(call.url).hostname
    if isinstance(response, MissingResponse):
        return Check("bad", f"{call.what} did not reach {host}: {response.detail.rstrip('.')}.", call.if_away)
    if response.is_success:
        return Check("good", f"{call.what} was answered by {host}.")
    words = visible(_without_keys(str(response.error().get("message", "")), call.headers))[:_ERROR_CHARS]
    status_line = f"{call.what} got status {response.status} from {host}{f' (“{words}”)' if words else ''}."
    if not call.body.get("model") and response.status in _ABOUT_THE_MODEL:
        # The endpoint read the request, so the way to it and the key are good.
        return Check(
            "note", f"{status_line} The connection works.", "Name a model with --test-model to be answered."
        )
    advice = _ADVICE.get(response.status, "Check the address and that the endpoint is up.")
    return Check("bad", status_line, advice.format(variable=call.variable))


def request_check(settings: Settings, model: str) -> Check:
    """Send one request through the data plane to the first route. It is marked, so it is never sampled."""
    route = settings.routes[0]
    keys = settings.keys[route.name][0]
    # Where the data plane puts a key in, none is sent.
    headers = () if keys.traffic else keys.replay_headers()
    call = _TestCall(
        "A request through the data plane",
        f"{settings.base_url(route)}/chat/completions",
        _chat(model),
        headers,
        keys.traffic.variable if keys.traffic else _replay_variable(settings, keys),
        direct=True,
        if_away="Start `evenkeel up`, or send a request from an application if it runs elsewhere.",
    )
    return _tried(call)


def _replay_variable(settings: Settings, keys: UpstreamKeys) -> str:
    """Return the variable of the replay key that is sent to an upstream, or would be if it were set."""
    return next((key.variable for key in keys.replays), settings.replays.api_key_env)


def replay_check(settings: Settings, model: str) -> Check:
    """Send a small request for a model to every upstream, over the path and with the key of replays."""
    calls: dict[tuple[str, Headers], _TestCall] = {}
    for keys in chain(*settings.keys.values()):
        url, headers = keys.upstream.url("/v1/chat/completions"), keys.replay_headers()
        variable = _replay_variable(settings, keys)
        body = _chat(model)
        what = f"A replay of route {keys.route}"
        call = _TestCall(what, url, body, headers, variable, keys.upstream.unix_path)
        calls.setdefault((str(keys.upstream), headers), call)
    checks = [_tried(call) for call in calls.values()]
    worst = min(checks, key=lambda check: ("bad", "note", "good").index(check.state))
    return worst._replace(said=" ".join(check.said for check in checks))


def rewriter_check(settings: Settings) -> Check:
    """Send one small request to the rewriter."""
    rewriter = settings.replays.rewriter
    if rewriter is None:
        return Check("note", "No rewriter is set: texts are reworded by rule.")
    url = f"{rewriter.base_url.rstrip('/')}/chat/completions"
    key = _bearer(rewriter.api_key_env)
    return _tried(_TestCall("The rewriter's call", url, _chat(rewriter.model), key, rewriter.api_key_env))


def _chat(model: str) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": _PROMPT}]}


def _bearer(variable: str) -> Headers:
    key = os.environ.get(variable)
    return (("authorization", f"Bearer {key}"),) if key else ()


def judge_check(settings: Settings, ask: Callable[[], Reply]) -> Check:
    """Ask the judge a question with a known answer."""
    judge = settings.judge
    if judge is not None and judge.local:
        return Check(
            "good", f"{judge.local} judges on this machine; whether it loads, `evenkeel score` shows."
        )
    if judge is None:
        return Check(
            "note",
            f"{NO_JUDGE[:1].upper()}{NO_JUDGE[1:]}.",
            "Set judge.model, or start with --judge MODEL, to have meanings compared.",
        )
    began = time.monotonic()
    reply = ask()
    took_s = time.monotonic() - began
    assumed = "" if replays.budgeted_prices(settings).knows(judge.model) else ", at an assumed price"
    cost = f"{reply.spent.tokens:,} tokens: {reply.spent.usd:.6f} US dollars{assumed}."
    if isinstance(reply.outcome, Failure):
        problem, advice = judge_problem(judge.model, reply.outcome, judge.api_key_env)
        return Check("bad", f"{problem[:1].upper()}{problem[1:]}.", f"{advice[:1].upper()}{advice[1:]}.")
    rating = reply.outcome.rating
    if rating != KNOWN_RATING:
        return Check(
            "note",
            f"{judge.model} answered after {took_s:.1f} s, but rated two equal sentences {rating}, "
            f"not {KNOWN_RATING}. {cost}",
            "Choose a stronger model; `evenkeel judge-audit` measures it.",
        )
    return Check(
        "good", f"{judge.model} rated two equal sentences {rating} after {took_s:.1f} s, as is right. {cost}"
    )


def budget_check(settings: Settings, model: str) -> Check:
    """Check the limits of the budget, and whether the price of a model is known ("" for none)."""
    prices, budget = replays.budgeted_prices(settings), settings.budget
    limits = []
    if budget.usd_per_day is not None:
        limits.append(f"{budget.usd_per_day:,.2f} US dollars")
    if budget.tokens_per_day is not None:
        limits.append(f"{budget.tokens_per_day:,} tokens")
    said = f"At most {' and '.join(limits)} a day." if limits else "No limit is set."
    advice = "Set its price under budget.prices, or 0 if it is free."
    if model and prices.refuses(model):
        return Check("bad", f"{said} {model} has no known price, so it is not replayed.", advice)
    if not limits:
        return Check("note", said, "Set budget.usd_per_day: replays and the judge are paid for.")
    if model and not prices.knows(model):
        return Check("note", f"{said} {model} has no known price.", advice)
    return Check("good", f"{said} The price of {model} is known." if model else said)


def notification_check(settings: Settings) -> Check:
    """Send a marked test message to every channel."""
    problems: list[str] = []
    targets = list(sinks(settings, problems.append))
    if not targets and not problems:
        return Check(
            "note",
            "No channel is set: incidents show in the console only.",
            "Set alerts.webhook or another channel (docs/alerting.md).",
        )
    message = NoticeMessage(
        _TITLE,
        "Nothing is wrong: this was sent as a test. Incidents will come here.",
        good=True,
        about="test",
    )
    took: list[str] = []
    for sink in targets:
        if sink.tell(message):
            took.append(sink.name)
        else:
            problems.append(f"{sink.name} did not take it{f': {sink.problem}' if sink.problem else ''}")
    sent_line = f"Sent “{_TITLE}” to {figures.listing(took)}." if took else ""
    if problems:
        failed = " ".join(f"{problem.removeprefix('[evenkeel] ').rstrip('.')}." for problem in problems)
        return Check(
            "bad", f"{sent_line} {failed}".strip(), "Check the variable that holds its address or key."
        )
    return Check("good", sent_line, "Look whether it has arrived." if took else "")

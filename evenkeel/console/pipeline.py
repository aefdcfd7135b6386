"""Page of the pipeline: exchanges at each stage, skipped ones by reason, the queue, and dead letters."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.console.rendering import Page, live_handlers
from evenkeel.core import figures, rewordings
from evenkeel.core.endpoint import EMBEDDINGS
from evenkeel.core.verdict import BASELINE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.console.rendering import Renderer
    from evenkeel.console.sources import ConsoleSources, PipelineView
    from evenkeel.core.cells import CellReport
    from evenkeel.monitor.measuring import Measuring
    from evenkeel.stores.counters import RouteFlow, UntriedPerturbation


STUCK_AFTER_S: Final = 120.0
"""Seconds after which a waiting exchange is reported, so that a stalled worker does not look healthy."""
# Most rewordings that a line names; if there are more, it gives their number.
_NAMED: Final = 3


class UntriedLine(NamedTuple):
    """Rewordings of a category that were not tried on a route, for a common reason."""

    route: str
    kinds: str
    reason: str
    times: str
    """"12 times", or "always" if these rewordings cannot run with the current settings."""


def untried_lines(view: PipelineView) -> list[UntriedLine]:
    """Group by route, category and reason what was not tried though its exchange was, in the view's order."""
    # Whole exchanges are counted as requests that were skipped.
    skipped = {flow.route: flow.skipped for flow in view.routes}
    groups: dict[tuple[str, str, str], list[UntriedPerturbation]] = {}
    for untried in view.untried:
        if not skipped.get(untried.route, {}).get(untried.reason):
            category = rewordings.category(untried.perturbation).name
            groups.setdefault((untried.route, category, untried.reason), []).append(untried)
    lines = []
    for (route, category, reason), members in groups.items():
        kinds = figures.listing([rewordings.label(member.perturbation) for member in members])
        if len(members) > _NAMED:
            kinds = f"{len(members)} rewordings of {category}"
        # Rewordings that the settings rule out have no count, because no trial of them ever begins.
        counts = [member.count for member in members]
        times = "always" if None in counts else figures.count(sum(filter(None, counts)), "time")
        lines.append(UntriedLine(route, kinds, rewordings.why_untried(reason), times))
    return lines


def stuck(pipeline: PipelineView, measuring: Measuring) -> str:
    """Return why exchanges wait or trials get no rating; "" if all is well."""
    # A known cause, such as a failing judge, also explains a long queue.
    if measuring.causes:
        return " ".join(measuring.sentences())
    if pipeline.oldest_s <= STUCK_AFTER_S:
        return ""
    return (
        f"Scoring is behind: the oldest exchange has waited {figures.duration(pipeline.oldest_s)}, "
        "so the figures are as old. Check that the worker runs and that the budget is not spent."
    )


def lag(view: PipelineView) -> str:
    """Describe the queue."""
    if not view.waiting and not view.leased:
        return "empty"
    return (
        f"{view.waiting:,} waiting, {view.leased:,} in progress, "
        f"the oldest for {figures.duration(view.oldest_s)}"
    )


DEAD_SHOWN: Final = 50

_UNKNOWN_RESPONSE: Final = "previous_response_unknown"
_DROPPED: Final = {
    "settled": "its cells are within their limits, so only a share is tried (routes.trials.plan)",
    "queue_full": "the hand-off buffer was full: more is sampled than can be stored",
    "store_full": "the queue was full: more is sampled than is scored",
    "store_error": "the queue could not be written to",
    "too_large": "request or answer is too large",
    "prompt_too_long": "the prompt is too long to be replayed",
    "answer_too_long": "the answer is too long to be compared",
    "too_many_messages": "the prompt has too many messages to be replayed",
    "client_left": "the client disconnected before the answer was complete",
    "truncated": "the upstream cut the answer off",
    "status": "the upstream answered with an error",
    "replay": "the request was itself a replay",
    "client_quota": "its client has reached its hourly limit",
    "server_side_tools": "the provider would search, run code or call other servers",
    "remote_content": "the provider would fetch a file or picture from elsewhere",
    "ambiguous": "a member of the request occurs twice, and servers differ in which they read",
    "stateful": "the request adds to a conversation that the provider keeps",
    "background": "the answer comes later",
    "compaction": "the answer is a summary for the provider",
    "stored_prompt": "the prompt is kept by the provider",
    "audio_output": "the answer is speech, which cannot be compared",
    "media_output": "the answer holds pictures or other media, which cannot be compared",
    "several_prompts": "the request holds several prompts, and the first answer is to one of them",
    "echo": "the answer repeats the prompt",
    "api_unsupported": "the path may be that of another API",
    "previous_response_unknown": "the endpoint does not know the response that the request continues",
    "embeddings": "requests for embeddings are only kept as reference prompts, a few of them",
    "websocket_unread": "the frames of the WebSocket cannot be read from there on",
    "websocket_crowd": "256 WebSockets of the route are being sampled already",
    "websocket_failed": "the endpoint answered a request over a WebSocket with an error",
    "websocket_cut": "the WebSocket ended before the answer was complete",
    "websocket_steered": "the answer was steered while it was written",
    "websocket_too_large": "request and answer over a WebSocket are too large",
}

STEPS: Final = {
    "server_side_tools": "Offer the tool as a function, and take a model that does not search by itself.",
    "remote_content": "Send it inline, as data.",
    "ambiguous": "Send each member once.",
    "stateful": "Send the earlier turns with the request, or previous_response_id.",
    "background": "Ask without background.",
    "previous_response_unknown": "Give replays a key of the same project (replay_key_env).",
    "stored_prompt": "Send the text of the prompt.",
    "several_prompts": "Send a request for each prompt.",
    "echo": "Leave out echo.",
    "queue_full": "Lower sampling_rate.",
    "store_full": "Lower sampling_rate, or run more workers.",
    "store_error": "See the log of the data plane.",
    "budget": "Raise the budget, or lower sampling_rate.",
    "budget_pace": "Raise the budget, or lower sampling_rate.",
    "budget_reserve": "Raise the budget, or lower sampling_rate.",
    "client_quota": "Raise replays.client_exchanges_per_hour.",
    "unpriced": "Set the price of the model under budget.prices.",
    "status": "See the endpoint's errors.",
    "websocket_failed": "See the endpoint's errors.",
    "websocket_unread": "Offer no WebSocket extension but permessage-deflate.",
}
"""Advice by reason; reasons without an entry need none."""
_UNREAD_STEPS: Final = {
    "embeddings": "Nothing: a few are kept as reference prompts.",
    "interactions": "Use generateContent.",
    "bedrock": "Use Bedrock's OpenAI-compatible endpoint.",
    "conversations": "Use chat/completions, or responses without a kept conversation.",
}


def pipeline_page(sources: ConsoleSources) -> Page:
    """Read queue, counters and spend once."""
    view = sources.pipeline()
    letters = sources.dead_letters(DEAD_SHOWN)
    stages = dict.fromkeys(("eligible", "sampled", "queued", "scored"), 0)
    for flow in view.routes:
        for stage in stages:
            stages[stage] += getattr(flow, stage)
    return Page(
        "Pipeline · evenkeel",
        view=view,
        stages=stages,
        lag=lag(view),
        untried=untried_lines(view),
        not_replayed=not_replayed(view.routes, sources.reports()),
        dead=letters,
        dead_more=max(0, view.dead - len(letters)),
        stuck=stuck(view, sources.measuring()),
    )


def skipped_because(reason: str) -> str:
    """Explain to people why a request was skipped."""
    return _DROPPED.get(reason) or rewordings.why_untried(reason)


class NotReplayedLine(NamedTuple):
    """Requests of a route that are not replayed for a common reason."""

    route: str
    reason: str
    step: str
    """Sentence that says what to do."""
    requests: int


def not_replayed(flows: Iterable[RouteFlow], reports: Iterable[CellReport]) -> list[NotReplayedLine]:
    """List why requests are not replayed and what to do about it, most frequent first.

    The cells tell which replays the endpoint cannot continue.
    """
    unknown: Counter[str] = Counter()
    for report in reports:
        # All replays of such an exchange fail, so the failures of its control count the requests.
        if report.key.perturbation == BASELINE:
            unknown[report.key.route] += report.counts.failures.get(_UNKNOWN_RESPONSE, 0)
    lines = []
    for flow in flows:
        if unknown[flow.route]:
            words, step = skipped_because(_UNKNOWN_RESPONSE), STEPS[_UNKNOWN_RESPONSE]
            lines.append(NotReplayedLine(flow.route, words, step, unknown[flow.route]))
        for reason, count in flow.skipped.items():
            # Counters stay at 0 for reasons of an earlier process; embeddings are counted below.
            if count and reason != EMBEDDINGS:
                step = STEPS.get(reason, "Nothing.")
                lines.append(NotReplayedLine(flow.route, skipped_because(reason), step, count))
        for api, count in flow.unread.items():
            reason = f"requests of another API ({api.replace('_', ' ')}) are forwarded and not read"
            step = _UNREAD_STEPS.get(api, "Nothing.")
            lines.append(NotReplayedLine(flow.route, reason, step, count))
    return sorted(lines, key=lambda line: (-line.requests, line.route, line.reason))


def pipeline_handlers(sources: ConsoleSources, renderer: Renderer) -> list[HTTPRouteHandler]:
    """Handlers of `/pipeline` and its live part."""
    return live_handlers("/pipeline", "_pipeline.html", lambda _: pipeline_page(sources), renderer)

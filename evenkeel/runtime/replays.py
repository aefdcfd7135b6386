"""Wiring of replays: perturbations and target of each route, rewriter, prices."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from evenkeel.core.verdict import BASELINE
from evenkeel.llm.client import Model, ModelClient
from evenkeel.llm.observer import UNOBSERVED
from evenkeel.llm.price import ASSUMED, ModelPrice, Prices
from evenkeel.runtime import choices
from evenkeel.settings import route_table
from evenkeel.shadow.original import Reader, StatedTemplate, api_headers
from evenkeel.shadow.perturbations import by_name
from evenkeel.shadow.planner import RoutePlan
from evenkeel.shadow.prompt import api_of, headers_of
from evenkeel.shadow.replay import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.exchange import Exchange
    from evenkeel.llm.observer import CallObserver
    from evenkeel.settings import Settings
    from evenkeel.settings.credentials import Headers
    from evenkeel.settings.replay import RewriterSettings
    from evenkeel.settings.scoring import JudgeSettings
    from evenkeel.shadow.perturbations import Perturbation
    from evenkeel.shadow.prompt.template import TemplateLearner
    from evenkeel.stores.references import Reference


_TIMEOUT_S = 60.0
# Calls to the rewriter or the encoder in progress at once.
_CONCURRENCY = 4
# Share of the sampled exchanges that the adaptive plan tries while nothing is left to learn.
_SETTLED_RATE = 0.05


def prices(settings: Settings) -> Prices:
    """Return the prices of models."""
    own = {}
    for model, price in settings.budget.prices.items():
        own[model] = ModelPrice(price.input_usd, price.output_usd)
    return Prices(own)


def budgeted_prices(settings: Settings) -> Prices:
    """Return the prices for the budgets: where these limit dollars, no model is free unless stated."""
    limited = settings.limits_dollars or settings.budget.usd_per_day is not None
    return replace(prices(settings), required=settings.limits_dollars, assumed=ASSUMED if limited else None)


def endpoint(
    section: JudgeSettings | RewriterSettings,
    costs: Prices,
    observer: CallObserver = UNOBSERVED,
    *,
    concurrency: int = _CONCURRENCY,
    **more: Any,
) -> ModelClient:
    """Return the client of a model of the settings; nothing is sent yet.

    Args:
        section: Names the endpoint and its limits.
        costs: Prices of its calls.
        observer: Sees each call.
        concurrency: Calls under way at once.
        **more: As `ModelClient` takes it.
    """
    served = Model(
        base_url=section.base_url or "",
        name=section.model or "",
        api_key=os.environ.get(section.api_key_env) or "",
        timeout_s=_TIMEOUT_S,
        concurrency=concurrency,
    )
    return ModelClient(served, price=costs.usd, observer=observer, **more)


def _missing(settings: Settings, kind: Perturbation) -> str | None:
    """Return the service that a perturbation needs and that the settings lack; None if it can run.

    What a rewriter writes needs a judge, too, that checks its meaning.
    """
    if "rewriter" in kind.requires and settings.replays.rewriter is None:
        return "rewriter"
    has_judge = settings.judge is not None and not settings.judge.local
    return "judge" if kind.requires and not has_judge else None


def chosen(settings: Settings) -> dict[str, tuple[Perturbation, ...]]:
    """Return the perturbations that each route asks for, without the baseline, even those that cannot run."""
    perturbations_known = choices.perturbations(settings)
    kinds = {}
    for route in settings.routes:
        named = by_name(route.trials.perturbations, perturbations_known)
        kinds[route.name] = tuple(kind for kind in named if kind.name != BASELINE)
    return kinds


def unavailable(settings: Settings) -> dict[str, dict[str, str]]:
    """Return, by route, the perturbations that cannot run, each with a reason such as "no_rewriter"."""
    reasons: dict[str, dict[str, str]] = {}
    for route, kinds in chosen(settings).items():
        reasons[route] = {}
        for kind in kinds:
            service = _missing(settings, kind)
            if service and not kind.rewording.category.must_move:
                reasons[route][kind.name] = f"no_{service}"
    return reasons


def route_plans(settings: Settings) -> dict[str, RoutePlan]:
    """Return the plan of each route."""
    named = chosen(settings)
    plans = {}
    for route in settings.routes:
        usable = []
        for kind in named[route.name]:
            if not _missing(settings, kind):
                usable.append(kind)
        plans[route.name] = RoutePlan(
            perturbations=tuple(kind for kind in usable if not kind.rewording.category.must_move),
            # Answers must change under these: they show that a measure can see a change at all.
            contrasts=tuple(kind for kind in usable if kind.rewording.category.must_move),
            trials_per_exchange=route.trials.per_exchange,
            settled_rate=_SETTLED_RATE if route.trials.plan == "adaptive" else None,
            task=route.task,
            inputs=frozenset(route.trials.inputs),
        )
    return plans


def reader(settings: Settings, learner: TemplateLearner) -> Reader:
    """Return a reader of exchanges that knows the routes' templates."""
    stated = {}
    for route in settings.routes:
        if route.template:
            stated[route.name] = StatedTemplate.of(route.template)
    return Reader(route_plans(settings), learner, stated)


# Parameters of a query that decide which API answers; everything else may be a key.
_QUERY: Final = re.compile(r"(?:api-version|beta)=[\w.-]*|alt=sse", re.ASCII)


def without_further_query(path: str) -> str:
    """Return a request target with only those parameters that select the version of the API or a stream.

    The rest could search the web, choose another model or name a person, as members of a body could.
    """
    path, _, query = path.partition("?")
    kept = []
    for part in re.split("[&;]", query):
        if _QUERY.fullmatch(part):
            kept.append(part)
    return f"{path}?{'&'.join(kept)}" if kept else path


def replay_target(settings: Settings) -> Callable[[Exchange], Target]:
    """Return the target of replays: the upstream call of the data plane, with a key for that upstream."""
    table = route_table(settings.routes, injecting=False)
    headers = _replay_headers(settings)
    flexible = {route.name for route in settings.routes if route.replay_tier == "flex"}

    def target(exchange: Exchange) -> Target:
        route = table.named(exchange.route)
        assert route is not None
        # The upstream that answered, so that a trial compares prompts and not deployments.
        index = exchange.upstream if exchange.upstream < len(route.upstreams) else 0
        upstream = route.upstreams[index]
        path = route.target(without_further_query(exchange.path).encode("latin-1"), upstream).decode(
            "latin-1"
        )
        return Target(
            f"{upstream.origin}{path}",
            (*api_headers(exchange), *headers[exchange.route][index]),
            upstream.unix_path,
            exchange.route,
            # The settings do not say which tiers a fallback has.
            flex=index == 0 and exchange.route in flexible,
        )

    return target


def _replay_headers(settings: Settings) -> dict[str, tuple[Headers, ...]]:
    """Return the headers of replays by route, in the order of the route's upstreams."""
    headers = {}
    for route, keys in settings.keys.items():
        headers[route] = tuple(key.replay_headers() for key in keys)
    return headers


def reference_target(settings: Settings) -> Callable[[Reference], Target]:
    """Return the target of reference prompts: the upstream that answered first, with its key of replays."""
    table = route_table(settings.routes, injecting=False)
    headers = _replay_headers(settings)

    def target(reference: Reference) -> Target:
        route = table.named(reference.route)
        assert route is not None
        index = reference.upstream if reference.upstream < len(route.upstreams) else 0
        upstream = route.upstreams[index]
        carried = (*headers_of(api_of(reference.path), reference.headers), *headers[reference.route][index])
        return Target(
            upstream.url(without_further_query(reference.path)), carried, upstream.unix_path, reference.route
        )

    return target

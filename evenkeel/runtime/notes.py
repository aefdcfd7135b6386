"""Notes about the judge, the prices and the replays of the settings.

Apart from the checks of `preflight`: these need what replays, which a supervisor never loads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import NO_JUDGE, judged_by
from evenkeel.proxy.routing import Upstream
from evenkeel.runtime.replays import budgeted_prices
from evenkeel.settings.types import without_credentials

_MILLION: Final = 1_000_000

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.settings import Settings
    from evenkeel.settings.routes import Route


def judge_line(settings: Settings) -> str:
    """Return who judges, with which key and at what price, or what cannot be seen without a judge."""
    judge = settings.judge
    if judge is None:
        named = "--judge MODEL asks a model at the upstream"
        return f"{NO_JUDGE} ({named})" if "judge" not in settings.model_fields_set else NO_JUDGE
    if judge.local:
        return f"{judged_by(judge.local)} on this machine, for prose only; it costs no tokens"
    costs = budgeted_prices(settings)
    price = "its price is not known"
    if costs.knows(judge.model):
        in_usd, out_usd = (costs.usd(judge.model, *tokens) for tokens in ((_MILLION, 0), (0, _MILLION)))
        price = f"${in_usd:.2f} per million tokens in, ${out_usd:.2f} out"
    upstream = Upstream.parse(without_credentials(judge.base_url))
    key = f"the key in {judge.api_key_env}"
    return (
        f"{judged_by(judge.model)} at {upstream} with {key}, within the budget ({price}); "
        "`judge: null` or --no-judge for none"
    )


def notes(settings: Settings) -> list[str]:
    """Return notes about replays and their cost, one line each; none of them is an error."""
    return [*_unpriced(settings), *_left_undone(settings)]


def _unpriced(settings: Settings) -> list[str]:
    """Name the models without a known price, which are charged at an assumed price or not replayed."""
    price_list = budgeted_prices(settings)
    if price_list.assumed is None:
        return []
    rewriter = settings.replays.rewriter
    models = {
        "judge": settings.judge.model if settings.judge else None,
        "replays.rewriter": rewriter.model if rewriter else None,
    }
    lines = []
    for part, model in models.items():
        if model and not price_list.knows(model):
            lines.append(
                f"{part}: {model} has no known price, so it {price_list.assumed.said} against the budget. "
                "Set its price, or 0 if it is free, under `budget.prices`"
            )
    if price_list.required and not price_list.knows():
        lines.append(
            "budget: usd_per_day is set, so models without a known price are not replayed. Set their prices "
            'under `budget.prices`, or one for all of them as "*"'
        )
    return lines


def _left_undone(settings: Settings) -> Iterator[str]:
    """Yield a note on each valid setting that leaves something unmeasured."""
    budget = settings.budget
    if settings.replays.rewriter and (settings.judge is None or settings.judge.local):
        yield "replays.rewriter: no judge checks its texts, so nothing is rewritten; name one with --judge"
    if 0 in {budget.usd_per_day, budget.tokens_per_day}:
        yield "budget: a limit is 0, so nothing is replayed, and no judge is asked; use null for no limit"
    routes_by_note: dict[str, list[str]] = {}
    for route in settings.routes:
        for note in _of_route(route):
            routes_by_note.setdefault(note, []).append(route.name)
    for note, routes in routes_by_note.items():
        yield f"routes.{', '.join(routes)}: {note}"


def _of_route(route: Route) -> Iterator[str]:
    if not route.sampling_rate:
        yield "sampling_rate is 0, so requests are forwarded and none is replayed"
    elif not (route.trials.perturbations and route.trials.per_exchange):
        why = "trials.per_exchange is 0" if route.trials.perturbations else "trials.perturbations is empty"
        yield f"{why}, so no rewording is tried, and answers that became fragile are not noticed"

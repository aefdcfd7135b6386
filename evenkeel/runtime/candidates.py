"""Lines of `check-config` about candidates: what challengers cost, and which models of the settings retire.

Apart from their wiring, since workers load no release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.figures import percent, usd
from evenkeel.release.challenge.retirements import retirement_of
from evenkeel.runtime import replays
from evenkeel.runtime.references import USUAL_TOKENS
from evenkeel.runtime.stores import CHALLENGER_SHARE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.settings import Settings

# Requests of a route for which the cost of its challenger is stated.
_REQUESTS: Final = 10_000
# Answers of the candidate: one, and two more for every third pair.
_ANSWERS_OF_A_PAIR: Final = 5 / 3


def cost_lines(settings: Settings) -> Iterator[str]:
    """Yield what the challengers of the settings cost, and the most they may cost a day."""
    prices, budget = replays.budgeted_prices(settings), settings.budget
    tokens_in, tokens_out = USUAL_TOKENS
    for route in settings.routes:
        named = route.challenger
        if named is None:
            continue
        # No more than the sampled requests can be asked.
        share = min(named.share, route.sampling_rate)
        cost = "its price is not known"
        if named.model and prices.knows(named.model):
            answers = _REQUESTS * share * _ANSWERS_OF_A_PAIR
            answers_usd = answers * prices.usd(named.model, tokens_in, tokens_out)
            cost = (
                f"its answers cost about {usd(answers_usd)} for {_REQUESTS:,} requests of "
                f"{tokens_in:,} tokens in and {tokens_out:,} out"
            )
        most = []
        if budget.usd_per_day is not None:
            most.append(usd(budget.usd_per_day * CHALLENGER_SHARE))
        if budget.tokens_per_day is not None:
            most.append(f"{round(budget.tokens_per_day * CHALLENGER_SHARE):,} tokens")
        limit = f"all challengers together at most {' and '.join(most)} a day" if most else "no limit is set"
        who = named.model or "the same model"
        yield (
            f"challenger of {route.name}: {who} is asked {percent(share, 1)} of the requests; {cost}, and "
            f"judging comes on top; {limit}"
        )


def retirement_notes(settings: Settings, now: float) -> Iterator[str]:
    """Yield a note for each model of the settings whose provider has announced that it retires.

    Args:
        settings: Name the judge, the rewriter and the challengers.
        now: Unix time in seconds.
    """
    rewriter = settings.replays.rewriter
    named = {
        "judge": settings.judge.model if settings.judge else None,
        "replays.rewriter": rewriter.model if rewriter else None,
    }
    for route in settings.routes:
        if route.challenger is not None:
            named[f"routes.{route.name}.challenger"] = route.challenger.model
    for part, model in named.items():
        retirement = retirement_of(model, now) if model else None
        if retirement is not None:
            yield f"{part}: {retirement} ({retirement.source})"

"""Which archived exchanges can still be approved, and a few that stand for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evenkeel.experiments.goldens.asked import asked
from evenkeel.experiments.goldens.from_exchange import golden_of
from evenkeel.experiments.goldens.spread import spread
from evenkeel.stores.goldens import GoldenError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.archive import ArchivedExchange
    from evenkeel.stores.goldens import Golden


class Candidate(NamedTuple):
    """An archived exchange, and the golden it would become."""

    exchange: ArchivedExchange
    golden: Golden

    @property
    def prompt(self) -> str:
        """What was asked."""
        return asked(self.golden.request)


def candidates(
    stores: Stores, *, route: str | None = None, task: str | None = None, model: str | None = None
) -> list[Candidate]:
    """Archived exchanges that can be approved and have not been, the newest first.

    Args:
        stores: of the proxy.
        route: only of this one.
        task: only of this one.
        model: only answers of this one, as the endpoint returned its name.

    One whose answer is empty is none, and neither is one that asks and answers the same as any version of a
    golden, retired ones included, or as a newer exchange.
    """
    archived = stores.archive.latest(route=route)
    known = stores.goldens.known_ids(exchange.id for exchange in archived)
    seen = {
        _said(version)
        for golden in stores.goldens.select(active=False)
        for version in (stores.goldens.history(golden.id) if golden.version > 1 else (golden,))
    }
    found: list[Candidate] = []
    for exchange in archived:
        answer = exchange.answer
        if (
            exchange.id in known
            or not (answer.text or answer.tool_calls)
            or task not in (None, exchange.task)
        ):
            continue
        try:
            golden = golden_of(exchange)
        except GoldenError:
            continue
        if model in (None, golden.model) and _said(golden) not in seen:
            seen.add(_said(golden))
            found.append(Candidate(exchange, golden))
    return found


def chosen(found: Sequence[Candidate], count: int, rng: Random, *, spread_out: bool) -> list[Candidate]:
    """Up to `count` of the candidates: at random, or as different in their prompts as they can be."""
    if not spread_out:
        return rng.sample(found, min(count, len(found)))
    return [found[place] for place in spread([one.prompt for one in found], count, rng)]


def _said(golden: Golden) -> tuple[object, ...]:
    return golden.path, golden.request, golden.answer.text, golden.answer.tool_calls

"""Which archived exchanges can be approved, a choice that stands for all of them, and their goldens."""

from __future__ import annotations

import json
import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.release.goldens.files import request_text
from evenkeel.release.goldens.prompts import prompt_text
from evenkeel.stores.goldens import Golden, GoldenError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from evenkeel.stores.archive import ArchivedExchange, ExchangeArchive
    from evenkeel.stores.goldens import GoldenStore


def golden_of(exchange: ArchivedExchange, *, name: str = "", note: str = "") -> Golden:
    """The golden that an exchange becomes when it is approved; the store adds version, name and time.

    Args:
        exchange: as the archive has it.
        name: id of the golden; "" takes the exchange's own.
        note: what the person who approves it says.

    Raises: GoldenError if its request cannot be repeated.
    """
    try:
        body = json.loads(exchange.request)
    except (ValueError, RecursionError) as error:
        raise GoldenError(
            f"the request of exchange {exchange.id} cannot be read again; approve another one"
        ) from error
    try:
        request = request_text(body)
    except GoldenError as error:
        raise GoldenError(
            f"the request of exchange {exchange.id} {error}; approve another exchange"
        ) from error
    return Golden(
        id=name.strip() or exchange.id,
        route=exchange.route,
        path=exchange.path,
        request=request,
        headers=exchange.headers,
        answer=exchange.answer,
        task=exchange.task,
        model=exchange.model,
        prompt_version=exchange.prompt_version,
        note=note.strip(),
    )


_UNIT = 1_000_000
NEAR = 0.2
"""Prompts closer than this to one that is chosen already add nothing."""
_UNSPACED = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
"""Scripts that put no spaces between words count each character as one."""


def spread(texts: Sequence[str], count: int, rng: Random) -> list[int]:
    """Places of up to `count` texts, chosen greedily: each the farthest from those chosen before.

    Distance is 1 − the weighted Jaccard index of the pairs of neighbouring words, each weighed by the
    logarithm of how rare it is among the texts: a template that all of them share tells nothing. The first
    is drawn; of equally far ones the first in order is taken. Near-duplicates are left out, so that fewer
    may come back.

    Source: Gonzalez 1985 (farthest-first traversal), Broder 1997 (shingles), Spärck Jones 1972 (weights).
    """
    if not texts or count < 1:
        return []
    sets = [_pairs(text) for text in texts]
    holders: dict[str, list[int]] = {}
    for place, pairs in enumerate(sets):
        for pair in pairs:
            holders.setdefault(pair, []).append(place)
    # Whole numbers, so that the order of a set, which differs from run to run, is nothing to a sum.
    weights = {pair: round(_UNIT * math.log(len(sets) / len(held))) for pair, held in holders.items()}
    sizes = [sum(weights[pair] for pair in pairs) for pairs in sets]

    def distances(place: int) -> list[float]:
        shared = [0] * len(sets)
        for pair in sets[place]:
            if weight := weights[pair]:
                for other in holders[pair]:
                    shared[other] += weight
        either = (sizes[place] + size - both for size, both in zip(sizes, shared, strict=True))
        return [1 - both / all_ if all_ else 0.0 for both, all_ in zip(shared, either, strict=True)]

    chosen = [rng.randrange(len(texts))]
    nearest = distances(chosen[0])
    while len(chosen) < count:
        place = max(range(len(texts)), key=lambda index: (nearest[index], -index))
        if nearest[place] < NEAR:
            break
        chosen.append(place)
        nearest = [min(known, new) for known, new in zip(nearest, distances(place), strict=True)]
    return chosen


def _pairs(text: str) -> frozenset[str]:
    words = _WORD.findall(text.casefold())
    return frozenset(words[:1]) | {f"{first} {second}" for first, second in pairwise(words)}


class Candidate(NamedTuple):
    """An archived exchange, and the golden it would become."""

    exchange: ArchivedExchange
    golden: Golden

    @property
    def prompt(self) -> str:
        """The prompt as text."""
        return prompt_text(self.golden.request)


def candidates(
    archive: ExchangeArchive,
    goldens: GoldenStore,
    *,
    route: str | None = None,
    task: str | None = None,
    model: str | None = None,
) -> list[Candidate]:
    """Archived exchanges that can be approved and have not been, the newest first.

    Args:
        archive: the newest exchanges that were sampled.
        goldens: those there are.
        route: only of this one.
        task: only of this one.
        model: only answers of this one, as the endpoint returned its name.

    One whose answer is empty is none, and neither is one that asks and answers the same as any version of a
    golden, retired ones included, or as a newer exchange.
    """
    archived = archive.latest(route=route)
    known = goldens.known_ids(exchange.id for exchange in archived)
    seen = {
        _said(version)
        for golden in goldens.select(active=False)
        for version in (goldens.history(golden.id) if golden.version > 1 else (golden,))
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
    return [found[place] for place in spread([candidate.prompt for candidate in found], count, rng)]


def _said(golden: Golden) -> tuple[object, ...]:
    return golden.path, golden.request, golden.answer.text, golden.answer.tool_calls

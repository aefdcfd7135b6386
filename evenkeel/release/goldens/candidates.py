"""Archived exchanges that can be approved, a choice that stands for all of them, and their goldens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.release.gate.clusters import nearly_equal, word_set
from evenkeel.release.goldens.files import request_text
from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, api_of_request
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


def golden_from(exchange: ArchivedExchange, goldens: GoldenStore) -> Golden | None:
    """Return the golden in use that an exchange was approved as, under whatever name; None if it was not."""
    own = goldens.find(exchange.id)
    if own is not None:
        return own
    try:
        candidate = golden_of(exchange)
    except GoldenError:
        return None
    for golden in goldens.select(route=exchange.route):
        if _said(golden) == _said(candidate):
            return golden
    return None


def spread(texts: Sequence[str], count: int, rng: Random) -> list[int]:
    """Return the places of up to `count` texts in a random order, none of them nearly equal to another.

    Texts that share half of their words are one cluster to the gate, and count once there.
    """
    chosen: dict[int, frozenset[str]] = {}
    for index in rng.sample(range(len(texts)), len(texts)):
        words = word_set(texts[index])
        if len(chosen) < count and not any(nearly_equal(words, other) for other in chosen.values()):
            chosen[index] = words
    return list(chosen)


class GoldenCandidate(NamedTuple):
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
) -> list[GoldenCandidate]:
    """Return archived exchanges that can be approved and have not been, the newest first.

    One whose answer is empty is none, and neither is one that asks and answers the same as any version of a
    golden, retired ones included, or as a newer exchange.
    """
    archived = archive.latest(route=route)
    ids, seen = set(), set()
    for golden in goldens.select(active=False):
        ids.add(golden.id)
        # Most goldens have one version; reading the history of each would cost a query a golden.
        versions = goldens.history(golden.id) if golden.version > 1 else (golden,)
        for version in versions:
            seen.add(_said(version))
    candidates_found: list[GoldenCandidate] = []
    for exchange in archived:
        answer = exchange.answer
        # An answer that says nothing is nothing to compare later answers with.
        if exchange.id in ids or not (answer.text or answer.tool_calls) or task not in (None, exchange.task):
            continue
        try:
            golden = golden_of(exchange)
        except GoldenError:
            continue
        if model in (None, golden.model) and _said(golden) not in seen:
            seen.add(_said(golden))
            candidates_found.append(GoldenCandidate(exchange, golden))
    return candidates_found


def chosen(
    choices: Sequence[GoldenCandidate], count: int, rng: Random, *, spread_out: bool
) -> list[GoldenCandidate]:
    """Up to `count` of the candidates: at random, or of prompts that are not nearly equal."""
    if not spread_out:
        return rng.sample(choices, min(count, len(choices)))
    prompts = [candidate.prompt for candidate in choices]
    return [choices[index] for index in spread(prompts, count, rng)]


def _said(golden: Golden) -> tuple[object, ...]:
    return golden.path, golden.request, golden.answer.text, golden.answer.tool_calls


def prompt_text(request: str | None) -> str:
    """The prompt in the body of a request: "role: text" blocks, a blank line between them.

    What is not text is noted in brackets, such as "[image_url]". A body without a recognisable
    conversation is shown as its JSON; "" without a body.
    """
    if request is None:
        return ""
    try:
        body = json.loads(request)
    except (ValueError, RecursionError):
        return request
    api = api_of_request(body) if isinstance(body, dict) else None
    if api is None:
        return json.dumps(body, ensure_ascii=False, indent=2) if isinstance(body, dict) else request
    try:
        return PromptView.parse(request.encode("utf-8", "surrogatepass"), api=api).text
    except UnreadablePrompt:
        return json.dumps(body, ensure_ascii=False, indent=2)

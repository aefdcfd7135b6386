"""Choice of the sampled requests that become reference prompts: few, diverse, recent.

Sketches tell how alike two prompts are: a few hashes of their words, of which they share as many as they
share words.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from evenkeel.core.text import named
from evenkeel.llm.encodings import UnreadableBody, decode_body
from evenkeel.shadow.original import api_headers, api_path
from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, refusal
from evenkeel.shadow.prompt.apis.embeddings import EMBEDDINGS
from evenkeel.stores.references import (
    LARGEST_CHARS,
    MOST_ANSWERS,
    VECTORS,
    KeptAnswer,
    Reference,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from evenkeel.core.exchange import Exchange
    from evenkeel.core.pair import Answer
    from evenkeel.core.verdict import Verdict
    from evenkeel.shadow.original import Original
    from evenkeel.stores.counters import Tally
    from evenkeel.stores.references import ReferenceState, ReferenceStore


log = logging.getLogger("evenkeel.worker")

A_SET: Final = 24
"""References of one requested model, of whichever prompt versions: questions of a route."""
# Questions kept for each route. Ready ones are asked in turn, so more of them are asked more rarely.
A_ROUTE: Final = 72
# Share of common words from which on prompts are so alike that both together say no more than one.
_LIKE: Final = 0.75
# References of a set that may be that alike, if the traffic has no others.
_LIKE_ONES: Final = 8
# Seconds after a reference was last asked, or kept, from which on another prompt may replace it.
_IDLE_S: Final = 86_400.0
# Seconds between two replacements of ripe references.
_TURNOVER_S: Final = 4 * 3_600.0
_READ_EVERY_S: Final = 30.0
# References of one embeddings model on a route.
_EMBEDDINGS: Final = 6
# Bytes of the longest request for embeddings that is kept.
_LONGEST_EMBEDDED: Final = 20_000
_WORD: Final = re.compile(r"\w+")
# 48 bits, which every store and JSON reader keeps exactly.
_HASH_BYTES: Final = 6
# Enough to tell questions apart, and small enough to be kept for each of them.
_HASHES: Final = 64
# Characters read of the beginning and of the end of what is sketched.
_SKETCHED: Final = 8_000


class ReferenceKeeper:
    """Keeps references from the exchanges that one worker reads. Thread-safe; calls block on storage."""

    def __init__(
        self,
        store: ReferenceStore,
        prefixes: Mapping[str, str],
        *,
        tally: Tally,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Wire it.

        Each route has the prefix of its paths in `prefixes`. The clock gives Unix time in seconds.
        """
        self._store = store
        self._prefixes = prefixes
        self._tally = tally
        self._clock = clock
        self._lock = threading.Lock()
        self._states: list[ReferenceState] = []
        self._read_at = -_READ_EVERY_S
        # Sketches of the kept references by id.
        self._sketches: dict[str, tuple[int, ...]] = {}

    def keep(self, original: Original, control: Verdict, resend: Answer | None) -> None:
        """Keep an exchange if it says something new. A store in trouble is logged and counted.

        `control` is the verdict of its identical resend, `resend` the answer of that, None if there is none.
        """
        with self._guarded(original.exchange):
            self._consider(original, control.scored_at, resend)

    def keep_embeddings(self, exchange: Exchange) -> None:
        """Keep a request for the embedding of one text, without its answer: that is asked for anew.

        An answer of the traffic may have been redacted, which spoils a vector.
        """
        with self._guarded(exchange), contextlib.suppress(UnreadablePrompt, UnreadableBody):
            self._consider_embeddings(exchange)

    @contextlib.contextmanager
    def _guarded(self, exchange: Exchange) -> Iterator[None]:
        """Hold the lock in the block, and log and count its faults."""
        try:
            with self._lock:
                yield
        except Exception:  # the boundary of the keeper: scoring does not wait for it
            about = {"route": exchange.route, "exchange": exchange.id}
            log.exception("exchange %s cannot be kept as a reference", exchange.id, extra=about)
            self._tally.add("worker_errors", where="references")

    def _consider_embeddings(self, exchange: Exchange) -> None:
        self._refresh()
        body = decode_body(dict(exchange.request_headers), exchange.request_body)
        view = PromptView.parse(body, api=EMBEDDINGS)
        requested = named(view.model or "")
        _, own = self._of_route(exchange.route, requested)
        sketch = sketch_of(view)
        if (
            len(own) >= _EMBEDDINGS
            or self._likeness(sketch, own) >= _LIKE
            or len(body) > _LONGEST_EMBEDDED
            or refusal(view) is not None
        ):
            return
        reference = self._reference(exchange, requested, view.for_replay().decode(), sketch)
        self._add(replace(reference, prompt_version=VECTORS))

    def _reference(
        self, exchange: Exchange, requested: str, request: str, sketch: tuple[int, ...]
    ) -> Reference:
        """Return a reference without answers."""
        return Reference(
            id=exchange.id,
            route=exchange.route,
            requested_model=requested,
            prompt_version="",
            path=api_path(exchange, self._prefixes),
            request=request,
            headers=api_headers(exchange),
            sketch=sketch,
            taken_at=exchange.received_at,
            answers=(),
            upstream=exchange.upstream,
        )

    def _add(self, reference: Reference, instead_of: str | None = None) -> None:
        if self._store.add(reference, instead_of):
            self._read_at = -_READ_EVERY_S
            self._tally.add("references_kept", route=reference.route)

    def _refresh(self) -> None:
        """Read the states of all references, unless that was done a moment ago."""
        now = self._clock()
        if now - self._read_at >= _READ_EVERY_S:
            self._states, self._read_at = self._store.states(), now
            there = {state.id for state in self._states}
            for reference_id in self._sketches.keys() - there:
                del self._sketches[reference_id]

    def _consider(self, original: Original, resent_at: float, answer: Answer | None) -> None:
        self._refresh()
        exchange, requested = original.exchange, named(original.view.model or "")
        request = original.view.body().decode()
        if len(request) + MOST_ANSWERS * len(original.answer.text) > LARGEST_CHARS:
            return
        of_route, own = self._of_route(exchange.route, requested)
        if any(state.id == exchange.id for state in own):
            return
        full = own if len(own) >= A_SET else of_route if len(of_route) >= A_ROUTE else []
        leaving = _leaving(full, self._clock())
        # Looked at first, since usually there is no place.
        if full and leaving is None:
            return
        sketch = sketch_of(original.view)
        likeness = self._likeness(sketch, own)
        if likeness == 1 or (likeness >= _LIKE and len(own) >= _LIKE_ONES):
            return
        if answer is None or (answer.model or "") != (original.answer.model or ""):
            return
        first = KeptAnswer(original.answer, exchange.received_at, original.model, "original")
        again = KeptAnswer(answer, resent_at, named(answer.model or requested or "unknown"), "resend")
        reference = replace(
            self._reference(exchange, requested, request, sketch),
            prompt_version=original.origin.prompt_version or "",
            task=original.origin.task,
            answers=(first, again),
        )
        self._add(reference, leaving)

    def _of_route(self, route: str, requested: str) -> tuple[list[ReferenceState], list[ReferenceState]]:
        """Return the references of a route, and those among them of a requested model."""
        of_route: list[ReferenceState] = []
        own: list[ReferenceState] = []
        for state in self._states:
            if state.route == route:
                of_route.append(state)
                if state.requested_model == requested:
                    own.append(state)
        return of_route, own

    def _likeness(self, sketch: Sequence[int], others: Iterable[ReferenceState]) -> float:
        """Return how like a prompt is to the most similar one of some references, 0 without any."""
        highest = 0.0
        for state in others:
            if state.id not in self._sketches:
                reference = self._store.find(state.id)
                self._sketches[state.id] = reference.sketch if reference else ()
            highest = max(highest, alike(sketch, self._sketches[state.id]))
        return highest


def _leaving(states: Sequence[ReferenceState], now: float) -> str | None:
    """Return the reference that another prompt may replace now: an idle one, else a ripe one; None if none.

    A ripe one leaves only if none of them is new, so that the answers that new ones are compared with are not
    all given up at once.
    """
    settled = all(state.taken_at <= now - _TURNOVER_S for state in states)
    leaving: list[tuple[bool, float, str]] = []
    for state in states:
        is_idle = max(state.asked_at, state.taken_at) < now - _IDLE_S
        if is_idle or (state.ripe and settled):
            leaving.append((not is_idle, state.taken_at, state.id))
    return min(leaving)[-1] if leaving else None


def sketch_of(view: PromptView) -> tuple[int, ...]:
    """Return a hash of a prompt's text, and the smallest hashes of its words and pairs of words.

    Words are those of users and documents; those of the application's template count only where there are no
    others. Source: Broder 1997, for the smallest hashes.
    """
    texts = []
    for segment in view.segments:
        if segment.kind == "input":
            texts.append(segment.text)
    text = "\n".join(texts) or view.text
    if len(text) > 2 * _SKETCHED:
        text = f"{text[:_SKETCHED]}\n{text[-_SKETCHED:]}"
    words = _WORD.findall(text.casefold())
    grams = {*words, *map(" ".join, pairwise(words))}
    return _hash(view.text), *sorted(map(_hash, grams))[:_HASHES]


def alike(first: Sequence[int], other: Sequence[int]) -> float:
    """Return about what share of their words and pairs of words two prompts have in common, in [0, 1].

    It is 1 for equal prompts only.
    """
    if first[:1] == other[:1]:
        return 1.0
    smallest = sorted({*first[1:], *other[1:]})[:_HASHES]
    shared = set(first[1:]).intersection(other[1:], smallest)
    # Two prompts without a word are no more alike than any others.
    return min(len(shared) / max(1, len(smallest)), 0.99)


def _hash(text: str) -> int:
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
    return int.from_bytes(digest, "big")

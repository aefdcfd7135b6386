"""Closeness in meaning as an awaitable: by an encoder of this machine, or by an endpoint's."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple, Protocol

from evenkeel.core.budget import NOTHING, SCORING_BUDGET
from evenkeel.core.verdict import Failure
from evenkeel.llm.faults import Fault
from evenkeel.metrics.languages import ANY_LANGUAGE, Coverage
from evenkeel.metrics.protocol import About
from evenkeel.metrics.similarity.vectors import Vector, VectorCache, cosine, pieces, pool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.core.budget import Spend
    from evenkeel.core.pair import Pair
    from evenkeel.llm.client import Endpoint
    from evenkeel.metrics.similarity.embeddings import Embeddings


@dataclass(frozen=True, slots=True)
class MeaningScore:
    """Score that may have cost something."""

    outcome: float | Failure
    """Ratio in [0, 1], or the reason why there is none."""
    tokens: int = 0
    """Tokens spent, also on a measurement that failed."""
    cost_usd: float = 0.0


class Meaning(Protocol):
    """Measure of how close two answers are in meaning. Belongs to one event loop."""

    @property
    def encoder(self) -> str:
        """Name of the model whose vectors are compared; scores of two encoders are on two scales."""
        ...

    def on_scale(self, pair: Pair) -> bool:
        """Return whether cut-offs apply to the score of this pair."""
        ...

    def expense(self, texts_chars: int) -> Spend:
        """Return an upper estimate of the cost of measuring answers of so many characters together."""
        ...

    async def measure_all(self, pairs: Sequence[Pair]) -> list[MeaningScore]:
        """Return the scores of pairs in order; a `Failure` for whatever a model or a network can do."""
        ...


def endpoint_encoder(model: str) -> str:
    """Return the encoder name of a model behind an endpoint."""
    return f"{model} (endpoint)"


class EncoderMeaning:
    """Local encoder, off the loop, all pairs in one batch."""

    def __init__(self, embeddings: Embeddings) -> None:
        self._embeddings = embeddings

    @property
    def encoder(self) -> str:
        """Name of the encoder."""
        return self._embeddings.encoder

    def on_scale(self, pair: Pair) -> bool:
        """Return whether cut-offs apply: not to texts in a language the encoder does not know."""
        return self._embeddings.on_scale(pair)

    def expense(self, texts_chars: int) -> Spend:  # noqa: ARG002 - what a paid encoder has as well
        """Return the cost of a measurement: nothing."""
        return NOTHING

    async def measure_all(self, pairs: Sequence[Pair]) -> list[MeaningScore]:
        """Return the result of `Embeddings.score` for each pair."""
        return [MeaningScore(score) for score in await asyncio.to_thread(self._embeddings.score_all, pairs)]


# Words of a piece: many encoders read 512 tokens, and cut off or refuse what is longer.
_PIECE_WORDS = 300
# Characters per word assumed for a piece of a text that is not divided into words.
_CHARACTERS_PER_WORD = 6
# Characters of a request.
#
# Endpoints also limit the tokens of all texts of a request together, to some 300,000.
_REQUEST_CHARACTERS = 200_000


# Faults of a request that one of its texts may cause.
_OF_ONE_TEXT = frozenset({"bad_request", "rate_limited", "refused", "too_long"})


class EndpointEmbeddings:
    """Cosine of the two texts' embeddings, computed by a model behind an endpoint.

    Closing the endpoint is the caller's business.
    """

    name: ClassVar[str] = "endpoint_embeddings"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About("semantic", needs="client")

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        batch: int = 64,
        deadline_s: float = 120.0,
        piece_words: int = _PIECE_WORDS,
        cache: VectorCache | None = None,
        coverage: Coverage = ANY_LANGUAGE,
    ) -> None:
        """Compare by an endpoint; nothing is sent.

        Args:
            endpoint: Has the model.
            batch: Texts in a request at most.
            deadline_s: Limit for all requests of one call of `score`, `score_all` or `measure_all`, in
                seconds.
            piece_words: Longer texts are embedded in pieces of so many words, and six times as many
                characters at most.
            cache: Default: one of its own, for 2,048 texts.
            coverage: The languages the model knows.
        """
        self._endpoint = endpoint
        self._batch = batch
        self._deadline_s = deadline_s
        self._piece_words = piece_words
        self._cache = VectorCache() if cache is None else cache
        self._coverage = coverage

    @property
    def encoder(self) -> str:
        """Name of the endpoint's model, marked as such: its server may cut and pool in its own way."""
        return endpoint_encoder(self._endpoint.model)

    def on_scale(self, pair: Pair) -> bool:
        """Return whether cut-offs apply to the score: not in a language the model does not know."""
        return not self._coverage.unknown(pair)

    def expense(self, texts_chars: int) -> Spend:
        """Return an upper estimate of the cost of one pair, by the characters of both texts together."""
        return self._endpoint.spend(texts_chars)

    async def score(self, pair: Pair) -> float | Failure:
        """Cosine similarity of the two texts, negative values cut to 0.

        A text longer than 1,000 words or 6,000 characters (or as set) is embedded in pieces, whose
        vectors are averaged by length.

        Returns: ratio in [0, 1]; 1 = the same direction; what unrelated texts have depends on the
            model. A `Failure` "no_text" if a side has no text; "cross_language" if the answers are
            in different languages and the model does not know both; "timeout" (also of the deadline);
            or another reason of `Endpoint.embed`.
        """
        return (await self.score_all([pair]))[0]

    async def score_all(self, pairs: Sequence[Pair]) -> list[float | Failure]:
        """Return the result of `score` for each pair, in order, in as few requests as possible."""
        return [measured.outcome for measured in await self.measure_all(pairs)]

    async def measure_all(self, pairs: Sequence[Pair]) -> list[MeaningScore]:
        """Return the result of `score` and its cost for each pair, in order, in as few requests as possible.

        If a request fails, the pairs that needed a vector of it have the failure. A text costs the first
        pair that needs it; its share of a request's tokens is that of its length.
        """
        asked = [self._refuses(pair) or _texts(pair) for pair in pairs]
        payers: dict[str, int] = {}
        for place, texts in enumerate(asked):
            if not isinstance(texts, Failure) and texts.left != texts.right:
                payers.setdefault(texts.left, place)
                payers.setdefault(texts.right, place)
        vectors = await self._vectors(list(payers))
        tokens, usd = [0] * len(pairs), [0.0] * len(pairs)
        for text, place in payers.items():
            tokens[place] += vectors[text].tokens
            usd[place] += vectors[text].cost_usd
        outcomes = [
            texts if isinstance(texts, Failure) else self._compared(texts, vectors) for texts in asked
        ]
        return [MeaningScore(*each) for each in zip(outcomes, tokens, usd, strict=True)]

    def _compared(self, texts: _Texts, vectors: dict[str, _Paid]) -> float | Failure:
        if texts.left == texts.right:
            return 1.0
        left, right = vectors[texts.left].vector, vectors[texts.right].vector
        if isinstance(left, Fault):
            return self._failure(left.reason, left.detail)
        if isinstance(right, Fault):
            return self._failure(right.reason, right.detail)
        if len(left) != len(right):
            return self._failure("bad_schema", "Two vectors have different lengths.")
        return cosine(left, right)

    def _refuses(self, pair: Pair) -> Failure | None:
        if not pair.reference.text.strip() or not pair.candidate.text.strip():
            return self._failure("no_text", "A side has no text to embed.")
        gap = self._coverage.gap(pair)
        return self._failure("cross_language", gap) if gap else None

    async def _vectors(self, texts: Sequence[str]) -> dict[str, _Paid]:
        """Return the unit vectors of texts, from the cache or the endpoint."""
        kept = {text: self._cache.get(self.encoder, text) for text in texts}
        found = {text: _Paid(vector) for text, vector in kept.items() if vector is not None}
        parts = [
            _TextPart(text, piece)
            for text in texts
            if text not in found
            for piece in _pieces(text, self._piece_words)
        ]
        embedded: dict[str, list[tuple[str, _Paid]]] = {}
        late = Fault("timeout", f"Not all vectors came within {self._deadline_s:g} s.")
        paid_parts: list[_Paid] = []
        try:
            async with asyncio.timeout(self._deadline_s):
                for request in self._requests(parts):
                    paid_parts += await self._embed([part.piece for part in request])
        except TimeoutError:
            paid_parts += [_Paid(late)] * (len(parts) - len(paid_parts))
        for part, paid in zip(parts, paid_parts, strict=True):
            embedded.setdefault(part.text, []).append((part.piece, paid))
        for text, each in embedded.items():
            found[text] = _pooled(each)
            vector = found[text].vector
            if not isinstance(vector, Fault):
                self._cache.put(self.encoder, text, vector)
        return found

    def _requests(self, parts: Sequence[_TextPart]) -> Iterator[list[_TextPart]]:
        request: list[_TextPart] = []
        characters = 0
        for part in parts:
            characters += len(part.piece)
            if request and (len(request) == self._batch or characters > _REQUEST_CHARACTERS):
                yield request
                request, characters = [], len(part.piece)
            request.append(part)
        if request:
            yield request

    async def _embed(self, texts: Sequence[str]) -> list[_Paid]:
        reply = await self._endpoint.embed(texts, budget=SCORING_BUDGET.get())
        if isinstance(reply.vectors, Fault) and reply.vectors.reason in _OF_ONE_TEXT and len(texts) > 1:
            # One text that the endpoint refuses is no reason to refuse those of others with it.
            half = len(texts) // 2
            return await self._embed(texts[:half]) + await self._embed(texts[half:])
        vectors: Sequence[Vector | Fault] = (
            [reply.vectors] * len(texts) if isinstance(reply.vectors, Fault) else reply.vectors
        )
        whole = sum(map(len, texts))
        # Rounded as a running sum, so that the parts together are the whole.
        ends = [round(reply.tokens * end / whole) for end in accumulate(map(len, texts), initial=0)]
        return [
            _Paid(vector, end - start, reply.cost_usd * len(text) / whole)
            for vector, text, (start, end) in zip(vectors, texts, pairwise(ends), strict=True)
        ]

    def _failure(self, reason: str, detail: str) -> Failure:
        return Failure(self.name, self.version, reason, detail)


class _Texts(NamedTuple):
    """Texts to compare."""

    left: str
    right: str


class _TextPart(NamedTuple):
    """Piece of a text, and the text."""

    text: str
    piece: str


class _Paid(NamedTuple):
    """Vector, or the reason why there is none, and its cost."""

    vector: Vector | Fault
    tokens: int = 0
    cost_usd: float = 0.0


def _texts(pair: Pair) -> _Texts:
    return _Texts(pair.reference.text.strip(), pair.candidate.text.strip())


def _pieces(text: str, words: int) -> list[str]:
    """Return pieces of so many words, or of so many characters where nothing is divided into words."""
    characters = words * _CHARACTERS_PER_WORD
    return [
        piece[start : start + characters]
        for piece in pieces(text, words)
        for start in range(0, len(piece), characters)
    ]


def _pooled(parts: Sequence[tuple[str, _Paid]]) -> _Paid:
    """Return the vector of a text from those of its pieces, at the price of them all."""
    tokens, cost_usd = sum(paid.tokens for _, paid in parts), sum(paid.cost_usd for _, paid in parts)
    vectors: list[Vector] = []
    for _, paid in parts:
        if isinstance(paid.vector, Fault):
            return _Paid(paid.vector, tokens, cost_usd)
        vectors.append(paid.vector)
    if len({len(vector) for vector in vectors}) > 1:
        return _Paid(Fault("bad_schema", "The vectors of one text have different lengths."), tokens, cost_usd)
    return _Paid(pool([piece for piece, _ in parts], vectors), tokens, cost_usd)

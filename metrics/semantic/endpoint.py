"""Sentence embeddings by an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

import openai

from metrics.languages import ANY_LANGUAGE, Coverage
from metrics.semantic.vectors import Vector, VectorCache, cosine, pieces, pool
from metrics.verdict import Failure

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from metrics.pair import Pair

_PIECE_WORDS = 1000
"""Endpoints refuse more than some 8,000 tokens, which is less than four a word in any language with words."""
_PIECE_CHARACTERS = 6000
_DETAIL_CHARACTERS = 300
_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (openai.APITimeoutError, "timeout"),
    (TimeoutError, "timeout"),
    (openai.APIConnectionError, "connection"),
    (openai.AuthenticationError, "unauthorized"),
    (openai.PermissionDeniedError, "unauthorized"),
    (openai.RateLimitError, "rate_limited"),
    (openai.InternalServerError, "server_error"),
    (openai.APIStatusError, "bad_request"),
)
"""First match wins: a timeout is a connection error to the SDK, and everything is a status error."""


class EndpointEmbeddings:
    """Cosine of the two texts' embeddings, computed by a model somewhere else.

    The client is the caller's: its key, time limit and retries are settings of it, and so is closing.
    """

    name: ClassVar[str] = "endpoint_embeddings"
    version: ClassVar[int] = 1

    def __init__(
        self,
        client: openai.AsyncOpenAI,
        model: str,
        *,
        batch: int = 64,
        deadline_s: float = 120.0,
        cache: VectorCache | None = None,
        coverage: Coverage = ANY_LANGUAGE,
    ) -> None:
        """Compare by an endpoint; nothing is sent.

        Args:
            client: Of any OpenAI-compatible server that has `/embeddings`.
            model: Model name as the endpoint knows it.
            batch: Texts in a request at most.
            deadline_s: Limit for all requests of one call of `score` or `score_all`, in seconds.
            cache: Default: one of its own, for 2,048 texts.
            coverage: The languages the model knows.
        """
        self._client = client
        self._model = model
        self._batch = batch
        self._deadline_s = deadline_s
        self._cache = VectorCache() if cache is None else cache
        self._coverage = coverage

    async def score(self, pair: Pair) -> float | Failure:
        """Cosine similarity of the two texts, negative values cut to 0.

        A text longer than 1,000 words or 6,000 characters is embedded in pieces, whose vectors are
        averaged by length.

        Returns: ratio in [0, 1]; 1 = the same direction; what unrelated texts have depends on the
            model. A `Failure` "no_text" if a side has no text; "cross_language" if the answers are
            in different languages and the model does not know both; "timeout", "connection",
            "rate_limited", "unauthorized", "server_error", "bad_request" (after the client's
            retries); or "bad_schema" (a reply without usable vectors).
        """
        return (await self.score_all([pair]))[0]

    async def score_all(self, pairs: Sequence[Pair]) -> list[float | Failure]:
        """What `score` gives for each pair, in order, in as few requests as possible.

        If a request fails, every pair that needed a vector has the failure.
        """
        refused = [self._refuses(pair) for pair in pairs]
        texts = [(pair.reference.text.strip(), pair.candidate.text.strip()) for pair in pairs]
        needed = [
            text
            for both, failure in zip(texts, refused, strict=True)
            if failure is None and both[0] != both[1]
            for text in both
        ]
        vectors = await self._vectors(dict.fromkeys(needed))
        scores: list[float | Failure] = []
        for (left, right), failure in zip(texts, refused, strict=True):
            if failure is not None:
                scores.append(failure)
            elif left == right:
                scores.append(1.0)
            elif isinstance(vectors, Failure):
                scores.append(vectors)
            elif len(vectors[left]) != len(vectors[right]):
                scores.append(self._failure("bad_schema", "Two vectors have different lengths."))
            else:
                scores.append(cosine(vectors[left], vectors[right]))
        return scores

    def _refuses(self, pair: Pair) -> Failure | None:
        if not pair.reference.text.strip() or not pair.candidate.text.strip():
            return self._failure("no_text", "A side has no text to embed.")
        gap = self._coverage.gap(pair)
        return self._failure("cross_language", gap) if gap else None

    async def _vectors(self, texts: Iterable[str]) -> dict[str, Vector] | Failure:
        """Unit vectors of texts, from the cache or the endpoint."""
        found: dict[str, Vector] = {}
        missing: dict[str, list[str]] = {}
        for text in texts:
            kept = self._cache.get(self._model, text)
            if kept is None:
                missing[text] = _pieces(text)
            else:
                found[text] = kept
        parts = [part for each in missing.values() for part in each]
        try:
            async with asyncio.timeout(self._deadline_s):
                starts = range(0, len(parts), self._batch)
                embedded = [
                    vector
                    for start in starts
                    for vector in await self._embed(parts[start : start + self._batch])
                ]
        except Exception as error:  # noqa: BLE001 - named boundary: any endpoint, any SDK error
            return self._fault(error)
        every = iter(embedded)
        for text, each in missing.items():
            vectors = [next(every) for _ in each]
            if len({len(vector) for vector in vectors}) != 1:
                return self._failure("bad_schema", "The vectors of one text have different lengths.")
            try:
                found[text] = pool(each, vectors)
            except ValueError as error:
                return self._failure("bad_schema", str(error))
            self._cache.put(self._model, text, found[text])
        return found

    async def _embed(self, texts: list[str]) -> list[Vector]:
        reply: object = await self._client.embeddings.create(
            model=self._model, input=texts, encoding_format="float"
        )
        # The SDK builds its objects without checking them, so any field can be missing or odd.
        data = getattr(reply, "data", None)
        if not isinstance(data, list) or len(data) != len(texts):
            raise TypeError("the endpoint's reply has not one vector for each text")
        by_index: dict[object, object] = {
            getattr(item, "index", None): getattr(item, "embedding", None) for item in data
        }
        return [_checked(by_index.get(index)) for index in range(len(texts))]

    def _fault(self, error: Exception) -> Failure:
        reason = next((reason for kind, reason in _REASONS if isinstance(error, kind)), "bad_schema")
        if reason == "unauthorized":
            # Servers repeat parts of the key in this message.
            return self._failure(reason, "The endpoint rejected the key.")
        detail = " ".join(f"{type(error).__name__}: {error}".split())
        key = self._client.api_key
        if key:
            detail = detail.replace(key, "***")
        return self._failure(reason, detail[:_DETAIL_CHARACTERS])

    def _failure(self, reason: str, detail: str) -> Failure:
        return Failure(self.name, self.version, reason, detail)


def _pieces(text: str) -> list[str]:
    """Pieces of so many words, and of so many characters where nothing is divided into words."""
    return [
        piece[start : start + _PIECE_CHARACTERS]
        for piece in pieces(text, _PIECE_WORDS)
        for start in range(0, len(piece), _PIECE_CHARACTERS)
    ]


def _checked(vector: object) -> Vector:
    if isinstance(vector, list) and vector and all(isinstance(x, (int, float)) for x in vector):
        return vector
    raise TypeError("an embedding is not a list of numbers")

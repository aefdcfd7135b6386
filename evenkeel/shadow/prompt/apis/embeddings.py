"""OpenAI's embeddings of one text: read for reference prompts only, which notice another model behind a name.

A vector is kept as a text, so that all else about references need not know of vectors.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from evenkeel.llm.answer import AnswerReader, UnreadableAnswer, elements, error_body, fields
from evenkeel.shadow.prompt.apis.protocol import Api
from evenkeel.shadow.prompt.body import RawMessage, Slot, UnreadablePrompt, last, listed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkeel.shadow.prompt.spans import Member

_MARK: Final = "vector:"


def as_text(vector: NDArray[np.float32]) -> str:
    """Return a vector as a text, in half precision: its cosine to another changes by less than 1e-6."""
    return _MARK + base64.b64encode(vector.astype("<f2").tobytes()).decode()


def cosine(left: str, right: str) -> float | None:
    """Return the cosine of two vectors, 0 for a negative one; None if the texts are no vectors."""
    if not (left.startswith(_MARK) and right.startswith(_MARK)):
        return None
    first, second = _vector(left), _vector(right)
    lengths = float(np.linalg.norm(first) * np.linalg.norm(second))
    if len(first) != len(second) or not lengths:
        return 0.0
    return max(0.0, float(first @ second) / lengths)


def _vector(text: str) -> NDArray[np.float64]:
    return np.frombuffer(base64.b64decode(text.removeprefix(_MARK)), dtype="<f2").astype(np.float64)


class EmbeddingsReader(AnswerReader):
    """Reads the first vector of an answer, a list of numbers or base64."""

    @property
    def complete(self) -> bool:
        """Implement `AnswerReader`."""
        return bool(self.draft.text)

    def whole(self, body: dict[str, Any]) -> None:
        """Implement `AnswerReader`."""
        if body.get("error"):
            raise error_body(body["error"])
        vector = _numbers(fields((elements(body.get("data")) or [None])[0]).get("embedding"))
        if vector is None or not len(vector) or not np.isfinite(vector).all():
            raise UnreadableAnswer("no_output", "the response holds no vector")
        self.draft.note_origin(body)
        self.draft.note_usage(body.get("usage"), ("prompt_tokens",), "completion_tokens")
        self.draft.completion_tokens = 0
        self.draft.text.append(as_text(vector))

    def event(self, data: dict[str, Any]) -> None:
        """Ignore events: this API does not stream."""


def _numbers(value: Any) -> NDArray[np.float32] | None:
    if isinstance(value, list) and all(isinstance(number, int | float) for number in value):
        return np.array(value, dtype=np.float32)
    try:
        return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
    except (TypeError, ValueError, binascii.Error):
        return None


class EmbeddingsApi(Api):
    """Embeddings: `input`, one text."""

    name = "embeddings"
    path = "embeddings"
    prompt_members = ("input",)
    kept = frozenset({"model", "input", "encoding_format", "dimensions", "input_type", "truncate", "task"})
    answer_reader = EmbeddingsReader
    limits = ()
    adds_limit = False

    def messages(self, text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
        """Implement `Api`.

        Raises: UnreadablePrompt "unsupported_shape" for several texts and for tokens.
        """
        value = last(members, "input")
        texts = [value] if value and isinstance(value.decoded, str) else listed(text, members, "input")
        if len(texts) != 1 or not isinstance(texts[0].decoded, str):
            raise UnreadablePrompt("unsupported_shape", "'input' is not one text")
        return (RawMessage("user", (Slot.whole(texts[0]),)),)


EMBEDDINGS: Final = EmbeddingsApi()

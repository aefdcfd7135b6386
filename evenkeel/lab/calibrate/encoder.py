"""The encoder of a calibration: every text is encoded once, its vector kept by model and text."""

from __future__ import annotations

import contextlib
import importlib
import sqlite3
import threading
from typing import TYPE_CHECKING, Any, Self

from evenkeel.metrics.similarity.vectors import VectorCache, vector_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkeel.metrics.similarity.embeddings import Encoder


_IN_MEMORY = 10_000
"""Vectors; of 384 numbers each they take 30 MB."""
_AT_ONCE = 500
"""Parameters in a statement; SQLite takes 999 and more."""


class NotKeptError(LookupError):
    """Texts whose vectors are not kept, while they are only noted."""


class KeptEncoder:
    """Looks vectors up, and encodes those that are not there.

    `with encoder.noting()` collects what is missing instead, so that it can be encoded in one go by `fill`:
    encoders are many times faster in batches. Threads take turns.
    """

    def __init__(self, encoder: Encoder, model: str, path: Path | None = None) -> None:
        """Keep an encoder's vectors.

        Args:
            encoder: Turns texts into vectors.
            model: Names it among the vectors of other encoders in the same file.
            path: An SQLite file; None keeps the last 10,000 vectors in memory only.

        Raises: sqlite3.Error if the file cannot be opened.
        """
        self._encoder = encoder
        self._model = model
        self._numpy: Any = importlib.import_module("numpy")
        self._memory = VectorCache(_IN_MEMORY)
        self._missing: dict[str, None] = {}
        self._noting = False
        self._lock = threading.Lock()
        self.encoded = 0
        """Texts given to the encoder so far."""
        self._file: sqlite3.Connection | None = None
        if path is not None:
            self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(
                "CREATE TABLE IF NOT EXISTS vectors"
                " (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Encode nothing within the block, but note what is missing and raise `NotKeptError`."""
        self._noting = True
        try:
            yield
        finally:
            self._noting = False

    def fill(self) -> None:
        """Encode what was noted. Raises what the encoder raises."""
        with self._lock:
            texts, self._missing = list(self._missing), {}
            self._encode(texts)

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """One vector per text, in single precision.

        Raises:
            NotKeptError: One is missing while they are noted.
        """
        with self._lock:
            found = self._kept(texts)
            lacking = [text for text in dict.fromkeys(texts) if text not in found]
            if lacking and self._noting:
                self._missing |= dict.fromkeys(lacking)
                raise NotKeptError(f"{len(lacking)} texts")
            found |= self._encode(lacking)
        return [found[text] for text in texts]

    def _encode(self, texts: Sequence[str]) -> dict[str, Any]:
        if not texts:
            return {}
        vectors = self._numpy.asarray(self._encoder.encode(texts), dtype="<f4")
        self.encoded += len(texts)
        found = dict(zip(texts, vectors, strict=True))
        if self._file is not None:
            self._file.execute("BEGIN")
            self._file.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
                [(vector_key(self._model, text), vector.tobytes()) for text, vector in found.items()],
            )
            self._file.execute("COMMIT")
        self._remember(found)
        return found

    def _kept(self, texts: Sequence[str]) -> dict[str, Any]:
        looked_up = {text: self._memory.get(self._model, text) for text in texts}
        found: dict[str, Any] = {text: vector for text, vector in looked_up.items() if vector is not None}
        lacking = {vector_key(self._model, text): text for text in looked_up if text not in found}
        if self._file is None:
            return found
        keys = list(lacking)
        for start in range(0, len(keys), _AT_ONCE):
            some = keys[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            rows = self._file.execute(
                f"SELECT key, vector FROM vectors WHERE key IN ({marks})",  # noqa: S608 - question marks only
                some,
            )
            read = {lacking[key]: self._numpy.frombuffer(vector, dtype="<f4") for key, vector in rows}
            self._remember(read)
            found |= read
        return found

    def _remember(self, vectors: dict[str, Any]) -> None:
        for text, vector in vectors.items():
            self._memory.put(self._model, text, vector)

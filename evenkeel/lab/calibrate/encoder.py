"""The encoder of a calibration: texts are collected and encoded together, which is many times faster."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from evenkeel.lab.calibrate.columns import CachedEncoder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.lab.metrics.embeddings import Encoder


class NotEncodedError(LookupError):
    """Texts without vectors, while they are only collected."""


class BatchEncoder(CachedEncoder):
    """Collects the texts that metrics ask for, and encodes them in one call."""

    def __init__(self, encoder: Encoder, model: str) -> None:
        super().__init__(encoder, model)
        self._missing: dict[str, None] = {}
        self._collecting = False

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Encode nothing within the block: collect what has no vector and raise `NotEncodedError`."""
        self._collecting = True
        try:
            yield
        finally:
            self._collecting = False

    def encode_collected(self) -> None:
        """Encode what was collected. Raises what the encoder raises."""
        texts, self._missing = list(self._missing), {}
        self.encode(texts)

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text.

        Raises: NotEncodedError if one has none while they are collected.
        """
        if self._collecting and (lacking := self.lacking(texts)):
            self._missing |= dict.fromkeys(lacking)
            raise NotEncodedError(f"{len(lacking)} texts")
        return super().encode(texts)

"""Rulings by content: the same question to the same judge need not be paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from typing import TYPE_CHECKING

from evenkeel.metrics.judge.reply import Ruling

if TYPE_CHECKING:
    from evenkeel.core.cache import Cache
    from evenkeel.metrics.judge.prompts import Question

log = logging.getLogger("evenkeel.judge")


def ruling_key(endpoint: str, model: str, question: Question, vote: int = 0) -> str:
    """SHA-256, in hex, of everything that decides a ruling.

    The order of the texts is part of the question's messages, so swapped sides have a key of their own.

    Args:
        endpoint: base URL: two servers may use one model name.
        model: the judge.
        question: prompt, version, scale and the texts.
        vote: number of the call among several on the same question; each is remembered for itself.
    """
    messages = [[message.role, message.content] for message in question.messages]
    content = [endpoint, model, question.prompt_version, list(question.scale), messages, vote]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class Rulings:
    """Remembers rulings, never failures, in a cache that may fail: faults are counted and do no harm."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self.faults = 0

    async def get(self, key: str) -> Ruling | None:
        """The ruling; None if there is none, or the cache cannot be read."""
        try:
            body = await asyncio.to_thread(self._cache.get, key)
            return None if body is None else Ruling(*json.loads(body))
        except Exception as error:  # noqa: BLE001 - named boundary: a cache must not stop the judging
            self._note(error)
            return None

    async def put(self, key: str, ruling: Ruling) -> None:
        """Remember a ruling if the cache can be written."""
        body = json.dumps([ruling.rating, ruling.explanation]).encode()
        try:
            await asyncio.to_thread(self._cache.put, key, body)
        except Exception as error:  # noqa: BLE001 - named boundary: a cache must not stop the judging
            self._note(error)

    def _note(self, error: Exception) -> None:
        self.faults += 1
        if self.faults == 1:
            log.warning("the judge's cache fails (%s: %s); judging goes on", type(error).__name__, error)

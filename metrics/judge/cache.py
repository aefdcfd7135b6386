"""Rulings by content: the same question to the same judge need not be paid for twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evenkeel.metrics.judge.prompts import Question
    from evenkeel.metrics.judge.reply import Ruling

log = logging.getLogger("evenkeel.judge")

_KEPT_IN_MEMORY = 4_096


class JudgeCache(Protocol):
    """Remembers rulings, never failures. Bounded. Called in threads, so it may block.

    It may lose anything and raise anything: a judge does without it then.
    """

    def get(self, key: str) -> Ruling | None:
        """The ruling, None if there is none (any more)."""
        ...

    def put(self, key: str, ruling: Ruling) -> None:
        """Remember a ruling; the last one under a key counts."""
        ...


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


class MemoryJudgeCache:
    """The rulings used last, in this process. Safe to use from threads."""

    def __init__(self, *, kept: int = _KEPT_IN_MEMORY) -> None:
        self._kept = kept
        self._rulings: OrderedDict[str, Ruling] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._rulings)

    def get(self, key: str) -> Ruling | None:
        """The ruling, which then counts as used last."""
        with self._lock:
            ruling = self._rulings.get(key)
            if ruling is not None:
                self._rulings.move_to_end(key)
            return ruling

    def put(self, key: str, ruling: Ruling) -> None:
        """Remember a ruling and forget the one unused for longest if there are too many."""
        with self._lock:
            self._rulings[key] = ruling
            self._rulings.move_to_end(key)
            while len(self._rulings) > self._kept:
                self._rulings.popitem(last=False)


class CarefulCache:
    """A cache that is asked in a thread, and whose faults are counted and otherwise of no consequence."""

    def __init__(self, cache: JudgeCache) -> None:
        self._cache = cache
        self.faults = 0

    async def get(self, key: str) -> Ruling | None:
        """The ruling; None if there is none, or the cache cannot be read."""
        try:
            return await asyncio.to_thread(self._cache.get, key)
        except Exception as error:  # noqa: BLE001 - named boundary: a cache must not stop the judging
            self._note(error)
            return None

    async def put(self, key: str, ruling: Ruling) -> None:
        """Remember a ruling if the cache can be written."""
        try:
            await asyncio.to_thread(self._cache.put, key, ruling)
        except Exception as error:  # noqa: BLE001 - named boundary: a cache must not stop the judging
            self._note(error)

    def _note(self, error: Exception) -> None:
        self.faults += 1
        if self.faults == 1:
            log.warning("the judge's cache fails (%s: %s); judging goes on", type(error).__name__, error)

"""Replies of a judge by content, in a file that outlives a killed run."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Self

from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit.rows import InputError
from evenkeel.metrics.judge.client import Reply
from evenkeel.metrics.judge.reading import Ruling

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import TextIO

    from evenkeel.metrics.judge.prompts import Question

FINAL = frozenset({"refused", "empty", "bad_schema", "out_of_scale", "truncated"})
"""Failures that are the judge's answer. Others are the endpoint's, and worth another call.

At temperature 0 a reply that was cut off is cut off again, and it is the dearest one to ask for twice.
"""


def question_key(model: str, question: Question, occasion: str) -> str:
    """SHA-256 of everything that decides the reply, in hex.

    Args:
        model: the judge.
        question: what it is asked.
        occasion: tells the same question asked twice on purpose apart.
    """
    content = [model, occasion, list(question.scale), [[m.role, m.content] for m in question.messages]]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


class ReplyCache:
    """Remembers replies; with a path they are appended to that file, one JSON line each, at once.

    A last line that a killed process left unfinished is dropped. One process writes at a time.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._replies: dict[str, Reply] = {}
        self._file: TextIO | None = None
        if path is None:
            return
        try:
            if path.exists():
                self._load(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()

    def __len__(self) -> int:
        return len(self._replies)

    def get(self, key: str) -> Reply | None:
        """The reply, None if it has to be asked for."""
        return self._replies.get(key)

    def add(self, key: str, reply: Reply) -> None:
        """Remember a reply, unless the endpoint rather than the judge failed."""
        if isinstance(reply.outcome, Failure) and reply.outcome.reason not in FINAL:
            return
        self._replies[key] = reply
        if self._file:
            self._file.write(_line(key, reply) + "\n")
            self._file.flush()

    def _load(self, path: Path) -> None:
        data = path.read_bytes()
        whole = data.rfind(b"\n") + 1
        for number, line in enumerate(data[:whole].splitlines(), start=1):
            try:
                key, reply = _read(line)
            except (ValueError, KeyError, TypeError) as error:
                raise InputError(
                    f"{path.name}, line {number}: not a line of such a cache; use another file"
                ) from error
            self._replies[key] = reply
        if whole < len(data):
            with path.open("r+b") as file:
                file.truncate(whole)


def _line(key: str, reply: Reply) -> str:
    row: dict[str, object] = {
        "key": key,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "cost_usd": reply.cost_usd,
    }
    if isinstance(reply.outcome, Failure):
        failure = reply.outcome
        row["failure"] = [failure.metric, failure.version, failure.reason, failure.detail]
    else:
        row |= {"rating": reply.outcome.rating, "explanation": reply.outcome.explanation}
    return json.dumps(row)


def _read(line: bytes) -> tuple[str, Reply]:
    row = json.loads(line)
    outcome = (
        Failure(*row["failure"]) if "failure" in row else Ruling(int(row["rating"]), str(row["explanation"]))
    )
    reply = Reply(outcome, int(row["prompt_tokens"]), int(row["completion_tokens"]), float(row["cost_usd"]))
    return str(row["key"]), reply

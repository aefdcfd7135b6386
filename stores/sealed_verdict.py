"""Verdicts on their way into and out of a log: what may quote an answer is sealed, the figures are not.

So the monitor folds a log whose keys are gone, and only the explanations cannot be read any more.
"""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Verdict
from evenkeel.stores.sealing import SealError

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenkeel.core.verdict import Evidence, Failure
    from evenkeel.stores.protocols import VerdictLog
    from evenkeel.stores.sealing import Seal

_SEALED: Final = "\x00sealed:"
"""No text of a judge or an error begins with a zero."""
_PLACE: Final = "verdict"


def written(verdict: Verdict, seal: Seal) -> str:
    """The verdict as JSON, with its explanation and details of failures sealed if there is a key."""
    if not seal.active:
        return verdict.to_json()

    def close(text: str) -> str:
        if not text:
            return text
        sealed = seal.close(text.encode("utf-8", "surrogatepass"), f"{_PLACE}/{verdict.id}")
        return _SEALED + base64.b64encode(sealed).decode()

    return _with_texts(verdict, close).to_json()


def read(body: str, seal: Seal) -> Verdict:
    """The verdict that was written. A text whose key is missing says so in its place."""
    verdict = Verdict.from_json(body)
    if "u0000sealed:" not in body:  # nearly all verdicts of a store without keys, at the price of a search
        return verdict

    def open_(text: str) -> str:
        if not text.startswith(_SEALED):
            return text
        try:
            sealed = base64.b64decode(text.removeprefix(_SEALED))
            return seal.open(sealed, f"{_PLACE}/{verdict.id}").decode("utf-8", "surrogatepass")
        except (SealError, ValueError) as error:
            return f"({error})"

    return _with_texts(verdict, open_)


def _with_texts(verdict: Verdict, change: Callable[[str], str]) -> Verdict:
    """The verdict with every text of it changed that can quote an answer."""

    def changed(failure: Failure) -> Failure:
        return replace(failure, detail=change(failure.detail))

    return replace(
        verdict,
        explanation=change(verdict.explanation),
        failure=changed(verdict.failure) if verdict.failure else None,
        quality_failures=tuple(map(changed, verdict.quality_failures)),
    )


def readable_evidence(log: VerdictLog, verdict_id: str) -> Evidence | None:
    """The evidence behind a verdict; None also if its key is missing, as in lists of many."""
    try:
        return log.evidence(verdict_id)
    except SealError:
        return None

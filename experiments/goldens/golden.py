"""A golden: a request, the answer that somebody approved for it, and who did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer

CHAT_COMPLETIONS = "/v1/chat/completions"


class GoldenError(ValueError):
    """A golden cannot be read, stored or used. The message says which, what is wrong and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """One approved exchange in one version. Credentials are never part of it."""

    id: str
    """Names it in all versions: the exchange's id, or what its file says."""
    version: int = 1
    """1, and one more each time another answer is approved for it."""
    route: str = "default"
    path: str = CHAT_COMPLETIONS
    """Path of the API that it was asked through, without a route's prefix."""
    request: str | None = None
    """Body of the request, as JSON text; None where only the answer is known, which can be degraded and
    compared but not asked again."""
    answer: Answer
    """The approved answer."""
    task: str | None = None
    model: str | None = None
    """Which model gave the answer, as the endpoint returned it."""
    prompt_version: str | None = None
    approved_by: str = ""
    """Who approved it, as they call themselves; "" if the file does not say."""
    approved_at: float | None = None
    """Unix time in seconds; None if the file does not say."""
    note: str = ""
    retired_by: str | None = None
    retired_at: float | None = None
    """Unix time in seconds since when it is no longer used; None while it is."""

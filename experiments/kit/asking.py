"""Why a run ends before its end, and what to do then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

AGAIN: Final = "give the same command again to go on from there: what was answered is not asked for again"
_ADVICE: Final = {
    "unauthorized": "put its key into the variable {variable}, or name another one with {key_option}",
    "connection": "check {url_option}, and that it is up",
    "timeout": "check that it is up, or allow it more time",
    "rate_limited": "lower --concurrency, or wait a while",
    "rejected": "check the model's name, {url_option}, and whether it takes {members}",
    "bad_request": "check the model's name and {url_option}",
    "server_error": "check that it is up",
}
FAULTS: Final = frozenset((*_ADVICE, "circuit_open"))
"""Reasons that lie with an endpoint and not with what it was asked."""
_PATIENCE: Final = 5
"""Failures in a row of a service that has never answered, after which the run ends."""


class NotConfirmedError(Exception):
    """The user did not want to spend what the run would have cost."""


class StoppedError(Exception):
    """The run ended before its end. The message says why, and how to go on."""


class UnusableError(Exception):
    """Nothing more can be measured: no model, or no judge, or no rewriter answers."""


def unwritable(journal: Path, error: Exception) -> StoppedError:
    """The journal cannot be written, most often because the disk is full."""
    return StoppedError(
        f"the journal {journal} cannot be written ({error}); make room on its disk, then {AGAIN}"
    )


def advised(reason: str, detail: str, **options: str) -> str:
    """What an endpoint did, and what to do about it.

    Args:
        reason: The failure's.
        detail: Its sentence; advice in it for other commands is left out.
        options: `variable`, `key_option`, `url_option` and `members` of this endpoint.
    """
    said = detail.partition(";")[0].removesuffix(".")
    advice = _ADVICE.get(reason)
    return f"{said}; {advice.format_map(options)}" if advice else said


class Service:
    """Judge or rewriter: watched until it has answered once."""

    def __init__(self, name: str, *, variable: str, option: str) -> None:
        """Begin.

        Args:
            name: In messages, "the judge gpt-4.1".
            variable: Holds its key.
            option: How its options begin, "--judge".
        """
        self._name = name
        self._options = {
            "variable": variable,
            "key_option": f"{option}-key-env",
            "url_option": f"{option}-url",
        }
        self._answered = False
        self._failures = 0
        self._said = ""

    def answered(self) -> None:
        """It works: what goes wrong later may pass."""
        self._answered = True

    def failed(self, reason: str, detail: str) -> None:
        """Count a failure.

        Raises: UnusableError if it has never answered and failed several times.
        """
        if self._answered or reason not in FAULTS:
            return
        self._failures += 1
        if reason != "circuit_open" or not self._said:
            self._said = advised(reason, detail, **self._options)
        if self._failures >= _PATIENCE:
            raise UnusableError(f"{self._name} does not answer: {self._said}")

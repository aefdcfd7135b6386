"""A watch on the judge or the rewriter of a run: one that does none of its work ends the run."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import INTERNAL_ERROR
from evenkeel.metrics.identity import IDENTITY
from evenkeel.release.kit.asking import FAULTS, UnusableError, advised
from evenkeel.release.kit.cost import JUDGE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.verdict import Failure, Judgement
    from evenkeel.release.kit.cost import Costs

# Failures in a row after which the run ends: of a service that has never worked, and of one that has.
_PATIENCE_AT_FIRST: Final = 3
_PATIENCE: Final = 10


def service_advice(option: str, variable: str) -> dict[str, str]:
    """Return the options of a service's endpoint for `advised`: all begin alike, as in "--judge"."""
    return {
        "variable": variable,
        "key_option": f"{option}-key-env",
        "url_option": f"{option}-url",
        "members": "such requests",
    }


@dataclass(slots=True)
class ServiceWatch:
    """Counts the failures of a service in a row."""

    name: str
    """Name of the service in messages."""
    model_option: str
    """Option that names another one."""
    advice: Mapping[str, str]
    """Options of its endpoint, for `advised`."""
    costs: Costs
    """Costs of the run, where the judge's calls are booked."""
    deed: str = "rated"
    """Verb for its work."""
    _has_worked: bool = field(default=False, init=False)
    _failures: int = field(default=0, init=False)
    _said: str = field(default="", init=False)

    def see(self, judgements: Sequence[Judgement]) -> None:
        """Take and book the outcome of one call of the scorer.

        Identical answers need no judge: counted alone, they would look steady.

        Raises: UnusableError like `failed`.
        """
        failure: Failure | None = None
        rated = False
        for judgement in judgements:
            self.costs.of(JUDGE).book(judgement.spent)
            # A ruling that is remembered says nothing about the judge of now.
            rated = rated or bool(judgement.rated_by and "cached" not in judgement.details)
            for failed in judgement.failures:
                # Where neither side answered the judge was not asked, and a fault of ours is none of its.
                if failed.metric != IDENTITY and failed.reason != INTERNAL_ERROR:
                    failure = failure or failed
        if rated:
            self.worked()
        elif failure is not None:
            self.failed(failure.reason, failure.detail)

    def explained(self, failed: Failure) -> Failure:
        """Return a failure that says which service's it is and what to do, if it is an endpoint's."""
        if failed.reason not in FAULTS:
            return failed
        return replace(failed, detail=f"{self.name}: {advised(failed.reason, failed.detail, **self.advice)}")

    def worked(self) -> None:
        """Note that it does its work."""
        self._has_worked = True
        self._failures = 0

    def failed(self, reason: str, detail: str) -> None:
        """Take a call that failed.

        Raises: UnusableError at the third one in a row, or the tenth if it has worked before.
        """
        self._failures += 1
        # An open breaker only says that it is not asked any more.
        if reason != "circuit_open" or not self._said:
            self._said = advised(reason, detail, **self.advice)
        if self._failures >= (_PATIENCE if self._has_worked else _PATIENCE_AT_FIRST):
            late = f" in the last {_PATIENCE} calls" if self._has_worked else ""
            raise UnusableError(
                f"{self.name} {self.deed} nothing{late}: {self._said}; name another with {self.model_option}"
            )

"""A watch on the judge or the rewriter of a run: one that never does its work ends the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import INTERNAL_ERROR
from evenkeel.metrics.identity import IDENTITY
from evenkeel.release.kit.asking import UnusableError, advised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.verdict import Failure, Judgement
    from evenkeel.release.kit.cost import Costs

# Calls that failed, after which a service that never worked is not asked again.
_PATIENCE: Final = 3


def service_advice(option: str, variable: str) -> dict[str, str]:
    """Return the options of a service's endpoint for `advised`: all begin alike, as in "--judge"."""
    return {
        "variable": variable,
        "key_option": f"{option}-key-env",
        "url_option": f"{option}-url",
        "members": "such requests",
    }


class ServiceWatch:
    """Watches a service until it has worked once; what goes wrong later may pass."""

    def __init__(
        self, name: str, model_option: str, advice: Mapping[str, str], costs: Costs, *, deed: str = "rated"
    ) -> None:
        """Watch a service.

        Args:
            name: Its name in messages.
            model_option: Option that names another one.
            advice: Options of its endpoint, for `advised`.
            costs: Where the judge's calls are booked.
            deed: Verb for its work.
        """
        self._name = name
        self._model_option = model_option
        self._advice = dict(advice)
        self._costs = costs
        self._deed = deed
        self._has_worked = False
        self._failures = 0
        self._said = ""

    def see(self, judgements: Sequence[Judgement]) -> None:
        """Take and book the outcome of one call of the scorer.

        Identical answers need no judge: counted alone, they would look steady.

        Raises: UnusableError at the third call that failed, if the judge has rated nothing so far.
        """
        failure: Failure | None = None
        for judgement in judgements:
            self._costs.book_judge(judgement)
            self._has_worked = self._has_worked or bool(judgement.rated_by)
            for failed in judgement.failures:
                # Where neither side answered the judge was not asked, and a fault of ours is none of its.
                if failed.metric != IDENTITY and failed.reason != INTERNAL_ERROR:
                    failure = failure or failed
        if failure is not None:
            self.failed(failure.reason, failure.detail)

    def worked(self) -> None:
        """Note that it does its work."""
        self._has_worked = True

    def failed(self, reason: str, detail: str) -> None:
        """Take a call that failed.

        Raises: UnusableError at the third one, if it has never worked.
        """
        if self._has_worked:
            return
        self._failures += 1
        # Later failures only say that it is not asked any more.
        self._said = self._said or advised(reason, detail, **self._advice)
        if self._failures >= _PATIENCE:
            raise UnusableError(
                f"{self._name} {self._deed} nothing: {self._said}; name another with {self._model_option}"
            )

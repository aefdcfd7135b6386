"""A watch on the judge of a run: books what it costs, and ends the run if it rates nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.metrics.identity import IDENTITY
from evenkeel.release.kit.asking import UnusableError, advised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.core.verdict import Failure, Judgement
    from evenkeel.release.kit.cost import Costs

# Calls without a rating, after which a judge that never gave one is not asked again.
_PATIENCE: Final = 3


class JudgeWatch:
    """Watches what a judge rates. Identical answers need none: counted alone, they would look steady."""

    def __init__(self, name: str, model_option: str, advice: Mapping[str, str], costs: Costs) -> None:
        """Watch a judge.

        Args:
            name: Name of the judge in messages.
            model_option: Option that names another one.
            advice: Options of its endpoint, for `advised`.
            costs: Where its calls are booked.
        """
        self._name = name
        self._model_option = model_option
        self._advice = dict(advice)
        self._costs = costs
        self._failures: list[Failure] = []
        self._has_rated = False

    def see(self, judgements: Sequence[Judgement]) -> None:
        """Take the outcome of one call of the scorer.

        Raises: UnusableError at the third call that failed, if the judge has rated nothing so far.
        """
        failure: Failure | None = None
        for judgement in judgements:
            self._costs.book_judge(judgement)
            self._has_rated = self._has_rated or bool(judgement.rated_by)
            for failed in judgement.failures:
                # Where neither side answered, the judge was not asked.
                if failed.metric != IDENTITY:
                    failure = failure or failed
        if self._has_rated or failure is None:
            return
        self._failures.append(failure)
        if len(self._failures) >= _PATIENCE:
            # Later failures only say that it is not asked any more.
            first = self._failures[0]
            said = advised(first.reason, first.detail, **self._advice)
            raise UnusableError(f"{self._name} rated nothing: {said}; name another with {self._model_option}")

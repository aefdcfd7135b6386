"""Words that the console uses for ratings and scorers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.core import figures
from evenkeel.core.verdict import BASELINE, JUDGED_AGAIN, JUDGED_ALONE, JUDGED_SWAPPED

if TYPE_CHECKING:
    from evenkeel.core.cells import CellReport
    from evenkeel.core.verdict import Stage, Verdict

RATINGS = {3: "same content", 2: "some details differ", 1: "different message"}
"""Names of the levels of the similarity scale."""


def rating_words(rating: int | None) -> str:
    """Describe a rating; None means that the trial has none."""
    return "not rated" if rating is None else RATINGS.get(rating, "not rated")


def outcome_words(verdict: Verdict) -> str:
    """Describe the outcome of a trial: its rating, or the reason why there is none."""
    if verdict.invalid:
        return f"ignores the {' and the '.join(verdict.invalid)}"
    if verdict.unsure:
        near = "" if verdict.similarity is None else f", similarity {verdict.similarity:.2f}"
        return f"unsure{near}"
    return rating_words(verdict.rating)


def control_words(verdict: Verdict) -> str:
    """Describe what the control of a trial's exchange did."""
    if verdict.perturbation == BASELINE:
        return "this is the control"
    if verdict.control.shifted is None:
        return "no rated control"
    return "control changed as well" if verdict.control.shifted else "control held"


STAGES: dict[Stage, str] = {
    "equality": "identical, judge not called",
    "empty": "only one side answered, judge not called",
    "judge": "decided by the judge",
    "unsure": "not identical, not decided",
}
"""Stages that decide, for a scorer with a judge."""

SECOND_RATINGS = {
    JUDGED_AGAIN: "judged again",
    JUDGED_SWAPPED: "judged with sides swapped",
    JUDGED_ALONE: "judged alone, not with other trials of the exchange",
}
"""Names of additional ratings, by the detail that holds them."""


def trials_left(report: CellReport) -> str:
    """Say about how many more trials decide on the limit, "~300 more"; "" if nobody can say."""
    more = None if report.key.perturbation == BASELINE else report.more_trials
    return f"~{figures.rounded(more):,} more" if more else ""

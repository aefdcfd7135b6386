"""From scores of an answer beside the approved one to a yes or no for each measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.core.verdict import Failure
from evenkeel.experiments.calibrate.score_table import FailureMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkeel.core.verdict import Judgement
    from evenkeel.experiments.calibrate.calibration import Calibration

CONTENT_SHIFT: Final = "content_shift"
"""The answer does not say what the approved one says: a rating below 3."""
QUALITY_CHANGE: Final = "quality_change"
"""The content has shifted and a quality changed with it, other than for the better alone."""
RATED: Final = (CONTENT_SHIFT, QUALITY_CHANGE)
"""What the two-stage rating says."""

VERSION: Final = 1

Breached = bool | Failure
"""Whether an answer breaches a measure, or why that is not known."""

_SAME: Final = 3


def rated_breaches(judgement: Judgement) -> dict[str, Breached]:
    """What a rating says about the measures in `RATED`.

    A quality that failed leaves `quality_change` open, unless another one got worse already.
    """
    if judgement.rating is None:
        failure = judgement.failures[0]
        return dict.fromkeys(RATED, failure)
    shifted = judgement.rating < _SAME
    if not shifted:
        return {CONTENT_SHIFT: False, QUALITY_CHANGE: False}
    directions = [score.direction for score in judgement.quality if score.changed]
    changed: Breached = any(direction != "better" for direction in directions)
    if not changed and judgement.failures:
        changed = judgement.failures[0]
    elif not judgement.quality:
        changed = Failure(QUALITY_CHANGE, VERSION, "no_quality", "no quality metric applies to this answer")
    return {CONTENT_SHIFT: True, QUALITY_CHANGE: changed}


def calibrated_breaches(
    calibration: Calibration, scores: Mapping[str, float | Failure]
) -> dict[str, Breached]:
    """What scores say about each failure mode that the calibration has a threshold for."""
    breached = {breach.mode for breach in calibration.breaches(scores)}
    unwatched = set(calibration.unwatched(scores))
    found: dict[str, Breached] = {}
    for mode in watched_modes(calibration):
        if mode in unwatched:
            found[mode.value] = _why(calibration, mode, scores)
        else:
            found[mode.value] = mode in breached
    return found


def watched_modes(calibration: Calibration) -> tuple[FailureMode, ...]:
    """The failure modes whose primary metric has a threshold."""
    return tuple(
        result.mode
        for result in calibration.modes
        if result.mode is not FailureMode.NONE and result.primary and result.primary.threshold
    )


def _why(calibration: Calibration, mode: FailureMode, scores: Mapping[str, float | Failure]) -> Failure:
    result = calibration.of(mode)
    assert result is not None
    assert result.primary is not None
    score = scores.get(result.primary.metric)
    if isinstance(score, Failure):
        return score
    return Failure(result.primary.metric, VERSION, "not_in_use", "the metric was not computed")

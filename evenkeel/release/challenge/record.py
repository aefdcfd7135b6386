"""The state of a challenger as JSON: what the API answers, and what Argo Rollouts and Flagger read."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evenkeel.release.challenge.words import headline, name_of

if TYPE_CHECKING:
    from evenkeel.core.cells import Estimate
    from evenkeel.core.challenge import Challenge
    from evenkeel.release.challenge.figures import ChallengeFigures
    from evenkeel.release.challenge.verdict import SegmentFigures


def challenge_json(challenge: Challenge, figures: ChallengeFigures) -> dict[str, Any]:
    """Return a challenger with its decision and figures. It holds no word of a prompt or an answer."""
    decision = figures.decision
    return {
        "id": challenge.id,
        "route": challenge.route,
        "model": challenge.model,
        "name": name_of(challenge),
        "started_at": challenge.started_at,
        "stopped_at": challenge.stopped_at,
        "share": challenge.share,
        "margin": {"worse": challenge.worse, "fragile": challenge.fragile},
        "decision": decision.answer,
        "headline": headline(challenge, figures),
        "because": list(decision.because),
        # Of the traffic outside of the segment, where the candidate may take over.
        "may_for_share": None if decision.may_for is None else round(1 - decision.may_for.share, 4),
        "but_not_for": None if decision.may_for is None else decision.may_for.title,
        "more_pairs": decision.more_pairs,
        "open": [{"name": outcome.name, "more_pairs": outcome.more_pairs} for outcome in decision.open],
        "pairs": figures.pairs,
        "unrated": figures.unrated,
        "left_out": dict(figures.hindrances),
        "judge": figures.judge is not None,
        **{name: _estimate(estimate) for name, estimate in figures.measures.items()},
        "candidate": asdict(figures.candidate_side),
        "incumbent_again": asdict(figures.again_side),
        "settled_about": figures.settled_at,
        "saved_usd_a_request": figures.saved_dollars,
        "saved_usd_a_request_of_the_rest": figures.spared_saved_dollars,
        "segments": [_segment(segment) for segment in figures.segments],
    }


def _segment(segment: SegmentFigures) -> dict[str, Any]:
    return {
        "segment": segment.title,
        "share": round(segment.share, 4),
        "worse": _estimate(segment.worse),
        "rest": _estimate(segment.rest),
    }


def _estimate(estimate: Estimate | None) -> dict[str, float] | None:
    """Return an estimate in points."""
    if estimate is None:
        return None
    return {
        "points": round(100 * estimate.value, 2),
        "lower": round(100 * estimate.lower, 2),
        "upper": round(100 * estimate.upper, 2),
        "n": estimate.n,
    }

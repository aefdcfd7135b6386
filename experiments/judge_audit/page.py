"""The outcome as one HTML file that needs nothing else: no script, no font, no request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit import plots, wording
from evenkeel.experiments.judge_audit.attack import Move
from evenkeel.experiments.judge_audit.plots import Bar, BarPlot, DotPlot, Point, bar_plot, dot_plot
from evenkeel.experiments.kit.single_page import console_style, single_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.experiments.judge_audit.measures import MetricReport
    from evenkeel.experiments.judge_audit.pairs import PairwiseReport
    from evenkeel.experiments.judge_audit.run import Outcome
    from evenkeel.monitor.estimate.agreement import Agreement
    from evenkeel.monitor.estimate.shares import Share

_ALPHA_TICKS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_SHARE_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
_NICE_TONES = (0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class MetricView:
    """One metric's pictures; None where there is nothing to show."""

    name: str
    about: str
    agreement: DotPlot
    kept: DotPlot | None
    moves: BarPlot | None
    tone: DotPlot | None


def page(outcome: Outcome) -> bytes:
    """The page as UTF-8. Names and texts from files are escaped."""
    return single_page(
        "evenkeel.experiments.judge_audit",
        "audit.html",
        outcome=outcome,
        headline=wording.headline(outcome.ratings) if outcome.ratings else "",
        metrics=[_metric(metric) for metric in outcome.ratings.metrics] if outcome.ratings else [],
        pairwise=_pairwise(outcome.pairwise) if outcome.pairwise else [],
        strategies=wording.STRATEGIES,
        moves=wording.MOVES,
        number=number,
        usd=usd,
        plots=plots,
        style=console_style(),
    )


def _metric(metric: MetricReport) -> MetricView:
    name = metric.metric.replace("_", " ")
    kept, moves, tones = list(_kept(metric)), list(_moves(metric)), list(_tones(metric))
    return MetricView(
        name=name,
        about=f"scale {metric.scale}, {number(metric.items)} items, {number(metric.raters)} people",
        agreement=dot_plot(
            f"Agreement on {name}", list(_agreement(metric)), low=-1, high=1, ticks=_ALPHA_TICKS
        ),
        kept=dot_plot(f"Ratings of {name} kept", kept, low=0, high=1, ticks=_SHARE_TICKS) if kept else None,
        moves=bar_plot(f"Moves of the ratings of {name}", moves) if moves else None,
        tone=_tone_plot(f"Tone of justifications about {name}", tones) if tones else None,
    )


def _alpha(label: str, kind: str, value: Agreement | Failure) -> Point:
    text = wording.alpha(value)
    if isinstance(value, Failure):
        return Point(label, None, None, None, kind, text)
    return Point(label, value.value, value.lower, value.upper, kind, text)


def _agreement(metric: MetricReport) -> Iterator[Point]:
    yield _alpha("people among themselves", "people", metric.people)
    yield _alpha("judge across strategies", "judge", metric.across_strategies)
    for each in metric.strategies:
        name = wording.STRATEGIES[each.strategy]
        yield _alpha(f"{name}, with all people", "plain", each.plain.all_raters)
        yield _alpha(f"{name}, with their mode", "plain", each.plain.with_mode)
        if each.attacked:
            yield _alpha(f"{name}, attacked, with mode", "attacked", each.attacked.with_mode)


def _share(label: str, kind: str, value: Share, digits: int = 0) -> Point:
    return Point(label, value.value, value.lower, value.upper, kind, wording.share(value, digits))


def _kept(metric: MetricReport) -> Iterator[Point]:
    for each in metric.strategies:
        name = wording.STRATEGIES[each.strategy]
        if each.same_again:
            yield _share(f"{name}, asked again", "judge", each.same_again)
        if each.resistance:
            yield _share(f"{name}, attacked", "attacked", each.resistance.unchanged)


def _moves(metric: MetricReport) -> Iterator[Bar]:
    for each in metric.strategies:
        if each.resistance:
            moves = each.resistance.moves
            yield Bar(
                wording.STRATEGIES[each.strategy],
                tuple((move.value, moves[move]) for move in Move),
                f"{number(each.resistance.unchanged.n)} items",
            )


def _tones(metric: MetricReport) -> Iterator[Point]:
    for each in metric.strategies:
        for shift in each.tone:
            if isinstance(shift, Failure):
                continue
            label = f"{wording.STRATEGIES[each.strategy]}, {shift.analyser.replace('_', ' ')}"
            text = f"{wording.tone(shift)}, n = {number(shift.n)}"
            change = shift.after - shift.before
            yield Point(label, change, shift.lower, shift.upper, "attacked", text)


def _tone_plot(title: str, points: Sequence[Point]) -> DotPlot:
    ends = [
        abs(end) for point in points for end in (point.value, point.lower, point.upper) if end is not None
    ]
    reach = next((nice for nice in _NICE_TONES if max(ends) <= nice), 2.0)
    return dot_plot(title, points, low=-reach, high=reach, ticks=(-reach, -reach / 2, 0, reach / 2, reach))


def _pairwise(reports: Sequence[PairwiseReport]) -> list[tuple[str, str, DotPlot]]:
    """(heading, explanation, picture) of each measure."""
    measures = (
        ("Accuracy", "Rulings, in both orders, for the answer that people preferred.", "accuracy", "plain"),
        (
            "Consistency when answers are swapped",
            "Pairs with the same preference whichever answer is shown first.",
            "swap_consistency",
            "judge",
        ),
        (
            "Liking for the first place",
            "Rulings for the answer that was shown first; one half if the place does not matter.",
            "first_shown",
            "attacked",
        ),
    )
    return [
        (
            heading,
            about,
            dot_plot(
                heading,
                [_share(report.judge, kind, getattr(report, measure), 1) for report in reports],
                low=0, high=1, ticks=_SHARE_TICKS,
            ),
        )
        for heading, about, measure, kind in measures
    ]  # fmt: skip

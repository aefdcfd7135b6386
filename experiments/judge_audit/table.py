"""The outcome in a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.table import Table

from evenkeel.core.figures import number, usd
from evenkeel.core.verdict import Failure
from evenkeel.experiments.judge_audit import wording
from evenkeel.experiments.judge_audit.attack import Move

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from evenkeel.experiments.judge_audit.measures import AuditReport
    from evenkeel.experiments.judge_audit.pairs import PairwiseReport
    from evenkeel.experiments.judge_audit.run import Outcome


def show(outcome: Outcome, console: Console) -> None:
    """Print everything: tables, what failed, what was left out, what it cost."""
    if outcome.pairwise:
        console.print(_pairwise(outcome.pairwise))
    if outcome.ratings:
        for table in _ratings(outcome.ratings):
            console.print(table)
        for line in _closing(outcome.ratings):
            console.print(line)
    for note in outcome.notes:
        console.print(note, style="dim")
    if outcome.spent:
        spent = outcome.spent
        console.print(
            f"{number(spent.calls)} calls, {number(spent.remembered)} remembered, "
            f"{number(spent.prompt_tokens + spent.completion_tokens)} tokens, {usd(spent.cost_usd)}",
            style="dim",
        )


def _table(title: str, *columns: str, left: int = 1) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < left else "right")
    return table


def _ratings(report: AuditReport) -> Iterator[Table]:
    people = _table(
        f"{report.judge}: agreement (Krippendorff's alpha, ordinal, 95 % interval)",
        "metric", "scale", "items", "people among themselves", "judge across strategies",
        left=2,
    )  # fmt: skip
    beside = _table(
        "Judge beside people (alpha)",
        "metric", "strategy", "", "rated", "with all of them", "with their mode", "with their median",
        left=3,
    )  # fmt: skip
    attack = _table(
        "Told that an expert gave the opposite rating",
        "metric", "strategy", "unchanged", "swayed", *list(wording.MOVES.values())[1:], "same if asked again",
        left=2,
    )  # fmt: skip
    tone = _table(
        "Tone of the justifications, before → after", "metric", "strategy", "measure", "items", "mean", left=3
    )
    for metric in report.metrics:
        for table in (beside, attack, tone):
            table.add_section()
        people.add_row(
            metric.metric, metric.scale, number(metric.items),
            wording.alpha(metric.people), wording.alpha(metric.across_strategies),
        )  # fmt: skip
        for each in metric.strategies:
            name = wording.STRATEGIES[each.strategy]
            for label, found in (("plain", each.plain), ("attacked", each.attacked)):
                if found:
                    beside.add_row(
                        metric.metric, name, label, number(found.rated), wording.alpha(found.all_raters),
                        wording.alpha(found.with_mode), wording.alpha(found.with_median),
                    )  # fmt: skip
            if each.resistance:
                moved = [number(each.resistance.moves[move]) for move in Move if move is not Move.UNCHANGED]
                attack.add_row(
                    metric.metric, name, wording.share(each.resistance.unchanged),
                    wording.share(each.resistance.swayed), *moved, wording.share(each.same_again),
                )  # fmt: skip
            for shift in each.tone:
                if isinstance(shift, Failure):
                    tone.add_row(metric.metric, name, shift.metric, "0", wording.tone(shift))
                else:
                    tone.add_row(metric.metric, name, shift.analyser, number(shift.n), wording.tone(shift))
    yield from (table for table in (people, beside, attack, tone) if table.row_count)


def _closing(report: AuditReport) -> Iterator[str]:
    headline = wording.headline(report)
    if headline:
        yield headline
    failed = sum(each.count for each in report.failures)
    if failed:
        reasons: Counter[str] = Counter()
        for each in report.failures:
            reasons[each.reason] += each.count
        said = ", ".join(f"{reason} {number(count)}" for reason, count in sorted(reasons.items()))
        yield f"{number(failed)} of {number(report.judgements)} judgements gave no rating: {said}."


def _pairwise(reports: Sequence[PairwiseReport]) -> Table:
    table = _table(
        "Pairwise judges",
        "judge", "pairs", "accuracy", "same with answers swapped", "right both ways", "prefers what is first",
        "no ruling",
    )  # fmt: skip
    for report in reports:
        failures = ", ".join(f"{reason} {count}" for reason, count in report.failures.items())
        table.add_row(
            report.judge, number(report.pairs), wording.share(report.accuracy, 1),
            wording.share(report.swap_consistency, 1), wording.share(report.right_both_ways, 1),
            wording.share(report.first_shown, 1), failures or "0",
        )  # fmt: skip
    return table

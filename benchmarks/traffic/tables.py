"""The tables of `docs/research/backtests.md`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from benchmarks.kit import Table
from benchmarks.traffic.measures import CAP, STATED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.kit import Cell
    from benchmarks.traffic.measures import Coverage, Delays, Drawing, FalseAlarms, Step
    from benchmarks.traffic.rivals import Rival

ESTIMATES: Final = {
    "content_delta": "content delta",
    "excess": "paired difference",
    "quality_worse": "quality got worse",
    "robustness": "robustness",
    "similarity": "similarity",
    "loss": "graded loss",
}
"""The estimates of a coverage table, and what they are called there."""

STREAMS: Final = {
    "independent": "independent, nothing wrong",
    "on_the_line": "independent, on the line",
    "bursts": "bursts, nothing wrong",
    "bursts_on_the_line": "bursts, on the line",
    "interleaved_on_the_line": "interleaved bursts, on the line",
    "easy_and_hard_clusters": "rates .02 and .18, by recurring prompt",
    "easy_and_hard_versions": "rates .02 and .18, by prompt version in turn",
    "easy_and_hard_blocks": "rates .02 and .18, in blocks of 500 by length",
    "easy_and_hard_unmarked": "rates .02 and .18, in turn, not marked",
    "many_cells": "200 cells on the line",
    "some_up": "16 of 40 cells up: the other 24, on the line",
    "lost_resends": "resends lost when they shift",
    "judge_errs_in_5": "judge wrong in 5 %, labels and audits of 5 %",
    "judge_errs_in_15": "judge wrong in 15 %, labels and audits of 5 %",
    "judge_errs_uncorrected": "judge wrong in 15 %, nothing corrects it",
    "one_off_models": "one request in five names a new model",
    "new_models": "a new model every 300 requests",
    "nightly_batch": "nightly batch on another model, 30 days",
    "versions_by_day": "two prompt versions, a day each",
}
"""The streams in which nothing happens, and what they are called in a table."""


def coverage(found: Mapping[tuple[str, float], Coverage]) -> Table:
    """Shares of the sequences of intervals that never missed."""
    rows: list[tuple[Cell, ...]] = [
        (f"{traffic}, {rate:g}", *(one.share(name) for name in ESTIMATES), one.sequences["content_delta"])
        for (traffic, rate), one in found.items()
    ]
    return Table(
        "coverage",
        ("traffic and rate", *ESTIMATES.values(), "sequences"),
        tuple(rows),
        digits=3,
        notes=("Stated: .95, at all looks of a sequence together.",),
    )


def false_alarms(found: Mapping[str, FalseAlarms]) -> Table:
    """Trials of all cells between false alarms, whatever row they stand in."""
    rows: list[tuple[Cell, ...]] = []
    for name, one in found.items():
        low, high = one.interval
        rows.append(
            (
                STREAMS[name],
                one.trials,
                one.alerts["excess"],
                one.alerts["drift"],
                _between(one),
                f"{low:,.0f} to {'∞' if high == float('inf') else f'{high:,.0f}'}",
                one.changes,
            )
        )
    return Table(
        "false-alarms",
        (
            "traffic",
            "trials",
            "alerts",
            "drifts",
            "trials between false alarms",
            "95 % interval",
            "changes noticed",
        ),
        tuple(rows),
        notes=(f"Stated: {STATED:,.0f} trials of all cells.",),
    )


def planned_coverage(found: Mapping[tuple[str, str], Coverage]) -> Table:
    """Shares of the sequences that never missed, by how trials were drawn and what is estimated."""
    rows: list[tuple[Cell, ...]] = [
        (f"{drawing}: {what}", *(one.share(name) for name in ESTIMATES), one.sequences["content_delta"])
        for (drawing, what), one in found.items()
    ]
    return Table(
        "plan-coverage",
        ("draw and figure", *ESTIMATES.values(), "sequences"),
        tuple(rows),
        digits=3,
        notes=("Stated: .95, at all looks of a sequence together.",),
    )


def planned_false_alarms(found: Mapping[Drawing, FalseAlarms]) -> Table:
    """Trials between false alarms, by how trials were drawn."""
    rows: list[tuple[Cell, ...]] = [
        (drawing, one.trials, one.alerts["excess"], one.alerts["drift"], _between(one), one.changes)
        for drawing, one in found.items()
    ]
    return Table(
        "plan-false-alarms",
        ("draw", "drawn trials", "alerts", "drifts", "trials between false alarms", "changes noticed"),
        tuple(rows),
        notes=(f"Stated: {STATED:,.0f} trials of all cells.",),
    )


def _between(one: FalseAlarms) -> str:
    return f"{one.between:,.0f}" if one.between else f"none in {one.trials:,}"


def delays(own: Mapping[tuple[Step, int], Delays], others: Mapping[tuple[Step, int], list[Rival]]) -> Table:
    """Mean trials from a change to the alarm, and those of the rivals."""
    names = [one.name for one in next(iter(others.values()))]
    rows: list[tuple[Cell, ...]] = []
    for (step, quiet), one in own.items():
        rival = others[step, quiet]
        mean = one.mean
        ratios = [
            None if mean is None else f"{mean / best:.2f}"
            for best in (min(each.unknowing for each in rival), min(each.knowing for each in rival))
        ]
        pairs = [f"{each.unknowing:,.0f} / {each.knowing:,.0f}" for each in rival]
        rows.append(
            (f"{step.name} after {quiet:,}", mean, f"{one.lost:.0%}", *pairs, *ratios, len(one.found))
        )
    return Table(
        "delays",
        (
            "change and quiet trials before it", "evenkeel", "not found", *names, "evenkeel/best",
            "evenkeel/best that knows the rate", "runs",
        ),
        tuple(rows),
        digits=0,
        notes=(
            f"*Not found*: within {CAP:,} trials, counted as that.",
            "Of the others: with one level for all rates / tuned at the very rate.",
        ),
    )  # fmt: skip


def floor(found: Mapping[int, Sequence[int]]) -> Table:
    """Requests to the alarm where the floor is high."""
    rows: list[tuple[Cell, ...]] = [
        (
            f"after {quiet:,} quiet requests",
            sum(delays) / len(delays),
            sorted(delays)[len(delays) // 2],
            max(delays),
            sum(delay <= 200 for delay in delays) / len(delays),  # noqa: PLR2004 - the aim
            len(delays),
        )
        for quiet, delays in found.items()
    ]
    return Table(
        "floor",
        ("other questions begin to be answered", "mean", "median", "longest", "within 200", "runs"),
        tuple(rows),
        digits=2,
    )


def mistakes(rows: Sequence[tuple[str, str, str]]) -> Table:
    """What was said then, and what is said now."""
    return Table("mistakes", ("case", "then", "now"), tuple(rows))

"""Every table that can be downloaded, by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from evenkeel.console.actions import actions_table
from evenkeel.console.alerts_view import alerts_of, alerts_table
from evenkeel.console.api import MAX_VERDICTS
from evenkeel.console.calibration import calibration_table
from evenkeel.console.cells import cells_table
from evenkeel.console.downloads import Table
from evenkeel.console.judge import judge_table, people_table, plots_table
from evenkeel.console.pipeline_page import dead_table, flow_table, skips_table
from evenkeel.console.routes import trends_table
from evenkeel.console.settings_view import settings_table
from evenkeel.console.spend import spend_table, split_table
from evenkeel.console.trials import trials_table
from evenkeel.monitor.labels import human_agreement

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkeel.console.judge_series import Plot
    from evenkeel.console.sources import ConsoleSources
    from evenkeel.core.verdict import Verdict
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.stores.goldens import GoldenStore

_VERDICT: Final = (
    "id",
    "exchange_id",
    "scored_at",
    "route",
    "model",
    "perturbation",
    "severity",
    "scorer",
    "rating",
    "baseline_rating",
    "direction",
    "failure",
    "explanation",
    "task",
    "prompt_version",
    "replay_s",
    "tokens",
    "cost_usd",
)


def tables(
    sources: ConsoleSources, plots: Callable[[], Sequence[Plot]]
) -> dict[str, Callable[[Mapping[str, str]], Table]]:
    """What there is to download from these sources; each takes the query's parameters that are set."""
    found: dict[str, Callable[[Mapping[str, str]], Table]] = {
        "cells": lambda asked: cells_table(sources.reports(), asked.get("route")),
        "trends": lambda asked: trends_table(sources, asked.get("route")),
        "verdicts": lambda asked: verdicts_table(
            sources.log.latest(MAX_VERDICTS, route=asked.get("route"), perturbation=asked.get("perturbation"))
        ),
        "trials": lambda asked: trials_table(sources, asked),
        "alerts": lambda _: alerts_table(alerts_of(sources)),
        "judge": lambda _: judge_table(sources.reports()),
        "judge-plots": lambda _: plots_table(plots()),
        "calibration": lambda _: calibration_table(sources.calibration),
        "pipeline": lambda _: flow_table(sources.pipeline()),
        "skips": lambda _: skips_table(sources.pipeline()),
        "spend": lambda _: spend_table(sources.pipeline(), sources.spending() if sources.spending else None),
        "spend-split": lambda _: split_table(sources.spending() if sources.spending else None),
        "dead-letters": lambda _: dead_table(sources),
    }
    changes, goldens, settings = sources.change_reports, sources.goldens, sources.settings
    labels, actions = sources.labels, sources.actions
    if changes is not None:
        found["changes"] = lambda asked: changes_table(changes(), asked.get("route"))
    if labels is not None:
        found["human-agreement"] = lambda _: people_table(human_agreement(labels.select()))
    if goldens is not None:
        found["goldens"] = lambda asked: goldens_table(goldens.store, asked.get("route"))
    if actions is not None:
        found["actions"] = lambda _: actions_table(actions)
    if settings is not None:
        found["settings"] = lambda _: settings_table(settings())
    return found


def verdicts_table(verdicts: Sequence[Verdict]) -> Table:
    """The newest verdicts, newest first; no prompts and no answers."""
    rows = []
    for one in verdicts:
        failure = one.failure.reason if one.failure else None
        values = {"direction": one.direction, "failure": failure}
        rows.append([values[name] if name in values else getattr(one, name) for name in _VERDICT])
    return Table(_VERDICT, rows)


def changes_table(changes: Sequence[ChangeReport], route: str | None = None) -> Table:
    """Changes, newest first."""
    columns = ("id", "route", "at", "cause", "among", "effect", "effects", "marks")
    return Table(
        columns,
        [
            (
                one.id,
                one.route,
                one.at,
                one.cause.value,
                " ".join(cause.value for cause in one.among),
                one.effect,
                " ".join(one.effects),
                "; ".join(f"{mark.kind}: {mark.before} → {mark.after}" for mark in one.marks),
            )
            for one in changes
            if route in {None, one.route}
        ],
    )


def goldens_table(store: GoldenStore, route: str | None = None) -> Table:
    """Goldens with their approvals, retired ones included; no prompts and no answers."""
    columns = ("id", "version", "route", "task", "model", "prompt_version", "note", "approved_by")
    rows = [
        (
            one.id,
            one.version,
            one.route,
            one.task,
            one.model,
            one.prompt_version,
            one.note,
            one.approved_by,
            one.approved_at,
            one.retired_by,
            one.retired_at,
        )
        for one in store.select(route=route, active=False)
    ]
    return Table((*columns, "approved_at", "retired_by", "retired_at"), rows)

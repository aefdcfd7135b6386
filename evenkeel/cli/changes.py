"""`changes`: reads the store, even while `evenkeel up` is writing to it."""

from __future__ import annotations

import time
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

import evenkeel.shadow.perturbations  # noqa: F401 - registers the labels of rewordings
from evenkeel.cli.baseline import note_unknown_route
from evenkeel.cli.options import (
    audit,
    by_option,
    emit,
    json_option,
    named,
    note_judge,
    print_rows,
    route_option,
    with_stores,
)
from evenkeel.core import figures, rewordings
from evenkeel.monitor.changes.book import ChangeBook, latest_changes
from evenkeel.monitor.changes.examples import Exhibits, exhibits, plain
from evenkeel.monitor.changes.prompt_edit import edits_of
from evenkeel.monitor.fold import CheckpointError, MonitorSettings
from evenkeel.monitor.incidents import IncidentBoard
from evenkeel.monitor.monitor import stored_states
from evenkeel.release.goldens.candidates import prompt_text
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkeel.core.cells import Estimate
    from evenkeel.monitor.changes import Comparison
    from evenkeel.monitor.changes.report import ChangeReport
    from evenkeel.monitor.detect.gate import GateReport
    from evenkeel.runtime.stores import Stores


@click.group()
def changes() -> None:
    """List the changes on each route, their effect and what coincided with them.

    `evenkeel up` detects a new model, prompt or kind of traffic, a drifting judge, and silent changes at the
    provider. After a change it samples more for a while and re-asks the route's goldens. Works while `up`
    runs; the console shows the same at /incidents.

    \b
      evenkeel changes list
      evenkeel changes show 3f9c0b2a771e
      evenkeel changes show 3f9c0b2a771e --json
      evenkeel changes forget-references --route shop --by ann
    """


@changes.command("list")
@route_option
@json_option
@with_stores
def list_(stores: Stores, route: str | None, *, as_json: bool) -> None:
    """List the latest changes, newest first."""
    note_judge(stores)
    reports = list(change_book(stores).reports())
    if route is not None:
        reports = [report for report in reports if report.route == route]
    if not reports:
        note_unknown_route(stores, route)
    if as_json:
        emit([asdict(report) for report in reports])
        return
    if not reports:
        click.echo("No changes detected yet.", err=True)
        return
    rows = []
    for report in reports:
        noticed = f"{datetime.fromtimestamp(report.at, UTC):%Y-%m-%d %H:%M}"
        rows.append((report.id, noticed, report.title, _effect(stores, report)))
    print_rows(("change", "noticed (UTC)", "what", "effect"), rows, wide=("what",))


@changes.command()
@click.argument("change", metavar="ID")
@click.option("--examples", is_flag=True, help="Include answers from before and after a silent change.")
@json_option
@with_stores
def show(stores: Stores, change: str, *, examples: bool, as_json: bool) -> None:
    """Print the report on one change."""
    report = change_book(stores).find(change)
    if report is None:
        raise SettingsError(f'no change "{change}"; list them with `evenkeel changes list`')
    note_judge(stores)
    shown = Exhibits()
    if examples and report.silent is not None:
        shown = exhibits(report.silent, stores.references)
    if as_json:
        more = plain(shown, prompt_text) if examples else {}
        emit(asdict(report) | more)
    else:
        edits = []
        for edit in edits_of(stores.verdicts, report.route, report.marks):
            edits.append(edit.said)
        lines = [
            *report_lines(report, _effect(stores, report)),
            *_section("Words of the prompt that changed", edits),
            *(_exhibited(shown) if examples else ()),
        ]
        click.echo("\n".join(lines))


@changes.command("forget-references")
@click.option("--route", metavar="NAME", help="Only this route.  [default: all]")
@by_option
@json_option
@with_stores
def forget_references(stores: Stores, route: str | None, by: str | None, *, as_json: bool) -> None:
    """Delete reference prompts and their answers.

    The audit log records who did it. `evenkeel up` collects new ones from traffic unless
    `replays.references.calls_per_day` is 0.
    """
    who = named(by)
    names = [route] if route is not None else sorted({state.route for state in stores.references.states()})
    forgotten = 0
    # Route by route, so that the audit log shows each under its own name.
    for name in names:
        dropped = stores.references.drop(name)
        forgotten += dropped
        audit(stores, "references_forgotten", who, name, f"{dropped} reference prompts")
    # Not a refusal: references outlive the route's last trial, and its place in the settings.
    if not forgotten:
        note_unknown_route(stores, route)
    if as_json:
        emit({"deleted": forgotten, "routes": names})
    else:
        click.echo(f"{figures.count(forgotten, 'reference prompt')} deleted")


def _effect(stores: Stores, report: ChangeReport) -> str:
    """Return the effect of a change, as the console says it."""
    # Loaded on demand: the console's libraries take half a second.
    from evenkeel.console.changes import effect_words, incident_of

    return effect_words(report, incident_of(report, IncidentBoard(stores.monitor).all()))


def report_lines(report: ChangeReport, effect: str) -> Iterator[str]:
    """Yield the lines of a report, with its effect in words."""
    yield report.title
    yield f"Change {report.id}, noticed {datetime.fromtimestamp(report.at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    yield f"Effect: {effect}"
    if report.ended:
        yield report.ended
    if report.silent is not None:
        yield from _section(
            "A change that nobody announced", [f"{name}: {line}" for name, line in report.silent.facts]
        )
    for title, lines in (
        ("What was measured", report.finding_lines),
        ("What coincided with it", report.candidate_lines),
        ("What it was not", report.ruled_out),
        ("Evidence", report.further_evidence),
        ("Settings that differ", report.settings),
    ):
        yield from _section(title, lines)
    if report.goldens is not None:
        yield from _section("Goldens, share that breaches a measure", _breaches(report.goldens))
    yield from _section("Content delta before and after", _sides(report.comparison))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = [f"  - {line}" for line in lines]
    if listed:
        yield from ("", title, *listed)


def _breaches(goldens: GateReport) -> Iterator[str]:
    reason = f": {goldens.reason}" if goldens.reason else ""
    verdict = goldens.verdict.value.replace("_", " ")
    yield f"replayed after the change: {verdict}, {goldens.asked} asked{reason}"
    for finding in goldens.findings:
        if finding.n:
            before = "not known" if finding.reference is None else f"{finding.reference:.0%}"
            yield f"{finding.measure.name}: {before} → {finding.candidate:.0%}"


def _sides(comparison: Comparison) -> Iterator[str]:
    yield f"{comparison.exchanges_before} exchanges before, {comparison.exchanges_after} after"
    sides = [("all rewordings", comparison.pooled)]
    for cell in comparison.cells:
        sides.append((rewordings.label(cell.perturbation), cell.content_delta))
    for name, side in sides:
        yield f"{name}: {_estimate(side.before)} → {_estimate(side.after)}"


def _estimate(estimate: Estimate | None) -> str:
    return figures.estimate_text(estimate) if estimate else "too few trials"


def _exhibited(shown: Exhibits) -> Iterator[str]:
    if shown.unreadable:
        yield "\nThe stored answers are encrypted, and the key that opens them is not there."
    elif not shown.examples:
        yield "\nNo answers from before and after are stored."
    for number, example in enumerate(plain(shown, prompt_text)["examples"], 1):
        yield f"\nExample {number}: {example['route']}"
        for name in ("prompt", "before", "after"):
            if example[name] is not None:
                yield f"\n{name.replace('_', ' ').capitalize()}:\n"
                yield from (f"    {line}" for line in example[name].splitlines())


def change_book(stores: Stores) -> ChangeBook:
    """Return the reports on the changes that the stored checkpoints have."""
    # Defaults are enough: a report needs the counts of the checkpoint, and no limit of a route.
    settings = MonitorSettings()
    try:
        states = list(stored_states(stores.monitors(), settings))
    except CheckpointError as error:
        raise SettingsError(f"{stores.place}: {error}; start `evenkeel up` on it once") from error
    records = latest_changes(state.change_records() for state in states)
    return ChangeBook(lambda: records, stores.changes, min_trials=settings.min_trials, clock=time.time)

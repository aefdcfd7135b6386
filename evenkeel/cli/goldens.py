"""`goldens` and its subcommands: approve, list, import, export and retire goldens; `up` may be running."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import click

from evenkeel.cli.baseline import note_unknown_route
from evenkeel.cli.options import (
    CommandFailedError,
    audit,
    by_option,
    emit,
    json_option,
    named,
    note_option,
    print_rows,
    route_option,
    store_options,
    with_stores,
)
from evenkeel.core.text import one_line, visible
from evenkeel.release.goldens.candidates import candidates as approvable
from evenkeel.release.goldens.candidates import chosen, golden_of, prompt_text
from evenkeel.release.goldens.files import golden_lines, golden_row, load_goldens
from evenkeel.release.kit.arguments import write_lines
from evenkeel.release.kit.terminal import agreed
from evenkeel.runtime.stores import opened, settings_of_stores
from evenkeel.stores.goldens import GoldenError, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenkeel.release.goldens.candidates import GoldenCandidate
    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.audit_log import What
    from evenkeel.stores.goldens import Golden

_SHORT: Final = 60
_TEXTS: Final = ("prompt", "answer")

_task = click.option("--task", metavar="NAME", help="Only this task.")
_model = click.option("--model", metavar="NAME", help="Only answers by this model.")
_retired = click.option("--all", "retired", is_flag=True, help="Include retired goldens.")


def _selected(
    stores: Stores, *, route: str | None, task: str | None, model: str | None, retired: bool
) -> list[Golden]:
    """Return goldens in their newest version, the last approved first; None = any."""
    selected = stores.goldens.select(route=route, task=task, active=not retired)
    return [golden for golden in selected if model in (None, golden.model)]


@click.group()
def goldens() -> None:
    """Approve exchanges as goldens, the reference for later answers.

    A golden is a request with an answer that a person has approved. `evenkeel up` archives the newest sampled
    exchanges; approve some here or in the console, and `evenkeel calibrate` and `evenkeel gate` compare other
    answers with them. Works while `up` runs.

    \b
      evenkeel goldens candidates --route support
      evenkeel goldens approve --route support --sample 50 --spread
      evenkeel goldens list
      evenkeel goldens export -o goldens.jsonl
    """


@goldens.command("list")
@route_option
@_task
@_model
@_retired
@json_option
@with_stores
def list_(stores: Stores, *, as_json: bool, **narrowed: Any) -> None:
    """List goldens in their newest version, last approved first."""
    selected = _selected(stores, **narrowed)
    if not selected:
        note_unknown_route(stores, narrowed["route"])
    if as_json:
        emit([golden_row(golden) for golden in selected])
    elif selected:
        _show_list(selected)
    else:
        none = "No goldens yet; see `evenkeel goldens approve --help`."
        click.echo("No matching goldens." if any(narrowed.values()) else none)


@goldens.command()
@click.argument("golden_id", metavar="ID")
@click.option("--version", type=click.IntRange(1), metavar="N", help="Version to show.  [default: newest]")
@json_option
@with_stores
def show(stores: Stores, golden_id: str, version: int | None, *, as_json: bool) -> None:
    """Show one golden: prompt, approved answer, and who approved or retired each version."""
    history = stores.goldens.history(golden_id)
    if not history:
        raise unknown(golden_id)
    # An unknown version gives the newest golden here, and the error below.
    versions = {}
    for stored in history:
        versions[str(stored.version)] = stored
    golden = versions.get(str(version), history[-1])
    if version not in (None, golden.version):
        there = ", ".join(versions)
        raise GoldenError(f'"{golden_id}" has no version {version}; there are {there}')
    if as_json:
        emit({"golden": golden_row(golden), "versions": [golden_row(version) for version in history]})
    else:
        _show_one(golden, history)


@goldens.command()
@route_option
@_task
@_model
@click.option("--limit", type=click.IntRange(1), default=50, help="Maximum number to print.")
@json_option
@with_stores
def candidates(stores: Stores, limit: int, *, as_json: bool, **narrowed: Any) -> None:
    """List archived exchanges that are not approved yet, newest first."""
    approvable_ones = approvable(stores.archive, stores.goldens, **narrowed)
    if as_json:
        emit(_candidate_records(approvable_ones[:limit]))
    elif not approvable_ones:
        note_unknown_route(stores, narrowed["route"])
        click.echo(
            "No exchanges to approve. `evenkeel up` archives what it samples, unless storage.archive is 0."
        )
    else:
        _show_candidates(approvable_ones[:limit])
        if len(approvable_ones) > limit:
            click.echo(f"… and {len(approvable_ones) - limit} more; --limit shows more of them")


@goldens.command()
@click.argument("ids", nargs=-1, metavar="[EXCHANGE_ID]...")
@click.option(
    "--name",
    default="",
    show_default=False,
    help="Id of the golden; for a single exchange.  [default: the exchange's id]",
)
@note_option
@by_option
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Choose N archived exchanges at random.")
@click.option("--seed", type=int, default=1, help="Random seed of --sample.")
@click.option("--spread", is_flag=True, help="Choose no two prompts that are nearly equal.")
@route_option
@_task
@_model
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
@json_option
@with_stores
def approve(stores: Stores, ids: tuple[str, ...], by: str | None, *, as_json: bool, **options: Any) -> None:
    """Approve archived exchanges as goldens: by id, or a sample that is shown first.

    Approving the same answer twice changes nothing. A different answer under an existing name becomes its
    next version; earlier versions are kept.

    \b
      evenkeel goldens approve 5f0c6e1d2a9b4c37 --name refund-unused
      evenkeel goldens approve --route support --sample 50 --seed 1 --spread
      evenkeel goldens approve --model gpt-4.1 --sample 50 --spread

    Exit code: 0 approved, 1 declined, 2 invalid options or nothing to approve.
    """
    if bool(ids) == (options["sample"] is not None):
        raise click.UsageError("name exchanges by id, or choose some with --sample N")
    if options["name"] and len(ids) != 1:
        raise click.UsageError("--name takes a single exchange")
    who = named(by)
    wanted = _named(stores, ids, options) if ids else _sampled(stores, who, options, shown=not as_json)
    done = []
    for golden in wanted:
        done.append(_approved(stores, golden, who))
    _say_each(done, "approved", as_json=as_json)


def _named(stores: Stores, ids: Sequence[str], options: dict[str, Any]) -> list[Golden]:
    """Turn archived exchanges into goldens: all, or none if one is missing or cannot become a golden."""
    selected = []
    for exchange_id in ids:
        exchange = stores.archive.find(exchange_id)
        if exchange is None:
            raise GoldenError(
                f"exchange {exchange_id} is not in the archive (it may have been removed); "
                "`evenkeel goldens candidates` shows those that are"
            )
        selected.append(golden_of(exchange, name=options["name"], note=options["note"]))
    return selected


def _sampled(stores: Stores, who: str, options: dict[str, Any], *, shown: bool) -> list[Golden]:
    """Turn a sample of candidates into goldens, once it has been shown and confirmed."""
    named = {}
    for name in ("route", "task", "model"):
        named[name] = options[name]
    approvable_ones = approvable(stores.archive, stores.goldens, **named)
    picked = chosen(approvable_ones, options["sample"], Random(options["seed"]), spread_out=options["spread"])
    if not picked:
        of = "".join(f"of the {kind} {name!r} " for kind, name in named.items() if name)
        routes = sorted(
            {candidate.exchange.route for candidate in approvable(stores.archive, stores.goldens)}
        )
        there = f". There are candidates of the routes {', '.join(routes)}" if routes else ""
        raise GoldenError(
            f"there is nothing to choose from: no archived exchange {of}is left to approve; `evenkeel up` "
            f"archives what it samples{there}"
        )
    if shown:
        _show_candidates(picked)
    if len(picked) < options["sample"]:
        why = "the others are nearly the same" if len(picked) < len(approvable_ones) else "there are no more"
        click.echo(f"{len(picked)} of {len(approvable_ones)} candidates; {why}", err=not shown)
    if not options["yes"] and not agreed(f"Approve these {len(picked)} answers as {who}?"):
        raise CommandFailedError("nothing approved; --yes approves a choice without asking")
    return [golden_of(candidate.exchange, note=options["note"]) for candidate in picked]


@goldens.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@by_option
@json_option
@with_stores
def retire(stores: Stores, ids: tuple[str, ...], by: str | None, *, as_json: bool) -> None:
    """Take goldens out of use. Nothing is deleted; `unretire` puts them back."""
    _say_each(_retired_or_back(stores, ids, named(by), back=False), "retired", as_json=as_json)


@goldens.command()
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@by_option
@json_option
@with_stores
def unretire(stores: Stores, ids: tuple[str, ...], by: str | None, *, as_json: bool) -> None:
    """Put retired goldens back into use."""
    _say_each(_retired_or_back(stores, ids, named(by), back=True), "in use", as_json=as_json)


def _retired_or_back(stores: Stores, ids: Sequence[str], who: str, *, back: bool) -> list[Golden]:
    """Retire goldens, or put them back into use: all, or none if one is unknown."""
    # All are looked up first: a typing error in the last id must not leave the first ones retired.
    for golden_id in ids:
        if stores.goldens.find(golden_id) is None:
            raise unknown(golden_id)
    done = []
    for golden_id in dict.fromkeys(ids):
        # One time in the store and in the audit log, so that the two can be matched.
        at = _now()
        if back:
            golden = stores.goldens.unretire(golden_id, by=who)
        else:
            golden = stores.goldens.retire(golden_id, by=who, at=at)
        done.append(golden)
        _record(stores, "golden_unretired" if back else "golden_retired", who, at, golden)
    return done


@goldens.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@by_option
@json_option
@store_options
def import_(
    files: tuple[Path, ...], by: str | None, config: Path | None, data_dir: Path | None, *, as_json: bool
) -> None:
    """Import goldens from JSON lines (.gz allowed) or datasets of other tools: all, or none if one is bad.

    Each line needs an `answer`; to be asked again it also needs a `prompt`, `messages` or a `request`. From
    datasets of OpenAI Evals, Langfuse and promptfoo, the expected answer is imported.
    Approver and time come from the line; if missing, they are you and now.

    \b
      {"id": "kettle-1", "prompt": "May I return a used kettle?", "answer": "No, only unused ones."}
    """
    with opened(settings_of_stores(config, data_dir), create=True) as stores:
        who, at = named(by), _now()
        loaded: list[Golden] = []
        for file in files:
            loaded += load_goldens(file)
        done = stores.goldens.add(loaded, by=who, at=at)
        if done.added:
            names = ", ".join(file.name for file in files)
            audit(stores, "goldens_imported", who, names, f"{done.added} goldens", at)
    if as_json:
        emit({"added": done.added, "known": done.known})
    else:
        click.echo(f"{done.added} imported, {done.known} known already")


@goldens.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="Write to FILE; .gz compresses.  [default: standard output]",
)  # fmt: skip
@click.option("--versions", is_flag=True, help="Include all versions, not only the newest.")
@route_option
@_task
@_model
@_retired
@with_stores
def export(stores: Stores, output: Path | None, *, versions: bool, **narrowed: Any) -> None:
    """Write goldens as JSON lines, first approved first; `import` reads them back."""
    # Oldest first: whoever imports the file gets the same order of approval.
    selected = _selected(stores, **narrowed)[::-1]
    # An export that went wrong must not replace the one of yesterday.
    if not selected:
        note_unknown_route(stores, narrowed["route"])
        raise GoldenError("no matching goldens, so nothing is written; --all includes retired ones")
    if versions:
        newest, selected = selected, []
        for golden in newest:
            selected += stores.goldens.history(golden.id)
    if output is None:
        click.echo("".join(f"{line}\n" for line in golden_lines(selected)).encode(), nl=False)
    else:
        write_lines(output, golden_lines(selected))


def _approved(stores: Stores, golden: Golden, who: str) -> Golden:
    at = _now()
    done = stores.goldens.approve(golden, by=who, at=at)
    _record(stores, "golden_approved", who, at, done)
    return done


def _record(stores: Stores, what: What, who: str, at: float, golden: Golden) -> None:
    audit(stores, what, who, golden.id, f"version {golden.version}, route {golden.route}", at)


def _now() -> float:
    """Return Unix time in seconds, rounded to milliseconds so that export and import give the same value."""
    return round(time.time(), 3)


def _say_each(done: Iterable[Golden], word: str, *, as_json: bool) -> None:
    if as_json:
        emit([{"id": golden.id, "version": golden.version, "route": golden.route} for golden in done])
        return
    for golden in done:
        click.echo(f"{word}: {golden.id} version {golden.version}")


def _show_list(goldens: Sequence[Golden]) -> None:
    """Print one line a golden."""
    rows = []
    for golden in goldens:
        state = "retired" if golden.retired_at is not None else _day(golden.approved_at)
        prompt, answer = _last(prompt_text(golden.request)), one_line(golden.answer.shown, _SHORT)
        rows.append(
            (
                golden.id, f"v{golden.version}", golden.route, golden.task, state, golden.approved_by,
                golden.model, prompt, answer,
            )
        )  # fmt: skip
    columns = ("id", "version", "route", "task", "approved", "by", "model", "prompt", "answer")
    print_rows(columns, rows, wide=_TEXTS)


def _show_candidates(choices: Sequence[GoldenCandidate]) -> None:
    """Print one line an exchange."""
    rows = []
    for candidate in choices:
        exchange = candidate.exchange
        prompt, answer = _last(candidate.prompt), one_line(exchange.answer.shown, _SHORT)
        day = _day(exchange.received_at)
        rows.append((exchange.id, exchange.route, exchange.task, day, exchange.model, prompt, answer))
    columns = ("exchange", "route", "task", "received", "model", "prompt", "answer")
    print_rows(columns, rows, wide=_TEXTS)


def _show_one(golden: Golden, history: Sequence[Golden]) -> None:
    """Print a golden in full, and who approved and retired each of its versions."""
    retired = f"   retired by {golden.retired_by}, {_day(golden.retired_at)}" if golden.retired else ""
    lines = [f"{golden.id}   version {golden.version} of {len(history)}{retired}"]
    facts = {
        "route": golden.route,
        "task": golden.task,
        "path": golden.path,
        "model": golden.model,
        "prompt version": golden.prompt_version,
        "approved": f"{_day(golden.approved_at)} by {golden.approved_by or 'nobody named'}",
        "note": golden.note,
    }
    for name, fact in facts.items():
        if fact:
            lines.append(f"  {name:<15}{fact}")
    lines += ["", "Prompt", prompt_text(golden.request) or "(only the answer is known)"]
    lines += ["", "Approved answer", golden.answer.shown, "", "Versions"]
    for version in history:
        approved = f"approved {_time(version.approved_at)} by {version.approved_by or 'nobody named'}"
        retired = f"; retired {_time(version.retired_at)} by {version.retired_by}" if version.retired else ""
        answered = f"   answered by {version.model}" if version.model else ""
        prompt = f", prompt {version.prompt_version}" if version.prompt_version else ""
        lines.append(f"  {version.version}  {approved}{retired}{answered}{prompt}")
    # As it is, but for what would steer the terminal: texts come from models.
    click.echo(visible("\n".join(lines)))


def _candidate_records(choices: Sequence[GoldenCandidate]) -> list[dict[str, Any]]:
    """Return candidates as values for JSON."""
    rows = []
    for candidate in choices:
        exchange = candidate.exchange
        rows.append(
            {
                "exchange": exchange.id,
                "route": exchange.route,
                "task": exchange.task,
                "received_at": exchange.received_at,
                "model": exchange.model,
                "prompt_version": exchange.prompt_version,
                "prompt": candidate.prompt,
                "answer": exchange.answer.shown,
            }
        )
    return rows


def _last(prompt: str) -> str:
    """The beginning of a prompt's last turn, which tells one from the other."""
    return one_line(prompt.rpartition("\n\nuser: ")[2].removeprefix("user: "), _SHORT)


def _day(moment: float | None) -> str:
    return _time(moment)[:10]


def _time(moment: float | None) -> str:
    return "" if moment is None else time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))

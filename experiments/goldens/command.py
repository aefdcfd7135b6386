"""The bodies of `evenkeel goldens …`."""

from __future__ import annotations

import gzip
import time
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.experiments.goldens import terminal as page
from evenkeel.experiments.goldens.candidates import Candidate, candidates, chosen, golden_of
from evenkeel.experiments.goldens.files import golden_lines, load_goldens
from evenkeel.stores.audit_log import Action
from evenkeel.stores.goldens import GoldenError, unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.audit_log import What
    from evenkeel.stores.goldens import Golden


class Narrowed(NamedTuple):
    """Which goldens are meant; None = any."""

    route: str | None = None
    task: str | None = None
    model: str | None = None
    """Which gave the answer, as the endpoint returned it."""
    retired: bool = False
    """Whether retired ones are meant too."""


class Sample(NamedTuple):
    """A choice of archived exchanges."""

    size: int
    seed: int
    spread_out: bool


def list_goldens(stores: Stores, narrowed: Narrowed, console: Console, *, as_json: bool) -> None:
    """Print goldens in their newest version."""
    found = _select(stores, narrowed)
    if as_json:
        console.out(page.as_json(found), highlight=False)
        return
    if found:
        page.show_list(found, console)
    else:
        console.out("no goldens; `evenkeel goldens approve --help` says how to get some", highlight=False)


def show_golden(
    stores: Stores, golden_id: str, version: int | None, console: Console, *, as_json: bool
) -> None:
    """Print one golden in full.

    Raises: GoldenError if it is not there.
    """
    history = stores.goldens.history(golden_id)
    if not history:
        raise unknown(golden_id)
    golden = next((one for one in history if one.version == version), history[-1])
    if version not in (None, golden.version):
        there = ", ".join(str(one.version) for one in history)
        raise GoldenError(f'"{golden_id}" has no version {version}; there are {there}')
    trail = stores.goldens.trail(golden_id)
    if as_json:
        console.out(page.golden_as_json(golden, history, trail), highlight=False)
    else:
        page.show_one(golden, history, trail, console)


def list_candidates(
    stores: Stores, narrowed: Narrowed, limit: int, console: Console, *, as_json: bool
) -> None:
    """Print archived exchanges that can be approved."""
    found = candidates(stores, route=narrowed.route, task=narrowed.task, model=narrowed.model)
    if as_json:
        console.out(page.candidates_as_json(found[:limit]), highlight=False)
        return
    if not found:
        console.out(
            "no exchanges to approve; `evenkeel up` archives what it samples, unless "
            "archive.exchanges_per_route is 0",
            highlight=False,
        )
        return
    page.show_candidates(found[:limit], console)
    if len(found) > limit:
        console.out(f"… and {len(found) - limit} more; --limit shows more of them", highlight=False)


def approve_exchanges(stores: Stores, ids: Sequence[str], *, name: str, note: str, by: str) -> list[Golden]:
    """Approve archived exchanges by their ids: all that can be read, or none.

    Raises: GoldenError naming the first that is not archived or cannot be a golden.
    """
    found: list[Golden] = []
    for exchange_id in ids:
        exchange = stores.archive.find(exchange_id)
        if exchange is None:
            raise GoldenError(
                f"exchange {exchange_id} is not in the archive, or no longer; `evenkeel goldens candidates` "
                "shows those that are"
            )
        found.append(golden_of(exchange, name=name, note=note))
    return [_approved(stores, golden, by) for golden in found]


def approve_sample(
    stores: Stores,
    narrowed: Narrowed,
    sample: Sample,
    console: Console,
    *,
    note: str,
    by: str,
    confirmed: Callable[[str], bool],
) -> list[Golden]:
    """Show a choice of candidates and approve it if `confirmed` answers yes to the question it is given."""
    found = candidates(stores, route=narrowed.route, task=narrowed.task, model=narrowed.model)
    picked: list[Candidate] = chosen(found, sample.size, Random(sample.seed), spread_out=sample.spread_out)
    if not picked:
        raise GoldenError(
            "there is nothing to choose from: no archived exchange "
            f"{_of(narrowed)}is left to approve; `evenkeel up` archives what it samples{_there(stores)}"
        )
    page.show_candidates(picked, console)
    if len(picked) < sample.size:
        why = "the others are nearly the same" if len(picked) < len(found) else "there are no more"
        console.out(f"{len(picked)} of {len(found)} candidates; {why}", highlight=False)
    if not confirmed(f"Approve these {len(picked)} answers as {by}?"):
        return []
    return [_approved(stores, golden_of(one.exchange, note=note), by) for one in picked]


def retire_goldens(stores: Stores, ids: Sequence[str], *, by: str, back: bool) -> list[Golden]:
    """Retire goldens, or put them back into use: all, or none if one is unknown.

    Raises: GoldenError naming the first that is not there.
    """
    for golden_id in ids:
        if stores.goldens.find(golden_id) is None:
            raise unknown(golden_id)
    deed = stores.goldens.unretire if back else stores.goldens.retire
    done = []
    for golden_id in ids:
        at = now()
        done.append(deed(golden_id, by=by, at=at))
        _record(stores, "golden_unretired" if back else "golden_retired", by, at, done[-1])
    return done


def import_files(stores: Stores, files: Sequence[Path], *, by: str) -> str:
    """Import files: all of them, or none; returns what happened, in one sentence.

    Raises: GoldenError naming file, line and field, or the golden that differs from the store's.
    """
    goldens = [golden for file in files for golden in load_goldens(file)]
    at = now()
    done = stores.goldens.add(goldens, by=by, at=at)
    if done.added:
        names = ", ".join(file.name for file in files)
        said = f"{done.added} goldens"
        stores.actions.record(Action(at, by, "command", "goldens_imported", names, said))
    return f"{done.added} imported, {done.known} known already"


def export_text(stores: Stores, narrowed: Narrowed, *, versions: bool) -> str:
    """The goldens as a file holds them, the first approved first; with all versions if wanted."""
    found: list[Golden] = list(reversed(_select(stores, narrowed)))
    if versions:
        found = [one for golden in found for one in stores.goldens.history(golden.id)]
    return "".join(f"{line}\n" for line in golden_lines(found))


def write_export(text: str, file: Path) -> None:
    """Write an export, compressed if the name ends in .gz.

    Raises: GoldenError if the file cannot be written.
    """
    data = text.encode()
    try:
        file.write_bytes(gzip.compress(data, mtime=0) if file.suffix == ".gz" else data)
    except OSError as error:
        raise GoldenError(f"{file}: cannot be written: {error.strerror}") from error


def now() -> float:
    """Unix time in seconds, to the millisecond: so that it reads well in files, and reads back the same."""
    return round(time.time(), 3)


def _approved(stores: Stores, golden: Golden, by: str) -> Golden:
    at = now()
    done = stores.goldens.approve(golden, by=by, at=at)
    _record(stores, "golden_approved", by, at, done)
    return done


def _record(stores: Stores, what: What, by: str, at: float, golden: Golden) -> None:
    detail = f"version {golden.version}, route {golden.route}"
    stores.actions.record(Action(at, by, "command", what, golden.id, detail))


def _select(stores: Stores, narrowed: Narrowed) -> tuple[Golden, ...]:
    found = stores.goldens.select(route=narrowed.route, task=narrowed.task, active=not narrowed.retired)
    return tuple(golden for golden in found if narrowed.model in (None, golden.model))


def _of(narrowed: Narrowed) -> str:
    """What was asked for, as in "of the route 'support' "."""
    named = {"route": narrowed.route, "task": narrowed.task, "model": narrowed.model}
    return "".join(f"of the {kind} {name!r} " for kind, name in named.items() if name)


def _there(stores: Stores) -> str:
    """Says which routes have any, for those who named another."""
    routes = sorted({one.exchange.route for one in candidates(stores)})
    return f". There are some of the routes {', '.join(routes)}" if routes else ""

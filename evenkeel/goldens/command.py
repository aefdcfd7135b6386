"""The bodies of `evenkeel goldens …`."""

from __future__ import annotations

import gzip
import time
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from evenkeel.goldens import page
from evenkeel.goldens.choosing import Candidate, candidates, chosen
from metrics.goldens import GoldenError, golden_lines, load_goldens
from metrics.goldens.from_exchange import golden_of
from metrics.goldens.store import unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rich.console import Console

    from evenkeel.stores import Stores
    from metrics.goldens import Golden


class Narrowed(NamedTuple):
    """Which goldens are meant; None = any."""

    route: str | None = None
    task: str | None = None
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
    found = candidates(stores, route=narrowed.route, task=narrowed.task)
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
    return [stores.goldens.approve(golden, by=by, at=now()) for golden in found]


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
    found = candidates(stores, route=narrowed.route, task=narrowed.task)
    picked: list[Candidate] = chosen(found, sample.size, Random(sample.seed), spread_out=sample.spread_out)
    if not picked:
        raise GoldenError(
            "there is nothing to choose from: no archived exchange "
            f"{f'of the route {narrowed.route!r} ' if narrowed.route else ''}is left to approve; "
            "`evenkeel up` archives what it samples"
        )
    page.show_candidates(picked, console)
    if len(picked) < sample.size:
        why = "the others are nearly the same" if len(picked) < len(found) else "there are no more"
        console.out(f"{len(picked)} of {len(found)} candidates; {why}", highlight=False)
    if not confirmed(f"Approve these {len(picked)} answers as {by}?"):
        return []
    return [stores.goldens.approve(golden_of(one.exchange, note=note), by=by, at=now()) for one in picked]


def retire_goldens(stores: Stores, ids: Sequence[str], *, by: str, back: bool) -> list[Golden]:
    """Retire goldens, or put them back into use: all, or none if one is unknown.

    Raises: GoldenError naming the first that is not there.
    """
    for golden_id in ids:
        if stores.goldens.find(golden_id) is None:
            raise unknown(golden_id)
    deed = stores.goldens.unretire if back else stores.goldens.retire
    return [deed(golden_id, by=by, at=now()) for golden_id in ids]


def import_files(stores: Stores, files: Sequence[Path], *, by: str) -> str:
    """Import files: all of them, or none; returns what happened, in one sentence.

    Raises: GoldenError naming file, line and field, or the golden that differs from the store's.
    """
    goldens = [golden for file in files for golden in load_goldens(file)]
    done = stores.goldens.add(goldens, by=by, at=now())
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


def _select(stores: Stores, narrowed: Narrowed) -> tuple[Golden, ...]:
    return stores.goldens.select(route=narrowed.route, task=narrowed.task, active=not narrowed.retired)

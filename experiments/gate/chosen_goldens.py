"""The goldens of a run: the newest version of each that is in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkeel.experiments.goldens.files import load_goldens
from evenkeel.runtime.stores import opened
from evenkeel.settings import SettingsError
from evenkeel.stores.goldens import GoldenError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from evenkeel.settings import Settings
    from evenkeel.stores.goldens import Golden


@dataclass(frozen=True, slots=True)
class Source:
    """Goldens and where they come from."""

    goldens: tuple[Golden, ...]
    name: str


def load(files: tuple[Path, ...], settings: Settings, route: str | None) -> Source:
    """Read the goldens.

    Args:
        files: where they stand; none = in the store.
        settings: say where that is.
        route: only those of this route.

    Raises: SettingsError in one line, also if there are none; StoreError if the store cannot be used.
    """
    try:
        source = _of_files(files) if files else _of_store(settings)
    except GoldenError as error:
        raise SettingsError(str(error)) from error
    kept = tuple(golden for golden in source.goldens if route is None or golden.route == route)
    if not kept:
        of = f' of the route "{route}"' if route else ""
        raise SettingsError(
            f"{source.name}: there are no goldens{of} in use; approve some with `evenkeel goldens approve`, "
            "or give a file of them"
        )
    return Source(kept, source.name)


def newest_in_use(goldens: Iterable[Golden]) -> tuple[Golden, ...]:
    """The newest version of each id, without those that are retired."""
    newest: dict[str, Golden] = {}
    for golden in goldens:
        known = newest.get(golden.id)
        if known is None or golden.version > known.version:
            newest[golden.id] = golden
    return tuple(golden for golden in newest.values() if golden.retired_at is None)


def _of_files(files: tuple[Path, ...]) -> Source:
    found = [golden for path in files for golden in load_goldens(path)]
    return Source(newest_in_use(found), ", ".join(path.name for path in files))


def _of_store(settings: Settings) -> Source:
    with opened(settings) as stores:
        return Source(stores.goldens.select(), stores.place)

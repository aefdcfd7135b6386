"""The goldens and the archived exchanges of a data folder."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evenkeel.data_plane import DATABASE_FILE
from evenkeel.settings import SettingsError, load
from metrics.goldens import SqliteGoldens
from metrics.stores.exchanges import SqliteExchangeArchive
from metrics.stores.sqlite import Database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkeel.settings import Settings
    from metrics.goldens import GoldenStore
    from metrics.stores.exchanges import ExchangeArchive

DEFAULT_FOLDER = Path("evenkeel-data")


@dataclass(frozen=True, slots=True)
class Shelf:
    """What the commands work on."""

    goldens: GoldenStore
    archive: ExchangeArchive


def folder_of(config: Path | None, data_dir: Path | None) -> Path:
    """The data folder: as the command line says, else as the settings file does, else the default.

    Raises: SettingsError if the file cannot be used.
    """
    if data_dir is not None:
        return data_dir
    return load(config, {}, {}).data_dir if config else DEFAULT_FOLDER


@contextlib.contextmanager
def opened_redis(settings: Settings) -> Iterator[Shelf]:
    """The shelf of the Redis that the settings name, open while the block runs.

    Raises: StoreError if it cannot be used; SettingsError if the settings name none.
    """
    # Loaded on demand: without a Redis in the settings the client library is not needed.
    from evenkeel.redis_stores import open_redis  # noqa: PLC0415
    from metrics.goldens.redis_store import RedisGoldens  # noqa: PLC0415
    from metrics.stores.redis.exchanges import RedisExchangeArchive  # noqa: PLC0415

    if settings.redis is None:
        raise SettingsError("the settings name no Redis; set redis.url")
    with contextlib.closing(open_redis(settings.redis)) as store:
        store.check()
        yield Shelf(RedisGoldens(store), RedisExchangeArchive(store))


@contextlib.contextmanager
def opened(folder: Path, *, create: bool = False) -> Iterator[Shelf]:
    """The shelf of a data folder, open while the block runs.

    Args:
        folder: the data folder.
        create: make the store if there is none.

    Raises: SettingsError if there is no store and none is to be made; StoreError if it cannot be written.
    """
    path = folder / DATABASE_FILE
    if not create and not path.is_file():
        raise SettingsError(
            f"there is no store in {folder}; name the folder of `evenkeel up` with --data-dir, or its "
            "settings file with --config"
        )
    database = Database(path)
    try:
        yield Shelf(SqliteGoldens(database), SqliteExchangeArchive(database))
    finally:
        database.close()

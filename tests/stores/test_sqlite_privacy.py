"""The files of a store are its owner's alone, whatever the umask and however they were made."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evenkeel.stores.errors import StoreError
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database


@pytest.fixture(autouse=True)
def _open_umask():
    """A process that lets everybody read what it makes."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder):
    """The modes of a folder's files, by name."""
    return {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}


def opened_and_closed(folder):
    """Open the store of a folder, write to it, and see its files while they are in use."""
    database = Database(folder / DATABASE_FILE)
    database.create("CREATE TABLE IF NOT EXISTS t (a)")
    files = modes(folder)
    database.close()
    return files


def test_a_new_store_is_private_whatever_the_umask_is(tmp_path):
    """The folder is 0700; database, write-ahead log and index are 0600."""
    folder = tmp_path / "data"
    files = opened_and_closed(folder)
    assert files == {DATABASE_FILE: 0o600, f"{DATABASE_FILE}-wal": 0o600, f"{DATABASE_FILE}-shm": 0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_store_that_others_can_read_is_mended_and_the_log_says_so(tmp_path, caplog):
    """One made by an earlier version, with a copy beside it."""
    folder = tmp_path / "data"
    opened_and_closed(folder)
    (folder / f"{DATABASE_FILE}.bak").write_text("")
    (folder / "lock").write_text("")
    folder.chmod(0o755)
    for path in folder.iterdir():
        path.chmod(0o644)
    with caplog.at_level(logging.WARNING, logger="evenkeel.store"):
        files = opened_and_closed(folder)
    assert set(files.values()) == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700
    assert f"other users could read {folder / DATABASE_FILE} (mode 0644); it is 0600 now" in caplog.text
    assert f"other users could open {folder} (mode 0755); it is 0700 now" in caplog.text
    caplog.clear()
    opened_and_closed(folder)
    assert not caplog.records


def test_a_deleted_store_is_made_private_again(tmp_path):
    """Also the one that takes its place while it is in use."""
    folder = tmp_path / "data"
    database = Database(folder / DATABASE_FILE)
    database.create("CREATE TABLE IF NOT EXISTS t (a)")
    for path in folder.iterdir():
        path.unlink()
    with database.write() as connection:
        connection.execute("INSERT INTO t VALUES (1)")
    assert set(modes(folder).values()) == {0o600}
    database.close()


@pytest.mark.parametrize("mode", [0o755, 0o1777])
def test_a_folder_that_holds_more_than_a_store_keeps_its_mode(tmp_path, mode):
    """Somebody's project, or a folder for everybody: only the store's files are its business."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    if mode == 0o755:
        (folder / "other.txt").write_text("")
        (folder / "other.txt").chmod(0o644)
    opened_and_closed(folder)
    assert folder.stat().st_mode & 0o7777 == mode
    assert modes(folder).pop("other.txt", 0o644) == 0o644
    assert modes(folder)[DATABASE_FILE] == 0o600


def test_a_store_of_somebody_else_that_others_can_read_is_refused(tmp_path, monkeypatch):
    """The message is one line that says which file, whose it is, and what to do."""
    path = tmp_path / "data" / DATABASE_FILE
    opened_and_closed(path.parent)
    path.chmod(0o644)

    def refused(*_, **__):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refused)
    with pytest.raises(
        StoreError, match=rf"other users may read {path}\S* \(mode 0644\).*chmod 600.*--data-dir"
    ):
        Database(path)


def test_a_file_system_without_modes_is_refused(tmp_path, monkeypatch):
    """The file takes the new mode and keeps the old one, as some shares do."""
    path = tmp_path / "data" / DATABASE_FILE
    opened_and_closed(path.parent)
    path.chmod(0o666)
    monkeypatch.setattr(Path, "chmod", lambda *_, **__: None)
    with pytest.raises(StoreError, match=r"keeps the mode 0666 .*--data-dir"):
        Database(path)


def test_every_process_writes_for_its_owner_only(tmp_path):
    """The command line sets the umask before it makes a file."""
    code = (
        "import os, sys\nfrom evenkeel.__main__ import main\nsys.argv = ['evenkeel', '--version']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "os.close(os.open('made', os.O_CREAT | os.O_WRONLY, 0o666))"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    assert (tmp_path / "made").stat().st_mode & 0o777 == 0o600

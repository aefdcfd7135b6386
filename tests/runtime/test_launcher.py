"""The data folder of `evenkeel up`, held from start to end, whatever happens to it between."""

import os
import shutil
import sys

import pytest

from evenkeel.runtime.launcher import DataFolder, _banner
from evenkeel.settings import SettingsError, load
from evenkeel.stores.keys import LOGIN_CODE, kept
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def held(folder):
    with DataFolder.taken(folder) as taken:
        yield taken


def recreated(held):
    """Counts of it."""
    ((name, _, value),) = held.counted()["counters"]
    assert name == "store_recreated"
    return value


def assert_held(folder):
    """The lock file names this process, and nobody else can lock it."""
    assert (folder / "lock").read_text() == f"{os.getpid()}\n"
    with (
        pytest.raises(SettingsError, match=f"in use by another evenkeel .pid {os.getpid()}."),
        DataFolder.taken(folder),
    ):
        pass


@pytest.mark.parametrize("first", ["the holder", "another process"])
def test_a_deleted_folder_is_counted_once_and_held_again(folder, held, first):
    shutil.rmtree(folder)
    if first == "another process":
        Database(folder / DATABASE_FILE).close()
    assert [recreated(held), recreated(held)] == [1, 1]
    assert_held(folder)
    shutil.rmtree(folder)
    assert recreated(held) == 2
    assert_held(folder)


def test_files_deleted_beside_the_lock_are_counted_too(folder, held):
    """The lock is this process's own still: it does not mistake itself for another."""
    for path in folder.glob(f"{DATABASE_FILE}*"):
        path.unlink()
    assert [recreated(held), recreated(held)] == [1, 1]
    assert_held(folder)


def test_a_lock_deleted_alone_is_taken_again(folder, held):
    """The store is the same one, so nothing is counted; a second evenkeel is told who has it."""
    assert_held(folder)
    (folder / "lock").unlink()
    assert recreated(held) == 0
    assert_held(folder)


def test_a_folder_that_was_moved_away_and_put_back_is_held_again(folder, held):
    """Its lock file is the one that this process took first, and stands in nobody's way."""
    away = folder.with_name("away")
    folder.rename(away)
    assert recreated(held) == 1
    shutil.rmtree(folder)
    away.rename(folder)
    assert recreated(held) == 2
    assert_held(folder)


def test_a_folder_that_somebody_took_meanwhile_is_left_to_them(folder, held):
    """Both cannot have it; the error says who does."""
    shutil.rmtree(folder)
    with DataFolder.taken(folder), pytest.raises(SettingsError, match="in use by another evenkeel"):
        held.counted()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_link_is_for_a_terminal_and_no_token_is_for_anything(tmp_path, monkeypatch, terminal):
    """What else takes the output keeps it: it is given the place of the token instead."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    settings = load(None, {"data_dir": tmp_path}, {"upstream": "http://a"})
    text = _banner("up", settings, admin=True, new=False)
    code = kept(tmp_path, LOGIN_CODE)
    assert (f"http://127.0.0.1:8101/login?code={code} " in text) is terminal
    assert (code in text) is terminal
    assert ("  console    http://127.0.0.1:8101/   (sign in with the token)\n" in text) is not terminal
    assert not any(file.read_text().strip() in text for file in tmp_path.iterdir() if file.name != LOGIN_CODE)


@pytest.mark.parametrize(
    ("rate", "line"),
    [
        (0.1, "  first number   after 30 replayed requests of a route: about 300 requests at 10%"),
        (0.0, "  first number   none: nothing of default is sampled; set its sampling_rate above 0"),
    ],
)
def test_a_new_data_folder_says_when_the_first_number_comes(tmp_path, rate, line):
    """30 trials at 10 % are 300 requests; a folder that was used before is not spoken of."""
    settings = load(None, {"data_dir": tmp_path}, {"upstream": "http://a", "sampling_rate": rate})
    assert line in _banner("up", settings, admin=True, new=True).splitlines()
    assert "first number" not in _banner("up", settings, admin=True, new=False)


def test_a_damaged_store_is_kept_aside_and_an_empty_one_begun(tmp_path, caplog):
    """Requests must be forwarded though the disk lost what was measured; nothing of it is deleted."""
    (tmp_path / "evenkeel.db").write_bytes(b"no store at all" * 1000)
    with DataFolder.taken(tmp_path) as taken:
        assert taken.counters.read() == []
    (aside,) = tmp_path.glob("evenkeel.db.damaged-*")
    assert aside.read_bytes() == b"no store at all" * 1000
    assert "is damaged" in caplog.text
    assert aside.name in caplog.text

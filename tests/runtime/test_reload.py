"""Settings read again: what differs, what is refused, and when a file counts as changed."""

import pytest

from evenkeel.runtime.reload import Reloader, SettingsSource, WatchedFile, changed, is_live
from evenkeel.settings import Settings, SettingsError
from tests.cases import cases

CASES = cases(__file__)

TRIAGE = {"name": "triage", "match": {"prefix": "/triage"}, "upstream": "http://127.0.0.1:9/v1"}


def settings(*routes, **overrides):
    return Settings(routes=[TRIAGE, *routes], **overrides)


def test_what_differs_goes_by_the_path_of_the_setting():
    """Routes go by name; their order counts, because the first that matches wins."""
    before = settings()
    other = dict(TRIAGE, name="other", match={"headers": {"authorization": "Bearer s3cret"}})
    after = settings(other, judge={"model": "j"}, alerts={"threshold": 0.2})
    paths = changed(before, after)
    assert {"alerts.threshold", "judge.model", "routes", "routes.other"} <= set(paths)
    assert "routes.triage" not in paths
    assert changed(before, settings()) == []
    assert changed(before, Settings(routes=[TRIAGE | {"sampling_rate": 0.5}])) == ["routes.triage"]
    assert changed(settings(other), Settings(routes=[other, TRIAGE])) == ["routes"]


@pytest.mark.parametrize(("values", "live"), CASES["settings"])
def test_what_can_change_without_a_restart(values, live):
    """Everything that only new requests and new trials read; nothing that is open already."""
    paths = changed(settings(), settings(**values))
    assert paths
    assert {is_live(path) for path in paths} == {live}


class Source:
    """Settings that a test decides on."""

    def __init__(self, path=None):
        self.settings = settings()
        self.path = path

    def read(self):
        if isinstance(self.settings, Exception):
            raise self.settings
        return self.settings

    def reloader(self, running=None, clock=lambda: 5.0):
        source = SettingsSource(self.path, self.read)
        return Reloader(source, self.settings, running or self.settings, clock=clock)


def test_good_settings_replace_the_old_ones(caplog):
    """What is known better than the file says stays: the port that was free."""
    caplog.set_level("INFO")
    source = Source()
    listening = source.settings.listen.model_copy(update={"port": 4711})
    reloader = source.reloader(source.settings.model_copy(update={"listen": listening}))
    source.settings = settings(alerts={"threshold": 0.2})
    loaded = reloader.reload()
    assert (loaded.alerts.threshold, loaded.listen.port) == (0.2, 4711)
    assert reloader.running is loaded
    assert "settings changed: alerts.threshold" in caplog.text
    assert reloader.reload() is None
    assert "nothing has changed" in caplog.text


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (SettingsError("f.yaml: samplng: unknown setting"), "f.yaml: samplng: unknown setting"),
        (RuntimeError("unexpected"), "RuntimeError: unexpected"),
        (
            settings(listen={"port": 1, "processes": 2}, alerts={"threshold": 0.2}),
            "restart needed for listen.port, listen.processes; restart evenkeel, or take that back",
        ),
    ],
)
def test_bad_settings_are_refused_as_a_whole(caplog, read, said):
    """The old ones stay, the reason is logged and shown, and the next good ones are taken."""
    times = iter((1.0, 2.0))
    source = Source()
    reloader = source.reloader(clock=lambda: next(times))
    before = reloader.running
    source.settings = read
    assert reloader.reload() is None
    assert reloader.running is before
    assert said in reloader.problem
    assert f"the old ones stay in force: {reloader.problem}" in caplog.text
    assert gauges(reloader) == {"settings_reload_success": 0, "settings_last_reload_timestamp_seconds": 1.0}
    source.settings = settings(alerts={"threshold": 0.3})
    assert reloader.reload().alerts.threshold == 0.3
    assert gauges(reloader) == {"settings_reload_success": 1, "settings_last_reload_timestamp_seconds": 2.0}


def test_another_file_under_the_same_name_is_a_change(tmp_path, caplog):
    """It is read at the start of what uses it, so that has to start again."""
    caplog.set_level("INFO")
    path = tmp_path / "limits"
    path.write_text("one")
    source = Source()
    source.settings = settings(alerts={"limits": path})
    reloader = source.reloader()
    assert reloader.reload() is None
    path.write_text("another")
    assert reloader.reload() == source.settings
    assert "settings changed: alerts.limits (the content of the file)" in caplog.text
    assert reloader.reload() is None


def gauges(reloader):
    return {name: number for name, _, number in reloader.snapshot()["gauges"]}


def test_a_file_counts_as_changed_when_it_is_at_rest(tmp_path):
    """Two looks must see the same, and something else than before; touching it is no change."""
    path = tmp_path / "evenkeel.yaml"
    path.write_text("a")
    watched = WatchedFile(path)
    assert not watched.look()
    path.write_text("half of b")
    assert not watched.look()
    path.write_text("b")
    assert not watched.look()
    assert watched.look()
    assert not watched.look()
    path.touch()
    assert [watched.look(), watched.look()] == [False, False]
    path.unlink()
    assert [watched.look(), watched.look(), watched.look()] == [False, True, False]


def test_a_link_that_is_moved_to_another_file_is_a_change(tmp_path):
    """As in a folder that Kubernetes mounts from a ConfigMap."""
    for name in "ab":
        (tmp_path / name).write_text(name)
    link = tmp_path / "evenkeel.yaml"
    link.symlink_to("a")
    watched = WatchedFile(link)
    (tmp_path / "next").symlink_to("b")
    (tmp_path / "next").replace(link)
    assert [watched.look(), watched.look()] == [False, True]

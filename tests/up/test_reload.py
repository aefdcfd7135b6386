"""`evenkeel up` under load while settings, worker and store come and go: no request notices."""

import contextlib
import json
import re
import shutil
import signal
import sqlite3

import httpx2
import pytest

from evenkeel.stores.changes import ChangeStore
from evenkeel.stores.sqlite.database import DATABASE_FILE, Database
from evenkeel.stores.sqlite.documents import SqliteDocuments
from tests.kit.relaying import Load, token_in
from tests.services import wait_for

pytestmark = pytest.mark.system


@pytest.fixture
def write(tmp_path, upstream):
    """Writes the settings file, as an editor does: in place."""

    def write_file(*more_routes, threshold=0.1, text=""):
        first = {"upstream": upstream, "sampling_rate": 0.3, "trials": {"perturbations": ["general.casing"]}}
        first["trials"]["inputs"] = ["typed", "documents"]
        routes = [first]
        routes += [
            {"name": name, "match": {"prefix": f"/{name}"}, "upstream": upstream} for name in more_routes
        ]
        fields = {
            "routes": routes,
            "listen": {"processes": 2},
            "alerts": {"threshold": threshold},
        }
        path = tmp_path / "evenkeel.yaml"
        path.write_text(json.dumps(fields) + text)
        return str(path)

    return write_file


def test_nothing_that_happens_behind_the_proxy_fails_a_request(start, write, tmp_path):
    """A reload, a broken file, a hang-up, a deleted store: each has its effect, and fails none."""
    with start("--config", write()) as running, Load(running.url) as load:

        def answers(path):
            """Ask on so many fresh connections that both processes answer, but for one time in 2,000."""
            found = {httpx2.get(f"{running.url}{path}/v1/models").status_code for _ in range(12)}
            return found == {200}

        def stored(query):
            with contextlib.closing(sqlite3.connect(tmp_path / "data" / DATABASE_FILE)) as store:
                return store.execute(query).fetchall()

        def settings_versions():
            fingerprints = stored("SELECT fingerprint FROM settings_versions")
            with contextlib.closing(Database(tmp_path / "data" / DATABASE_FILE)) as database:
                store = ChangeStore(SqliteDocuments(database))
                return [store.settings(fingerprint) for (fingerprint,) in fingerprints]

        def started():
            return running.log.read_text().count("worker started")

        def content_limit():
            found = re.search(r'data-label="limit">([\d.]+)</td>', running.page("/calibration"))
            return found and float(found[1])

        assert not answers("/new")
        wait_for(lambda: content_limit() == 10)
        write("new", threshold=0.25)
        wait_for(lambda: answers("/new"))
        wait_for(lambda: started() == 2)
        # The console's pages show what is in effect, not what it was started with.
        wait_for(lambda: content_limit() == 25)
        text = running.log.read_text()
        assert "settings changed: alerts.threshold, " in text
        assert "routes.new" in text
        assert "worker has finished; starting it with the new settings" in text

        write("new", "newer", text="]")
        running.process.send_signal(signal.SIGHUP)
        wait_for(lambda: running.metric("evenkeel_settings_reload_success") == 0)
        assert "is not YAML" in running.log.read_text()
        assert any("changed and refused" in notice for notice in running.get("/api/pipeline")["notices"])
        assert answers("/new")
        assert httpx2.get(f"{running.url}/newer/v1/models").status_code == 404

        # Verdicts from here on are stamped with the new settings, which is how a change report names them.
        assert {values["alerts.threshold"] for values in settings_versions()} == {"0.1", "0.25"}

        (tmp_path / "data").rename(tmp_path / "deleted")  # At once: some of it is made again within a second.
        shutil.rmtree(tmp_path / "deleted")
        wait_for(lambda: started() == 3)
        # The token was kept there, too, and another one is made.
        running.auth = "anyone", wait_for(lambda: token_in(running.data))
        wait_for(lambda: running.metric("evenkeel_store_recreated_total") == 1)
        wait_for(lambda: running.metric("evenkeel_monitor_verdicts_total") > 0)
        assert "was deleted while in use" in running.log.read_text()
        assert stored("SELECT id FROM verdicts")
        assert (tmp_path / "data" / "lock").read_text() == f"{running.process.pid}\n"
    assert load.failures == []
    assert load.answered > 50

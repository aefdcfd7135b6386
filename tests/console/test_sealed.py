"""The console over a store whose key is missing: figures are shown, and what the texts need is said."""

from __future__ import annotations

import base64

from litestar.testing import TestClient

from evenkeel.console import ConsoleSources, PipelineView, create_app
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import Evidence, Verdict
from evenkeel.stores.sealing import KEY_VARIABLE, payload_keys, seal_of
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.monitor import SqliteMonitorStore
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog

KEY = base64.b64encode(bytes(32)).decode()
VERDICT = Verdict(
    *("v1", "e1", 999.0, "main", "m", "general.tone", 1, 0.5, 7, "judge", 2, None), explanation="a word"
)


def test_a_page_that_needs_a_missing_key_names_it(tmp_path):
    """503 with the key's id and the variable; the overview does without."""
    path = tmp_path / "evenkeel.db"
    sealed = Database(path, seal=seal_of({KEY_VARIABLE: KEY}))
    SqliteVerdictLog(sealed).append(VERDICT, Evidence("asked", "asked", Answer("said"), Answer("told")))
    sealed.close()
    database = Database(path, seal=seal_of({}))
    sources = ConsoleSources(
        reports=list,
        log=SqliteVerdictLog(database),
        monitor_store=SqliteMonitorStore(database),
        exposition=lambda: b"",
        ready=dict,
        pipeline=lambda: PipelineView("http://127.0.0.1:8100/v1"),
        clock=lambda: 1000.0,
    )
    with TestClient(create_app(sources), base_url="http://127.0.0.1:8101") as browser:
        assert browser.get("/").status_code == 200
        page = browser.get("/verdicts/v1")
    database.close()
    assert page.status_code == 503
    assert f"the key {payload_keys(KEY)[0].id.hex()}, which is not in {KEY_VARIABLE}" in page.text

"""A console over the real stores of one file, and who may see it as the settings say."""

from __future__ import annotations

import textwrap

from litestar import Litestar, get

from evenkeel.cli.options import settings_source
from evenkeel.console import ConsoleSources, PipelineView
from evenkeel.monitor.measuring import Measuring
from evenkeel.stores.monitor_state import MonitorStore
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.console.memory_stores import other_stores

LOCAL = "http://127.0.0.1:8101"
PATHS = ["/", "/metrics", "/healthz", "/readyz", "/trials", "/api/cells", "/static/console.css"]


@get(PATHS, sync_to_thread=False)
def _page() -> str:
    return "content"


def pages():
    """An application that says "content" at the paths that a guard tells apart."""
    return Litestar([_page], logging_config=None)


def access_of(folder, section="{}"):
    """The section `access` of a settings file."""
    path = folder / "evenkeel.yaml"
    section = textwrap.indent(section, "  ")
    path.write_text(f"access:\n{section}\nroutes: [{{upstream: 'http://a'}}]\n")
    return settings_source(path, {}, guarding=True, checked=False).read().access


def bearer(token):
    """The headers of whoever has a token."""
    return {"authorization": f"Bearer {token}"}


def console_over(database, **more):
    """The sources of a console over a database, at a fixed time."""
    documents = SqliteDocuments(database)
    return ConsoleSources(
        reports=list,
        log=SqliteVerdictLog(database),
        monitor_store=MonitorStore(SqliteDocuments(database)),
        exposition=lambda: b"",
        measuring=lambda: Measuring("measuring", 0.0),
        pipeline=lambda: PipelineView("http://127.0.0.1:8100/v1"),
        clock=lambda: 1000.0,
        **other_stores(documents) | more,
    )

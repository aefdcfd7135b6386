"""A console over the real stores of one file."""

from __future__ import annotations

from evenkeel.console import ConsoleSources, GoldenSources, PipelineView
from evenkeel.monitor.measuring import Measuring
from evenkeel.stores.audit_log import ActionLog
from evenkeel.stores.goldens import GoldenStore
from evenkeel.stores.labels import LabelStore
from evenkeel.stores.sqlite.archive import SqliteExchangeArchive
from evenkeel.stores.sqlite.documents import SqliteDocuments
from evenkeel.stores.sqlite.monitor import SqliteMonitorStore
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog


def console_over(database, **more):
    """What a console shows of a database, at a fixed time."""
    documents = SqliteDocuments(database)
    archive = SqliteExchangeArchive(database, per_route=10, total_bytes=10**6)
    return ConsoleSources(
        reports=list,
        log=SqliteVerdictLog(database),
        monitor_store=SqliteMonitorStore(database),
        exposition=lambda: b"",
        measuring=lambda: Measuring("measuring", 0.0),
        pipeline=lambda: PipelineView("http://127.0.0.1:8100/v1"),
        clock=lambda: 1000.0,
        goldens=GoldenSources(GoldenStore(documents), archive),
        labels=LabelStore(documents),
        actions=ActionLog(documents),
        **more,
    )

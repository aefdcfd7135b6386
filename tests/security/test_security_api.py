"""The admin API under generated requests: no input makes it fail, leave its format, or forget its headers."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from litestar import Litestar
from litestar.openapi import OpenAPIConfig

from console import ConsoleSources, GoldenSources, PipelineView, create_app
from console.api import api_handlers
from console.app import CONTENT_SECURITY_POLICY
from console.goldens_api import golden_api_handlers
from metrics.goldens import SqliteGoldens
from metrics.stores.exchanges import SqliteExchangeArchive
from metrics.stores.sqlite import Database, SqliteMonitorStore, SqliteVerdictLog

schemathesis = pytest.importorskip("schemathesis")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A console's sources over real, empty stores."""
    database = Database(tmp_path_factory.mktemp("api") / "evenkeel.db")
    archive = SqliteExchangeArchive(database, per_route=10, total_bytes=10**6)
    yield ConsoleSources(
        reports=list,
        log=SqliteVerdictLog(database),
        monitor_store=SqliteMonitorStore(database),
        exposition=lambda: b"",
        ready=dict,
        pipeline=lambda: PipelineView("http://127.0.0.1:8100/v1"),
        clock=lambda: 1000.0,
        goldens=GoldenSources(SqliteGoldens(database), archive),
    )
    database.close()


@pytest.fixture(scope="module")
def api(sources):
    """The API's description, which the console does not serve, over the console as it is served."""
    described = Litestar(
        [*api_handlers(sources), *golden_api_handlers(sources, sources.goldens)],
        openapi_config=OpenAPIConfig(title="admin", version="1"),
    )
    schema = json.loads(json.dumps(described.openapi_schema.to_schema()))
    loaded = schemathesis.openapi.from_dict(schema)
    loaded.app = create_app(sources)
    return loaded


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_no_request_breaks_the_api(api, mode):
    """Whatever is sent, valid by the description or not: an answer in JSON, below 500, with the headers."""
    tried = 0
    for found in api.get_all_operations():

        @settings(max_examples=4, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(found.ok().as_strategy(generation_mode=mode))
        def check(case):
            nonlocal tried
            tried += 1
            response = case.call()
            assert response.status_code < 500
            assert response.headers["content-type"][0].startswith("application/json")
            assert response.headers["content-security-policy"] == [CONTENT_SECURITY_POLICY]
            json.loads(response.content)

        with contextlib.suppress(Unsatisfiable):  # what takes no input cannot be given a wrong one
            check()
    assert tried > 10

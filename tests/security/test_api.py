"""The admin API under generated requests: no input makes it fail, leave its format, or forget its headers."""

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from litestar import Litestar, Router
from litestar.openapi import OpenAPIConfig

from evenkeel.console import create_app
from evenkeel.console.app import CONTENT_SECURITY_POLICY
from evenkeel.stores.sqlite.database import Database
from tests.security.desk import console_over
from tests.security.test_credentials import API

schemathesis = pytest.importorskip("schemathesis")


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    database = Database(tmp_path_factory.mktemp("api") / "evenkeel.db")
    yield console_over(database, change_reports=lambda: ())
    database.close()


@pytest.fixture(scope="module")
def api(sources):
    """The description of all of the API, which is not served, over the console as it is served."""
    app = create_app(sources)
    described = Litestar(
        logging_config=None,
        route_handlers=[_described(route) for route in app.routes if route.path.startswith("/api/")],
        openapi_config=OpenAPIConfig(
            title="admin",
            version="1",
            operation_id_creator=lambda _handler, method, parts: f"{method} {'/'.join(map(str, parts))}",
        ),
    )
    schema = json.loads(json.dumps(described.openapi_schema.to_schema()))
    loaded = schemathesis.openapi.from_dict(schema)
    loaded.app = app
    return loaded


def _described(route):
    """The handlers of a route, for another application."""
    own = [handler for handler in route.route_handlers if "OPTIONS" not in handler.http_methods]
    (path,) = own[0].paths
    if path.startswith("/api/"):
        return own[0]
    return Router(route.path.removesuffix(path.rstrip("/")), route_handlers=own)


def test_all_of_the_api_is_tried(api):
    """Goldens, labels, actions, alerts, changes and trials are among what requests are generated for."""
    tried = {operation.ok().path.split("/")[2].partition("{")[0] for operation in api.get_all_operations()}
    assert tried == set(API)


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_no_request_breaks_the_api(api, mode):
    """The answer is JSON, below 500 and has the headers, whether the request fits the description or not."""
    tried = 0
    for operation in (result.ok() for result in api.get_all_operations()):
        if mode is schemathesis.GenerationMode.NEGATIVE and not operation.query:
            continue  # Any text is a valid path: it would look long for a wrong one.

        @settings(
            max_examples=settings.default.max_examples // 4,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(operation.as_strategy(generation_mode=mode))
        def check(case):
            nonlocal tried
            tried += 1
            response = case.call()
            assert response.status_code < 500
            assert response.headers["content-type"][0].startswith("application/json")
            json.loads(response.content)
            assert response.headers["content-security-policy"] == [CONTENT_SECURITY_POLICY]

        check()
    assert tried > 20

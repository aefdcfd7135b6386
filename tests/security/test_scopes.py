"""Roles of the admin port: every route says what it takes, and refuses whoever has less."""

import re
from typing import get_args

import pytest
from litestar.testing import TestClient

from evenkeel.console import create_app, create_probes
from evenkeel.console.access import NOBODY, SCOPE_KEY, Role, Visitor
from evenkeel.runtime.process import guarded
from tests.console.memory_stores import other_stores
from tests.console.planted_trials import cell
from tests.console.scenes import SCENES
from tests.console.whole_scene import references, whole
from tests.kit.pages import form_token
from tests.kit.records import altered
from tests.security.desk import LOCAL, access_of, bearer, console_over

ROLES = get_args(Role)
FOR_ADMINS = {"/api/actions"}
FOR_APPROVERS = {f"{start}/incidents/{{incident}}" for start in ("", "/api")}
FOR_APPROVERS |= {"/goldens", "/api/goldens", "/challengers", "/challengers/{challenge_id}/stop"}
TOKENS = {f"T_{role.upper()}": f"token-for-the-role-{role}" for role in ROLES}


@pytest.fixture
def everything(database, documents):
    made = whole(SCENES["alert"](), cell)
    return altered(made.sources, **other_stores(documents) | references(documents, made.scene.now))


@pytest.fixture
def app(everything):
    return create_app(everything)


def routes(app):
    """Path, method and need of each route."""
    for route in app.routes:
        for handler in route.route_handlers:
            for method in handler.http_methods - {"OPTIONS"}:
                yield route.path_format, method, handler.opt.get("needs")


def test_every_route_says_what_it_takes(app):
    """None is without, in the console and in the probes; what changes something takes more than reading."""
    listed = list(routes(app))
    assert {need for *_, need in listed} == {NOBODY, *ROLES}
    assert {path for path, _, need in listed if need == NOBODY} == {"/healthz", "/readyz", "/static/{name}"}
    assert {path for path, _, need in listed if need == "admin"} == FOR_ADMINS
    assert {path for path, _, need in listed if need == "scraper"} == {"/metrics"}
    assert {path for path, method, need in listed if method == "POST" and need == "approver"} == FOR_APPROVERS
    assert {need for _, method, need in listed if method != "GET"} == {"labeller", "approver"}
    assert all(need for *_, need in routes(create_probes(bytes, dict, "")))


def test_every_route_refuses_who_has_less(app):
    """The answer is 403 and the role that it takes; whoever has just enough, or all, gets in."""
    who = [Visitor("admin", "admin", "token")]

    async def visited(scope, receive, send):
        await app({**scope, SCOPE_KEY: who[0]}, receive, send)

    refused = 0
    with TestClient(visited, base_url=LOCAL, raise_server_exceptions=False) as client:
        form = {"_csrf_token": form_token(client, "/incidents/c-7")}
        for path, method, need in routes(app):
            at = re.sub(r"\{[^}]+\}", "x", path)
            sent = {"data": form} if not at.startswith("/api") else {"json": {}}
            enough = 0 if need == NOBODY else ROLES.index(need)
            for role in dict.fromkeys((ROLES[max(0, enough - 1)], ROLES[enough], "admin")):
                who[0] = Visitor("ann", role, "token")
                answer = client.request(method, at, **(sent if method == "POST" else {}))
                if ROLES.index(role) < enough:
                    refused += 1
                    assert answer.status_code == 403, (method, path)
                    refusal = f"ann has the role {role}; this needs the role {need}. Nothing was changed."
                    assert refusal in answer.text, (method, path)
                else:
                    assert answer.status_code not in {401, 403}, (method, path, answer.text)
    assert refused > 40


ALL = """{people: [
  {name: prometheus, role: scraper, token_env: T_SCRAPER}, {name: report, role: viewer, token_env: T_VIEWER},
  {name: pipeline, role: approver, token_env: T_APPROVER},
  {name: terraform, role: admin, token_env: T_ADMIN}]}"""


def test_tokens_open_what_their_role_says(tmp_path, database, monkeypatch):
    """A token that approves is on record by its name; none may do more than its role says."""
    for name, value in TOKENS.items():
        monkeypatch.setenv(name, value)
    sources = console_over(database)
    with TestClient(
        guarded(create_app(sources), access_of(tmp_path, ALL), tmp_path), base_url=LOCAL
    ) as client:

        def status(name, path, **sent):
            client.headers = bearer(TOKENS[name])
            return client.request("POST" if sent else "GET", path, **sent).status_code

        for name, answers in (
            ("T_SCRAPER", [200, 403, 403, 403]),
            ("T_VIEWER", [200, 200, 403, 403]),
            ("T_APPROVER", [200, 200, 200, 403]),
            ("T_ADMIN", [200, 200, 200, 200]),
        ):
            golden = {"golden": {"id": "g", "prompt": "p", "answer": f"a {name}"}}
            statuses = [status(name, path) for path in ("/metrics", "/api/cells")]
            statuses += [status(name, "/api/goldens", json=golden), status(name, "/api/actions")]
            assert statuses == answers, name
        assert status("T_SCRAPER", "/login") == 200
        assert client.get("/").status_code == 403
    actions = [(action.by, action.known_by) for action in sources.actions.latest(5)]
    assert actions == [("terraform", "token"), ("pipeline", "token")]


def test_nothing_is_changed_by_another_site_or_without_the_pages_token(app):
    """Every form and every call that changes something: whoever's cookies and password come along."""
    tried = 0
    with TestClient(app, base_url=LOCAL) as client:
        for path, method, _ in routes(app):
            if method != "POST":
                continue
            at, is_form = re.sub(r"\{[^}]+\}", "x", path), not path.startswith("/api")
            for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}):
                sent = {"data": {"by": "eve"}} if is_form else {"json": {"by": "eve"}}
                assert client.post(at, headers=headers, **sent).status_code == 403, (path, headers)
            if is_form:
                assert client.post(at, data={"by": "eve", "_csrf_token": "0" * 128}).status_code == 403, path
            tried += 1
    assert tried >= 6

"""People on the admin port: who is believed about a name, what each may do, and that it is put on record."""

from __future__ import annotations

import asyncio
import re
import socket
from functools import partial
from pathlib import Path

import httpx2
import pytest
from litestar import Litestar, Request, get
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.console.access import SCOPE_KEY, Visitor, visitor_of
from evenkeel.console.server import serving
from evenkeel.core.pair import Answer
from evenkeel.runtime.process import guarded
from evenkeel.stores.goldens import Golden
from tests.kit.pages import words
from tests.security.desk import LOCAL, access_of, bearer, console_over
from tests.stores.examples import verdict

TOKENS = {f"T_{name.upper()}": f"token-of-our-{name}" for name in ("ann", "vic", "ida", "lea")}
SHARED = "shared-by-all-of-us"
NOWHERE = Path("/dev/null/none")
"""A data folder that cannot be; nothing here needs one."""
PEOPLE = """
people:
- {name: ann, role: approver, token_env: T_ANN}
- {name: lea, role: labeller, token_env: T_LEA}
- {name: vic, token_env: T_VIC}
- {name: ida, role: admin, token_env: T_IDA}
"""
LOGIN = "login: {header: X-Forwarded-User, addresses: [192.0.2.7, '2001:db8::/32'], role: labeller}"


@pytest.fixture
def admin(tmp_path, monkeypatch):
    for name, value in TOKENS.items():
        monkeypatch.setenv(name, value)
    return partial(access_of, tmp_path)


def asking(admin, headers=(), *, client="192.0.2.7", host="127.0.0.1"):
    """Return the visitor that the application is told of, or the status with which the guard refuses."""
    seen, sent = [], []

    async def app(scope, _receive, _send):
        seen.append(scope[SCOPE_KEY])

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "headers": [(b"host", host.encode()), *headers]}
    scope["client"] = (client, 4711) if client else None
    asyncio.run(guarded(app, admin, NOWHERE)(scope, None, send))
    return seen[0] if seen else sent[0]["status"]


def showing(token):
    return [(b"authorization", f"Bearer {token}".encode())]


def user(name):
    return [(b"x-forwarded-user", name)]


def test_a_token_of_ones_own_says_who_is_asking(admin, monkeypatch):
    """Tokens come from a variable or a file; whoever has the shared one is nobody, and reads."""
    monkeypatch.setenv("EVENKEEL_ADMIN_TOKEN", SHARED)
    section = admin(PEOPLE)
    assert asking(section, showing("token-of-our-ann")) == Visitor("ann", "approver", "token")
    assert asking(section, showing("token-of-our-lea")) == Visitor("lea", "labeller", "token")
    assert asking(section, showing("token-of-our-vic")) == Visitor("vic", "viewer", "token")
    assert asking(section, showing(SHARED)) == Visitor("", "viewer", "typed")
    for wrong in ("token-of-our-an", "token-of-our-ann2", "", "ann"):
        assert asking(section, showing(wrong)) == 401
    assert asking(section, user(b"ann")) == 401


@pytest.mark.parametrize(
    ("client", "headers", "found"),
    [
        ("192.0.2.7", user(b"ann"), Visitor("ann", "approver", "proxy")),
        ("192.0.2.7", user(b"eve"), Visitor("eve", "labeller", "proxy")),
        ("::ffff:192.0.2.7", user(b"ann"), Visitor("ann", "approver", "proxy")),
        ("2001:db8::1", user("Zoë".encode()), Visitor("Zoë", "labeller", "proxy")),
        ("192.0.2.8", user(b"ann"), 401),
        ("127.0.0.1", user(b"ann"), 401),
        ("", user(b"ann"), 401),
        ("/run/x.sock", user(b"ann"), 401),
        ("192.0.2.7", [], 401),
        ("192.0.2.7", user(b" "), 401),
        ("192.0.2.7", user(b"\xff"), 401),
        ("192.0.2.7", user(b"an\tn"), 401),
        ("192.0.2.7", user("a\u202en".encode()), 401),
        ("192.0.2.7", user(b"x" * 201), 401),
        ("192.0.2.7", [*user(b"ann"), *user(b"vic")], 401),
        ("192.0.2.8", [*user(b"ann"), (b"x-forwarded-for", b"192.0.2.7")], 401),
        ("192.0.2.8", [*user(b"ann"), (b"forwarded", b"for=192.0.2.7")], 401),
        ("192.0.2.7", [*user(b"ann"), *showing("token-of-our-vic")], Visitor("vic", "viewer", "token")),
    ],
)
def test_only_the_login_proxy_is_believed_about_names(admin, client, headers, found):
    """The proxy is known by its address and believed about one visible name; a token says more than that."""
    assert asking(admin(PEOPLE + LOGIN), headers, client=client) == found


def test_a_page_whose_name_was_pointed_here_is_not_the_proxy(admin):
    """A browser on the proxy's own machine could send any header; it means another name, though."""
    assert asking(admin(LOGIN), user(b"ann"), host="attacker.test") == 421
    second = [*user(b"ann"), (b"host", b"127.0.0.1")]
    assert asking(admin(LOGIN), second, host="attacker.test") == asking(admin(LOGIN), second) == 421
    assert asking(admin(f"hosts: [keel.test]\n{LOGIN}"), user(b"ann"), host="keel.test") == Visitor(
        "ann", "labeller", "proxy"
    )
    assert asking(admin(LOGIN), user(b"ann"), client="192.0.2.8") == 403


def test_the_address_is_that_of_the_connection(admin):
    """An address that a header claims does not count, not even from this machine."""

    @get("/", sync_to_thread=False)
    def who(request: Request) -> str:
        return visitor_of(request).name

    async def answers():
        listening = socket.create_server(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with (
            serving(guarded(Litestar([who], logging_config=None), admin(LOGIN), NOWHERE), [listening]),
            httpx2.AsyncClient() as client,
        ):
            headers = {"x-forwarded-user": "ann", "x-forwarded-for": "192.0.2.7"}
            return (await client.get(url, headers=headers)).status_code

    assert asyncio.run(answers()) == 403


@pytest.fixture
def desk(database, admin):
    """A console over real stores, behind the guard; with a verdict and a golden."""
    sources = console_over(database)
    golden = Golden(id="g", route="r", request="{}", answer=Answer("Yes."))
    sources.goldens.approve(golden, by="start", at=1.0)
    sources.log.append(verdict(1, id="v", route="r", rating=1, scorer="judge"), None)

    def served(section):
        return TestClient(guarded(create_app(sources), admin(section), NOWHERE), base_url=LOCAL)

    return served, sources


LABEL = {"verdict": "v", "rating": 2}
RETIRE = {"retire": "g"}


@pytest.mark.parametrize(
    ("token", "labelled", "retired"),
    [(SHARED, 403, 403), ("token-of-our-vic", 403, 403), ("token-of-our-lea", 201, 403)],
)
def test_who_may_not_changes_nothing(desk, monkeypatch, token, labelled, retired):
    """A viewer reads, a labeller labels; neither approves nor retires, through a form or the API."""
    monkeypatch.setenv("EVENKEEL_ADMIN_TOKEN", SHARED)
    served, sources = desk
    with served(PEOPLE) as client:
        assert client.get("/goldens", headers=bearer(token)).status_code == 200
        assert client.post("/api/labels", json=LABEL, headers=bearer(token)).status_code == labelled
        assert client.post("/api/goldens", json=RETIRE, headers=bearer(token)).status_code == retired
        page = client.get("/goldens/g", headers=bearer(token)).text
        assert "<form" not in page
        # No page gives a viewer a form; the cookie holds what it would carry.
        csrf = next(value for name, value in client.cookies.items() if name.startswith("evenkeel-"))
        form = {**RETIRE, "_csrf_token": csrf}
        refused = client.post("/goldens", data=form, headers=bearer(token))
        assert refused.status_code == 403
        assert "this needs the role approver. Nothing was changed." in refused.text
    assert sources.goldens.find("g").retired_at is None
    assert [label.by for label in sources.labels.of_verdict("v")] == (["lea"] if labelled == 201 else [])


def test_the_name_that_is_known_is_the_one_on_record(desk):
    """The form does not ask for it, another one is refused, and the log of actions says how it is known."""
    served, sources = desk
    with served(PEOPLE) as client:
        client.headers = bearer("token-of-our-ann")
        page = client.get("/goldens/g").text
        assert 'name="by"' not in page
        assert "As <b>ann</b>" in page
        token = re.search(r'name="_csrf_token" value="([^"]+)"', page)[1]
        refused = client.post("/goldens", data={**RETIRE, "_csrf_token": token, "by": "vic"})
        assert (refused.status_code, "You are signed in as ann" in refused.text) == (403, True)
        sent = client.post("/goldens", data={**RETIRE, "_csrf_token": token}, follow_redirects=False)
        assert sent.status_code == 303
        assert "retired by ann, " in words(client.get("/goldens/g"))
        assert client.post("/api/labels", json={**LABEL, "by": "vic"}).status_code == 403
        assert client.post("/api/labels", json=LABEL).json()["label"]["by"] == "ann"
        assert client.post("/api/labels", json={"verdict": "v", "withdraw": True}).status_code == 201
        client.headers = bearer("token-of-our-ida")
        actions = client.get("/api/actions").json()["actions"]
        assert [
            (action["by"], action["known_by"], action["what"], action["subject"]) for action in actions
        ] == [
            ("ann", "token", "label_withdrawn", "v"),
            ("ann", "token", "label_given", "v"),
            ("ann", "token", "golden_retired", "g"),
        ]
        assert "signed in by token" in client.get("/setup").text
    assert sources.goldens.find("g").retired_by == "ann"


def test_nobody_takes_back_what_another_person_said(desk):
    """The page offers it for one's own labels only, and the name cannot be given."""
    served, _ = desk
    with served(PEOPLE) as client:
        client.post("/api/labels", json=LABEL, headers=bearer("token-of-our-lea"))
        taken = client.post(
            "/api/labels",
            json={"verdict": "v", "by": "lea", "withdraw": True},
            headers=bearer("token-of-our-ann"),
        )
        assert taken.status_code == 403
        assert "Take back" in client.get("/verdicts/v", headers=bearer("token-of-our-lea")).text
        assert "Take back" not in client.get("/verdicts/v", headers=bearer("token-of-our-ann")).text
        assert "your role is viewer: " in client.get("/verdicts/v", headers=bearer("token-of-our-vic")).text

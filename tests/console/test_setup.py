"""The set-up page: lines to paste, and a button for each part."""

from __future__ import annotations

import re

import pytest

from evenkeel.console import Check, RouteSetup, SetupSources
from evenkeel.console.access import SCOPE_KEY, Visitor
from evenkeel.stores.audit_log import ActionLog

SHOP = RouteSetup("shop", "http://0.0.0.0:8100/v1", "https://a.example/v1", 0.1, 2, 4)
CHAT = SHOP._replace(route="chat", base_url="http://127.0.0.1:8100/chat/v1")


@pytest.fixture
def asked():
    """What the checks were asked."""
    return []


@pytest.fixture
def sources(asked, documents):
    """A set-up whose checks answer at once."""

    def found(fields):
        asked.append(fields)
        return Check("bad", "The endpoint <refused>.", "Set KEY.", "POST …", "401 no")

    names = ("upstream", "request", "judge", "budget", "notification")
    return {
        "setup": SetupSources((SHOP, CHAT), dict.fromkeys(names, found)),
        "actions": ActionLog(documents),
    }


def token(page):
    return re.search(r'name="_csrf_token" value="([^"]+)"', page)[1]


def test_the_lines_have_the_address_by_which_the_visitor_gets_here(make_scene, console_client, sources):
    """Of a data plane that listens everywhere, nobody can use the address; other routes are listed."""
    page = console_client(make_scene("quiet"), **sources).get("/setup").text
    assert page.count("http://testserver.local:8100/v1") >= 5
    assert "0.0.0.0" not in page
    assert "http://127.0.0.1:8100/chat/v1" in page
    for client in ("Python, openai", "Node, openai", "curl", "LangChain, LiteLLM"):
        assert client in page


def test_a_button_tries_one_part_and_says_what_came_of_it(make_scene, console_client, sources, asked):
    """Result, next step, what went out and what came back, escaped; the check learns the models seen."""
    client = console_client(make_scene("quiet"), **sources)
    form = {"_csrf_token": token(client.get("/setup").text), "check": "request", "model": " m ", "by": "ana"}
    page = client.post("/setup", data=form).text
    for text in ("The endpoint &lt;refused&gt;.", "Set KEY.", "POST …", "401 no", 'value="m"'):
        assert text in page
    (fields,) = asked
    assert (fields["model"], fields["by"], fields["models"]) == ("m", "ana", "steady-2026-05")


def test_what_is_sent_is_on_record(make_scene, console_client, sources):
    """A test request and a test message are, with a name; looking at the budget is not."""
    client = console_client(make_scene("quiet"), **sources)
    form = {"_csrf_token": token(client.get("/setup").text)}
    assert client.post("/setup", data={**form, "check": "notification"}).status_code == 400
    client.post("/setup", data={**form, "check": "notification", "by": "ana"})
    client.post("/setup", data={**form, "check": "budget"})
    assert [(one.by, one.what, one.subject) for one in sources["actions"].latest(9)] == [
        ("ana", "test_sent", "notification")
    ]


def test_only_admins_try(make_scene, console_client, sources, asked):
    """Others see the lines, and no button."""
    client = console_client(make_scene("quiet"), **sources)
    app = client.app

    async def as_viewer(scope, receive, send):
        scope[SCOPE_KEY] = Visitor("vera", "viewer", "token")
        await app(scope, receive, send)

    client.app = client._transport.app = as_viewer
    page = client.get("/setup").text
    assert "Python, openai" in page
    assert 'name="check"' not in page
    assert client.post("/setup", data={"check": "judge"}).status_code == 403
    assert asked == []

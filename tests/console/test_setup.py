"""The set-up page: lines to paste, settings and audit log."""

from __future__ import annotations

from evenkeel.console import RouteSetup
from evenkeel.console.access import SCOPE_KEY, Visitor

SHOP = RouteSetup("shop", "http://127.0.0.1:8100/v1", "https://a.example/v1", 0.1, 2, 4)
CHAT = SHOP._replace(route="chat", base_url="http://127.0.0.1:8100/chat/v1")


def test_the_lines_to_paste_have_the_base_url_and_other_routes_are_listed(make_scene, console_client):
    page = console_client(make_scene("quiet"), setup=(SHOP, CHAT)).get("/setup").text
    assert page.count("http://127.0.0.1:8100/v1") >= 5
    assert "http://127.0.0.1:8100/chat/v1" in page
    for client in ("Python, openai", "Node, openai", "curl", "LangChain, LiteLLM"):
        assert client in page


def test_only_admins_see_settings(make_scene, console_client):
    client = console_client(make_scene("quiet"), setup=(SHOP,), settings=str)
    assert "Settings in effect" in client.get("/setup").text
    app = client.app

    async def as_viewer(scope, receive, send):
        scope[SCOPE_KEY] = Visitor("vera", "viewer", "token")
        await app(scope, receive, send)

    client.app = client._transport.app = as_viewer
    page = client.get("/setup").text
    assert "Python, openai" in page
    assert "Settings in effect" not in page

"""The admin port: who gets in, from which pages, under which names; and that what it shows is only shown."""

import asyncio
import hmac
import json
import socket
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from litestar.testing import TestClient

from evenkeel.console import access, create_app
from evenkeel.console.app import CONTENT_SECURITY_POLICY
from evenkeel.console.guard import TokenGuard
from evenkeel.console.server import serving
from evenkeel.core.pair import Answer, ToolCall
from evenkeel.core.verdict import Evidence, QualityScore
from evenkeel.stores.goldens import Golden
from evenkeel.stores.labels import LabelStatement, label_of
from tests.security.desk import LOCAL, console_over, pages
from tests.stores.examples import verdict


def client(token=None, hosts=(), base_url=LOCAL):
    return TestClient(TokenGuard(pages(), token, hosts), base_url=base_url)


def test_the_token_is_compared_in_constant_time(monkeypatch):
    """Every given token goes through the comparison whose time says nothing of it."""
    seen, compare = [], hmac.compare_digest

    def watched(given, wanted):
        seen.append(given)
        return compare(given, wanted)

    monkeypatch.setattr(access.hmac, "compare_digest", watched)
    with client("s3cret") as guarded:
        for header in ("", "s", "s3cre", "s3crets", "s3cret"):
            guarded.get("/", headers={"authorization": f"Bearer {header}"})
    assert seen == [b"", b"s", b"s3cre", b"s3crets", b"s3cret"]


@pytest.mark.parametrize(
    ("given", "status"),
    [
        *[
            (header, 401)
            for header in ("", "Bearer", "Bearer wrong", "Bearer s3cret x", "Basic !!", "Basic YTpi")
        ],
        *[(header, 200) for header in ("Bearer s3cret", "Basic YW55b25lOnMzY3JldA==")],  # anyone:s3cret
    ],
)
def test_only_the_token_opens(given, status):
    """Scrapers show it as bearer, browsers as a password; the refusal opens their dialogue."""
    with client("s3cret") as guarded:
        response = guarded.get("/", headers={"authorization": given} if given else {})
        assert guarded.get("/healthz").status_code == 200
    assert (response.status_code, response.text == "content") == (status, status == 200)
    assert response.headers.get("www-authenticate", "Basic").startswith("Basic")


@pytest.mark.parametrize(
    "path", ["//healthz", "/healthz/", "/healthz/x", "/healthz%2f..%2fmetrics", "/metrics", "/x"]
)
def test_only_the_probes_are_open(path):
    """Another path in any spelling is not taken for one of them."""
    with client("s3cret") as guarded:
        assert guarded.get(path).status_code in {401, 404}
        assert "content" not in guarded.get(path).text


@pytest.mark.parametrize(
    "host",
    [
        *("attacker.test", "attacker.test:8101", "127.0.0.1.attacker.test", "localhost.attacker.test:8101"),
        *("", "localhost@attacker.test", "[::1].attacker.test", "localhost,attacker.test"),
        *("2130706433.test", "127.0.0.1:80:80", "[::1", "0x7f.1", "localhost.."),
    ],
)
def test_a_name_that_was_pointed_here_is_refused(host):
    """A page whose own name resolves to this machine reads nothing from a port without a token."""
    with client() as guarded:
        response = guarded.get("/metrics", headers={"host": host})
        assert response.status_code == 421
        assert "content" not in response.text
        assert guarded.get("/healthz", headers={"host": host}).status_code == 200


def test_a_websocket_gets_nowhere():
    """The guard asks for tokens of requests, so it lets nothing else through."""
    sent = []

    async def send(message):
        sent.append(message)

    async def never(*_args):
        raise AssertionError("the application was reached")

    asyncio.run(TokenGuard(never, "s3cret")({"type": "websocket", "path": "/"}, never, send))
    assert sent == [{"type": "websocket.close", "code": 1008, "reason": ""}]


MARKUP = (
    "<script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "javascript:alert(1)",
    "<a href=javascript:alert(1)>x</a>",
    "<style>@import'//elsewhere.test'</style>",
    "{{ 7*7 }}{% for x in y %}",
    "<!--<script>",
    "]]><script>alert(1)</script>",
    "&lt;script&gt;&#x3c;script>",
    "\x00<\x00script>\u2028\u202e",
    "<details open ontoggle=alert(1)>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
)


@pytest.fixture
def desk(database):
    """A console over real stores: a verdict and a golden for each piece of markup, which is all they say."""
    sources = console_over(database)
    for number, text in enumerate(MARKUP):
        answer = Answer(text, (ToolCall(text, text),), model=text)
        request = json.dumps({"model": text, "messages": [{"role": text, "content": text}]})
        names = {"route": text, "task": text, "model": text, "prompt_version": text, "note": text}
        sources.goldens.approve(
            Golden(id=f"g{number}", request=request, answer=answer, **names), by="ann", at=1.0
        )
        trial = verdict(
            number, id=f"v{number}", route=text, model=text, rating=1, scorer="judge", explanation=text,
            quality=(QualityScore(text, 1, 3, 1),), details={text: 0.5}, task=text, trace_id=text,
        )  # fmt: skip
        sources.log.append(trial, Evidence(text, text + "a", answer, Answer(text + "b")))
        sources.labels.put(label_of(trial, LabelStatement("<i>ann</i>", 3, note=text), at=1.0), None)
    return sources


def test_what_an_address_says_is_not_written_into_a_page(desk):
    """Query and path come back as text at most, under a policy that runs no script but the console's."""
    with TestClient(create_app(desk), base_url=LOCAL) as browser:
        for text in MARKUP:
            for path, query in (
                ("/", {"route": text, "rating": text, "perturbation": text}),
                ("/fragments", {"route": text}),
                ("/goldens", {"route": text, "task": text, "show": text}),
                ("/trials", {"route": text, "text": text, "reason": text, "model": text, "change": text}),
                (f"/goldens/{quote(text, safe='')}", {}),
                (f"/verdicts/{quote(text, safe='')}", {}),
                (f"/static/{quote(text, safe='')}", {}),
                (f"/{quote(text, safe='')}", {}),
            ):
                check(browser.get(path, params=query))


def test_what_is_stored_is_not_written_into_a_page(desk):
    """Names, prompts, answers, tool calls, explanations, notes: on no page is any of it markup."""
    with TestClient(create_app(desk), base_url=LOCAL) as browser:
        paths = ["/goldens", "/goldens?show=all", "/trials"]
        paths += [f"/{kind}{number}" for kind in ("verdicts/v", "goldens/g") for number in range(len(MARKUP))]
        for path in ("/", "/fragments", "/incidents"):
            check(browser.get(path))
        for path in paths:
            response = browser.get(path)
            assert response.status_code == 200
            check(response)
            assert "alert" in response.text or path[-2:] in {"g7", "g8", "v7", "v8"}


def check(response):
    """Read as a browser would, a page has no tag, attribute or address but the console's."""
    assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert response.headers["x-content-type-options"] == "nosniff"
    assert not {"\u202e", "\x00"} & set(response.text)
    tags = Tags(response.text).found
    for tag, attributes in tags:
        assert tag in KNOWN_TAGS
        assert not any(name.startswith("on") or name in {"srcdoc", "style"} for name in attributes)
        for name in ("href", "src", "action", "formaction", "data-source"):
            assert attributes.get(name, "/").startswith(("/", "#"))
            assert not attributes.get(name, "/").startswith("//")


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))


KNOWN_TAGS = frozenset(
    """html head meta title link script noscript body main header footer nav section article aside h1 h2 h3 h4
    p div span a ul ol li dl dt dd table caption thead tbody tr th td pre code kbd b strong em i small del ins
    mark details summary form label input select option textarea button fieldset legend time abbr img br hr
    figure figcaption svg path line rect circle polyline polygon g text""".split()
)


PATHS = (
    *("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static/....//app.py"),
    *("/static/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/static//etc/passwd", "/static/..\\app.py", "/static/"),
    *("/static/live.js%00.css", "/static/%252e%252e%252fapp.py", "/goldens/../../etc/passwd"),
    *("/verdicts/%2e%2e/%2e%2e/etc/passwd", "/../etc/passwd", "//etc/passwd", "/static/templates/base.html"),
)


async def test_no_path_leads_to_a_file(desk):
    """Static files are served by their names, if they were read at the start."""

    async def answers():
        listening = socket.create_server(("127.0.0.1", 0))
        async with serving(TokenGuard(create_app(desk), None), [listening]):
            for path in PATHS:
                reader, writer = await asyncio.open_connection(*listening.getsockname())
                writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
                yield path, await asyncio.wait_for(reader.read(), 240)
                writer.close()

    async for path, answer in answers():
        assert answer.split(b" ")[1] in {b"400", b"404"}, path
        assert not any(word in answer for word in (b"root:", b"import ", b"{%")), path

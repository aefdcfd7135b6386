import re

import pytest

from evenkeel.console.app import CONTENT_SECURITY_POLICY
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.measuring import HoldUp, Measuring
from tests.kit.cells import with_figures
from tests.kit.pages import Page
from tests.kit.records import altered

_PATHS = """
/ /fragments /api/cells /api/alerts /api/trials /metrics /healthz
/readyz /static/console.css /static/live.js /static/icon.svg /verdicts/none /nowhere
""".split()


@pytest.mark.parametrize("path", _PATHS)
def test_every_response_carries_the_security_headers(make_scene, console_client, path):
    headers = console_client(make_scene("quiet")).get(path).headers
    assert headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    kept = path.startswith("/static/")
    assert headers["cache-control"] == ("public, max-age=31536000, immutable" if kept else "no-store")


@pytest.mark.parametrize("scene", ["empty", "quiet", "alert", "hostile"])
def test_pages_are_well_formed_and_ask_nobody_else(make_scene, console_client, scene):
    """Tags are balanced, nothing is inline, no address leads elsewhere, and no text is markup."""
    client = console_client(make_scene(scene))
    paths = ("/", "/fragments", "/incidents", "/judge", "/calibration", "/pipeline")
    links = Page(client.get("/").text).all("a")
    routes = [attrs["href"] for attrs in links if attrs.get("class") == "route"]
    trials = [attrs["href"] for attrs in links if attrs.get("href", "").startswith("/verdicts/")]
    for path in (*paths, *routes[:1], *trials[:1]):
        text = client.get(path).text
        page = Page(text)
        assert not {"\u202e", "\x00"} & set(text)
        if scene == "hostile" and path in {"/", *routes, *trials}:  # scripts and templates stay text
            assert '<script>alert("x")</script>' in page.text
            assert "{{ 7*7 }}" in page.text
        for tag, attrs in page.elements:
            assert "style" not in attrs
            assert not any(name.startswith("on") for name in attrs)
            for address in (attrs.get("href"), attrs.get("src")):
                assert address is None or address.startswith(("/", "#"))
            assert tag != "script" or attrs["src"].startswith("/static/live.js?v=")


def _verdict_link(client):
    links = [attrs.get("href", "") for attrs in Page(client.get("/trials").text).all("a")]
    return next(link for link in links if link.startswith("/verdicts/"))


def test_the_top_of_now_says_what_happened_and_what_to_do(make_scene, console_client):
    """The first heading and the lines below it say all that is needed at night."""
    page = Page(console_client(make_scene("alert")).get("/").text).words()
    headline = "case-summaries: answers became fragile at 12 Aug 2026 13:55 UTC, after steady-2026-05 → "
    assert f"{headline}swift-2026-08." in page
    assert "42 points above noise when the alert was raised (limit 10, " in page
    assert "2 of 2 rewordings. 31 of 40 trials come from client 3f9a" in page
    assert "Next: If the answers are worse, go back to steady-2026-05." in page
    assert "The judge rejected its key" in page


def test_every_page_counts_the_open_incidents(make_scene, console_client):
    client = console_client(make_scene("alert"))
    for path in ("/", "/incidents", "/routes", "/trials", "/judge", "/verdicts/none"):
        page = client.get(path).text
        assert "<title>▲ 1 · " in page
        assert re.search(r'<link rel="icon"[^>]*href="/static/icon-alert.svg', page)
        assert '▲ 1<span class="hidden"> open</span>' in page
    quiet = console_client(make_scene("quiet")).get("/").text
    assert "<title>Measuring · evenkeel" in quiet


def test_the_navigation_has_five_places(make_scene, console_client):
    """The place and the page in it are marked; what has no source is left out."""
    page = Page(console_client(make_scene("quiet")).get("/pipeline").text)
    named = page.all("nav")
    assert [attrs["aria-label"] for attrs in named] == ["Places", "System"]
    marked = {attrs["href"]: attrs["aria-current"] for attrs in page.all("a") if "aria-current" in attrs}
    assert marked == {"/judge": "true", "/pipeline": "page"}


def test_the_empty_page_says_exactly_what_to_do(make_scene, console_client):
    scene = make_scene("empty")
    scene.measuring = Measuring("learning", scene.now)
    scene.pipeline = altered(scene.pipeline, base_url="http://10.0.0.7:9000/v1")
    page = Page(console_client(scene).get("/").text).words()
    assert 'OpenAI(base_url="http://10.0.0.7:9000/v1")' in page
    assert "export OPENAI_BASE_URL=http://10.0.0.7:9000/v1" in page


def test_the_page_of_a_verdict_shows_everything(make_scene, console_client):
    scene = make_scene("alert")
    verdict = next(verdict for verdict in scene.log.latest(40) if verdict.rating == 1)
    found = console_client(scene).get(f"/verdicts/{verdict.id}")
    page = Page(found.text).words()
    for part in (
        verdict.id,
        verdict.exchange_id,
        f"seed {verdict.seed}",
        "412 tokens",
        "1.3 s",
        "Keep numbers",
    ):
        assert part in page
    assert "<del>" in found.text
    assert "<ins>" in found.text


def test_a_trial_without_an_answer_marks_nothing_and_asks_nobody_to_rate_it(make_scene, console_client):
    """Nothing was left out of an answer that never came."""
    page = console_client(make_scene("alert")).get("/verdicts/failed-1").text
    answer = page.partition("Answer to the original")[2].partition("The replay gave no answer")[0]
    assert "hotel networks" in answer
    assert "<del>" not in answer
    assert "Scorer" not in page
    assert "feedback-title" not in page


def test_tool_calls_are_part_of_the_answer(make_scene, console_client):
    """An answer that only calls a tool is not shown as empty."""
    client = console_client(make_scene("hostile"))
    text = Page(client.get(_verdict_link(client)).text).text
    assert "→ <script>(" in text


def test_a_group_of_rewordings_is_explained_where_it_stands(make_scene, make_cell, console_client):
    """The page of its route explains it, and says the limit of rewordings by themselves."""
    scene = make_scene("quiet")
    route, model = scene.reports[1].key.parts[:2]
    scene.reports = [
        with_figures(report, threshold=0.1 * (report.key.perturbation != BASELINE))
        for report in scene.reports
    ]
    group = with_figures(make_cell(route, model, "together.4_general"), threshold=0.3439)
    client = console_client(scene)
    assert "Several rewordings in one replay" not in client.get(f"/routes/{route}").text
    scene.reports.append(group)
    text = client.get(f"/routes/{route}").text
    assert "Several rewordings in one replay" in text
    assert "4 general" in text
    assert "(10 points)" in text


def test_a_broken_source_gives_a_page_that_says_so(make_scene, console_client, caplog):
    """The fault goes to the log; the reader learns that forwarding is not affected."""
    scene = make_scene("quiet")

    def broken():
        raise OSError("disk I/O error at /secret/path")

    scene.log.latest = scene.log.read_before = lambda *_args, **_kwargs: broken()
    scene.store.events = lambda _limit: broken()
    client = console_client(scene)
    for path in ("/", "/fragments", "/api/trials"):
        response = client.get(path)
        assert response.status_code == 500
        assert "check that the store can be reached" in response.text
        assert "Requests are still forwarded" in response.text
        assert "/secret/path" not in response.text
    assert client.get("/api/trials").json()["error"]["status"] == 500
    assert "disk I/O error" in caplog.text
    assert client.get("/healthz").status_code == 200

    caplog.clear()
    cause = HoldUp("queue", "The store cannot be reached", "Check Redis.", 1.0)
    scene.measuring = Measuring("held_up", 1.0, (cause,))
    response = client.get("/")
    assert response.status_code == 503
    assert "The store cannot be reached. Check Redis. No page can be shown" in response.text
    assert "Traceback" not in caplog.text

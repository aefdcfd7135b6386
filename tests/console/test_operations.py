"""Pages about what evenkeel does: routes, judge, calibration, pipeline, settings, documentation."""

import re

import pytest
from litestar.testing import TestClient

from evenkeel.console import PipelineView, RouteSetup, create_app
from evenkeel.console.access import SCOPE_KEY, Visitor
from evenkeel.console.documents import as_html, document
from evenkeel.console.judge import judged
from evenkeel.console.pipeline import not_replayed, skipped_because, untried_lines
from evenkeel.console.spend import spend_text, spent_by
from evenkeel.core.budget import Budget, Spend
from evenkeel.core.cells import CellKey, SegmentReport
from evenkeel.core.rewordings import why_untried
from evenkeel.core.verdict import BASELINE
from evenkeel.monitor.detect import Limit, Measure
from evenkeel.monitor.fold import MonitorSettings
from evenkeel.stores.counters import RouteFlow, UntriedPerturbation
from evenkeel.stores.labels import LabelStatement, LabelStore, label_of
from tests.console.scenes import Scene
from tests.console.whole_scene import SECRET, whole
from tests.house import ROOT
from tests.kit.cells import cell_report
from tests.kit.pages import words
from tests.kit.records import altered
from tests.stores.test_changes import CHECK, GATE


@pytest.fixture
def shown(make_scene, make_cell):
    return whole(make_scene("alert"), make_cell)


@pytest.fixture
def client(shown):
    with TestClient(create_app(shown.sources)) as client:
        yield client


def test_live_parts_are_sent_once(client):
    """The page names its live part, which answers 304 to who has it already."""
    for path in ("/incidents", "/calibration", "/pipeline", "/spend"):
        page = client.get(path)
        assert f'data-source="/fragments{path}"' in page.text
        current = re.findall(r'<a href="([^"]+)" aria-current="page">', page.text)
        assert set(current) == {path}
        first = client.get(f"/fragments{path}")
        again = client.get(f"/fragments{path}", headers={"if-none-match": first.headers["etag"]})
        assert (first.status_code, again.status_code, again.content) == (200, 304, b"")


def test_the_page_of_a_route_has_its_cells_changes_and_cost(client):
    text = words(client.get("/routes/case-summaries"))
    for part in (
        "spelling ▲ incident",
        "over its limit 42 [34, 50]",
        "shifts more often than its baseline of 4 %",
        "Spent today $0.20, 12,000 tokens",
        "another model , 13:55: answers got worse",
    ):
        assert part in text
    assert "billing-replies" not in text.partition("case-summaries")[2].partition("All times")[0]


def test_a_cell_over_its_limit_names_the_part_of_the_traffic_that_moves_most(shown):
    """Nobody shall take one client's trouble for everybody's; markup in a name stays text."""
    reports = shown.scene.reports
    place = next(place for place, report in enumerate(reports) if report.standing == "over")
    excess = reports[place].current.excess
    reports[place] = altered(
        reports[place], segment=SegmentReport("prompt_version", "<b>v3", 40, excess, over=True)
    )
    with TestClient(create_app(shown.sources)) as client:
        html = client.get(f"/routes/{reports[place].key.route}").text
    assert f"worst prompt version &lt;b&gt;v3: {round(100 * excess.value)} [" in html
    assert "points in 40 trials" in html


def test_a_route_without_traffic_says_so_and_an_unknown_one_is_not_found(client):
    """A route of the settings has a page before its first trial."""
    assert "Nothing has been scored on this route yet" in client.get("/routes/chat").text
    assert client.get("/routes/nowhere").status_code == 404
    assert client.get("/fragments/routes/nowhere").status_code == 404


def test_no_credential_is_on_the_settings_page(client):
    page = client.get("/setup")
    assert SECRET not in page.text
    text = words(page)
    assert "api_key_env: not set" in text
    assert "headers: x-key: set" in text
    assert "base_url: https://judge.example/v1" in text


def test_every_runbook_the_pages_link_to_is_there(client):
    links = set(re.findall(r'href="(/docs/runbooks/[^"]+)"', client.get("/incidents/c-7").text))
    assert links == {"/docs/runbooks/README", "/docs/runbooks/EvenkeelIncident"}
    for link in links:
        assert client.get(link).status_code == 200
    for name in ("runbooks%2F..%2Fsettings", "nothing", "runbooks/Nothing", "../pyproject"):
        assert client.get(f"/docs/{name}").status_code in {404, 400}


def test_links_into_the_documentation_lead_to_a_heading(client):
    templates = (ROOT / "evenkeel" / "console" / "templates").glob("*.html")
    pages = " ".join(page.read_text(encoding="utf-8") for page in templates)
    anchors = set(re.findall(r'href="/docs/([^"#]+)#([^"]+)"', pages))
    assert anchors
    for name, anchor in anchors:
        assert f'id="{anchor}"' in client.get(f"/docs/{name}").text, (name, anchor)


@pytest.mark.parametrize("name", ["runbooks/../alerting", "runbooks/", "/etc/passwd", "runbooks/a.b", ""])
def test_no_other_file_can_be_asked_for(name):
    assert document(name) is None


def test_documents_take_no_markup_and_no_script():
    """HTML in the source is text, pictures are their alternative text, headings have the anchors of links."""
    text = "# A <b>title</b>\n\n<script>alert(1)</script>\n\n"
    text += "[x](javascript:alert(1)) [z](B.md#Part) ![p](a.png)"
    html = str(as_html(text))
    assert "<script" not in html
    assert "<img" not in html
    assert 'id="a-btitleb"' in html
    assert re.findall(r'href="([^"]*)"', html) == ["B.md#Part"]


def test_dead_letters_are_listed_with_their_reasons(client):
    assert "0000000000000001 too many attempts" in words(client.get("/pipeline"))


def spending(**spent):
    """Sources in which routes have spent so much, given as (purpose, tokens, dollars)."""
    booked = {(route, purpose): Spend(*rest) for route, some in spent.items() for purpose, *rest in some}
    budgets = {"a": Budget(100, 1.2)}
    view = PipelineView("http://127.0.0.1:8100/v1")
    return altered(Scene(pipeline=view).sources(), spent=lambda: booked, budgets=budgets)


def test_spend_adds_up_by_route_and_by_purpose():
    """Also what belongs to no route; without dollars, tokens say which is the largest."""
    sources = spending(b=[("replay", 10, 0.2)], a=[("replay", 30, 0.6)], c=[("judge", 20, 0.2)])
    routes, purposes = spent_by(sources)
    assert list(routes.items()) == [("a", (30, 0.6)), ("c", (20, 0.2)), ("b", (10, 0.2))]
    assert {name: spent.tokens for name, spent in purposes.items()} == {"replay": 40, "judge": 20}
    assert spend_text(routes["a"], sources.budgets["a"]) == "$0.60 of $1.20, 30 tokens of 100"
    free, _ = spent_by(
        spending(a=[("replay", 10, 0.0)], b=[("replay", 30, 0.0)], **{"": [("judge", 99, 0.0)]})
    )
    assert list(free) == ["b", "a"]
    routes, purposes = spent_by(spending(challengers=[("challenge", 5, 0.1)]))
    assert (list(routes), list(purposes)) == ([], ["challenge"])


def test_calls_saved_are_ratings_without_the_judge(shown, client):
    """Each route and model counts once: 400 equal, 310 by heuristics, 290 by the judge."""
    assert len(judged(shown.sources.reports())) == 6
    text = words(client.get("/judge"))
    assert "1,740 of 6,000 ratings" in text
    assert "6 % [1, 11] of 80" in text


def test_a_console_without_a_judge_says_how_to_get_one(make_scene, console_client):
    client = console_client(make_scene("quiet"))
    assert "No judge is set" in client.get("/judge").text
    assert client.get("/settings").status_code == 404


def test_calibrated_limits_say_where_they_are_from(shown):
    """A route with limits of its own has rows of its own, beside the default; the page says how."""
    route = shown.sources.reports()[0].key.route
    source = "calibrated on 2,410 quiet trials"
    thresholds = MonitorSettings(limits={route: {Measure.CONTENT: Limit(0.04, source)}})
    sources = altered(shown.sources, thresholds=thresholds)
    with TestClient(create_app(sources)) as client:
        text = words(client.get("/calibration"))
    for limit in (f"shifted answers, points above noise 4 {source}", "around the baseline 5 default"):
        assert limit in text
    assert "evenkeel calibrate --limits limits.json" in text


def test_limits_are_shown_before_the_first_trial(make_scene, console_client):
    """A route has limits from its start on."""
    scene = make_scene("quiet")
    scene.reports = []
    setup = RouteSetup("shop", "http://x/v1", "http://y", 0.1, 2, 4)
    client = console_client(scene, setup=[setup], thresholds=MonitorSettings())
    assert "shop shifted answers, points above noise 10 default" in words(client.get("/calibration"))


def test_the_judge_is_held_against_people(shown, documents):
    """The judge rates one of two drawn trials as people do; the API says the same."""
    labels = LabelStore(documents)
    rated = [verdict for verdict in shown.scene.log.verdicts if verdict.rating is not None][:2]
    for verdict, rating in zip(rated, (3, 1), strict=True):
        said = LabelStatement("ann", rating=rating, drawn=True)
        labels.put(label_of(altered(verdict, details={}, rating=3), said, at=1.0), None)
    with TestClient(create_app(altered(shown.sources, labels=labels))) as client:
        text = words(client.get("/judge"))
        (row,) = client.get("/api/labels").json()["agreement"]
    assert "Against people" in text
    assert (row["n"], row["agreed"], row["decided_by"], row["source"]) == (2, 1, "judge", "drawn")
    assert "50 %" in text
    assert "1 of 1 rated more similar than people say" in text


def test_the_judge_page_corrects_the_judge_by_what_people_say_of_random_trials(shown, documents):
    """The judge calls 2 of 10 changed; people rate all and call one more so: 30 %."""
    labels = LabelStore(documents)
    made = shown.scene.log.verdicts[:10]
    chance = altered(made[0].selection, label_share=1.0)
    drawn = [
        altered(verdict, selection=chance, failure=None, rating=1 if place < 2 else 3)
        for place, verdict in enumerate(made)
    ]
    shown.scene.log.verdicts[:] = drawn
    for place, verdict in enumerate(drawn):
        labels.put(label_of(verdict, LabelStatement("ann", 1 if place < 3 else 3, drawn=True), at=1.0), None)
    with TestClient(create_app(altered(shown.sources, labels=labels))) as client:
        text = words(client.get("/judge"))
    assert "Of 10 recent trials drawn at random, the judge calls 20 %" in text
    assert "People would call 30 %" in text
    assert "by 10 ratings" in text


FOUND = {"verdict": "could not measure", "headline": "COULD NOT MEASURE: \u202eodd.", "standing": "unknown"}
ODD = altered(GATE, id="g2", at=9.0, subject="<script>m-3", beside="without a reference", **FOUND)


def test_runs_are_listed_the_newest_first(make_scene, console_client):
    """A run says what was asked, its verdict and why, its lines, size, calls, dollars; texts stay texts."""
    page = console_client(make_scene("quiet"), releases=lambda: [GATE, CHECK, ODD]).get("/runs")
    said = words(page)
    assert "m-2 gate, against m-1 pass PASS: no excess. content_shift: pass 1970-01-01" in said
    assert "40 goldens 80, $0.50" in said
    assert said.index("COULD NOT MEASURE") < said.index("p.txt check, m") < said.index("PASS: no excess.")
    assert "<script>m-3" not in page.text
    assert 'class="tag is-within"' in page.text


def test_without_runs_the_page_says_how_to_make_some(make_scene, console_client):
    """The commands, with the settings that name the store."""
    said = words(console_client(make_scene("quiet")).get("/runs"))
    assert "evenkeel gate --config evenkeel.yaml" in said
    assert "evenkeel check prompt.txt" in said


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


PAGE = ROOT / "docs" / "replays.md"


def test_every_reason_of_the_page_about_replays_is_said_in_words():
    listed = PAGE.read_text(encoding="utf-8").partition("**WebSockets.**")[2].partition("## What is tried")[0]
    reasons = set(re.findall(r"^\| `(\w+)` \|", listed, re.MULTILINE)) - {"too_many_parts"}
    assert len(reasons) > 15
    assert {reason for reason in reasons if skipped_because(reason) == why_untried(reason)} == set()


def test_what_is_not_replayed_is_listed_with_what_to_do():
    """Sampled requests and those of other APIs, most frequent first."""
    flow = RouteFlow(
        "shop", 9, 9, 9, 0, skipped={"stateful": 2, "echo": 0}, unread={"interactions": 3, "other": 1}
    )
    lines = not_replayed([flow], ())
    assert [(line.requests, line.step) for line in lines] == [
        (3, "Use generateContent."),
        (2, "Send the earlier turns with the request, or previous_response_id."),
        (1, "Nothing."),
    ]
    assert lines[0].reason == "requests of another API (interactions) are forwarded and not read"
    failures = {"previous_response_unknown": 4, "timeout": 1}
    controls = [cell_report(CellKey("shop", "m", name), failures=failures) for name in (BASELINE, "a.b")]
    assert not_replayed([flow], controls)[0].requests == 4


def test_a_reason_that_requests_were_skipped_for_is_told_once():
    """A spent budget skips whole exchanges, and so every rewording of each."""
    flow = RouteFlow("shop", 40, 40, 40, 0, skipped={"budget": 40, "nothing_to_change": 0})
    untried = []
    for reason in ("budget", "nothing_to_change"):
        untried.append(UntriedPerturbation("shop", "general.casing", reason, 40))
    lines = untried_lines(PipelineView("http://x/v1", (flow,), untried=tuple(untried)))
    assert [row.reason for row in lines] == [why_untried("nothing_to_change")]


def test_kinds_of_one_category_and_reason_share_a_line():
    """80 pairs of languages that need a rewriter are one line, and it says what to set."""
    untried = [
        UntriedPerturbation("r", f"crosslingual.de_to_{number}", "no_rewriter", None) for number in range(80)
    ]
    untried.append(UntriedPerturbation("r", "positional.context", "no_context", 7))
    untried.append(UntriedPerturbation("r", "positional.mixed", "no_context", 5))
    lines = untried_lines(PipelineView("http://x/v1", untried=tuple(untried)))
    assert [(line.route, line.kinds, line.times) for line in lines] == [
        ("r", "80 rewordings of crosslingual", "always"),
        ("r", "positional: context and positional: mixed", "12 times"),
    ]
    assert "replays.rewriter.model" in lines[0].reason

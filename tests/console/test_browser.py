import datetime as dt
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from evenkeel.console import create_app
from tests.kit.chromium import served
from tests.services import free_port

pytestmark = pytest.mark.service("chromium")


@pytest.fixture
def serve():
    """Serves scenes until the pages of the test are closed: open ones would complain about a lost server."""
    with ExitStack() as stack:
        yield lambda scene: stack.enter_context(served(create_app(scene.sources())))


@pytest.fixture
def open_page(chromium, serve):
    """Opens a page with its clock in the test's hand; fails on script errors and foreign requests."""
    contexts, complaints = [], []

    def opener(address, *, width=1440, scheme="light", expect_errors=False):
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        if not expect_errors:
            page.on(
                "console",
                lambda message: complaints.append(message.text) if message.type == "error" else None,
            )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _check_origin(request.url, address, complaints))
        page.clock.install()
        page.goto(address)
        expect(page.locator("#connection")).to_have_text("live")
        return page

    yield opener
    for context in contexts:
        context.close()
    assert complaints == []


def _check_origin(url, address, complaints):
    if not url.startswith((address, "data:")):
        complaints.append(f"request to elsewhere: {url}")


def test_an_incident_appears_without_disturbing_the_reader(make_scene, serve, open_page):
    """Status, title, icon and the count in the navigation change; what is open and scrolled to stays."""
    scene = make_scene("quiet")
    after = make_scene("alert")
    page = open_page(serve(scene))
    page.locator("#cells-help summary").click()
    page.evaluate("scrollTo({top: 300, behavior: 'instant'})")
    scene.reports += [report for report in after.reports if report.key.route == "case-summaries"]
    scene.store.history = after.store.history
    page.clock.run_for(3200)
    expect(page.locator("#status h1")).to_contain_text("fragile")
    expect(page).to_have_title("▲ 1 · Now · evenkeel")
    expect(page.locator("#open-incidents")).to_be_visible()
    expect(page.locator("#icon")).to_have_attribute("href", page.locator("#icon").get_attribute("data-alert"))
    expect(page.locator("#announce")).to_contain_text("after steady-2026-05 → swift-2026-08")
    assert page.locator("#cells-help").evaluate("item => item.open")
    assert page.evaluate("scrollY") > 100


def test_focus_survives_a_refresh_of_its_section(make_scene, serve, open_page):
    """A keyboard user does not lose their place when numbers change."""
    scene = make_scene("quiet")
    address = serve(scene)
    page = open_page(address)
    cell = page.locator("a.cell").nth(7)
    focused = cell.get_attribute("id")
    cell.focus()
    changed = make_scene("alert").reports[-1]
    scene.reports.append(changed)
    page.clock.run_for(3200)
    expect(page.locator("#cells")).to_contain_text(changed.key.route)
    assert page.evaluate("document.activeElement.id") == focused


def test_a_lost_server_is_said_and_found_again(make_scene, open_page):
    app, port = create_app(make_scene("quiet").sources()), free_port()
    with served(app, port) as address:
        page = open_page(address, expect_errors=True)
    page.clock.run_for(3200)
    expect(page.locator("#connection")).to_have_text("connection lost, retrying")
    with served(app, port):
        page.clock.run_for(6100)  # the second attempt waits twice as long
        expect(page.locator("#connection")).to_have_text("live")


def test_a_hidden_tab_asks_nothing(make_scene, serve, open_page):
    """No request is made while the tab is hidden; shown again, it is fresh at once."""
    scene = make_scene("quiet")
    address = serve(scene)
    page = open_page(address)
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {value: true, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    expect(page.locator("#connection")).to_have_text("paused")
    page.clock.pause_at(dt.datetime.now(dt.UTC) + dt.timedelta(hours=1))  # from here on it stands still
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(30_000)
    assert asked == []
    page.evaluate(
        "Object.defineProperty(document, 'hidden', {value: false, configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange'))"
    )
    expect(page.locator("#connection")).to_have_text("live")
    assert len(asked) == 1


def test_cell_details_show_on_keyboard_focus(make_scene, serve, open_page):
    """The keyboard shows what the mouse does, and Escape closes it."""
    address = serve(make_scene("alert"))
    page = open_page(address)
    page.locator("a.cell.alert").first.focus()
    tip = page.locator(".tip")
    expect(tip).to_be_visible()
    for part in ("over its limit", "in 96 trials", "limit 10"):
        expect(tip).to_contain_text(part)
    page.keyboard.press("Escape")
    expect(tip).to_be_hidden()

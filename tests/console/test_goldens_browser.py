"""Approving and retiring in a real browser, which enforces the page's own security policy."""

import pytest
from playwright.sync_api import expect

from evenkeel.console import create_app
from evenkeel.core.pair import Answer
from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.goldens import GoldenStore
from tests.kit.chromium import served
from tests.kit.records import altered
from tests.stores.examples import ARCHIVED

pytestmark = pytest.mark.service("chromium")


@pytest.fixture
def desk(make_scene, documents):
    """Address, store, verdict: a console whose newest verdict can be approved."""
    scene = make_scene("quiet")
    store, archive = GoldenStore(documents), ExchangeArchive(documents)
    (verdict,) = scene.log.latest(1)
    archive.put(altered(ARCHIVED, id=verdict.exchange_id, answer=Answer("Four days. " * 40)))
    with served(create_app(altered(scene.sources(), goldens=store, archive=archive))) as address:
        yield address, store, verdict


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (400, "dark")])
def test_a_golden_is_approved_and_retired_with_the_keyboard(chromium, desk, width, scheme):
    """A golden is approved on the page of a trial; nothing is blocked or wider than the screen."""
    address, store, verdict = desk
    complaints = []
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)

    def fits():
        return page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.goto(f"{address}/verdicts/{verdict.id}")
    assert fits()
    page.get_by_role("form", name="Approve").get_by_label("Your name").focus()
    page.keyboard.press("Enter")  # the name is missing: the browser says so, and nothing is sent
    assert store.select() == ()
    page.keyboard.type("ann")
    page.keyboard.press("Tab")
    page.keyboard.type("delivery <1>")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{address}/goldens/delivery%20%3C1%3E")
    expect(page.get_by_role("heading", level=1)).to_contain_text("delivery <1>")
    assert fits()
    (golden,) = store.select()
    assert (golden.id, golden.approved_by) == ("delivery <1>", "ann")

    page.get_by_role("link", name="Goldens", exact=True).click()
    expect(page.get_by_role("row")).to_have_count(2)
    assert fits()
    page.get_by_role("link", name="delivery <1>").click()
    page.get_by_label("Your name").focus()
    page.keyboard.type("bob")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Retire")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("retired by bob").first).to_be_visible()
    assert store.find("delivery <1>").retired_by == "bob"
    assert complaints == []
    context.close()

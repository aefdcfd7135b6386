"""Every page in a real browser: what it complains about, what it asks for, how much it weighs."""

from dataclasses import fields, is_dataclass
from importlib.resources import files

import pytest
from playwright.sync_api import expect

from evenkeel.console import RouteSetup, create_app
from evenkeel.stores.audit_log import Action, ActionLog
from tests.console.memory_stores import other_stores
from tests.console.whole_scene import references, whole
from tests.kit.chromium import served
from tests.kit.records import altered
from tests.monitor.notify.scene import over

pytestmark = pytest.mark.service("chromium")

_DEEP_PAGES = (
    "/incidents/c-7",
    "/routes/case-summaries",
    "/changes/c-7",
    "/changes/s-1",
    "/trials?outcome=worse&since=2026-08-12T10:00&text=printer",
    "/docs/runbooks/EvenkeelIncident",
    "/verdicts/failed-1",
)
"""Pages beside those of the navigation."""
_MAX_BYTES = 300_000
_AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
_RUN_AXE = """async (contrast) => {
    const rules = {"color-contrast": {enabled: contrast}};
    const {violations} = await axe.run(document, {resultTypes: ["violations"], rules});
    return violations.map((fault) => `${fault.id}: ${fault.nodes[0].html.slice(0, 200)}`);
}"""


_ROUTE = "customer-support-case-summaries-for-northern-europe-production1"
_MODEL = "ft:gpt-4o-mini-2024-07-18:acme-international-holdings:support_summaries_v12_final:AbCd<b>نموذج</b>"
_SAID = (
    "العميل يقول <script>alert(1)</script> إن الطابعة لا تعمل. {{7*7}} \u202eabc\u202c לקוח ממתין "
    + "W" * 180
    + " "
)


def _rough(text):
    """The longest name of a route, a model with a long unbroken name, texts from right to left and markup."""
    if text == "case-summaries":
        return _ROUTE
    text = text.replace("swift-2026-08", _MODEL)
    return _SAID + text if len(text) > 60 and " " in text else text


def _all_rough(found):
    """The same value with rough texts, however deep they are."""
    if isinstance(found, str):
        return _rough(found)
    if isinstance(found, list | tuple):
        parts = [_all_rough(part) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    if type(found) is dict:
        return {_all_rough(name): _all_rough(value) for name, value in found.items()}
    if is_dataclass(found):
        own = {
            own_field.name: getattr(found, own_field.name) for own_field in fields(found) if own_field.init
        }
        rough = {name: _all_rough(value) for name, value in own.items()}
        return altered(found, **{name: value for name, value in rough.items() if value != own[name]})
    return found


def _roughen(shown):
    """A console over it in which every text that a model, a user or the settings choose is rough."""
    scene, sources = shown.scene, shown.sources
    scene.reports[:] = _all_rough(scene.reports)
    for store in (scene.log, scene.store):
        for name, value in vars(store).items():
            setattr(store, name, _all_rough(value))
    scene.pipeline = _all_rough(scene.pipeline)
    read = {name: _all_rough(getattr(sources, name)()) for name in ("change_reports", "releases")}
    return altered(shown, sources=altered(sources, **{name: lambda it=it: it for name, it in read.items()}))


@pytest.fixture
def console(request, make_scene, make_cell, documents):
    """Address and scene of a console with everything on it, if the test says so with rough texts."""
    shown = whole(make_scene("alert"), make_cell)
    if getattr(request, "param", "") == "rough":
        shown = _roughen(shown)
    actions = ActionLog(documents)
    actions.record(Action(shown.scene.now - 60, "ann", "token", "golden_approved", "delivery", "version 2"))
    actions.record(Action(shown.scene.now - 30, "bob", "typed", "label_given", "failed-1", "route chat"))
    routes = (RouteSetup("shop", "http://127.0.0.1:8100/v1", "https://a.example/v1", 0.1, 2, 9),) * 2
    others = other_stores(documents) | references(documents, shown.scene.now)
    app = create_app(altered(shown.sources, **others, setup=routes))
    with served(app) as address:
        yield address, shown.scene


def _pages(chromium, address):
    """Addresses of all pages: those of the navigation, then the deeper ones."""
    page = chromium.new_page()
    page.goto(address)
    found = []
    for place in _links(page, "nav[aria-label=Places]"):
        page.goto(address + place)
        found += [place, *_links(page, "nav.within")]
    page.close()
    return [*dict.fromkeys(found), *_DEEP_PAGES]


def _links(page, where):
    return [link.get_attribute("href") for link in page.locator(f"{where} a").all()]


def test_every_page_is_light_accessible_and_asks_nobody_else(console, chromium):
    """No page fails an axe rule, logs an error, asks elsewhere, is wider than the screen or above 300 kB."""
    address, scene = console
    faults = []
    pages = _pages(chromium, address)
    for width, scheme, paths in ((1440, "light", pages[::2]), (400, "dark", pages[1::2])):
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        visit = _Visit(context.new_page(), faults)
        for path in paths:
            visit.look_at(address, path, width)
        context.close()
    _walk(chromium, address, scene, faults)
    assert faults == []


@pytest.mark.parametrize("console", ["rough"], indirect=True)
def test_rough_texts_stay_inside_their_page(console, chromium):
    """Long names, markup and text from right to left: nothing is wider than a phone, runs, or fails axe."""
    address, _ = console
    faults = []
    context = chromium.new_context(viewport={"width": 400, "height": 900})
    visit = _Visit(context.new_page(), faults, most=3 * _MAX_BYTES, contrast=False)
    for path in _pages(chromium, address):
        visit.look_at(address, path.replace("case-summaries", _ROUTE), 400)
    context.close()
    assert faults == []


_QUESTIONS = {
    "What changed, and by how much?": (
        (),
        ("fragile", "56 points above noise", "Points above noise"),
    ),
    "Since when?": ((), ("at 12 Aug 2026 13:55 UTC",)),
    "Why?": (("after steady-2026-05",), ("Every rewording before and after", "What it was not")),
    "Is it real?": (("after steady-2026-05",), ("Is it real?", "Worst examples")),
    "What do I do?": (
        ("after steady-2026-05",),
        ("Next:", "helm rollback support", "Acknowledge", "Runbook"),
    ),
}
"""The links that are clicked from Now, by a part of their words, and what is read at the end."""


@pytest.mark.parametrize("width", [1440, 400])
def test_five_questions_are_answered_in_at_most_two_clicks(console, chromium, width):
    """They are: what changed, since when, why, is it real, what do I do."""
    address, _ = console
    context = chromium.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    for question, (clicks, answers) in _QUESTIONS.items():
        assert len(clicks) <= 2, question
        page.goto(address)
        for words in clicks:
            page.get_by_role("link", name=words).first.click()
        for answer in answers:
            expect(page.get_by_role("main").get_by_text(answer).first).to_be_visible()
    context.close()


class _Visit:
    """A tab in which page after page is looked at; faults are noted with the page's path."""

    def __init__(self, page, faults, most=_MAX_BYTES, *, contrast=True):
        """Look at pages of a size at most; their contrast, which takes longest, does not depend on texts."""
        self._page, self._faults, self._path, self._responses, self._most = page, faults, "", [], most
        self._contrast = contrast
        page.on("dialog", lambda dialog: (self._note(dialog.message), dialog.dismiss()))
        page.on("console", lambda said: self._note(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self._note(str(error)))
        page.on("response", self._arrived)

    def look_at(self, address, path, width):
        """Open a page, weigh it and have it examined."""
        self._path, self._responses = path, []
        self._page.goto(address + path)
        if self._page.locator("#connection").count():
            expect(self._page.locator("#connection")).to_have_text("live")
        parts = [response for response in self._responses if "/fragments/" not in response.url]
        weight = sum(len(part.body()) for part in parts)
        if weight > self._most:
            self._note(f"{weight} bytes")
        for response in self._responses:
            if not response.url.startswith(address):
                self._note(response.url)
        if self._page.evaluate("document.documentElement.scrollWidth") > width:
            self._note(f"wider than {width}")
        self._page.evaluate(_AXE)
        for fault in self._page.evaluate(_RUN_AXE, self._contrast):
            self._note(fault)

    def _arrived(self, response):
        self._responses.append(response)

    def _note(self, fault):
        self._faults.append((self._path, fault))


def _walk(chromium, address, scene, faults):
    """Walk from the overview through the pages by their links, with the mouse and the keyboard."""
    page = chromium.new_context(viewport={"width": 1440, "height": 900}).new_page()
    page.on("pageerror", lambda error: faults.append(("walk", str(error))))
    page.clock.install()
    page.goto(address)
    page.get_by_role("link", name="case-summaries", exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("case-summaries")
    before = page.locator(".tag.bad").count()
    events = list(scene.store.history)
    scene.store.history += [over(event) for event in events if event.incident == "c-7"]
    page.clock.run_for(3200)
    expect(page.locator(".cell-list .tag.bad")).to_have_count(0)
    expect(page.locator("#open-incidents")).to_be_hidden()
    assert before > 0
    scene.store.history = events
    page.get_by_role("navigation", name="Places").get_by_role("link", name="Now").click()
    page.get_by_role("navigation", name="Now", exact=True).get_by_role("link", name="Incidents").click()
    expect(page.get_by_role("link", name="Incidents", exact=True)).to_have_attribute("aria-current", "page")
    page.get_by_role("link", name="fragile").first.click()
    page.get_by_role("link", name="The runbook in full").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Evenkeel")

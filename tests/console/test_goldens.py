"""The pages and the API of goldens: what they show, what they change, and whom they refuse."""

import pytest

from evenkeel.core.pair import Answer
from evenkeel.stores.archive import ExchangeArchive
from evenkeel.stores.changes import GoldenResult, GoldenRun
from evenkeel.stores.goldens import Golden, GoldenStore
from tests.cases import cases
from tests.console.planted_trials import NOW
from tests.kit.pages import Page, form_token
from tests.kit.records import altered
from tests.stores.examples import ARCHIVED

CASES = cases(__file__)

ASKED = '{"messages":[{"role":"user","content":"How long is the delivery?"}]}'


class Desk:
    """A console with goldens, and a browser's view of it."""

    def __init__(self, client, store, archive, verdict):
        self.client, self.store, self.archive, self.verdict = client, store, archive, verdict

    def page(self, path, status=200):
        response = self.client.get(path)
        assert response.status_code == status
        return Page(response.text)

    def send(self, headers=None, *, token=None, **fields):
        token = token or form_token(self.client, f"/verdicts/{self.verdict.id}")
        data = {"_csrf_token": token, "by": "ann", **fields}
        return self.client.post("/goldens", data=data, headers=headers, follow_redirects=False)


def _forms(page):
    return [form["action"] for form in page.all("form")]


@pytest.fixture
def desk(make_scene, console_client, documents):
    """The quiet scene with goldens; the exchange of its newest verdict is archived."""
    scene = make_scene("quiet")
    store, archive = GoldenStore(documents), ExchangeArchive(documents)
    (verdict,) = scene.log.latest(1)
    archive.put(altered(ARCHIVED, id=verdict.exchange_id, request=ASKED))
    return Desk(console_client(scene, goldens=store, archive=archive), store, archive, verdict)


def golden(**changes):
    return altered(
        Golden(
            id="delivery",
            route="shop",
            request=ASKED,
            answer=Answer("Four days."),
            task="chat",
            model="m-1",
            prompt_version="p7",
        ),
        **changes,
    )


@pytest.mark.parametrize("name", ["", "delivery-time"])
def test_the_answer_of_a_trial_is_approved_on_its_page(desk, name):
    """The form names the exchange; afterwards the golden's page is shown, and the trial links to it."""
    path = f"/verdicts/{desk.verdict.id}"
    page = desk.page(path)
    fields = {field["name"]: field.get("value") for field in page.all("input")}
    assert fields["exchange"] == desk.verdict.exchange_id
    assert {"by", "name", "note"} < set(fields)
    response = desk.send(exchange=fields["exchange"], token=fields["_csrf_token"], name=name, note="right")
    assert response.status_code == 303
    assert response.headers["location"] == f"/goldens/{name or desk.verdict.exchange_id}"
    (made,) = desk.store.select()
    assert (made.approved_by, made.note, made.model) == ("ann", "right", ARCHIVED.model)
    assert made.prompt_version == ARCHIVED.prompt_version
    shown = desk.page(response.headers["location"]).words()
    for text in (ARCHIVED.answer.text, "How long is the delivery?", "approved by ann"):
        assert text in shown
    assert f"/goldens/{made.id}" in [link.get("href") for link in desk.page(path).all("a")]
    assert _forms(desk.page(path)) == ["/feedback"]


def test_a_trial_whose_exchange_is_gone_or_empty_says_so(desk):
    older = desk.client.get("/api/trials?limit=200").json()["trials"]
    gone = next(trial for trial in older if trial["exchange_id"] != desk.verdict.exchange_id)
    page = desk.page(f"/verdicts/{gone['id']}")
    assert "no longer stored" in page.words()
    assert _forms(page) == ["/feedback"]
    desk.archive.put(altered(ARCHIVED, id=gone["exchange_id"], answer=Answer("")))
    page = desk.page(f"/verdicts/{gone['id']}")
    assert "is empty" in page.words()
    assert _forms(page) == ["/feedback"]


def test_the_list_shows_who_approved_what_and_is_narrowed(desk):
    desk.store.approve(golden(), by="ann", at=1_786_000_000.0)
    desk.store.approve(golden(answer=Answer("Five days.")), by="bob", at=1_786_100_000.0)
    desk.store.approve(
        golden(id="other/1 ?", route="desk", task=None, prompt_version=None), by="cleo", at=1.0
    )
    desk.store.retire("other/1 ?", by="dora", at=2.0)
    page = desk.page("/goldens")
    words = page.words()
    for text in ("delivery v2", "shop, chat", "Five days.", "How long is the delivery?"):
        assert text in words
    assert "other/1" not in words
    links = {link.get("href") for link in page.all("a")}
    assert {"/goldens?show=all", "/goldens?route=shop", "/goldens?route=desk", "/goldens/delivery"} <= links
    page = desk.page("/goldens?show=all")
    assert "other/1 ? retired" in page.words()
    assert "/goldens/other%2F1%20%3F" in {link.get("href") for link in page.all("a")}
    assert "delivery" not in "".join(
        link.get("href", "") for link in desk.page("/goldens?route=desk&show=all").all("a")
    )
    assert "None match" in desk.page("/goldens?task=none").words()


def test_without_goldens_the_page_says_how_to_approve_some_whatever_it_shows(desk):
    for path in ("/goldens", "/goldens?show=all"):
        assert "None yet. Open a trial" in desk.page(path).words()
    assert "None match" in desk.page("/goldens?route=nothing").words()


def test_the_list_is_paged(desk):
    for number in range(45):
        desk.store.approve(golden(id=f"g{number:02}"), by="ann", at=1.0 + number)
    page = desk.page("/goldens")
    assert "1 to 40 of 45" in page.words()
    following = next(link["href"] for link in page.all("a") if link.get("rel") == "next")
    assert following == "/goldens?page=2"
    assert "41 to 45 of 45" in desk.page(following).words()
    assert desk.client.get("/goldens?page=0").status_code == 400


def test_the_last_rating_of_a_golden_is_told(desk, make_scene, console_client):
    """The rating is that of its version in the last run of its route; without one it was not asked yet."""
    desk.store.approve(golden(), by="ann", at=1.0)
    assert "not asked yet" in desk.page("/goldens").words()
    rated = {
        "delivery@1": ({"content_shift": True, "quality_change": False}, "", "content shift"),
        "delivery@2": ({"content_shift": True}, "", "not asked yet"),
    }
    cases = [(key, *facts) for key, facts in rated.items()]
    cases += [("delivery@1", {"content_shift": False}, "", "as approved")]
    cases += [("delivery@1", {}, "timeout", "not rated: timeout")]
    for key, breaches, failure, said in cases:
        result = GoldenResult(key, breaches, {}, failure)
        facts = {"deciding": (), "judged": True, "results": (result,)}
        run = GoldenRun("r1", "shop", NOW - 60, "c1", "m-2", **facts)
        runs = {"shop": run}
        client = console_client(make_scene("quiet"), goldens=desk.store, golden_runs=lambda runs=runs: runs)
        assert said in Page(client.get("/goldens").text).words()
        assert said in Page(client.get("/goldens/delivery").text).words()


def test_a_golden_is_retired_and_used_again(desk):
    desk.store.approve(golden(id="a/b c"), by="ann", at=1.0)
    assert desk.send(retire="a/b c").headers["location"] == "/goldens/a%2Fb%20c"
    page = desk.page("/goldens/a%2Fb%20c")
    assert "retired by ann" in page.words()
    assert [button["name"] for button in page.all("button")] == ["unretire"]
    assert desk.send(unretire="a/b c").status_code == 303
    assert desk.store.find("a/b c").retired_at is None


@pytest.mark.parametrize(("fields", "said"), CASES["impossible"])
def test_what_cannot_be_done_is_explained(desk, fields, said):
    approved = desk.store.approve(golden(), by="ann", at=1.0)
    fields = {
        name: desk.verdict.exchange_id if value == "EXCHANGE" else value for name, value in fields.items()
    }
    response = desk.send(**fields)
    assert response.status_code == 400
    assert "Nothing was changed" in response.text
    assert said in response.text
    assert desk.store.history("delivery") == (approved,)


@pytest.mark.parametrize(("headers", "status"), CASES["origins"])
def test_pages_of_other_sites_are_refused(desk, headers, status):
    """Even with a token: what the browser says of a request's origin counts."""
    desk.store.approve(golden(), by="ann", at=1.0)
    assert desk.send({"host": "testserver.local", **headers}, retire="delivery").status_code == status
    assert (desk.store.find("delivery").retired_at is None) == (status == 403)


def test_the_api_lists_approves_and_retires(desk):
    made = desk.client.post(
        "/api/goldens", json={"exchange": desk.verdict.exchange_id, "by": "ci", "name": "a/1"}
    )
    assert made.status_code == 200
    assert made.json()["golden"]["approved_by"] == "ci"
    line = {"id": "b", "prompt": "Q", "answer": "A", "route": "desk", "task": "t"}
    for body, name, value in (({"golden": line}, "version", 1), ({"retire": "a/1"}, "retired_by", "ci")):
        done = desk.client.post("/api/goldens", json={**body, "by": "ci"})
        assert done.json()["golden"][name] == value

    def ids(query=""):
        return [golden["id"] for golden in desk.client.get(f"/api/goldens{query}").json()["goldens"]]

    assert ids() == ["b"]
    assert ids("?retired=true") == ["a/1", "b"]
    assert ids("?retired=true&limit=1") == ["a/1"]
    assert ids("?retired=true&route=shop") == ["a/1"]
    assert ids("?task=none") == []
    one = desk.client.get("/api/goldens/a%2F1").json()
    assert [version["version"] for version in one["versions"]] == [1]


@pytest.mark.parametrize(("options", "status", "said"), CASES["refused"])
def test_the_api_refuses_in_json(desk, options, status, said):
    """The API refuses what a form could send, and what cannot be done."""
    desk.store.approve(golden(id="a"), by="ann", at=1.0)
    response = desk.client.post("/api/goldens", **options)
    assert response.status_code == status
    assert said in response.json()["error"]["message"]
    assert desk.store.find("a").retired_at is None

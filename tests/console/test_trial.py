"""The page of a trial: its trace, and what a missing key leaves out."""

import base64

import pytest
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.console.trial import question, reworded_question
from evenkeel.core.pair import Answer
from evenkeel.core.verdict import BASELINE, Evidence
from evenkeel.stores.sealing import KEY_VARIABLE, payload_keys, seal_of
from evenkeel.stores.sqlite.database import Database
from evenkeel.stores.sqlite.verdicts import SqliteVerdictLog
from tests.kit.records import altered
from tests.monitor.planted_verdicts import VERDICT as PLANTED
from tests.security.desk import console_over

TRACE = "9f3c2ab45d6e7f8091a2b3c4d5e6f708"


@pytest.fixture
def page(make_scene, make_verdict, console_client):
    """The page of a trial with this trace id, in a console that knows this place for traces."""

    def get(trace_id, trace_url, **changes):
        scene = make_scene("empty")
        verdict, evidence = make_verdict(1)
        scene.log.append(altered(verdict, trace_id=trace_id, **changes), evidence)
        return console_client(scene, trace_url=trace_url).get(f"/verdicts/{verdict.id}").text

    return get


def test_a_traced_trial_links_to_its_trace(page):
    """The id stands where the setting says, and its other characters are no markup."""
    shown = page(TRACE, 'https://tempo.example/explore?id={trace_id}&x="<b>')
    assert f'href="https://tempo.example/explore?id={TRACE}&amp;x=&#34;&lt;b&gt;"' in shown


def test_an_id_is_shown_where_nobody_said_where_traces_are(page):
    """The id can be pasted into any tool; a trial without a trace has neither a row nor a link."""
    assert f"<dd><code>{TRACE}</code></dd>" in page(TRACE, None)
    assert "<dt>Trace</dt>" not in page("", "https://tempo.example/{trace_id}")


KEY = base64.b64encode(bytes(32)).decode()
VERDICT = altered(PLANTED, id="v1", exchange_id="e1", rating=2, control_rating=None)


def test_texts_whose_key_is_missing_are_said_to_be_unreadable(tmp_path):
    """Page and list say which key is missing, and show all that is not encrypted."""
    path = tmp_path / "evenkeel.db"
    sealed = Database(path, seal=seal_of({KEY_VARIABLE: KEY}))
    SqliteVerdictLog(sealed).append(VERDICT, Evidence("asked", "asked", Answer("said"), Answer("told")))
    sealed.close()
    database = Database(path, seal=seal_of({}))
    with TestClient(create_app(console_over(database))) as client:
        pages = [client.get(where) for where in ("/", "/trials", "/verdicts/v1")]
    database.close()
    assert [page.status_code for page in pages] == [200, 200, 200]
    missing = f"the key {payload_keys(KEY)[0].id.hex()}, which is not in {KEY_VARIABLE}"
    assert all("cannot be read" in page.text and missing in page.text for page in pages[1:])
    assert "<dt>Exchange</dt><dd><code>e1</code></dd>" in pages[2].text


SYSTEM = "system: Answer for the shop. Be brief and keep every number.\n\n"


def trials_of(scene, *variants, rating=2):
    """Trials of one exchange: its control, then one for each variant."""
    prompt, said = f"{SYSTEM}user: Where is order 4711?", Answer("It left on Monday.")
    control = altered(VERDICT, id="control", perturbation=BASELINE, rating=3)
    scene.log.append(control, Evidence(prompt, prompt, said, Answer("It has left on Monday."), ((70, 91),)))
    for number, (variant, answer) in enumerate(variants):
        one = altered(VERDICT, id=f"t{number}", rating=rating, control_rating=3)
        texts = Evidence(prompt, f"{SYSTEM}user: {variant}", said, answer, ((70, 91),))
        scene.log.append(one, texts)


def test_the_page_shows_the_question_and_all_three_answers(make_scene, console_client):
    """The template is folded away; the control's own words are marked in the control's answer."""
    scene = make_scene("empty")
    trials_of(scene, ("Where is oredr 4711?", Answer("It left on Tuesday.")))
    html = console_client(scene).get("/verdicts/t0").text
    shown, _, folded = html.partition("The whole prompt, with its template")
    assert "Where is <del>order</del><ins>oredr</ins> 4711?" in shown
    assert "Answer for the shop" not in shown
    assert "Answer for the shop" in folded
    assert "It left on <del>Monday</del>." in folded
    assert "It left on <ins>Tuesday</ins>." in folded
    assert "It <ins>has </ins>left on Monday." in folded
    assert "control held" in html


def test_a_reworded_tool_is_no_control(make_scene, console_client):
    """The words of its prompt are those of the original; the tools beside them are not."""
    scene = make_scene("empty")
    trials_of(scene, ("Where is order 4711?", Answer("It left on Tuesday.")))
    of_tool, of_control = (console_client(scene).get(f"/verdicts/{name}").text for name in ("t0", "control"))
    assert ("another part of the request" in of_tool, "The control: the same" in of_tool) == (True, False)
    assert ("another part of the request" in of_control, "The control: the same" in of_control) == (
        False,
        True,
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"control_rating": None}, "There is no rated control of this exchange"),
        ({"control_rating": 3}, "The control was rated; its answer is no longer stored."),
    ],
)
def test_a_missing_control_is_explained(make_scene, console_client, change, said):
    scene = make_scene("empty")
    scene.log.append(altered(VERDICT, **change), Evidence("user: a", "user: b", Answer("x"), Answer("y")))
    assert said in console_client(scene).get("/verdicts/v1").text


def test_what_was_never_stored_or_redacted_is_said(make_scene, console_client):
    """Pruned texts name the settings that keep them, placeholders what stood there."""
    scene = make_scene("empty")
    scene.log.append(altered(VERDICT, id="gone"), None)
    scene.log.append(
        altered(VERDICT, id="redacted"),
        Evidence("user: write to [EMAIL_1]", "user: write [EMAIL_1]", Answer("x"), Answer("y")),
    )
    client = console_client(scene)
    assert "storage.evidence_days" in client.get("/verdicts/gone").text
    assert "were replaced before anything was stored" in client.get("/verdicts/redacted").text
    assert "Prompt and answers are no longer stored." in client.get("/trials").text


HEAD = "system: You answer for the shop.\n\nuser: Answer the customer below.\n\nMessage: "
PROMPT = f"{HEAD}Where is my order 4711?\n\nWrite three sentences at most."


@pytest.mark.parametrize(
    ("prompt", "asked", "found"),
    [
        (PROMPT, [(len(HEAD), len(HEAD) + 23)], "Where is my order 4711?"),
        ("no turns at all", (), "no turns at all"),
        (
            "system: Be brief.\n\nuser: Hello there\n\nassistant: Hi.\n\nuser: Where is my\n\norder?",
            (),
            "Where is my\n\norder?",
        ),
        ("user: Case 17 of the north office", [(6, 13), (21, 33)], "Case 17 … north office"),
        ("user: Where is order 4711?", ((90, 200), (3, 1), (-4, 2)), "Where is order 4711?"),
        ("user: Where is order 4711?", ((21, 25),), "Where is order 4711?"),
    ],
)
def test_the_question_is_what_the_user_put_in(prompt, asked, found):
    """The question is what was learned or, where that is too little, the user's last turn."""
    assert question(prompt, asked) == found


def test_a_rewording_is_shown_within_the_question_where_it_lies_there():
    """The whole prompt shows it otherwise, so that it is never left out."""
    asked = [(len(HEAD), len(HEAD) + 23)]
    before, after = reworded_question(PROMPT, PROMPT.replace("order", "oredr"), asked)
    assert (before, after) == ("Where is my order 4711?", "Where is my oredr 4711?")
    outside = PROMPT.replace("three", "two")
    assert reworded_question(PROMPT, outside, asked) == (PROMPT, outside)

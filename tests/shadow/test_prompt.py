"""Reading request bodies of every API, writing them back, and what is never replayed."""

import inspect
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.shadow.prompt import (
    APIS,
    CHAT,
    RESPONSES,
    Block,
    PromptView,
    UnreadablePrompt,
    api_of,
    apis,
    refusal,
    refusals,
)
from evenkeel.shadow.prompt.members import counted
from evenkeel.shadow.prompt.template import TemplateLearner
from tests.cases import cases
from tests.kit.apis import API
from tests.shadow.wild_exchanges import WildExchanges

CASES = cases(__file__)
PAGE = Path(__file__).parents[2] / "docs" / "replays.md"


def loaded(text):
    """Read JSON, however long a number is."""
    return json.loads(text, parse_int=float)


def parsed_or_none(text, api):
    """The prompt of a body, None if it has none that can be read, for one of the known reasons."""
    try:
        return PromptView.parse(text.encode("utf-8", "surrogatepass"), api=api)
    except UnreadablePrompt as unreadable:
        assert unreadable.reason in {  # noqa: PT017 - most bodies can be read
            "not_json", "too_deep", "no_messages", "unsupported_shape", "token_prompt"
        }  # fmt: skip
        return None


@given(st.randoms(use_true_random=False), st.sampled_from(APIS), st.sampled_from(APIS))
def test_unedited_body_is_identical_for_any_json(rng, sent, api):
    """An unedited view of any JSON for any API gives the very same bytes, or a reason."""
    text = WildExchanges(rng).request(sent)
    view = parsed_or_none(text, api)
    if view is not None:
        assert view.body() == text.encode()
        texts = {segment.index: segment.text for segment in view.segments}
        assert view.with_texts(texts).body() == text.encode()


@given(st.randoms(use_true_random=False), st.sampled_from(APIS), st.data())
def test_an_edit_replaces_one_literal_and_no_other_byte(rng, api, data):
    """An edited text is read back, by any JSON reader too; the bytes around its literal are the old ones."""
    text = WildExchanges(rng).request(api)
    view = parsed_or_none(text, api)
    if view is None or not view.segments:
        return
    segment = data.draw(st.sampled_from(view.segments))
    # Line ends are written as the client's: see below.
    new = data.draw(st.text(st.characters(exclude_characters="\n"), max_size=20))
    edited = view.with_texts({segment.index: new})
    again = PromptView.parse(edited.body(), api=api)
    texts = [kept.text for kept in view.segments]
    texts[segment.index] = new
    assert [read.text for read in again.segments] == texts
    slots = view._body.messages[segment.message].slots
    literal = next(slot for slot in slots if slot.part == segment.part)
    if new != segment.text:
        written = edited.body().decode()
        assert written.startswith(text[: literal.start])
        assert written.endswith(text[literal.end :])
    if api is CHAT:
        expected = loaded(text)
        message = expected["messages"][segment.message]
        if segment.part is None:
            message["content"] = new
        else:
            message["content"][segment.part]["text"] = new
        assert repr(loaded(edited.body())) == repr(expected)  # repr, since nan differs from itself


def test_messages_and_segments_of_a_conversation():
    """Text parts become segments in order; what users say is input, results of tools are history."""
    view = PromptView.parse(CASES["conversation as a client lays it out"].encode())
    texts = [(cut.index, cut.role, cut.kind, cut.text, cut.message, cut.part) for cut in view.segments]
    assert texts == [
        (0, "system", "template", "Be brief.", 0, None),
        (1, "user", "input", "Look:", 1, 0),
        (2, "user", "input", "What is it?", 1, 2),
        (3, "tool", "history", "a fox", 3, None),
    ]
    assert [message.role for message in view.messages] == ["system", "user", "assistant", "tool"]
    assert view.model == "m-1"
    assert view.input_text == "Look:\n\nWhat is it?"
    assert view.text == (
        "system: Be brief.\n\nuser: Look:\nWhat is it?\n[image_url]\n\n"
        'assistant: [calls lookup {"id": 7}]\n\ntool: a fox'
    )
    assert [view.text[start:end] for start, end in view.asked] == ["Look:", "What is it?"]


def test_what_the_user_asked_is_found_in_the_text_for_people():
    """The last turn with typed words, without template; half characters do not shift the places."""

    def classify(slots):
        return [[Block("template", slot.text[:5]), Block("input", slot.text[5:])] for slot in slots]

    def asked(*turns):
        said = [{"role": "user", "content": turn} for turn in turns]
        view = PromptView.parse(json.dumps({"model": "m", "messages": said}).encode(), classify)
        return [view.text[start:end] for start, end in view.asked]

    assert asked("Say: first", "Say: where?") == ["where?"]
    assert asked("Say: first", "Say:  ") == ["first"]
    assert asked("\ud83d", "Say: where?") == ["where?"]
    assert asked("Say: \ud83d\ude00 where?") == ["\U0001f600 where?"]


def test_edits_are_escaped_as_the_client_escapes():
    """An ASCII body stays ASCII, a body with raw letters gets raw letters, lone surrogates stay escapes."""
    plain = PromptView.parse(b'{"messages":[{"role":"user","content":"a"}]}')
    assert plain.with_texts({0: "\u00e9"}).body() == rb'{"messages":[{"role":"user","content":"\u00e9"}]}'
    raw = PromptView.parse('{"messages":[{"role":"user","content":"é"}]}'.encode())
    assert (
        raw.with_texts({0: "ü\ud800"}).body()
        == '{"messages":[{"role":"user","content":"ü\\ud800"}]}'.encode()
    )


def test_windows_line_ends_are_read_as_others_and_written_as_they_were():
    """What a web form sends is cut as any other text; a text with both kinds of line ends stays as it is."""
    text = "Fix this text:\n\n    Teh cat.\n\nThanks"
    windows, mixed = text.replace("\n", "\r\n"), text.replace("\n", "\r\n", 1)
    views = {}
    for sent in (text, windows, mixed):
        body = json.dumps({"messages": [{"role": "user", "content": sent}]}).encode()
        views[sent] = PromptView.parse(body, TemplateLearner().classifier(""))
        assert views[sent].body() == body
    assert views[windows].segments == views[text].segments
    assert "".join(segment.text for segment in views[mixed].segments) == mixed
    changed = views[windows].with_texts({0: "Mend:\n\r\n"}).body()
    assert json.loads(changed)["messages"][0]["content"] == "Mend:\r\n\r\n"


def test_the_last_of_repeated_keys_counts():
    """The last of repeated keys is read and edited, as servers do; the first stays as it is."""
    body = (
        b'{"messages":[{"role":"user","content":"one"}],'
        b'"messages":[{"role":"user","content":"x","content":"two"}]}'
    )
    view = PromptView.parse(body)
    assert view.input_text == "two"
    assert view.with_texts({0: "three"}).body() == body.replace(b'"two"', b'"three"')


@pytest.mark.parametrize(
    ("api", "body", "reason"),
    [
        *CASES["bodies without a readable prompt say why"],
        ("chat", '{"messages": [{"role": "user", "content": "\xff"}]}', "not_json"),
        ("chat", '{"messages": ' + "[" * 100_000, "too_deep"),
    ],
)
def test_bodies_without_a_readable_prompt_say_why(api, body, reason):
    """A body without a prompt of that API is refused with a short reason."""
    raw = body if isinstance(body, str) else json.dumps(body)
    with pytest.raises(UnreadablePrompt) as caught:
        PromptView.parse(raw.encode("latin-1"), api=API[api])
    assert caught.value.reason == reason
    assert caught.value.detail


def test_byte_order_mark_long_numbers_and_strange_contents_are_read():
    """Unusual bodies stay untouched and harm nothing."""
    body = b'\xef\xbb\xbf{"seed": ' + b"9" * 5000 + b', "messages": [{"role":"user","content":{"odd":1}}]}\n'
    view = PromptView.parse(body)
    assert view.segments == ()
    assert view.body() == body
    assert view.model is None


@pytest.mark.parametrize(
    ("before", "after"), CASES["a replay streams as the original did and stores nothing"]
)
def test_a_replay_streams_as_the_original_did_and_stores_nothing(before, after):
    """Storing is switched off where the client sent it; a stream ends with token counts."""
    messages = '[{"role": "user",  "content": "a"}]'
    view = PromptView.parse((before % messages).encode())
    assert view.for_replay() == (after % messages).encode()
    assert view.body() == (before % messages).encode()
    edited = (after % messages).replace('"a"', '"b"', 1) if '"a":1' not in after else None
    if edited is not None:
        assert view.with_texts({0: "b"}).for_replay() == edited.encode()


def test_a_classifier_that_loses_text_is_refused():
    """Blocks must join to the text they classify: anything else would change prompts silently."""
    with pytest.raises(ValueError, match="message 0"):
        PromptView.parse(
            b'{"messages":[{"role":"user","content":"ab"}]}',
            lambda slots: [[Block("input", slots[0].text[:1])]],
        )


@pytest.mark.parametrize(("path", "api"), CASES["the path names the api"])
def test_the_path_names_the_api(path, api):
    """Any prefix and query go; what stands behind the API's name makes it another endpoint."""
    assert api_of(path) is (None if api is None else API[api])


@pytest.mark.parametrize("case", CASES["conversations"].values(), ids=CASES["conversations"])
def test_texts_are_slots_and_everything_else_is_a_note(case):
    """Texts of every API are edited each alone; calls, reasoning and pictures are notes."""
    body = json.dumps(case["body"])
    view = PromptView.parse(body.encode(), api=API[case["api"]])
    assert view.api.name == case["api"]
    assert [[slot.role, slot.text, slot.message, slot.part] for slot in view.slots] == case.get("slots", [])
    assert [segment.kind for segment in view.segments] == case.get("kinds", [])
    notes = [[message.role, *message.others] for message in view.messages if message.others]
    assert notes == case.get("notes", [])
    assert "roles" not in case or [message.role for message in view.messages] == case["roles"]
    assert view.last_user_slot == (tuple(case["last"]) if "last" in case else None)
    edits = case.get("edits", {})
    for index, text in edits.items():
        body = body.replace(json.dumps(view.segments[index].text), json.dumps(text))
    assert view.with_texts(edits).body() == body.encode()


@pytest.mark.parametrize("api", ["chat", "completions", "responses", "messages"])
def test_nesting_too_deep_to_read_is_a_reason(api):
    """However deep a body is nested, it is read or refused: never another exception."""
    reasons = set()
    for depth in (10, 900, 950, 970, 980, 990, 1000, 1100, 50_000):
        for key in ("messages", "prompt", "input", "system", "x"):
            body = (
                f'{{"{key}":{"[" * depth}{"]" * depth},"messages":[{{"role":"user","content":"a"}}],'
                '"prompt":"a","input":"a"}'
            )
            try:
                PromptView.parse(body.encode(), api=API[api])
            except UnreadablePrompt as unreadable:
                reasons.add(unreadable.reason)
    assert "too_deep" in reasons
    assert reasons <= {"too_deep"}


def test_what_people_and_stores_read_is_well_formed():
    """Lone surrogates stay in the segments and the body, but not in what is shown and stored."""
    body = rb'{"model":"m\ud800","messages":[{"role":"user","content":"a\udc00 \ud83d\ude00"}]}'
    view = PromptView.parse(body)
    assert view.text == "user: a\ufffd \U0001f600"
    assert view.model == "m\ufffd"
    assert view.segments[0].text == "a\udc00 \U0001f600"
    assert view.body() == body


def view_of(api, **more):
    return PromptView.parse(json.dumps(API[api].ask("Hi") | more).encode(), api=API[api])


@pytest.mark.parametrize(("before", "after"), CASES["a replayed response is never stored"])
def test_a_replayed_response_is_never_stored(before, after):
    """The responses API stores unless told not to, so a replay says so even where the client did not."""
    assert PromptView.parse(before.encode(), api=RESPONSES).for_replay() == after.encode()


@pytest.mark.parametrize(
    ("sent", "replayed"), [(3, 1), (1.5, 1), (1, 1), (0, 0), (True, True), ("2", 1), ([2], 1)]
)
def test_only_one_choice_is_asked_for(sent, replayed):
    """Further choices would be paid for and never compared."""
    for api in ("chat", "completions"):
        for member in ("n", "best_of"):
            assert json.loads(view_of(api, **{member: sent}).for_replay())[member] == replayed


ORDINARY = CASES["members that ordinary clients send"]


@pytest.mark.parametrize("api", ORDINARY)
def test_members_of_ordinary_clients_are_sent_again(api):
    """Requests of OpenAI's and Anthropic's clients, LangChain, vLLM and Ollama are replayed byte by byte."""
    view = view_of(api, **ORDINARY[api])
    assert refusal(view) is None
    assert view.for_replay() == view.body()


@pytest.mark.parametrize("api", ["chat", "completions", "responses", "messages"])
def test_unknown_and_personal_members_are_left_out_and_counted_under_few_names(api):
    """A replay names nobody; a made-up member counts as "other", so that clients cannot add labels."""
    made_up = {f"x_{number}": number for number in range(100)}
    named = dict.fromkeys(("user", "metadata", "safety_identifier", "prompt_cache_key"), "u-7")
    view = view_of(api, **made_up, **named, stream_options={})
    assert "u-7" not in view.for_replay().decode()
    assert '"x_' not in view.for_replay().decode()
    assert counted(view.left_out) == ["metadata", "other", "prompt_cache_key", "safety_identifier", "user"]


@pytest.mark.parametrize(("api", "tier", "sent", "replayed"), CASES["tiers"])
def test_a_replay_asks_for_its_tier(api, tier, sent, replayed):
    """A replay asks where the API has tiers; the application's dearer tier is not paid again."""
    view = view_of(api, **({} if sent is None else {"service_tier": sent}))
    assert json.loads(view.for_replay(tier)).get("service_tier") == replayed


def test_members_that_the_operator_sets_are_sent():
    """The allow-list judges what clients wrote, not what a bench adds to a request."""
    view = view_of("chat", house_option=1).with_members({"house_option": "2", "other_option": "3"})
    assert json.loads(view.for_replay()) == CHAT.ask("Hi") | {"house_option": 2, "other_option": 3}


def test_a_member_that_occurs_twice_is_refused():
    """Some servers read the first of two members, so that the harmless one says nothing."""
    body = b'{"tools":[{"type":"web_search"}],"messages":[{"role":"user","content":"a"}],"tools":[]}'
    refused = refusal(PromptView.parse(body))
    assert refused.reason == "ambiguous"


@pytest.mark.parametrize(("api", "more"), CASES["requests whose tools run at the client are replayed"])
def test_requests_whose_tools_run_at_the_client_are_replayed(api, more):
    """Functions are offered and never executed, so they are no reason against a replay."""
    assert refusal(view_of(api, **more)) is None


@pytest.mark.parametrize(
    ("api", "more", "reason"), CASES["what a replay would do or could not compare is refused"]
)
def test_what_a_replay_would_do_or_could_not_compare_is_refused(api, more, reason):
    """Side effects, state kept by the provider and answers that say nothing are reasons to refuse."""
    refused = refusal(view_of(api, **more))
    assert refused.reason == reason
    assert refused.detail


def test_every_reason_of_a_refusal_has_its_line():
    """The page about replays names the reasons in the code, besides that of an unknown API."""
    sources = [
        inspect.getsource(module) for module in (refusals, apis.completions, apis.gemini, apis.responses)
    ]
    in_code = set(re.findall(r'Refusal\(\s*"(\w+)"', "".join(sources)))
    table = PAGE.read_text(encoding="utf-8").partition("## What is never replayed")[2].partition("\n## ")[0]
    on_page = set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))
    assert on_page == in_code | {"api_unsupported"}

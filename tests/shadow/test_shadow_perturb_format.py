"""Format perturbations: the same contents, asked for in another format."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenkeel.core.pair import Wanted
from evenkeel.shadow.perturbations import NotApplicable
from evenkeel.shadow.perturbations.format import FORMATS, FREE, HTML, JSON, MARKDOWN, XML, YAML
from evenkeel.shadow.perturbations.format.forms import element_name
from evenkeel.shadow.perturbations.format.schema import Field, Leaf
from evenkeel.shadow.prompt import Block, PromptView
from tests.shadow.asked_formats import applied, texts, view_of

BY_NAME = {kind.format: kind for kind in FORMATS}
SYNTAXES = (JSON, YAML, XML, HTML, MARKDOWN)


def asks(kind, asked, **members):
    """What a variant says instead of an output instruction."""
    made = applied(kind, view_of(asked, **members))
    assert isinstance(made, PromptView), made
    head = "Sum it up.\n\nWhy is the fan loud?\n\n"
    content = json.loads(made.body())["messages"][0]["content"]
    assert content.startswith(head)
    return content.removeprefix(head)


LIMITS = "format with keys in English and values in Dutch, two sentences a value:\n\n"
FIELDS = (
    f"Answer in the following JSON {LIMITS}"
    '```json\n{ "Main Cause": <string>, "Known Steps": <list[string]>,'
    ' "parts": [{"name": <part_name>, "count": 2}], "mood": "calm" | "angry" }\n```\nCite as (doc_1).'
)
RENDERED = {
    "yaml": (
        f"Answer in the following YAML {LIMITS}"
        "```yaml\nMain Cause: <string>\nKnown Steps:\n  - <string>\nparts:\n  - name: <part_name>\n"
        "    count: 2\nmood: <calm | angry>\n```\nCite as (doc_1)."
    ),
    "xml": (
        f"Answer in the following XML {LIMITS}"
        "```xml\n<response>\n  <Main_Cause>[string]</Main_Cause>\n  <Known_Steps>\n"
        "    <item>[string]</item>\n"
        "  </Known_Steps>\n  <parts>\n    <item>\n      <name>[part_name]</name>\n      <count>2</count>\n"
        "    </item>\n  </parts>\n  <mood>[calm | angry]</mood>\n</response>\n```\nCite as (doc_1)."
    ),
    "html": (
        f"Answer in the following HTML {LIMITS}"
        "```html\n<h2>Main Cause</h2>\n<p>[string]</p>\n<h2>Known Steps</h2>\n<ul>\n"
        "  <li>[string]</li>\n</ul>\n"
        "<h2>parts</h2>\n<ul>\n  <li>\n    <dl>\n      <dt>name</dt><dd>[part_name]</dd>\n"
        "      <dt>count</dt><dd>2</dd>\n    </dl>\n  </li>\n</ul>\n<h2>mood</h2>\n"
        "<p>[calm | angry]</p>\n```\n"
        "Cite as (doc_1)."
    ),
    "markdown": (
        f"Answer in the following Markdown {LIMITS}"
        "```markdown\n## Main Cause\n[string]\n\n## Known Steps\n- [string]\n\n## parts\n"
        "- **name:** [part_name]  \n"
        "  **count:** 2\n\n## mood\n[calm | angry]\n```\nCite as (doc_1)."
    ),
    "free": (
        f"Answer in the following plain-prose {LIMITS}"
        "Plain prose, without JSON or any markup, that covers: Main Cause; Known Steps (any number); "
        "parts (any number, each with name (part_name), count (such as 2)); mood (calm | angry)."
        "\nCite as (doc_1)."
    ),
}


@pytest.mark.parametrize("format_", RENDERED)
def test_a_json_skeleton_in_each_format(format_):
    """Names, hints, choices, the language clause, limits and citation rules stay; the syntax changes."""
    assert asks(BY_NAME[format_], FIELDS) == RENDERED[format_]


@pytest.mark.parametrize("format_", ["yaml", "xml", "html", "markdown"])
def test_every_format_leads_back_to_json(format_):
    """A skeleton that was rendered can be read again, with all its names."""
    back = asks(JSON, RENDERED[format_])
    names = ["Main Cause", "Known Steps", "parts", "name", "count", "mood"]
    if format_ == "xml":
        names = [element_name(Field(name, Leaf(""))) for name in names]
    assert "Answer in the following JSON format with keys in English and values in Dutch" in back
    assert "```json\n{" in back
    shown = back.partition("```json\n")[2].partition("\n```")[0]
    assert list(json.loads(shown)) == [names[0], names[1], names[2], names[5]]
    assert list(json.loads(shown)["parts"][0]) == names[3:5]
    assert back.endswith("\n```\nCite as (doc_1).")


@pytest.mark.parametrize("kind", FORMATS, ids=lambda one: one.name)
def test_the_contract_of_each_kind(kind):
    """Its name and the wanted form agree, it has no grades and needs no model."""
    assert kind.name == f"format.{kind.wanted.format}"
    assert kind.wanted == Wanted(format=kind.wanted.format)
    assert not kind.graded
    assert kind.requires == frozenset()


@pytest.mark.parametrize(("asked", "format_"), [
    ("", "free"),
    ("Answer in two sentences.", "free"),
    ("Answer in JSON.", "json"),
    ('Answer like this:\n{"a": <string>}', "json"),
    ("Reply as YAML.", "yaml"),
    ("Wrap it so:\n<a>\n  <b>text</b>\n</a>", "xml"),
    ("Use HTML, not Markdown.", "html"),
    ("No JSON. Use Markdown.", "markdown"),
])  # fmt: skip
def test_what_is_asked_for_already(asked, format_):
    """A prompt is not asked for what it asks for itself; every other kind applies to it."""
    for kind in FORMATS:
        outcome = applied(kind, view_of(asked))
        if kind.format == format_:
            assert isinstance(outcome, NotApplicable)
            assert outcome.reason == "already_wanted"
        else:
            assert isinstance(outcome, PromptView)
            assert outcome.body() != view_of(asked).body()


@pytest.mark.parametrize("kind", SYNTAXES, ids=lambda one: one.name)
def test_a_sentence_is_added_where_nothing_is_said(kind):
    """It stands at the end of the last user message, as an output instruction of the template."""
    made = applied(kind, view_of())
    assert json.loads(made.body())["messages"][0]["content"] == (
        f"Sum it up.\n\nWhy is the fan loud?\n\n{kind.request}"
    )
    assert (made.segments[-1].kind, made.segments[-1].type) == ("template", "output_instructions")
    assert [one.text for one in made.segments[:-1]] == [one.text for one in view_of().segments]
    # What was added is found again by the next perturbation
    assert applied(kind, made) == NotApplicable(
        "already_wanted", f"the prompt asks for {kind.words.name} as it is"
    )


def test_a_request_without_a_user():
    """Where a sentence can't be added to a user's message, the kind does not apply."""
    view = PromptView.parse(b'{"messages": [{"role": "system", "content": "Be kind."}]}')
    assert applied(YAML, view).reason == "no_user_slot"


def test_other_words_of_the_template_are_reworded_too():
    """A reminder elsewhere would contradict the new format; what only mentions a format stays."""
    reminder = "You are a service that responds in valid JSON.\nThe input is the output of a JSON parser."
    body = {
        "messages": [{"role": "system", "content": reminder}, {"role": "user", "content": "Hi\n\nUse JSON."}]
    }
    told = Block("template", reminder, "instructions")
    said = (Block("input", "Hi\n\n"), Block("template", "Use JSON.", "output_instructions"))
    view = PromptView.parse(json.dumps(body).encode(), lambda _: [(told,), said])
    expected = "You are a service that responds in valid XML.\nThe input is the output of a JSON parser."
    assert texts(applied(XML, view)) == [expected, "Hi\n\nUse XML."]
    body["messages"][1]["content"] = "Hi"
    alone = PromptView.parse(json.dumps(body).encode(), lambda _: [(told,), (Block("input", "Hi"),)])
    assert applied(JSON, alone).reason == "already_wanted"
    assert texts(applied(XML, alone)) == [expected, f"Hi\n\n{XML.request}"]


def test_a_users_own_wish_is_not_contradicted():
    """Before a template is known, one text may hold its own output instructions."""
    asking = PromptView.parse(b'{"messages": [{"role": "user", "content": "List cities. Return JSON."}]}')
    assert {applied(kind, asking).reason for kind in SYNTAXES} == {"unclear_format"}
    about = PromptView.parse(b'{"messages": [{"role": "user", "content": "What is JSON good for?"}]}')
    assert isinstance(applied(YAML, about), PromptView)


@pytest.mark.parametrize(("asked", "kind", "expected"), [
    ("Return a valid JSON object only.", YAML, "Return a valid YAML document only."),
    ("Return a JSON object only.", XML, "Return an XML document only."),
    ("Reply with a minified JSON array of names.", YAML, "Reply with a YAML list of names."),
    ("Use JSON keys in English.", XML, "Use XML element names in English."),
    ("JSON-formatted, see schema.json.", HTML, "HTML-formatted, see schema.json."),
    ("Give JSON without Markdown fences.", YAML, "Give YAML without fences."),
    ("Give JSON. Do not use Markdown. Be brief.", MARKDOWN, "Give Markdown. Be brief."),
    ("Give JSON, no Markdown.", MARKDOWN, "Give Markdown."),
    ("Give JSON, no Markdown or emoji.", MARKDOWN, "Give Markdown, no emoji."),
    ("No Markdown or emoji.", MARKDOWN, "No emoji.\n\nWrite your whole answer in Markdown."),
    ("Give YAML. No JSON. Be brief.", JSON, "Give JSON. Be brief."),
    ("Valid JSON only, two fields.", FREE,
     "Plain prose only, two fields.\n\nWrite your whole answer as plain prose, without JSON or any markup."),
    ("Return a JSON object with names.", FREE,
     "Return plain prose with names.\n\nWrite your whole answer as plain prose, without JSON or any markup."),
    ("Answer in one sentence.", YAML,
     "Answer in one sentence.\n\nWrite your whole answer as one valid YAML document."),
    ("Return JSON with the fields:\n- name: who\n- due: a date", YAML,
     "Return YAML with the fields:\n- name: who\n- due: a date"),
])  # fmt: skip
def test_words_of_an_instruction(asked, kind, expected):
    """Names of formats, articles and nouns change, prohibitions of the wanted format go, all else stays."""
    assert asks(kind, asked) == expected


def test_a_skeleton_that_cannot_be_read_stays():
    """Rather than lose a field, the variant shows the old skeleton and names the new format."""
    broken = "Give a JSON object:\n```json\n{ all of the seven parts\n```"
    made = asks(XML, broken)
    assert made.startswith("Give an XML document:\n```json\n{ all of the seven parts\n```\n\n")
    assert "its own format does not matter" in made


def test_code_behind_an_output_instruction_is_its_skeleton():
    """A classifier may have cut the fence off the sentence that announces it."""
    blocks = [
        Block("input", "Loud fan.\n\n"),
        Block("template", "Reply in JSON:\n", "output_instructions"),
        Block("template", '```\n{"cause": <string>}\n```', "code"),
    ]
    body = {"messages": [{"role": "user", "content": "".join(one.text for one in blocks)}]}
    view = PromptView.parse(json.dumps(body).encode(), lambda _: [blocks])
    assert texts(applied(YAML, view)) == ["Loud fan.\n\nReply in YAML:\n```\ncause: <string>\n```"]


_pieces = st.sampled_from([
    "Answer in JSON", "a valid XML document", "no Markdown", ":", "\n", "\n\n", "```", "```json\n", "{", "}",
    '"a": ', "<b>", "</b>", "[", "]", "- x", "## Head\n", "key: ", ", ", " // why", "...", "(doc_1)",
    "Use HTML.",
    "a: <b>\n", "|", "{{", "}}",
])  # fmt: skip


@settings(max_examples=150)
@given(st.lists(_pieces, min_size=1, max_size=14).map("".join), st.sampled_from(FORMATS))
def test_any_instruction_gives_a_variant_or_a_reason(asked, kind):
    """Whatever an output instruction holds, the prompt stays whole around it and a variant differs."""
    if not asked.strip():
        return
    view = view_of(asked)
    outcome = applied(kind, view)
    if isinstance(outcome, NotApplicable):
        assert outcome.reason == "already_wanted"
        return
    assert outcome.body() != view.body()
    assert texts(outcome)[0].startswith("Sum it up.\n\nWhy is the fan loud?")
    assert outcome == applied(kind, view)


_XML_LIST = """\
<response>
  <item>
    <city>[name]</city>
    <empty>
    </empty>
  </item>
</response>"""
_NO_MARKUP = "Plain prose, without JSON or any markup, that covers: "


@pytest.mark.parametrize(("kind", "expected"), [
    (YAML, "Reply with a YAML list:\n- city: <name>\n  empty: {}"),
    (XML, f"Reply with an XML list:\n{_XML_LIST}"),
    (FREE, f"Reply with plain prose:\n{_NO_MARKUP}any number of parts, each with city (name), empty."),
])  # fmt: skip
def test_a_list_of_objects_at_the_top(kind, expected):
    """An answer that is a list stays one; an object without fields says nothing of its parts."""
    assert asks(kind, 'Reply with a JSON array:\n[{"city": "<name>", "empty": {}}, ...]') == expected

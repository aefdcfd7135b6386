"""Format perturbations: the same contents, asked for in another format."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.shadow.perturbations import NotApplicable
from evenkeel.shadow.perturbations.format import FORMATS, FREE, HTML, JSON, MARKDOWN, XML, YAML
from evenkeel.shadow.perturbations.format.forms import SPEECHES, forces_tools
from evenkeel.shadow.perturbations.format.instructions import NAME_OF
from evenkeel.shadow.perturbations.format.outline import Unreadable, outline_at
from evenkeel.shadow.prompt import Block, PromptView
from tests.cases import cases
from tests.shadow.pretended_rewriter import asked, unclassified

CASES = cases(__file__)


def cut(*blocks, **members):
    """A chat request of one message, cut into these blocks."""
    turn = {"role": "user", "content": "".join(block.text for block in blocks)}
    return PromptView.parse(json.dumps({"messages": [turn], **members}).encode(), lambda _: [blocks])


def view_of(form="", *, said="Why is the fan loud?", **members):
    """A chat request: a task, an input, and how to answer, if it says."""
    blocks = [Block("template", "Sum it up.\n\n", "instructions"), Block("input", said)]
    if form:
        blocks += [Block("template", "\n\n"), Block("template", form, "output_instructions")]
    return cut(*blocks, **members)


def request(kind):
    """The sentence that asks for a format in English."""
    return SPEECHES["en"].asked(kind.format)


def applied(kind, view):
    return kind.apply(view, 1.0, random.Random(1))


def texts(view):
    return [message["content"] for message in json.loads(view.body())["messages"]]


BY_NAME = {kind.format: kind for kind in FORMATS}
SYNTAXES = (JSON, YAML, XML, HTML, MARKDOWN)


def asks(kind, form, **members):
    """Return the words of a variant in place of an output instruction."""
    made = applied(kind, view_of(form, **members))
    assert isinstance(made, PromptView), made
    head = "Sum it up.\n\nWhy is the fan loud?\n\n"
    content = json.loads(made.body())["messages"][0]["content"]
    assert content.startswith(head)
    return content.removeprefix(head)


LIMITS = "format with keys in English and values in Dutch, two sentences a value:\n\n"


@pytest.mark.parametrize("format_", ["yaml", "xml", "html", "markdown", "free"])
def test_a_json_skeleton_becomes_an_outline(format_):
    """Names, hints, choices, the language clause, limits and citation rules stay; the syntax goes."""
    said = asks(BY_NAME[format_], f"Answer in the following JSON {LIMITS}{CASES['fields']}")
    name = "plain-prose" if format_ == "free" else NAME_OF[format_]
    expected = f"Answer in the following {name} {LIMITS}{CASES['outline']}Cite as (doc_1)."
    assert said == (f"{expected}\n\n{request(FREE)}" if format_ == "free" else expected)


@pytest.mark.parametrize(("form", "format_"), CASES["asked for already"])
def test_what_is_asked_for_already(form, format_):
    """A prompt is not form for what it asks for itself; every other kind applies to it."""
    for kind in FORMATS:
        outcome = applied(kind, view_of(form))
        if kind.format == format_:
            assert outcome.reason == "already_wanted"
        else:
            assert outcome.body() != view_of(form).body()


@pytest.mark.parametrize("kind", SYNTAXES, ids=lambda kind: kind.name)
def test_a_sentence_is_added_where_nothing_is_said(kind):
    """The sentence ends the last user message, as an output instruction of the template."""
    made = applied(kind, view_of())
    assert json.loads(made.body())["messages"][0]["content"] == (
        f"Sum it up.\n\nWhy is the fan loud?\n\n{request(kind)}"
    )
    assert (made.segments[-1].kind, made.segments[-1].type) == ("template", "output_instructions")
    kept = [segment.text for segment in view_of().segments]
    assert [segment.text for segment in made.segments[:-1]] == kept
    # What was added is found again by the next perturbation
    assert applied(kind, made) == NotApplicable("already_wanted")


@pytest.mark.parametrize("form", ["Use JSON.", ""])
def test_a_wish_beside_the_output_instructions_is_not_contradicted(form):
    """A reminder elsewhere would ask for the old format, with or without output instructions."""
    told = Block("template", "You are a service that responds in valid JSON.\n\n", "instructions")
    asked_for = [Block("template", form, "output_instructions")] if form else []
    assert applied(XML, cut(told, Block("input", "Hi\n\n"), *asked_for)).reason == "unclear_format"


CSV = [
    {"role": "user", "content": "Gib die Kurse als CSV zurück, eine Zeile je Monat."},
    {"role": "assistant", "content": "Januar,150.02"},
    {"role": "user", "content": "Runde auf ganze Zahlen."},
]
SHOWN = (
    Block("template", 'Example:\n{"label": "billing"}\n\n', "examples"),
    Block("input", "My invoice is wrong.\n\n"),
    Block("template", "Answer in JSON.", "output_instructions"),
)
TABLES = "Task: Name the oldest player.\nThe fields you can use are: {'players': ['name', 'birth_date']}\n"
UNSEEN = "You must output valid JSON. Do not include any text outside of the JSON.\n\nText: The tram is late."


@pytest.mark.parametrize("kind", [YAML, XML, HTML, MARKDOWN, FREE], ids=lambda kind: kind.name)
def test_a_format_that_a_user_asks_about_is_no_wish(kind):
    """Otherwise just those requests of a route would drop out of what is measured."""
    view = view_of("Answer in JSON.", said="How do I parse JSON in Python?")
    assert isinstance(applied(kind, view), PromptView)


@pytest.mark.parametrize(("view", "reason"), [
    # A user's text that names a format may ask for it, in whatever words.
    (asked("List cities. Return JSON."), "unclear_format"),
    (asked("What is JSON good for?"), "unclear_format"),
    (asked("整数のJSON配列として。"), "unclear_format"),
    # Tables of a database stand behind a colon like a form; another sentence still asks for the old format.
    (unclassified(("user", TABLES)), "unclear_format"),
    (unclassified(("user", UNSEEN)), "unclear_format"),
    (PromptView.parse(json.dumps({"messages": CSV}).encode()), "own_form"),
    (PromptView.parse(b'{"messages": [{"role": "system", "content": "Be kind."}]}'), "no_user_slot"),
])  # fmt: skip
def test_a_prompt_that_may_ask_for_another_form_is_left_alone(view, reason):
    """The reason is the same for every other format."""
    assert {applied(kind, view).reason for kind in SYNTAXES if kind is not JSON} == {reason}


def test_examples_in_the_old_format_are_not_contradicted():
    """The examples show the format that the new request forbids."""
    assert applied(YAML, cut(*SHOWN)).reason == "examples_show_format"


@pytest.mark.parametrize(("form", "kind", "expected"), CASES["words of an instruction"])
def test_words_of_an_instruction(form, kind, expected):
    """Names of formats, articles, nouns and structures change, all else stays."""
    assert asks(BY_NAME[kind], form) == expected


@pytest.mark.parametrize(("form", "kind", "reason"), CASES["refused"])
def test_a_wish_that_cannot_be_replaced_whole_is_refused(form, kind, reason):
    """The variant would ask for two things at once."""
    assert applied(BY_NAME[kind], view_of(form)).reason == reason


@pytest.mark.parametrize(("form", "kind", "expected"), CASES["in its own language"])
def test_a_request_is_replaced_in_its_own_language(form, kind, expected):
    """Articles agree, and nothing is added beside it."""
    assert asks(BY_NAME[kind], form) == expected


_pieces = st.sampled_from([
    "Answer in JSON", "a valid XML document", "no Markdown", ":", "\n", "\n\n", "```", "```json\n", "{", "}",
    '"a": ', "<b>", "</b>", "[", "]", "- x", "## Head\n", "key: ", ", ", " // why", "...", "(doc_1)",
    "Use HTML.",
    "a: <b>\n", "|", "{{", "}}",
])  # fmt: skip


@given(st.lists(_pieces, min_size=1, max_size=14).map("".join), st.sampled_from(FORMATS))
def test_any_instruction_gives_a_variant_or_a_reason(form, kind):
    """The prompt stays whole around any output instruction, and a variant differs."""
    if not form.strip():
        return
    view = view_of(form)
    outcome = applied(kind, view)
    if isinstance(outcome, NotApplicable):
        assert outcome.reason in {
            "already_wanted", "unclear_format", "unreadable_structure", "markup_wanted", "format_forbidden",
            "own_form", "open_end",
        }  # fmt: skip
        return
    assert outcome.body() != view.body()
    assert texts(outcome)[0].startswith("Sum it up.\n\nWhy is the fan loud?")
    assert outcome == applied(kind, view)


SCHEMA, STRUCTURE = CASES["schema"], CASES["structure"]


@pytest.mark.parametrize(("members", "left"), [
    ({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}}}, {}),
    ({"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}, "verbosity": "low"}},
     {"text": {"verbosity": "low"}}),
    ({"text": {"format": {"type": "json_schema", "name": "n", "schema": SCHEMA}}}, {}),
    ({"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}, {}),
    ({"guided_json": SCHEMA}, {}),
    ({"guided_json": json.dumps(SCHEMA), "guided_decoding_backend": "x"}, {}),
])  # fmt: skip
def test_a_json_schema_becomes_words(members, left):
    """The prompt asks for the fields, the member is lifted, and JSON counts as asked for."""
    view = view_of(**members, temperature=0)
    made = applied(YAML, view)
    body = json.loads(made.body())
    assert body.pop("messages")[0]["content"].endswith(
        f"\n\nWrite your whole answer as one valid YAML document.\n\n{STRUCTURE}"
    )
    assert body == {**left, "temperature": 0}
    assert applied(JSON, view).reason == "already_wanted"


def test_a_schema_that_the_words_repeat_is_only_lifted():
    """Fields that the instructions name already are not shown twice."""
    members = {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}}
    form = "Reply in JSON with cause, parts (count), level and owner."
    made = applied(MARKDOWN, view_of(form, **members))
    assert texts(made)[0].endswith("Reply in Markdown with cause, parts (count), level and owner.")
    assert made.get("response_format") is None
    # The request demands JSON already, whatever its words say.
    assert applied(JSON, view_of(form.replace("JSON", "YAML"), **members)).reason == "already_wanted"


@pytest.mark.parametrize(("members", "forced"), CASES["forced tools"])
def test_forced_tools(members, forced):
    """A model that must call a tool writes no answer that could have a format."""
    view = view_of(**members)
    assert forces_tools(view) is forced
    if forced:
        assert {applied(kind, view).reason for kind in FORMATS} == {"tools_forced"}


def test_other_constraints_are_lifted():
    """A grammar that only one format satisfies would forbid the wanted one; plain text forbids nothing."""
    made = applied(YAML, view_of("Use JSON.", grammar="root ::= x", response_format={"type": "grammar"}))
    assert (made.get("grammar"), made.get("response_format")) == (None, None)
    assert applied(YAML, view_of(response_format={"type": "text"})).get("response_format") == {"type": "text"}
    assert applied(YAML, view_of(guided_json="{")).get("guided_json") is None


@pytest.mark.parametrize("text", CASES["JSON as people write it"])
def test_json_as_people_write_it(text):
    """Placeholders, bare keys, missing and superfluous commas and doubled braces read the same."""
    expected = "a: <one>\nb:\n  - <two>\n  - …\nc:\n  d: 1"
    assert outline_at(text, 0) == (expected, len(text))


def test_remarks_in_json_are_hints():
    """Comments belong to the value before them; choices stay one hint."""
    text = '{"a": "<one>", // first\n "b": [<two>], // many\n "c": "x" | "y" /* third */ }'
    assert outline_at(text, 0).text == "a: <one> (first)\nb:\n  - <two>\n  - … (many)\nc: x | y (third)"


@pytest.mark.parametrize("text", ["", "{", "[1, 2", '{"a" 1}', '{"a": }', "a", '{"a": [' * 30])
def test_json_that_cannot_be_read(text):
    with pytest.raises(Unreadable):
        outline_at(text, 0)


def test_code_behind_an_output_instruction_is_its_skeleton():
    """A classifier may have cut the fence off the sentence that announces it."""
    code = Block("template", '```\n{"cause": <string>}\n```', "code")
    told = Block("template", "Reply in JSON:\n", "output_instructions")
    view = cut(Block("input", "Loud fan.\n\n"), told, code)
    assert texts(applied(YAML, view)) == ["Loud fan.\n\nReply in YAML:\ncause: <string>"]


@pytest.mark.parametrize(("text", "added"), CASES["added"])
def test_a_request_is_added_in_the_language_of_the_prompt(text, added):
    """However few words the prompt has."""
    assert texts(applied(JSON, cut(Block("input", text, "text")))) == [f"{text}\n\n{added}"]


def test_no_format_is_asked_for_in_a_language_without_words_for_it():
    """An English request in a Swedish prompt might move the answer's language as well."""
    swedish = cut(Block("input", "Hur lång tid tar det att åka tåg från Malmö till Stockholm?", "text"))
    assert applied(JSON, swedish).reason == "language_unsupported"


def test_a_request_never_reads_as_the_end_of_a_text_to_work_on():
    """Behind a question it stands last; where a text stands last, it comes first."""
    text = "Rewrite the paragraph for a child.\n\nThe tram was late, and nobody moved."
    assert texts(applied(YAML, asked(text))) == [f"{request(YAML)}\n\n{text}"]

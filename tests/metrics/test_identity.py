"""Identity: what code calls equal, and what it must leave to the judge."""

from __future__ import annotations

import json
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.core.pair import Answer, AnswerForm, Pair, ToolCall
from evenkeel.metrics.identity import identical, plain, same_data

if TYPE_CHECKING:
    import random

    from evenkeel.core.pair import Format


def pair(reference: Answer | str, candidate: Answer | str, wanted: Format | None = None) -> Pair:
    sides = [Answer(side) if isinstance(side, str) else side for side in (reference, candidate)]
    return Pair(*sides, context="", wanted=AnswerForm(format=wanted))


def call(*named_arguments: str, text: str = "") -> Answer:
    """An answer that calls tools, given name and arguments in turn."""
    names, arguments = named_arguments[::2], named_arguments[1::2]
    return Answer(text, tuple(map(ToolCall, names, arguments)))


DIFFERENT_TEXTS = [
    ("No. Refunds are possible within 14 days.", "No refunds are possible within 14 days."),
    ("No. Se puede devolver en 14 días.", "No se puede devolver en 14 días."),
    ("Não. É possível cancelar.", "Não é possível cancelar."),
    ("Of course. Keep the door closed.", "Keep the door closed."),
    ("Natürlich. Halten Sie die Tür geschlossen.", "Halten Sie die Tür geschlossen."),
    ("Bien sûr. Gardez la porte fermée.", "Gardez la porte fermée."),
    ("It is covered", "It would be covered"),
    ("It is covered.", "It is covered?"),
    ("Your answer is 42.", "The correct answer is 42."),
    ("2024-03-05T15:00:00Z", "2024-03-05T15:00:00+09:00"),
    ("See section 3.10.", "See section 3.1."),
    ("Version 2.10", "Version 2.1"),
    ("PIN 0420", "PIN 420"),
    ("The genotype is Aa.", "The genotype is aa."),
    ("The genotype is Aa.", "the genotype is Aa."),
    ("rm -rf /srv/build", "rm -rf / srv/build"),
    ("+ fast", "- fast"),
    ("- a\n  - b\n  - c", "- a\n  - b\n- c"),
    ("  - a\n- b", "- a\n- b"),
    ("- a\n- b", "1. a\n2. b"),
    ("if x:\n    a()\n    b()", "if x:\n    a()\nb()"),
    ("    if x:\n        a()", "if x:\n        a()"),
    ("a\tb", "a b"),
    ("a b", "a\u00a0b"),
    ("x²", "x2"),
    ("½", "1/2"),
    ("ﬁle", "file"),
    ("100", "\uff11\uff10\uff10"),
    ("10⁶", "106"),
    ("Polish the table", "polish the table"),
    ("resume", "résumé"),
    ("a\u200bb", "ab"),
    ("Let's eat, Grandma", "Let's eat Grandma"),
    ("None", "None."),
    ("N/A", "Not applicable."),
    ("👍", "Yes"),
    ("Yes", "Yes!"),
    ("**Yes**", "Yes"),
    ("`x`", "x"),
    ("“yes”", '"yes"'),
    ("1,000", "1000"),
    ("1.000", "1,000"),
    ("5 > 3", "5 < 3"),
    ("The patient can have grapefruit.", "The patient can't have grapefruit."),
    ("Line one\nLine two", "Line one Line two"),
    ("Line one\n\nLine two", "Line one\nLine two"),
    ("I can't help but admire the view.", "I cannot help with that."),
    ("42", "42."),
    ("Status: open #urgent", "Status: open #low"),
    ("Answer: yes", "Answer: Yes"),
    ("true", "True"),
]
"""Texts of which the two differ in meaning, or may: none of them is equal by rule."""

DIFFERENT_DATA = [
    ('{"version": "2.10"}', '{"version": "2.1"}'),
    ('{"version": 2.10}', '{"version": 2.1}'),
    ('{"order_id": "00123"}', '{"order_id": "123"}'),
    ('{"password": "Secret1"}', '{"password": "secret1"}'),
    ('{"amount": 100}', '{"amount": 1000}'),
    ('{"amount": 100}', '{"amount": "100"}'),
    ('{"amount": 1}', '{"amount": 1.0}'),
    ('{"amount": 1}', '{"amount": true}'),
    ('{"amount": 0}', '{"amount": false}'),
    ('{"paid": true}', '{"paid": "true"}'),
    ('{"note": null}', '{"note": ""}'),
    ('{"note": null}', "{}"),
    ('{"note": "a"}', '{"Note": "a"}'),
    ('{"note": "a "}', '{"note": "a"}'),
    ('{"note": "e\\u0301"}', '{"note": "\\u00e9"}'),
    ('{"steps": ["a", "b"]}', '{"steps": ["b", "a"]}'),
    ('{"steps": ["a"]}', '{"steps": "a"}'),
    ('{"steps": []}', '{"steps": {}}'),
    ('[["a"], "b"]', '["a", ["b"]]'),
    ('{"a": 1, "a": 2}', '{"a": 2}'),
    ('{"a": 1, "a": 2}', '{"a": 2, "a": 1}'),
    ('{"n": 12345678901234567890}', '{"n": 12345678901234567891}'),
    ('{"n": 1e400}', '{"n": 1e401}'),
    ('{"n": 0.1}', '{"n": 0.10000000000000001}'),
    ('{"n": NaN}', '{"n":NaN}'),
    ("```yaml\na: |\n  x\n```", "```yaml\na: x\n```"),
    ("```yaml\n1: a\n```", "```yaml\n'1': a\n```"),
    ("```yaml\nyes: a\n```", '```yaml\n"yes": a\n```'),
    ('Here you are: {"a": 1}', '{"a": 1}'),
    ('{"a": 1}', '{"a": 1} as asked'),
]

IDENTICAL = [
    ("Yes.", "Yes."),
    ("Yes.\n", "Yes."),
    (" Yes.", "Yes."),
    ("\n\nYes.  \n\n", "Yes."),
    ("one\r\ntwo", "one\ntwo"),
    ("one\rtwo", "one\ntwo"),
    ("one  \ntwo\t", "one\ntwo"),
    ("caf\u00e9", "cafe\u0301"),
    ("\ud55c\uae00", "\u1112\u1161\u11ab\u1100\u1173\u11af"),
    ('{"a": 1, "b": [true, null]}', '{"b":[true,null],"a":1}'),
    ('{"a": 1}', '```json\n{\n  "a": 1\n}\n```'),
    ('{"a": "\\u00e9"}', '{"a": "é"}'),
    ('[{"a": {"b": 2.50}}]', '[ { "a" : { "b" : 2.50 } } ]'),
    ("```yaml\na: 1\nb: x\n```", "```yml\nb: x\na: 1\n```"),
    ("```yaml\na: |\n  x\n```", '```yaml\na: "x\\n"\n```'),
    ("```xml\n<r><a>1</a></r>\n```", "```xml\n<r>\n  <a>1</a>\n</r>\n```"),
]


@pytest.mark.parametrize(("reference", "candidate"), DIFFERENT_TEXTS + DIFFERENT_DATA)
def test_what_may_mean_something_is_never_equal(reference: str, candidate: str) -> None:
    assert identical(pair(reference, candidate)) is None
    assert identical(pair(candidate, reference)) is None


@pytest.mark.parametrize(("reference", "candidate"), IDENTICAL)
def test_layout_of_lines_and_of_data_is_nothing(reference: str, candidate: str) -> None:
    assert identical(pair(reference, candidate))
    assert identical(pair(candidate, reference))


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ('{"path": "/srv/Data/Report.csv"}', '{"path": "/srv/data/report.csv"}'),
        ('{"pattern": "*log*"}', '{"pattern": "log"}'),
        ('{"pattern": "^v1."}', '{"pattern": "^v1"}'),
        ('{"formula": "x²"}', '{"formula": "x2"}'),
        ('{"formula": "x*2"}', '{"formula": "x2"}'),
        ('{"name": "Müller"}', '{"name": "Muller"}'),
        ('{"note": "- milk"}', '{"note": "milk"}'),
        ('{"note": "# 1"}', '{"note": "1"}'),
        ('{"amount": 100}', '{"amount": 1000}'),
        ('{"amount": 100}', '{"amount": 100.0}'),
        ('{"amount": 100}', '{"amount": "100"}'),
        ('{"force": false}', '{"force": true}'),
        ("{}", '{"force": true}'),
        ('{"a": 1,}', '{"a": 1}'),
        ("not JSON", "Not JSON"),
    ],
)
def test_arguments_of_tools_are_compared_to_the_letter(reference: str, candidate: str) -> None:
    assert identical(pair(call("act", reference), call("act", candidate))) is None


@pytest.mark.parametrize(
    ("reference", "candidate", "same"),
    [
        (call("f", '{"a": 1, "b": 2}'), call("f", '{"b":2,"a":1}'), True),
        (call("f", ""), call("f", "{}"), True),
        (call("f", "not JSON"), call("f", "not JSON"), True),
        (call("f", "{}"), call("g", "{}"), False),
        (call("f", "{}", "g", "{}"), call("g", "{}", "f", "{}"), False),
        (call("f", "{}"), call("f", "{}", "f", "{}"), False),
        (call("f", "{}"), "f", False),
        (call("f", "{}", text="I look."), call("f", "{}", text="I look.\n"), True),
        (call("f", "{}", text="I look."), call("f", "{}", text="I delete."), False),
        (call("f", "{}", text="I look."), call("f", "{}"), False),
    ],
)
def test_calls_are_the_same_by_name_order_arguments_and_text(
    reference: Answer, candidate: Answer, *, same: bool
) -> None:
    assert bool(identical(pair(reference, candidate))) is same


@pytest.mark.parametrize(
    ("json_text", "other", "wanted", "same"),
    [
        ('{"a": 1, "b": "x"}', "a: 1\nb: x", "yaml", True),
        ('{"a": 1, "b": "x"}', "b: x\na: 1", "yaml", True),
        ('{"a": [1, 2]}', "a:\n- 1\n- 2", "yaml", True),
        ('{"id": "007"}', "id: '007'", "yaml", True),
        ('{"id": "007"}', "id: 007", "yaml", False),
        ('{"v": 2.10}', "v: 2.10", "yaml", True),
        ('{"v": 2.10}', "v: 2.1", "yaml", False),
        ('{"ok": true}', "ok: yes", "yaml", False),
        ('{"country": "NO"}', "country: NO", "yaml", False),
        ('{"note": "see #2"}', "note: see #2", "yaml", False),
        ('{"a": {"b": 1}}', "a: &x\n  b: 1", "yaml", True),
        ('{"a": 1, "b": 1}', "a: &x 1\nb: *x", "yaml", False),
        ('{"a": null}', "a: ~", "yaml", True),
        ('{"a": null}', 'a: ""', "yaml", False),
        ('{"a": 1, "b": "x"}', "<root><a>1</a><b>x</b></root>", "xml", True),
        ('{"a": 1, "b": "x"}', "<root><b>x</b><a>1</a></root>", "xml", True),
        ('{"a": [1, 2]}', "<root><a>1</a><a>2</a></root>", "xml", True),
        ('{"a": [1, 2]}', "<root><a><item>1</item><item>2</item></a></root>", "xml", True),
        ('{"a": [1, 2]}', "<root><a>2</a><a>1</a></root>", "xml", False),
        ('{"a": 1}', '<root unit="t"><a>1</a></root>', "xml", False),
        ('{"a": 1}', "<root><a>1</a>or 2</root>", "xml", False),
        ('{"a": 1}', "<root><a>1</a><!-- 2 --></root>", "xml", False),
        ('{"a": null}', "<root><a/></root>", "xml", False),
        ('{"a": "x"}', "<root><A>x</A></root>", "xml", False),
        ('{"a": 1, "b": "x"}', "a: 1\nb: x", None, False),
        ('{"a": 1, "b": "x"}', "<root><a>1</a><b>x</b></root>", None, False),
        ('{"r": {"a": 1, "b": "x"}}', "<r><a>1</a><b>x</b></r>", "xml", True),
        ('{"a": 1}', "<rejected><a>1</a></rejected>", "xml", False),
        ('{"a": ["x"]}', "<root><a>x</a></root>", "xml", False),
        ('{"a": ["x"]}', "<root><a><item>x</item></a></root>", "xml", False),
        ('{"steps": ["x", "y"]}', "<steps><step>x</step><step>y</step></steps>", "xml", True),
        ('{"steps": ["x", "y"]}', "<steps><skip>x</skip><skip>y</skip></steps>", "xml", False),
        ('{"a": ""}', "<root><a/></root>", "xml", False),
        ('{"v": "1e5"}', "v: 1e5", "yaml", False),
        ('{"v": "08"}', "v: 08", "yaml", False),
        ('{"v": "y"}', "v: y", "yaml", False),
        ('{"v": "1e5"}', "v: '1e5'", "yaml", True),
        ('{"a": 1}', "a: 1", "json", True),
        ('{"a": 1}', "a | 1", "markdown", False),
    ],
)
def test_formats_meet_only_where_the_variant_asked_for_one(
    json_text: str, other: str, wanted: Format | None, *, same: bool
) -> None:
    assert bool(identical(pair(json_text, other, wanted))) is same


def test_two_fences_are_a_document() -> None:
    first, second = '```json\n{"a": 1}\n```', '```json\n{"b": 1}\n```'
    assert not same_data(f"{first}\n{second}", f"{first}\n\n{second}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("reference", "candidate", "wanted"),
    [
        ("  a: 1\nb: 2", "a: 1\nb: 2", "yaml"),
        ("  - a\n- b", "- a\n- b", "yaml"),
        ("a: !!float 1", "a: !!int 1", "yaml"),
        ("a: ! 1", "a: 1", "yaml"),
        ("<p>Hi <b>un</b>\n<b>kind</b></p>", "<p>Hi <b>un</b><b>kind</b></p>", "xml"),
        ("<p>\u00a0\n<b>a</b></p>", "<p><b>a</b></p>", "xml"),
        ('<r xml:space="preserve">\n<a>1</a></r>', '<r xml:space="preserve"><a>1</a></r>', "xml"),
        (
            '<r xmlns:a="u" xmlns:b="v" type="a:x"><i>1</i></r>',
            '<r xmlns:a="v" xmlns:b="u" type="a:x"><i>1</i></r>',
            "xml",
        ),
        ("<r><a/></r>", '{"a": {}}', "json"),
        ("<r><a/></r>", '{"a": []}', "json"),
    ],
)
def test_data_that_readers_take_in_two_ways_is_never_equal(
    reference: str, candidate: str, wanted: Format
) -> None:
    assert identical(pair(reference, candidate, wanted)) is None
    assert identical(pair(candidate, reference, wanted)) is None


@given(st.dictionaries(st.text(), JSON, min_size=1), st.randoms(use_true_random=False))
def test_the_order_of_keys_and_the_layout_never_count(value: dict[str, object], rng: random.Random) -> None:
    members = list(value.items())
    rng.shuffle(members)
    texts = json.dumps(value), json.dumps(dict(members), indent=2, ensure_ascii=False)
    assert same_data(*texts)


@given(JSON, JSON)
def test_values_that_differ_are_never_the_same(left: object, right: object) -> None:
    texts = json.dumps([left]), json.dumps([right])
    assert same_data(*texts) is (json.dumps([left], sort_keys=True) == json.dumps([right], sort_keys=True))


@given(st.text())
def test_a_plain_text_is_plain_and_says_the_same(text: str) -> None:
    assert plain(plain(text)) == plain(text)
    assert plain(unicodedata.normalize("NFD", text)) == plain(unicodedata.normalize("NFC", text))
    assert "".join(plain(text).split()) == "".join(unicodedata.normalize("NFC", text).split())


@pytest.mark.parametrize(
    "text",
    [
        "[" * 60_000 + "]" * 60_000,
        '{"a":' * 30_000,
        "- " * 60_000,
        "<a>" * 60_000,
        " \t" * 100_000 + "x",
        "a: &x\n" * 20_000,
        "`" * 100_000,
        "```\n" * 40_000,
        "<!DOCTYPE r [<!ENTITY a 'x'>]><r>&a;</r>",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_texts_are_read_or_refused(text: str) -> None:
    for wanted in ("json", "yaml", "xml"):
        assert not same_data(text, text[:-1] + "?", wanted=wanted)

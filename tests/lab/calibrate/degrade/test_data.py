"""Data: read and written in their format, degraded by their values."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evenkeel.lab.calibrate.calibration import FailureMode
from evenkeel.lab.calibrate.degrade import NotDegradableError, degradations, units_touched
from evenkeel.lab.calibrate.degrade.data import shorter
from evenkeel.lab.calibrate.degrade.data_formats import at, leaf_paths, read_document, weight
from evenkeel.metrics.structured.reading import read_structure
from evenkeel.metrics.structured.tree import leaves
from evenkeel.metrics.structured.validity import is_valid
from tests.lab.calibrate.degrade.damage import applied, done, refused

ORDER = """{
  "customer": {"name": "Ann Weiss", "vip": true},
  "note": "The valve was closed because the tank is full.",
  "rows": [
    {"at": "2024-01-02T10:00:00Z", "litres": 12.50},
    {"at": "2024-01-03T10:00:00Z", "litres": 1e3},
    {"at": "2024-01-04T10:00:00Z", "litres": -7}
  ],
  "tags": ["a", "b", "c"],
  "none": null
}"""
YAML = """\
name: Ann Weiss
born: 2001-02-03
text: "yes"
rows:
- pump: 1
  note: The pump is off.
- pump: 2
  note: The pump is on.
flow: [1, 2.5, on]"""
XML = """<?xml version="1.0"?>
<order no="7">
  <name>Ann &amp; Bo</name>
  <rows>
    <row>first one</row>
    <row>second one</row>
  </rows>
  <mixed>some <b>bold</b> text</mixed>
  <empty/>
</order>"""


def test_an_unchanged_document_says_the_same_in_its_own_layout() -> None:
    """Spelling of numbers, types of scalars, keys that come twice and attributes stay."""
    for text, written in (
        ('{"a":[1,2.50],\n"b":{"c":null}}', '{"a": [1, 2.50], "b": {"c": null}}'),
        ('{"a": "é", "a": "twice"}', '{"a": "\\u00e9", "a": "twice"}'),
        ('{"a": "\\ud800"}', '{"a": "\\ud800"}'),
        (YAML, YAML.replace('"yes"', "'yes'").replace("flow: [1, 2.5, on]", "flow:\n- 1\n- 2.5\n- on")),
        (XML, "".join(line.strip() for line in XML.splitlines()[1:])),
    ):
        document = read_document(text)
        assert document.written(document.root) == written


def test_what_stands_around_data_stays() -> None:
    """In a fence, with a word before and behind."""
    text = 'Here it is:\n\n```json\n{"a": 1, "b": 2}\n```\n\nBye.'
    found = applied("missing_values", text, 0.5)
    assert found in (text.replace('"a": 1, ', ""), text.replace(', "b": 2', ""))
    bare = 'Result: {"a": [1, 2], "b": {"c": "some words"}}'
    assert read_document(bare).before == "Result: "


def test_values_are_counted_like_the_metrics_count_them() -> None:
    """An empty object or array is one value; only attributes of XML are none, as they always stay."""
    for text in (ORDER, YAML, XML.replace(' no="7"', ""), '{"a": {}, "b": [], "c": [[1], {"d": 2}]}'):
        structure = read_structure(text)
        assert weight(read_document(text).root) == len(list(leaves(structure.tree)))


VALUES = st.recursive(
    st.sampled_from([
        None, True, 0, -12.75, 10**20, "", "open", "The valve was closed because the tank is full.", "voll",
        "水箱已经满了\uff0c请关闭", "Check the meter, then the valve.", "2024-01-02", "x: y # z", "- a",
        "1.0", "\n", "<a&b>",
    ]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from(["a", "b", "c d", "é", "bakery_oven", "1"]), inner, max_size=5),
    ),
    max_leaves=20,
)  # fmt: skip
DOCUMENTS = VALUES.filter(lambda value: isinstance(value, dict | list) and bool(value))


def written(value, form):
    """JSON or YAML of a value, or None where the reader sees no data in it."""
    match form:
        case "compact":
            text = json.dumps(value)
        case "indented":
            text = json.dumps(value, indent=2, ensure_ascii=False)
        case _:
            text = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    return text if parsed(text, form) is not None else None


def parsed(text, form):
    """The values with their paths, after a strict parse in the format; None if YAML looks like prose."""
    (yaml.safe_load if form == "yaml" else json.loads)(text)
    try:
        root = read_document(text).root
    except NotDegradableError:
        assert form == "yaml"
        return None
    return [(path, at(root, path)) for path in leaf_paths(root)]


@given(DOCUMENTS, st.sampled_from(["compact", "indented", "yaml"]), st.sampled_from([0.1, 0.3, 0.5, 1.0]),
       st.integers(0, 99))  # fmt: skip
def test_every_degradation_gives_valid_data_and_says_how_much_it_changes(value, form, severity, seed) -> None:
    """Values gone, changed or new are as many as stated; what comes out parses in its format."""
    text = written(value, form)
    if text is None:
        return
    before = parsed(text, form)
    touched = units_touched(len(before), severity)
    for each in degradations("data"):
        found = done(each, text, severity, seed)
        after = parsed(found, form) if isinstance(found, str) else None
        if after is not None:
            assert_changed(each.mode, before, after, touched)


def assert_changed(mode, before, after, touched):
    match mode:
        case FailureMode.MISSING:
            assert len(after) == len(before) - touched
            rest = iter([entry for _, entry in before])
            assert all(any(entry == other for other in rest) for _, entry in after)
        case FailureMode.COMPRESSED | FailureMode.REWORDED:
            assert [path for path, _ in before] == [path for path, _ in after]
            assert sum(a[1] != b[1] for a, b in zip(before, after, strict=True)) == touched
        case FailureMode.REORDERED:
            assert sorted(repr(e) for _, e in before) == sorted(repr(e) for _, e in after)
            assert before != after
        case FailureMode.DUPLICATED:
            assert touched / 2 <= len(after) - len(before) <= 1.5 * touched
        case _:
            assert len(after) - len(before) == touched


def test_order_of_keys_is_never_changed_and_rows_move_whole() -> None:
    """Three of ten values: a row of two, or one tag, or both."""
    for seed in range(20):
        found = json.loads(applied("reordered_values", ORDER, 0.2, seed))
        own = json.loads(ORDER)
        assert list(found) == list(own)
        assert found != own
        assert sorted(map(str, found["rows"])) == sorted(map(str, own["rows"]))
        assert sorted(found["tags"]) == own["tags"]


def test_emptied_branches_go_and_one_value_stays() -> None:
    """What held nothing but missing values is missing too."""
    text = '{"a": {"b": {"c": 1}}, "d": 2}'
    assert {applied("missing_values", text, 0.5, seed) for seed in range(9)} == {
        '{"d": 2}', '{"a": {"b": {"c": 1}}}',
    }  # fmt: skip
    assert refused("missing_values", '{"a": 1}') == "too_few_units"


@pytest.mark.parametrize(
    ("value", "less"),
    [
        ("12.50", "12"), ("-0.5", "-0"), ("3.0", None), ("17", None), ("2024-01-02T10:00:00Z", "2024-01-02"),
        ("2024-01-02", "2024-01"), ("Closed because it is full", "Closed because it"), ("open", None),
        ("Ann Weiss", "Ann"), ("The valve was closed, as always.", "The valve was closed."),
        ("水箱满了", "水箱"),
        ("", None),
    ],
)  # fmt: skip
def test_shorter_values(value, less) -> None:
    """Fractions, times, days, clauses, the second half of the words; codes have nothing to cut."""
    assert shorter(value) == less


def test_numbers_stay_numbers() -> None:
    """A decimal cut is a number in JSON and YAML, a date without its day a text."""
    assert applied("compressed_values", '{"a": 12.50, "b": "x"}', 0.5) == '{"a": 12, "b": "x"}'
    found = yaml.safe_load(applied("compressed_values", "a: 12.5\nb: 2024-01-02\nc: one two", 1.0))
    assert found == {"a": 12, "b": "2024-01", "c": "one"}


def test_added_keys_are_new_ones() -> None:
    """However many are added, no key comes twice; arrays get texts where there are no objects."""
    found = json.loads(applied("added_values", json.dumps({f"k{n}": n for n in range(60)}), 1.0))
    assert len(found) == 120
    assert len(json.loads(applied("added_values", "[1, 2, 3, 4]", 0.5))) == 6
    assert applied("added_values", "<r><i>1</i><i>2</i></r>", 0.5).count("<i>") == 3


def test_xml_is_degraded_like_the_rest() -> None:
    """All modes that it allows; what has elements within its text goes or stays as a whole."""
    for each in degradations("data"):
        for seed in range(10):
            found = done(each, XML, 0.3, seed)
            if each.mode is FailureMode.REWORDED:
                assert isinstance(found, list)
                continue
            assert is_valid(found, "xml"), found
            assert found.startswith('<order no="7">')
            if "<mixed>" in found:
                assert "<mixed>some <b>bold</b> text</mixed>" in found


def test_what_cannot_be_degraded_so_is_refused() -> None:
    """No data, broken data, no arrays, nothing to say otherwise, rows that are too large."""
    assert refused("missing_values", "Just a sentence.") == "no_data"
    assert refused("missing_values", '{"a": 1, "b": [1, 2,}') == "not_valid"
    assert refused("missing_values", "[" * 100 + "1" + "]" * 100) in ("too_deep", "no_data")
    assert refused("reordered_values", '{"a": 1, "b": 2}') == "no_array"
    assert refused("reordered_values", '{"a": [1, 1]}') == "no_array"
    assert refused("reworded_values", '{"a": 1, "b": "Weiss"}') == "too_few_units"
    assert refused("added_values", "{}") == "no_place"
    rows = json.dumps([list(range(20)), list(range(20, 40))])
    assert json.loads(applied("duplicated_values", rows, 0.1)) != json.loads(rows)
    wide = json.dumps([{f"k{n}": n for n in range(20)} for _ in range(2)])
    assert refused("duplicated_values", wide, 0.1) == "coarse_items"
    few = json.dumps({"a": [1], **{f"k{n}": n for n in range(20)}})
    assert refused("duplicated_values", few) == "too_few_units"
    assert refused("missing_values", "<r>only text</r>") == "no_fields"
    assert refused("missing_values", "a: 1\nb: 2\n---\na: 3\nb: 4\n") == "several_documents"

from __future__ import annotations

import csv
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.console.cells import cells_table
from evenkeel.console.downloads import Table, as_csv, as_records
from tests.console.whole_scene import SECRET, whole

_NAMES = (
    "alerts",
    "cells",
    "changes",
    "dead-letters",
    "judge",
    "pipeline",
    "settings",
    "skips",
    "spend",
    "trends",
)


@pytest.fixture
def client(make_scene, make_cell):
    """A console with everything on it."""
    with TestClient(create_app(whole(make_scene("alert"), make_cell).sources)) as client:
        yield client


def test_both_kinds_of_file_hold_the_same_rows(client):
    """Every table can be had as CSV and as JSON, under names that tell what it is."""
    for name in _NAMES:
        as_text = client.get(f"/downloads/{name}.csv")
        assert as_text.headers["content-type"].startswith("text/csv")
        assert as_text.headers["content-disposition"] == f'attachment; filename="evenkeel-{name}.csv"'
        rows = list(csv.DictReader(io.StringIO(as_text.text, newline="")))
        (key, records), *rest = client.get(f"/downloads/{name}.json").json().items()
        assert rest == []
        assert key == name.replace("-", "_")
        assert len(rows) == len(records) > 0, name
        assert list(rows[0]) == list(records[0])
        assert SECRET not in as_text.text


def test_a_file_can_be_narrowed_to_a_route(client):
    """As the links on the page of a route do it."""
    every = client.get("/downloads/cells.json").json()["cells"]
    some = client.get("/downloads/cells.json?route=faq-answers").json()["cells"]
    assert {row["route"] for row in some} == {"faq-answers"}
    assert some == [row for row in every if row["route"] == "faq-answers"]


def test_what_is_no_file_is_not_found(client):
    """Neither another kind nor another table."""
    for name in ("cells", "cells.xml", "nothing.csv", "cells.csv.csv", ".csv"):
        assert client.get(f"/downloads/{name}").status_code == 404


def test_texts_that_would_be_formulas_are_defused():
    """A spreadsheet runs what begins so; numbers, also negative ones, stay numbers."""
    table = Table(("text",), [("=1+1",), ("+4",), ("@x",), ("-2",), (-2,), ("plain",), (None,), (True,)])
    assert as_csv(table).decode().split("\r\n")[1:-1] == [
        "'=1+1",
        "'+4",
        "'@x",
        "'-2",
        "-2",
        "plain",
        '""',
        "1",
    ]


@given(
    st.lists(st.tuples(st.text(max_size=12), st.floats(allow_nan=False, allow_infinity=False)), max_size=5)
)
def test_a_csv_file_reads_back(rows):
    """Whatever the texts hold, quotes, commas and line ends too; only half surrogates become "?"."""
    text = as_csv(Table(("text", "number"), rows)).decode()
    read = list(csv.reader(io.StringIO(text, newline="")))[1:]
    for (wanted, number), (found, found_number) in zip(rows, read, strict=True):
        assert float(found_number) == number
        assert found.removeprefix("'") == wanted.encode("utf-8", "replace").decode().removeprefix("'")


def test_numbers_that_are_not_finite_are_null(make_scene):
    """Strict JSON, as everywhere in the API."""
    scene = make_scene("hostile")
    with TestClient(create_app(scene.sources())) as client:
        rows = json.loads(client.get("/downloads/trends.json").content, parse_constant=pytest.fail)["trends"]
    assert any(row["excess"] is None for row in rows)


def test_cells_have_every_estimate_with_its_interval(make_cell):
    """What is not known is empty, not zero."""
    known = make_cell("shop", "m", "general.spelling", moved=0.2)
    young = make_cell("shop", "m", "general.casing", trials=3)
    table = cells_table([young, known])
    rows = {row["perturbation"]: row for row in as_records(table)}
    full = rows["general.spelling"]
    assert full["robustness_lower"] < full["robustness"] < full["robustness_upper"]
    assert math.isclose(full["excess"], known.estimates.excess.value)
    assert rows["general.casing"]["robustness"] is None
    assert rows["general.casing"]["trials"] == 3

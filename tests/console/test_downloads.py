from __future__ import annotations

import csv
import io
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from litestar.testing import TestClient

from evenkeel.console import create_app
from evenkeel.console.cells import cells_table
from evenkeel.console.downloads import DownloadTable, as_csv
from tests.console.whole_scene import SECRET, whole


@pytest.fixture
def client(make_scene, make_cell):
    """A console with everything on it."""
    with TestClient(create_app(whole(make_scene("alert"), make_cell).sources)) as client:
        yield client


def rows_of(client, name):
    """The rows of a file."""
    response = client.get(f"/downloads/{name}")
    assert response.headers["content-type"].startswith("text/csv")
    return list(csv.DictReader(io.StringIO(response.text, newline="")))


def test_files_have_rows_and_no_secret(client):
    """Under names that tell what they are."""
    for name in ("cells", "trials"):
        assert rows_of(client, f"{name}.csv")
        response = client.get(f"/downloads/{name}.csv")
        assert response.headers["content-disposition"] == f'attachment; filename="evenkeel-{name}.csv"'
        assert SECRET not in response.text


def test_a_file_can_be_narrowed_to_a_route(client):
    """As the links on the page of a route do it."""
    every, some = rows_of(client, "cells.csv"), rows_of(client, "cells.csv?route=faq-answers")
    assert some == [row for row in every if row["route"] == "faq-answers"] != []


def test_what_is_no_file_is_not_found(client):
    """Neither another kind nor another table."""
    for name in ("cells", "cells.json", "nothing.csv", "cells.csv.csv", ".csv"):
        assert client.get(f"/downloads/{name}").status_code == 404


def test_texts_that_would_be_formulas_are_defused():
    """A spreadsheet runs what begins so; numbers, also negative ones, stay numbers."""
    table = DownloadTable(
        ("text",), [("=1+1",), ("+4",), ("@x",), ("-2",), (-2,), ("plain",), (None,), (True,)]
    )
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
    text = as_csv(DownloadTable(("text", "number"), rows)).decode()
    read = list(csv.reader(io.StringIO(text, newline="")))[1:]
    for (wanted, number), (found, found_number) in zip(rows, read, strict=True):
        assert float(found_number) == number
        assert found.removeprefix("'") == wanted.encode("utf-8", "replace").decode().removeprefix("'")


def test_cells_have_every_estimate_with_its_interval(make_cell):
    """What is not known is empty, not zero."""
    known = make_cell("shop", "m", "general.spelling", moved=0.2)
    young = make_cell("shop", "m", "general.casing", trials=3)
    table = cells_table([young, known])
    records = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    rows = {row["perturbation"]: row for row in records}
    full = rows["general.spelling"]
    assert full["robustness_lower"] < full["robustness"] < full["robustness_upper"]
    assert math.isclose(full["excess"], known.estimates.excess.value)
    assert rows["general.casing"]["robustness"] is None
    assert rows["general.casing"]["trials"] == 3

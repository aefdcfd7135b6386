"""The reference pages are what the code says, and are committed."""

from __future__ import annotations

import dataclasses
import re

import pytest

from docs.generate import metrics
from docs.generate.__main__ import PAGES, REFERENCE, current
from evenkeel.proxy.errors import ForwardingFault
from evenkeel.proxy.limits import Limits
from evenkeel.settings import Settings
from evenkeel.shadow.perturbations import BUILTIN


def text(name):
    """A page as it is committed."""
    return (REFERENCE / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_current(name):
    stale = current(REFERENCE / f"{name}.md") != text(name)
    assert not stale, "run `python -m docs.generate` and commit docs/reference"


def test_every_reference_page_is_generated():
    assert {path.stem for path in REFERENCE.iterdir()} == set(PAGES)


def test_the_data_plane_page_lists_every_fault_and_limit():
    """Each error has its row with status and message, each bound its row with value and meaning."""
    page = text("data-plane")
    assert all(page.count(f"| `{fault.value}` |") == 1 for fault in ForwardingFault)
    assert all(page.count(f"| `{field.name}` |") == 1 for field in dataclasses.fields(Limits))


def test_the_settings_page_has_every_section_once():
    """Each model of the settings is a heading; the console links to them."""
    page = text("settings")
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert len(set(headings)) == len(headings) > 10
    assert {name for name in Settings.model_fields if f"| `{name}` |" not in page} == set()


def test_the_perturbations_page_shows_each_with_its_effect():
    """Every perturbation of the catalogue has its section, or its family has."""
    sections = set(re.findall(r"^### (\S+)$", text("perturbations"), re.MULTILINE))
    families = {f"{kind.name.partition('.')[0]}.*" for kind in BUILTIN}
    lost = [
        kind.name
        for kind in BUILTIN
        if kind.name not in sections and f"{kind.name.partition('.')[0]}.*" not in sections & families
    ]
    assert lost == []


def test_every_series_is_on_the_metrics_page_once():
    """No name is left out by the sections but those beside an estimate, and none stands in two."""
    rows = re.findall(r"^\| `(evenkeel_\w+)` \|", text("metrics"), re.MULTILINE)
    names = {series.name for series in metrics.documented()}
    assert sorted(rows) == sorted(name for name in names if not metrics.is_beside(name, names))

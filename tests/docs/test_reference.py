"""The reference pages are what the code says, and are committed."""

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


FAMILIES = {f"{kind.name.partition('.')[0]}.*" for kind in BUILTIN}
SECTIONS = re.findall(r"^### (\S+)$", text("perturbations"), re.MULTILINE)


def test_nothing_is_missing_on_a_page():
    """Faults, limits and settings have a row, each perturbation has a section, or its family has."""
    page = text("data-plane")
    assert all(page.count(f"| `{fault.value}` |") == 1 for fault in ForwardingFault)
    assert all(page.count(f"| `{field.name}` |") == 1 for field in dataclasses.fields(Limits))
    assert [name for name in Settings.model_fields if f"| `{name}` |" not in text("settings")] == []
    headings = re.findall(r"^## (.+)$", text("settings"), re.MULTILINE)
    assert len(set(headings)) == len(headings) > 10  # the console links to them
    whole = {f"{name.partition('.')[0]}.*" for name in SECTIONS if name in FAMILIES}
    alone = [kind.name for kind in BUILTIN if f"{kind.name.partition('.')[0]}.*" not in whole]
    assert set(alone) <= set(SECTIONS)


def test_every_series_is_on_the_metrics_page_once():
    """No name is left out by the sections but those beside an estimate, and none stands in two."""
    rows = re.findall(r"^\| `(evenkeel_\w+)` \|", text("metrics"), re.MULTILINE)
    names = {series.name for series in metrics.documented()}
    assert sorted(rows) == sorted(name for name in names if not metrics.is_beside(name, names))

"""The docs against the code."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
from pathlib import Path

import pytest

from evenkeel.cli.main import COMMANDS
from evenkeel.proxy.errors import Fault
from evenkeel.proxy.limits import Limits
from evenkeel.reference.pages import data_plane_page
from evenkeel.reference.perturbations import perturbations_page
from evenkeel.reference.settings import settings_page
from evenkeel.settings import Settings
from evenkeel.shadow.perturbations import BUILTIN
from tests.docs.documentation import GENERATED, PAGES, ROOT, text_of


def test_the_reference_is_generated_and_never_committed():
    """`make docs` writes it; git ignores what it writes."""
    listed = ["git", "ls-files", "docs/reference"]
    assert subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout == ""
    assert all(text.startswith("# ") for text in GENERATED.values())


def test_the_data_plane_page_lists_every_fault_and_limit():
    """Each error has its row with status and message, each bound its row with value and meaning."""
    page = data_plane_page()
    assert all(page.count(f"| `{fault.value}` |") == 1 for fault in Fault)
    assert all(page.count(f"| `{field.name}` |") == 1 for field in dataclasses.fields(Limits))


def test_the_settings_page_has_every_section_once():
    """Each model of the settings is a heading; the console links to them."""
    page = settings_page()
    headings = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert len(set(headings)) == len(headings) > 10
    assert {name for name in Settings.model_fields if f"| `{name}` |" not in page} == set()


def test_the_perturbations_page_shows_each_with_its_effect():
    """Every perturbation of the catalogue has its section, or its family has."""
    page = perturbations_page()
    sections = set(re.findall(r"^### (\S+)$", page, re.MULTILINE))
    assert {
        one.name for one in BUILTIN if not {one.name, f"{one.name.partition('.')[0]}.*"} & sections
    } == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    """Every relative link names a file that is there."""
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text_of(page))
    targets = {link: Path(os.path.normpath(page.parent / link)) for link in links}
    assert not [link for link, target in targets.items() if target not in GENERATED and not target.exists()]


def test_the_readme_names_commands_that_exist():
    """Each `make` target and `evenkeel` command in the README can be run."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = "\n".join(re.findall(r"```sh\n(.*?)```", readme, re.DOTALL) + re.findall(r"`([^`\n]+)`", readme))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z-]+)", shown):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for command in re.findall(r"^(?:\.venv/bin/)?evenkeel ([a-z][a-z-]+)", shown, re.MULTILINE):
        assert command in COMMANDS, command

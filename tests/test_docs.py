"""The docs against the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from evenkeel.cli.main import COMMANDS
from evenkeel.reference.pages import data_plane_page, settings_page
from evenkeel.reference.perturbations import perturbations_page

ROOT = Path(__file__).parents[1]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")})


def test_the_settings_page_is_what_the_code_says():
    """`make docs` has been run since the settings changed."""
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == settings_page()


def test_the_data_plane_page_lists_every_fault_and_limit():
    """`make docs` has been run since the errors or the limits changed."""
    text = (ROOT / "docs" / "data-plane.md").read_text(encoding="utf-8")
    assert text == data_plane_page()


def test_the_perturbations_page_shows_what_the_code_does():
    """Examples are what each kind makes of the prompt, byte for byte, on this platform too."""
    text = (ROOT / "docs" / "perturbations.md").read_text(encoding="utf-8")
    assert text == perturbations_page()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    """Every relative link names a file that is there."""
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_the_readme_names_commands_that_exist():
    """Each `make` target and `evenkeel` command in the README can be run."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = "\n".join(re.findall(r"```sh\n(.*?)```", readme, re.DOTALL) + re.findall(r"`([^`\n]+)`", readme))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z-]+)", shown):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for command in re.findall(r"^(?:\.venv/bin/)?evenkeel ([a-z][a-z-]+)", shown, re.MULTILINE):
        assert command in COMMANDS, command

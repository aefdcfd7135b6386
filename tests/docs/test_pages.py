"""Pages, navigation and links of the documentation."""

from __future__ import annotations

import importlib.util
import re
from types import SimpleNamespace

import pytest
import yaml

from tests.docs.documentation import DOCS, PAGES, ROOT, anchors_of, prose_of

LINK = re.compile(r"\]\(([^)\s#]*)#([^)\s]+)\)")
PICTURES = sorted((DOCS / "pictures").glob("tutorial-*.png"))


def _in_nav(entry):
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for below in entry.values():
            yield from _in_nav(below)
    else:
        for below in entry:
            yield from _in_nav(below)


def _configuration():
    return yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def test_every_page_is_in_the_navigation_of_the_site_once():
    """A page that nobody can reach is no documentation; add it to `nav` in mkdocs.yml."""
    named = sorted(_in_nav(_configuration()["nav"]))
    assert named == sorted(page.relative_to(DOCS).as_posix() for page in PAGES if page.is_relative_to(DOCS))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_a_heading_find_it(page):
    """Every `page.md#heading` of ours, and every `#heading`, leads to a heading that is there."""
    lost = []
    for target, anchor in LINK.findall(prose_of(page)):
        if ":" in target or (target and not target.endswith(".md")):
            continue
        if anchor not in anchors_of((page.parent / target).resolve() if target else page):
            lost.append(f"{target}#{anchor}")
    assert not lost


def test_the_pictures_of_the_tutorial_are_those_that_its_pages_ask_for():
    """`python -m tests.docs.pictures` has run since a picture was added or removed, and each is small."""
    asked = {
        f"{name}.png"
        for page in (DOCS / "tutorial").glob("*.md")
        for name in re.findall(r"<!-- picture: (\S+) ", page.read_text(encoding="utf-8"))
    }
    assert {picture.name for picture in PICTURES} == asked
    assert all(picture.stat().st_size < 120_000 for picture in PICTURES)


def _hooks():
    spec = importlib.util.spec_from_file_location("site_hooks", DOCS / "site_hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "written", "shown"),
    [
        ("gate.md", "[w](../deploy/w.yml)", "w (in the repository: `deploy/w.yml`)"),
        ("runbooks/A.md", "[rules](../../deploy/rules)", "rules (in the repository: `deploy/rules`)"),
        ("runbooks/A.md", "[gate](../gate.md#measured)", "[gate](../gate.md#measured)"),
        ("gate.md", "[goldens](goldens.md)", "[goldens](goldens.md)"),
    ],
)
def test_the_site_names_files_outside_of_it_and_links_only_pages(source, written, shown):
    """A link to a file of the repository becomes its name; links between pages stay as they are."""
    page = SimpleNamespace(file=SimpleNamespace(src_uri=source))
    assert _hooks().on_page_markdown(written, page=page) == shown


def test_the_site_loads_its_search_from_itself():
    """The script that the theme would fetch from another host comes from the site, at any depth."""
    tag = '<script src="https://unpkg.com/iframe-worker/shim"></script>'
    page = SimpleNamespace(url="concepts/evidence.html")
    assert _hooks().on_post_page(tag, page=page) == '<script src="../scripts/iframe-worker.js"></script>'
    assert (DOCS / "scripts" / "iframe-worker.js").is_file()
    assert _hooks().on_post_template(f"a{tag}b") == "ab"


def test_the_site_fetches_no_font():
    """It can be read without a network."""
    assert _configuration()["theme"]["font"] is False

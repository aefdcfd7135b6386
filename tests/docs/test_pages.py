"""Pages, navigation and links of the documentation."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest
import yaml

from tests.docs.documentation import DOCS, GENERATED, PAGES, ROOT, anchors_of, inline_code_of, prose_of

LINK = re.compile(r"\]\(([^)\s#]*)#([^)\s]+)\)")
PICTURES = sorted((DOCS / "pictures").glob("*.png"))


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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_link_to_pages_alone(page):
    """The site holds `docs/` and nothing else, so files of the repository are named, not linked."""
    links = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", prose_of(page))
    outside = [one for one in links if not (page.parent / one).resolve().is_relative_to(DOCS)]
    assert not outside or page.parent == ROOT


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_that_are_named_are_there(page):
    """`docs/page.md` in backticks is a page that is written or generated."""
    named = {ROOT / code for code in inline_code_of(page) if re.fullmatch(r"docs/[\w./-]+\.md", code)}
    assert {one for one in named if not one.exists()} <= set(GENERATED)


@pytest.mark.timeout(120)
def test_the_site_is_built_without_a_warning_and_asks_no_other_host(tmp_path):
    """Zensical finds every link, heading and page; no page loads a script, font or picture from elsewhere."""
    for path in ("mkdocs.yml", "docs"):
        source = ROOT / path
        if source.is_dir():
            shutil.copytree(source, tmp_path / path, ignore=shutil.ignore_patterns("reference"))
        else:
            shutil.copy(source, tmp_path / path)
    for path, text in GENERATED.items():
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    built = {page.relative_to(DOCS).with_suffix(".html") for page in PAGES if page.is_relative_to(DOCS)}
    site = tmp_path / "site"
    assert {path.relative_to(site) for path in site.rglob("*.html")} >= {
        path.with_name("index.html") if path.name == "README.html" else path for path in built
    }
    loaded = re.compile(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*")
    assert [found for path in site.rglob("*.html") for found in loaded.findall(path.read_text("utf-8"))] == []


def test_the_site_fetches_no_font():
    """It can be read without a network."""
    assert _configuration()["theme"]["font"] is False

"""Pages, navigation and links of the documentation."""

import re
import shutil
import subprocess
import sys

import yaml

from tests.docs.documentation import DOCS, PAGES, ROOT, anchors_of, prose_of, text_of

LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
PICTURES = sorted((DOCS / "pictures").glob("*.png"))
CONFIGURATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def names_in(navigation):
    """Every page that a part of the navigation names."""
    if isinstance(navigation, str):
        yield navigation
    else:
        for below in navigation.values() if isinstance(navigation, dict) else navigation:
            yield from names_in(below)


def test_every_page_is_in_the_navigation_of_the_site_once():
    """A page that nobody can reach is no documentation; add it to `nav` in mkdocs.yml."""
    named = sorted(names_in(CONFIGURATION["nav"]))
    assert named == sorted(page.relative_to(DOCS).as_posix() for page in PAGES if page.is_relative_to(DOCS))


def test_links_lead_to_pages_and_headings_that_are_there():
    """Pages of the site link to pages alone: it holds `docs/` and nothing else of the repository."""
    lost = []
    for page in PAGES:
        for target, anchor in LINK.findall(prose_of(page)):
            if ":" in target:
                continue
            path = (page.parent / target).resolve() if target else page
            if not path.exists():
                lost.append(f"{page.name}: {target} is not there")
            elif anchor and path.suffix == ".md" and anchor not in anchors_of(path):
                lost.append(f"{page.name}: {target}#{anchor} is not there")
            elif page.is_relative_to(DOCS) and not path.is_relative_to(DOCS):
                lost.append(f"{page.name}: {target} is outside docs/")
    assert lost == []


def test_the_pictures_of_the_tutorial_are_those_that_its_pages_ask_for():
    """`python -m tests.docs.pictures` has run since a picture was added or removed, and each is small."""
    asked = {
        f"{name}.png"
        for page in (DOCS / "tutorial").glob("*.md")
        for name in re.findall(r"<!-- picture: (\S+) ", text_of(page))
    }
    assert {picture.name for picture in PICTURES} == asked
    assert all(picture.stat().st_size < 120_000 for picture in PICTURES)


def test_the_site_is_built_without_a_warning_and_asks_no_other_host(tmp_path):
    """Zensical finds every link, heading and page; no page loads a script, font or picture from elsewhere."""
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    built = {path.relative_to(site) for path in site.rglob("*.html")}
    for page in (page.relative_to(DOCS) for page in PAGES if page.is_relative_to(DOCS)):
        assert (
            page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")
        ) in built
    loaded = re.compile(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"(?:https?:)?//[^\"]*")
    assert [
        address for path in site.rglob("*.html") for address in loaded.findall(path.read_text("utf-8"))
    ] == []
    assert CONFIGURATION["theme"]["font"] is False
    assert not (site / "generate").exists()  # the program that fills docs/reference

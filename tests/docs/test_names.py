"""Modules and files that the documentation names."""

import re
from functools import cache
from importlib import import_module
from importlib.util import find_spec

from tests.docs.documentation import DOCS, PAGES, ROOT, inline_code_of, text_of
from tests.house import modules, room_of

_ROOMS = sorted({room_of(path) for path in modules().values()} - {"__init__", "__main__"})
_DOTTED = re.compile(rf"\bevenkeel(?:\.(?:{'|'.join(_ROOMS)}))(?:\.\w+)*")
_FOLDERS = (*_ROOMS, "benchmarks", "deploy", "docs", "evenkeel", "grafana", "requirements", "tests")
_PATH = re.compile(rf"(?<![\w./@-])(?:{'|'.join(_FOLDERS)})/[\w.*/-]*")
_GROUPS = ("evenkeel.metrics", "evenkeel.perturbations")
"""Entry points, which no module need be called like."""
_NAMES = frozenset({"evenkeel.reference.response.id"})
"""Attributes of spans that begin like a module."""


@cache
def _is_there(name):
    module, rest = name, []
    while True:
        try:
            if find_spec(module) is not None:
                break
        except ModuleNotFoundError:
            pass
        module, _, last = module.rpartition(".")
        rest.insert(0, last)
    target = import_module(module)
    for attribute in rest:
        if not hasattr(target, attribute):
            return False
        target = getattr(target, attribute)
    return True


def test_modules_that_pages_name_exist():
    """Each dotted `evenkeel.…` in text and code is a module, or a name in one."""
    named = {(name, page.name) for page in PAGES for name in _DOTTED.findall(text_of(page))}
    assert [
        place for place in sorted(named) if place[0] not in {*_GROUPS, *_NAMES} and not _is_there(place[0])
    ] == []


def test_files_of_the_repository_that_pages_name_exist():
    """Each path between backticks that begins with a folder of ours leads somewhere; `*` matches any name."""
    folders = (ROOT, ROOT / "evenkeel", DOCS, ROOT / "tests")
    named = {
        (path.rstrip("/."), page.name)
        for page in PAGES
        for code in inline_code_of(page)
        for path in _PATH.findall(code)
    }
    assert [
        place for place in sorted(named) if not any(any(folder.glob(place[0])) for folder in folders)
    ] == []

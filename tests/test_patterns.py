"""Regular expressions that every supported Python matches alike."""

import re

from tests.house import ROOT

POSSESSIVE_GROUP = re.compile(r"\)(?:[*+?]|\{\{?\d*,?\d*\}\}?)\+")


def test_no_group_is_possessive():
    """Python before 3.11.5, as Debian 12 has it, matches `(…)*+` wrongly; `(?>(…)*)` says the same."""
    assert POSSESSIVE_GROUP.search(r"(ab)*+")
    for path in (ROOT / "evenkeel").rglob("*.py"):
        assert POSSESSIVE_GROUP.findall(path.read_text(encoding="utf-8")) == [], path

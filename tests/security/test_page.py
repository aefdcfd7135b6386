"""The threat model against the tests."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_threat_model_names_tests_that_exist():
    """Every test that `docs/security.md` leans on is there under its name."""
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(\S+/test_\w+\.py)::(test_\w+)`", page)
    folder = ROOT / "tests"
    sources = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in folder.rglob("test_*.py")
    }
    assert len(named) > 30
    assert [one for one in named if f"def {one[1]}(" not in sources.get(one[0], "")] == []

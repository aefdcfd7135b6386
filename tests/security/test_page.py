"""The threat model against the tests."""

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
    assert len(named) > 100
    assert [name for name in named if f"def {name[1]}(" not in sources.get(name[0], "")] == []


def test_every_threat_has_a_defence_and_a_test():
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    tables = page.split("| attack | defence | test |\n|---|---|---|\n")[1:]
    rows = [row for table in tables for row in table.split("\n\n")[0].splitlines()]
    assert len(rows) > 50
    for row in rows:
        attack, defence, test = (cell.strip() for cell in row.strip("|").split(" | "))
        assert attack
        assert defence
        assert "::test_" in test

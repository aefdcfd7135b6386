"""The import rule of the design, and what a process must not load."""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from tests.house import MAY_IMPORT, ROOT, circles, files, forbidden, modules


def test_rooms_import_only_what_the_design_allows():
    """No module reaches into a room that its own room must not know."""
    assert forbidden(modules()) == []


def test_no_modules_import_each_other_in_a_circle():
    """Not even by imports inside functions."""
    assert circles(modules()) == []


def test_links_show_every_room_to_type_checkers():
    """`links/evenkeel` shows the package as it is installed; each entry leads to a room or a module."""
    links = {path.name for path in (ROOT / "links" / "evenkeel").iterdir()}
    rooms = MAY_IMPORT.keys() - {"evenkeel"}
    inside = {path.name for path in (ROOT / "evenkeel").iterdir() if path.name != "__pycache__"}
    assert links == rooms | inside


def test_the_data_plane_loads_nothing_heavy():
    """The relay's process starts without the web framework, the SDKs and numpy."""
    heavy = ("litestar", "openai", "numpy", "httpx2", "pydantic", "jinja2")
    script = (
        "import sys, evenkeel.proxy.server, evenkeel.core.exchange;"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_data_plane_loads_nothing_that_only_scoring_needs() -> None:
    """A forwarded request needs no encoder, SDK or array library: they would double the idle memory."""
    script = (
        "import sys, evenkeel.cli.main, evenkeel.runtime.data_plane, evenkeel.runtime.launcher\n"
        "import evenkeel.runtime.preflight\n"
        "print(*sorted({'openai', 'numpy', 'py3langid', 'rapidfuzz', 'genai_prices'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


@pytest.mark.parametrize(
    ("role", "unused"),
    [
        (
            "worker",
            {"openai", "redis", "scipy", "rich", "litestar", "evenkeel.experiments", "evenkeel.monitor"},
        ),
        (
            "monitor",
            {"openai", "redis", "scipy", "rich.progress", "py3langid", "evenkeel.experiments.gate.run"},
        ),
    ],
)
def test_a_role_loads_nothing_that_it_does_not_use(role: str, unused: set[str]) -> None:
    """Every start pays for it: clients are for settings that name a Redis or a model's endpoint."""
    script = (
        "import sys, evenkeel.cli.main, evenkeel.runtime.data_plane, evenkeel.runtime.launcher\n"
        f"import evenkeel.runtime.background, evenkeel.runtime.roles.{role}\n"
        f"print(*sorted({unused!r} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


@pytest.mark.parametrize(
    ("folder", "others"),
    [("tests", ("benchmarks",)), ("benchmarks", ("tests",)), ("testing", ("benchmarks", "tests"))],
)
def test_tests_and_benchmarks_do_not_import_each_other(folder: str, others: tuple[str, ...]):
    """What both need is in `testing/`, which imports neither."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in files(folder)
        if any(other in (text := path.read_text(encoding="utf-8")) for other in others)
        for node in ast.walk(ast.parse(text))
        for name in _imported(node)
        if name.partition(".")[0] in others
    ]
    assert found == []


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []

"""The import rule of the design, and what a process must not load."""

import ast
import subprocess
import sys

import pytest

from tests.house import ROOT, circles, files, forbidden, modules


def test_rooms_import_only_what_the_design_allows():
    """No module reaches into a room that its own room must not know."""
    assert forbidden(modules()) == []


def test_no_modules_import_each_other_in_a_circle():
    """Imports inside functions count too."""
    assert circles(modules()) == []


def test_three_rooms_are_also_found_at_the_top():
    """`proxy`, `shadow` and `metrics` are relative links; nothing else at the top is a link."""
    links = {path.name: str(path.readlink()) for path in ROOT.glob("[!.]*") if path.is_symlink()}
    assert links == {room: f"evenkeel/{room}" for room in ("proxy", "shadow", "metrics")}


STARTED = ("evenkeel.cli.main", "evenkeel.runtime.data_plane", "evenkeel.runtime.launcher")
CHILD = (*STARTED, "evenkeel.runtime.background")


@pytest.mark.parametrize(
    ("loaded", "unused"),
    [
        (
            ("evenkeel.proxy.server", "evenkeel.core.exchange"),
            "litestar openai numpy httpx2 pydantic jinja2",
        ),
        ((*STARTED, "evenkeel.runtime.preflight"), "openai numpy py3langid rapidfuzz genai_prices"),
        (
            (*CHILD, "evenkeel.runtime.roles.worker"),
            "openai redis scipy rich litestar evenkeel.release evenkeel.lab evenkeel.monitor",
        ),
        (
            (*CHILD, "evenkeel.runtime.roles.monitor"),
            "openai redis scipy rich.progress py3langid evenkeel.release.gate.run",
        ),
        (
            ("evenkeel.metrics", "evenkeel.shadow"),
            "evenkeel.core.pair evenkeel.metrics.registry evenkeel.shadow.prompt",
        ),
    ],
    ids=["relay", "data plane", "worker", "monitor", "public packages"],
)
def test_a_process_loads_nothing_that_it_does_not_use(loaded, unused):
    """Every start pays for it in time and memory: clients are for settings that name an endpoint."""
    script = f"import sys, {', '.join(loaded)}\nprint(*sorted({set(unused.split())!r} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.split() == []


def test_tests_and_benchmarks_share_only_the_kit():
    """Tests import no benchmark; benchmarks import `tests.kit` alone, which imports neither."""
    allowed = {"tests": ("tests",), "benchmarks": ("benchmarks", "tests.kit"), "tests/kit": ("tests.kit",)}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} imports {name}"
        for folder, names in allowed.items()
        for path in files(folder)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _imported(node)
        if name.partition(".")[0] in ("tests", "benchmarks") and not name.startswith(names)
    ]
    assert found == []


def _imported(node):
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []

"""The import rule of the design: which package may import which."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = {"proxy", "shadow", "metrics", "console", "evenkeel"}
ALLOWED = {
    "proxy": {"shadow.handoff"},
    "shadow": {"metrics"},
    "metrics": set(),
    "console": {"metrics"},
    "evenkeel": OURS,
}


def _imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module


def _allowed(package, module):
    return any(module == rule or module.startswith(f"{rule}.") for rule in {package, *ALLOWED[package]})


@pytest.mark.parametrize("package", sorted(OURS))
def test_packages_import_only_what_the_design_allows(package):
    """No module reaches into a plane that its own plane must not know."""
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    wrong = [
        f"{path.relative_to(ROOT)} imports {module}"
        for path in files
        for module in _imported(path)
        if module.partition(".")[0] in OURS and not _allowed(package, module)
    ]
    assert not wrong


def test_the_data_plane_loads_nothing_heavy():
    """The relay's process starts without the web framework, the SDKs and numpy."""
    heavy = ("litestar", "openai", "numpy", "httpx2", "pydantic", "jinja2")
    script = (
        f"import sys, proxy.server, shadow.handoff;print([name for name in {heavy!r} if name in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_the_data_plane_loads_nothing_that_only_scoring_needs() -> None:
    """A forwarded request needs no encoder, SDK or array library: they would double the idle memory."""
    script = (
        "import sys, evenkeel.data_plane, evenkeel.standalone\n"
        "print(*sorted({'openai', 'numpy', 'py3langid', 'rapidfuzz', 'genai_prices'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []


def test_clients_are_loaded_by_those_who_use_them() -> None:
    """That of Redis takes 15 MB, the SDK 13 MB: for settings that name a Redis, or a model's endpoint."""
    script = (
        "import sys, evenkeel.data_plane, evenkeel.standalone, evenkeel.up, evenkeel.back_plane\n"
        "print(*sorted({'openai', 'redis'} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []

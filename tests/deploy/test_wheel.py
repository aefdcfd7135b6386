"""The wheel, installed in a fresh environment and used in a project whose packages share our names."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from evenkeel.simulate import ModelState, Simulation, SimulationSettings, serving
from tests.docs.pictures import Walk
from tests.house import MAY_IMPORT, ROOT

pytestmark = pytest.mark.system

UV = str(Path(sys.executable).with_name("uv"))
GATE = """
def test_the_candidate_may_ship(evenkeel_gate):
    models = {{"model": "equal", "reference_model": "in-use"}}
    evenkeel_gate("goldens.jsonl", base_url={url!r}, margin=0.5, **models)
"""
GOLDEN = '{{"prompt": "What is {n} plus {n}?", "answer": "It is {total}.", "cluster": "{n}"}}\n'


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    # From a copy: setuptools leaves a folder `build` behind, whose files would end up in the next wheel.
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    source = folder / "source"
    for name in filter(None, listed.stdout.split("\0")):
        if not (ROOT / name).is_symlink():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run([UV, "build", "--quiet", "--wheel", "--out-dir", folder, source], check=True)
    [built] = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """The folder of programs of an environment that holds the wheel, what it needs, and pytest."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    install = [UV, "pip", "install", "--quiet", "--python", folder / "bin" / "python"]
    subprocess.run([*install, "--require-hashes", "-r", ROOT / "requirements" / "core.txt"], check=True)
    subprocess.run([*install, "-c", ROOT / "requirements" / "dev.txt", "pytest", "openai"], check=True)
    subprocess.run([*install, "--no-deps", wheel], check=True)
    return folder / "bin"


@pytest.fixture
def project(tmp_path):
    """Somebody's project with packages of its own that are called like the rooms of evenkeel."""
    for room in MAY_IMPORT:
        (tmp_path / room).mkdir()
        (tmp_path / room / "__init__.py").write_text("OURS = True\n")
    return tmp_path


@pytest.fixture
def run(installed, project):
    """Run a program of the environment in the project; its output if it ends well."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def program(name, *arguments, timeout_s=240):
        done = subprocess.run(
            [installed / name, *arguments], cwd=project, env={**environment, "EVENKEEL_USER": "a test"},
            capture_output=True, text=True, timeout=timeout_s, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout

    return program


def test_only_one_name_is_installed(wheel):
    """Nothing but `evenkeel` lands among the packages of an environment; no test, benchmark or cache does."""
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.partition("/")[0] for name in names}
    assert {name for name in top if not re.fullmatch(r"evenkeel_proxy-[\d.]+\.(dist-info|data)", name)} == {
        "evenkeel"
    }
    assert not [name for name in names if "/tests/" in name or "benchmarks" in name or "__pycache__" in name]


def test_every_link_of_the_readme_leads_to_a_page_that_is_shipped(wheel):
    """Readers outside a checkout find what it points to, but for files of the repository itself."""
    shipped = {name.partition("/share/evenkeel/")[2] for name in zipfile.ZipFile(wheel).namelist()}
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert links
    assert [
        link
        for link in links
        if link not in shipped and not link.startswith(("deploy/", "CONTRIBUTING", "LICENSE"))
    ] == []


def test_programs_and_imports_work_beside_packages_of_the_same_names(run):
    """The project's own `metrics` and evenkeel's do not meet."""
    assert "evenkeel" in run("evenkeel-proxy", "--version")
    assert "usage" in run("evenkeel", "--help").lower()
    assert run("python", "-m", "evenkeel", "perturb", "--help")
    script = (
        "import metrics, core; from evenkeel.metrics import Answer, metric; print(metrics.OURS, core.OURS)"
    )
    assert run("python", "-c", script).split() == ["True", "True"]


def test_the_gate_runs_as_a_fixture(run, project):
    """Pytest finds the plugin, and the plugin finds evenkeel's own modules."""
    with serving(
        Simulation([ModelState("in-use"), ModelState("equal")], SimulationSettings(deterministic=True))
    ) as url:
        (project / "goldens.jsonl").write_text("".join(GOLDEN.format(n=n, total=2 * n) for n in range(20)))
        (project / "test_gate.py").write_text(GATE.format(url=f"{url}/v1"))
        assert "1 passed" in run("python", "-m", "pytest", "-q", "--evenkeel-yes", "test_gate.py")


@pytest.mark.timeout(1200)
def test_a_newcomer_gets_a_number_by_following_the_tutorial(installed, tmp_path, monkeypatch):
    """Every command of the first page runs from the wheel, and the noise floor is a number at its end."""
    for name in [name for name in os.environ if name.startswith("PYTHON")]:
        monkeypatch.delenv(name)
    (tmp_path / ".venv").symlink_to(installed.parent)
    walk = Walk(tmp_path, None)
    try:
        walk.follow((ROOT / "docs" / "tutorial" / "index.md").read_text(encoding="utf-8"))
        cells = walk.settled_cells()
    finally:
        walk.stop()
    # Groups follow once the first are known, which the quickest client is done before.
    cells = [cell for cell in cells if not cell["perturbation"].startswith("together.")]
    assert len(cells) == 5  # the control and four rewordings
    assert [cell["perturbation"] for cell in cells if not cell["robustness"]] == []


@pytest.mark.timeout(1200)
def test_the_demo_finds_what_was_planted(run):
    """The whole product runs from the wheel: model swap, alert, and every cell as planted."""
    assert "as planted" in run("evenkeel", "demo", "--headless", timeout_s=1100)

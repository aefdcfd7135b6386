"""The supply chain: what builds, tests or runs evenkeel is fetched by no name that somebody can move."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = sorted((ROOT / ".github" / "workflows").glob("*.y*ml"))
WORKFLOWS = [*GITHUB, *sorted((ROOT / "deploy" / "github-actions").glob("*.y*ml"))]
DOCKERFILES = sorted(path for path in ROOT.glob("deploy/**/*ockerfile*") if path.is_file())
COMPOSE = sorted(ROOT.glob("deploy/**/compose*.y*ml"))
LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
SCRIPTS = [ROOT / "Makefile", ROOT / ".ci" / "run"]

ACTION = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
VERSION = re.compile(r"\s#\s*v\d+\.\d+\.\d+\s*$")
IMAGE = re.compile(r"[a-z0-9./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
OWN_IMAGE = "${EVENKEEL_IMAGE:-evenkeel}"
"""Built from this repository; whoever does not build it names it by digest."""
UNLOCKED = {
    "pip install --quiet --disable-pip-version-check torch==2.13.0",
    "uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .",
    "uv pip install --quiet --python $(VENV)/dist/bin/python --no-deps dist/*.whl",
    "pip install --no-deps --no-index --no-build-isolation .",
}
"""torch, whose builds differ from place to place, and this project itself, with nothing from elsewhere."""


def at(path):
    return str(path.relative_to(ROOT))


def jobs(workflow):
    """Jobs with steps of their own; the others run a workflow of this repository."""
    called = {name: job["uses"] for name, job in workflow["jobs"].items() if "uses" in job}
    assert all(place.startswith("./.github/workflows/") for place in called.values())
    return {name: job for name, job in workflow["jobs"].items() if name not in called}


@pytest.mark.parametrize("path", WORKFLOWS, ids=at)
def test_actions_are_named_by_commit_with_the_version_beside_it(path):
    """A tag can be moved to other code, a commit cannot; the version is for people and for the updates."""
    lines = [line for line in path.read_text("utf-8").splitlines() if re.search(r"\buses: [^.]", line)]
    assert lines
    for line in lines:
        assert ACTION.search(line), line
        assert VERSION.search(line), line


@pytest.mark.parametrize("path", WORKFLOWS, ids=at)
def test_a_workflow_gets_the_least_permissions(path):
    """Nothing unless it is said; nothing may write contents; what signs is said job by job."""
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert set(workflow["permissions"]) >= {"contents"}
    for job in jobs(workflow).values():
        assert 0 < job["timeout-minutes"] <= 60
    for permissions in (
        workflow["permissions"],
        *(job.get("permissions", {}) for job in workflow["jobs"].values()),
    ):
        assert permissions != "write-all"
        assert permissions.get("contents", "read") == "read"
        assert permissions.keys() <= {"contents", "packages", "id-token", "attestations", "pull-requests"}
    assert not workflow["permissions"].keys() & {"id-token", "packages", "attestations"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=at)
def test_a_workflow_runs_nobody_elses_code_with_its_rights(path):
    """Triggers give a fork's code no secrets of the repository; checkouts leave no token in the folder."""
    workflow = yaml.safe_load(path.read_text("utf-8"))
    triggers = workflow[True]  # YAML takes `on` for true.
    assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(triggers)
    for job in jobs(workflow).values():
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
            assert not re.search(r"\$\{\{\s*github\.(event\.(?!number)|head_ref)", step.get("run", ""))


@pytest.mark.parametrize("path", DOCKERFILES, ids=at)
def test_images_are_built_from_digests(path):
    """Every stage, and the frontend if one is named."""
    text = path.read_text("utf-8")
    names = [line.split()[1] for line in text.splitlines() if line.startswith("FROM ")]
    names += re.findall(r"^#\s*syntax\s*=\s*(\S+)", text, re.MULTILINE)
    names += re.findall(r"--from=(\S*[:/]\S*)", text)
    assert names
    for name in names:
        assert IMAGE.fullmatch(name), name


@pytest.mark.parametrize("path", COMPOSE, ids=at)
def test_the_stack_runs_digests(path):
    """All but the one that it builds."""
    services = yaml.safe_load(path.read_text("utf-8"))["services"]
    for name, service in services.items():
        image = service["image"]
        assert (image == OWN_IMAGE and "build" in service) or IMAGE.fullmatch(image), name


def commands(text):
    """The commands of a script, Makefile, Dockerfile or workflow that install something."""
    joined = re.sub(r"\\\n\s*", " ", text)
    joined = joined.replace("$(UV)", "uv").replace("$(BIN)/", "").replace("/opt/evenkeel/bin/", "")
    for match in re.finditer(r"(?:uv )?pip3? install [^\n;&|]*|\bpipx? (?:run|install) [^\n;&|]*", joined):
        yield " ".join(match[0].split())
    for match in re.finditer(r"\buvx \S+|\buv tool (?:run|install) \S+|\buv run --with\S* \S+", joined):
        yield match[0]


@pytest.mark.parametrize("path", [*WORKFLOWS, *DOCKERFILES, *SCRIPTS], ids=at)
def test_pip_takes_only_what_has_a_hash(path):
    """Tools of build and audit come from a locked file too, or are one of the few exceptions above."""
    text = path.read_text("utf-8").replace("$(BIN)/python", "@python").replace("$(BIN)/", "")
    for command in commands(text):
        plain = command.replace("@python", "$(BIN)/python")
        assert "--require-hashes" in plain or plain in UNLOCKED, plain
        if "--require-hashes" in plain:
            assert re.search(r"-r \S+", plain), plain
    assert not re.search(r"curl[^\n]*\|\s*(ba)?sh|wget[^\n]*\|\s*(ba)?sh", text)


@pytest.mark.parametrize("path", LOCKS, ids=at)
def test_locks_have_a_hash_for_everything_and_name_no_place(path):
    """Each package has one version and at least one SHA-256; whoever installs says where it comes from."""
    text = path.read_text("utf-8")
    assert not re.search(r"://|--index-url|--find-links|--trusted-host| @ ", text)
    entries = re.split(r"(?m)^(?=[A-Za-z0-9])", re.sub(r"(?m)^\s*#.*\n", "", text))
    assert len([entry for entry in entries if entry.strip()]) > 1
    for entry in filter(str.strip, entries):
        assert re.match(r"[\w.-]+(\[[\w,-]+\])?==\S+", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_a_release_is_signed_and_says_what_is_in_it():
    """Wheel and image each have an SBOM and provenance; PyPI and the registry get no stored secret."""
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    release = jobs(yaml.safe_load(text))
    used = {
        name: [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]
        for name, job in release.items()
    }
    for name in ("attest", "image"):
        assert {"actions/attest-build-provenance", "actions/attest-sbom"} <= set(used[name])
        assert release[name]["permissions"]["id-token"] == "write"
    assert "pypa/gh-action-pypi-publish" in used["publish"]
    assert release["publish"]["environment"] == "pypi"
    assert "cosign sign --yes" in text
    assert "make dist" in text
    assert "secrets." not in text
    assert "password:" not in text.replace("password: ${{ github.token }}", "")

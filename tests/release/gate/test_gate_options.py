"""Options of `evenkeel gate` that cannot be used: one clear line each, exit code 2."""

import re
from pathlib import Path

import pytest
import yaml

from evenkeel.cli.gate import gate
from tests.kit.commands import run_command

ROOT = Path(__file__).parents[3]
WRONG = yaml.safe_load(Path(__file__).with_name("wrong_options.yaml").read_text("utf-8"))
URL = "http://127.0.0.1:9/v1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a golden, prompts and templates, as the current one."""
    monkeypatch.chdir(tmp_path)
    files = {
        "goldens.jsonl": '{"id": "kettle", "prompt": "May I return a used kettle?", "answer": "No."}',
        "empty.jsonl": "",
        "blank.txt": " ",
        "old.txt": "Question: {question}",
        "joined.txt": "Question: {one}{two}",
        "bare.txt": "{question}",
        "plain.txt": "No inputs here.",
        "new.txt": "Asked: {topic}",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(f"{text}\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_a_wrong_option_is_told_in_one_line(folder, arguments, said):
    """The line says what is wrong and is the only one; nothing is asked."""
    done = run_command("gate", *arguments.format(url=URL).split(), code=2)
    lines = [line for line in done.output.splitlines() if line.startswith("evenkeel: ")]
    assert len(lines) == 1, done.output
    assert said in lines[0]
    assert "Traceback" not in done.output


def options():
    """The names of all options of the command."""
    known = [name for option in gate.params for name in (*option.opts, *option.secondary_opts)]
    return {name for name in known if name.startswith("--")}


def test_the_page_speaks_of_every_option():
    """docs/gate.md leaves none out, and invents none."""
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    page = page.replace(page[page.index("## In pytest") :].split("\n## ")[0], "")  # its options are pytest's
    named = set(re.findall(r"--[a-z][a-z-]+", page))
    assert named <= options()
    assert options() - named == set()


def test_the_example_workflow_can_be_read_and_uses_options_that_exist():
    """The workflow is YAML with steps, and what it calls is this command."""
    text = (ROOT / "deploy" / "github-actions" / "evenkeel-gate.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    (command,) = [step["run"] for step in steps if "evenkeel gate " in step.get("run", "")]
    assert set(re.findall(r"--[a-z][a-z-]+", command)) <= options()
    assert "--yes" in command

"""Options of `evenkeel gate` that cannot be used: one clear line each, exit code 2."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from evenkeel.cli.gate import gate
from evenkeel.cli.main import main

ROOT = Path(__file__).parents[3]
URL = "http://127.0.0.1:9/v1"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a golden, prompts and templates, as the current one."""
    monkeypatch.chdir(tmp_path)
    golden = {"id": "kettle", "prompt": "May I return a used kettle?", "answer": "No: only unused ones."}
    (tmp_path / "goldens.jsonl").write_text(json.dumps(golden) + "\n", encoding="utf-8")
    (tmp_path / "empty.jsonl").write_text("\n", encoding="utf-8")
    (tmp_path / "blank.txt").write_text(" \n", encoding="utf-8")
    (tmp_path / "old.txt").write_text("Question: {question}\n", encoding="utf-8")
    (tmp_path / "joined.txt").write_text("Question: {one}{two}\n", encoding="utf-8")
    (tmp_path / "bare.txt").write_text("{question}\n", encoding="utf-8")
    (tmp_path / "plain.txt").write_text("No inputs here.\n", encoding="utf-8")
    (tmp_path / "new.txt").write_text("Asked: {topic}\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("goldens.jsonl", "which endpoint is asked? Name it with --base-url"),
        (f"goldens.jsonl --base-url {URL}", "candidate and reference are the same"),
        ("goldens.jsonl --base-url ftp://x --model y --yes", "upstream 'ftp://x' needs a scheme"),
        (f"empty.jsonl --base-url {URL} --model y", "empty.jsonl: holds no goldens"),
        (f"goldens.jsonl --base-url {URL} --model y --route other", 'no goldens of the route "other"'),
        (f"--base-url {URL} --model y --data-dir nowhere", "there is no store"),
        (f"goldens.jsonl --base-url {URL} --prompt nofile.txt", "nofile.txt: cannot be read"),
        (f"goldens.jsonl --base-url {URL} --prompt blank.txt", "the new system prompt is empty"),
        (f"goldens.jsonl --base-url {URL} --template old.txt", "give both"),
        (f"goldens.jsonl --base-url {URL} --prompt old.txt --template old.txt", "one of them at a time"),
        (
            f"goldens.jsonl --base-url {URL} --template old.txt --new-template new.txt",
            "the new template asks for {topic}, the old one has only {question}",
        ),
        (
            f"goldens.jsonl --base-url {URL} --template joined.txt --new-template old.txt",
            "nothing behind {one} that tells where it ends",
        ),
        (
            f"goldens.jsonl --base-url {URL} --template bare.txt --new-template old.txt",
            "needs text besides its placeholders",
        ),
        (f"goldens.jsonl --base-url {URL} --template plain.txt --new-template old.txt", "no {placeholder}"),
        (f"goldens.jsonl --base-url {URL} --model y --alpha 0", "alpha is a probability"),
        (f"goldens.jsonl --base-url {URL} --model y --margin 0", "the margin is a share"),
        (f"goldens.jsonl --base-url {URL} --model y --tolerance 1", "the tolerance is a share"),
        (f"goldens.jsonl --base-url {URL} --model y --gate-on foo --yes", '--gate-on: "foo" is not measured'),
        (f"goldens.jsonl --base-url {URL} --model y --task foo", "--task: no task 'foo'"),
        (f"goldens.jsonl --base-url {URL} --model y --price cheap", '--price: "cheap" is not a price'),
        (f"goldens.jsonl --base-url {URL} --price 1/2 --prompt old.txt", "name it with --model"),
        (f"goldens.jsonl --base-url {URL} --model y --json nowhere/x.json", "there is no folder nowhere"),
        (f"goldens.jsonl --base-url {URL} --model y --markdown .", "is a folder; name a file"),
        (f"goldens.jsonl --base-url {URL} --model y --cache plain.txt", "plain.txt: cannot be used"),
        (f"goldens.jsonl --base-url {URL} --model y --calibration plain.txt", "plain.txt: "),
        (
            f"goldens.jsonl --base-url {URL} --model y --calibration nofile.yaml",
            "nofile.yaml: cannot be read",
        ),
        (
            f"goldens.jsonl --base-url {URL} --model y --no-reference --reference-url {URL}",
            "either there is a reference, or there is none",
        ),
        (f"plain.txt --base-url {URL} --model y", "plain.txt, line 1: is not JSON"),
        ("goldens.jsonl --config nofile.yaml --model y", "nofile.yaml: cannot be read"),
    ],
)
def test_a_wrong_option_is_told_in_one_line(folder, arguments, said):
    """The line says what is wrong and is the only one; nothing is asked."""
    done = CliRunner().invoke(main, ["gate", "--no-embeddings", *arguments.split()])
    assert done.exit_code == 2, done.output
    lines = [line for line in done.output.splitlines() if line.startswith("evenkeel: ")]
    assert len(lines) == 1, done.output
    assert said in lines[0]
    assert "Traceback" not in done.output


def options():
    """The names of all options of the command."""
    known = [name for one in gate.params for name in (*one.opts, *one.secondary_opts)]
    return {name for name in known if name.startswith("--")}


def test_the_page_speaks_of_every_option():
    """docs/gate.md leaves none out, and invents none."""
    page = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8")
    page = page.replace(page[page.index("## In pytest") :].split("\n## ")[0], "")  # its options are pytest's
    named = set(re.findall(r"--[a-z][a-z-]+", page))
    elsewhere = {"--runs", "--decisions", "--goldens"}  # of the benchmark
    assert named - elsewhere <= options()
    assert options() - named == set()


def test_the_example_workflow_can_be_read_and_uses_options_that_exist():
    """The workflow is YAML with steps, and what it calls is this command."""
    text = (ROOT / "deploy" / "github-actions" / "evenkeel-gate.yml").read_text(encoding="utf-8")
    steps = yaml.safe_load(text)["jobs"]["gate"]["steps"]
    (command,) = [step["run"] for step in steps if "evenkeel gate " in step.get("run", "")]
    assert set(re.findall(r"--[a-z][a-z-]+", command)) <= options()
    assert "--yes" in command

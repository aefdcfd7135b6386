"""`evenkeel perturb`, and the bytes that the kinds of the text make."""

import asyncio
import io
import json
import random

import pytest
from click.testing import CliRunner
from rich.console import Console

from evenkeel.cli.main import main
from evenkeel.cli.perturb import record, show, try_all, written
from evenkeel.release.check.prompts import read_prompt
from evenkeel.settings import Settings
from evenkeel.shadow.perturbations import BUILTIN, by_name, seed_for
from evenkeel.shadow.perturbations.contrast import CONTRASTS
from evenkeel.shadow.prompt import PromptView
from tests.cases import cases
from tests.kit.commands import run_command
from tests.llm.scripted import said, serving

FRENCH, PLAIN = by_name(["multilingual.fr"]), by_name(["format.free"])
ASKED = "Hello, the export to https://a.example stops after 4,200 rows.\nWhat should we try next, please?"


def perturb(*arguments, text=ASKED):
    """Run the command on a text at standard input."""
    return CliRunner().invoke(main, ["perturb", "-", *arguments], input=text)


def as_json(*arguments, text=ASKED):
    """Return what the command prints with --json."""
    done = perturb("--json", *arguments, text=text)
    assert done.exit_code == 0, done.output
    return json.loads(done.output)


def page_of(view, kinds, **console):
    """Return what people see of some kinds."""
    out = io.StringIO()
    show(
        record(view, try_all(view, kinds, 0.3, "0")), Console(file=out, width=80, highlight=False, **console)
    )
    return out.getvalue()


def view_of(**members):
    """A chat request of one message."""
    body = {"messages": [{"role": "user", "content": ASKED}]} | members
    return PromptView.parse(json.dumps(body).encode())


def test_a_plain_text_is_the_message_of_a_user():
    """Each variant is a diff without colours in a pipe."""
    done = perturb("--only", "general.spelling", "--severity", "0.5")
    assert done.exit_code == 0
    assert "Prompt (chat)\n  user      input" in done.output
    assert "--- prompt\n+++ general.spelling  severity 0.5\n@@ -" in done.output
    assert "\x1b" not in done.output


def test_colours_mark_the_changed_words_in_a_terminal_only(monkeypatch):
    """Deletions are red in a terminal, and NO_COLOR turns colours off."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    (kind,) = by_name(["general.casing"])
    assert "\x1b[31m" in page_of(view_of(), [kind], force_terminal=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[31m" not in page_of(view_of(), [kind], force_terminal=True)


def test_the_variant_is_the_one_that_the_worker_makes():
    """The body is that of the exchange's trial, byte for byte, with its id as the seed."""
    (found,) = as_json("--only", "general.casing", "--seed", "00f1", "--severity", "0.3")["perturbations"]
    (kind,) = by_name(["general.casing"])
    body = json.dumps({"messages": [{"role": "user", "content": ASKED}]}).encode()
    seed = seed_for("00f1", "general.casing", 0.3, kind.version)
    made = kind.apply(PromptView.parse(body), 0.3, random.Random(seed))
    assert isinstance(made, PromptView)
    assert (found["seed"], found["version"]) == (seed, kind.version)
    assert found["body"].encode() == made.body()
    assert found["status"] == "changed"


def test_json_says_everything():
    """Segments, and an outcome of every kind."""
    found = as_json()
    assert found["api"] == "chat"
    assert [segment["text"] for segment in found["segments"]] == [ASKED]
    assert [variant["name"] for variant in found["perturbations"]] == [
        kind.name for kind in (*BUILTIN, *CONTRASTS)
    ]
    statuses = {variant["name"]: variant["status"] for variant in found["perturbations"]}
    assert statuses["baseline.identical"] == "unchanged"
    assert all(
        variant["reason"] for variant in found["perturbations"] if variant["status"] == "not_applicable"
    )
    assert all(
        variant["tasks"] for variant in found["perturbations"] if variant["status"] == "needs_rewriter"
    )
    assert all("body" in variant for variant in found["perturbations"] if variant["status"] == "changed")


@pytest.mark.parametrize(
    ("body", "api"),
    [
        ([{"role": "user", "content": ASKED}], "chat"),
        ({"messages": [{"role": "user", "content": ASKED}]}, "chat"),
        ({"system": "Be kind.", "messages": [{"role": "user", "content": ASKED}]}, "messages"),
        ({"input": ASKED, "instructions": "Be kind."}, "responses"),
        ({"prompt": ASKED}, "completions"),
        ({"prompt": ASKED, "stop": "\ud800"}, "completions"),
    ],
)
def test_bodies_of_every_api_are_read(body, api):
    """The API is told by the body's members; what is no text stays as it was written."""
    found = as_json("--only", "general.whitespace", text=json.dumps(body, separators=(" ,", ": ")))
    assert len(body) == 1 or '" ,' in found["perturbations"][0]["body"]
    assert found["api"] == api
    assert found["perturbations"][0]["status"] == "changed"
    assert ASKED in [segment["text"] for segment in found["segments"]]


@pytest.mark.parametrize(("text", "arguments", "message"), cases(__file__)["errors"])
def test_errors_say_what_and_where(text, arguments, message):
    """The error is one line on what is wrong, where, and what to do; exit code 2."""
    data = (ASKED if text is None else text).encode("latin-1")
    done = run_command("perturb", "-", *arguments, code=2, input=data)
    assert message in done.output
    assert done.output.count("\n") == 1


def test_a_template_file_cuts_the_prompt(tmp_path):
    """The template's own text is template and only what fills the fields is input."""
    template = tmp_path / "prompt.txt"
    template.write_text("Summarise this case in two sentences.\n\n{case}", encoding="utf-8")
    text = "Summarise this case in two sentences.\n\nThe scanner stopped after lunch."
    found = as_json("--template", str(template), "--only", "general.spelling", text=text)
    kinds = {segment["text"].strip(): segment["kind"] for segment in found["segments"]}
    assert kinds["The scanner stopped after lunch."] == "input"
    assert "template" in kinds.values()
    assert "Summarise this case in two sentences." in found["perturbations"][0]["body"]
    template.write_text("{case}", encoding="utf-8")
    done = perturb("--template", str(template))
    assert done.exit_code == 2
    assert "template" in done.output


def test_settings_choose_kinds_and_template(tmp_path):
    """A route's perturbations and template are taken; --route names another one; --only wins."""
    settings = tmp_path / "evenkeel.yaml"
    settings.write_text(
        """
routes:
  - upstream: https://a.example/v1
    trials: {perturbations: [general.casing]}
  - name: cases
    match: {prefix: /cases}
    upstream: https://a.example/v1
    task: case_summary
    trials: {perturbations: [general.whitespace, general.spelling]}
    template: ["Hello, {what} after 4,200 rows.\\n{rest}"]
""",
        encoding="utf-8",
    )

    def names(*arguments):
        return [
            variant["name"] for variant in as_json("--config", str(settings), *arguments)["perturbations"]
        ]

    assert names() == ["general.casing"]
    assert names("--route", "cases") == ["general.whitespace", "general.spelling"]
    assert names("--only", "general.punctuation") == ["general.punctuation"]
    kinds = {
        segment["kind"] for segment in as_json("--config", str(settings), "--route", "cases")["segments"]
    }
    assert kinds == {"template", "input"}
    said = perturb("--config", str(settings), "--route", "triage").output
    assert "there are default and cases" in said
    assert "name that with --config" in perturb("--route", "cases").output


def test_kinds_that_need_a_rewriter_say_what_they_would_ask():
    """The page counts the texts and says what else is needed."""
    asked = {"role": "user", "content": ASKED}
    shown = page_of(view_of(messages=[asked, {"role": "assistant", "content": "Why?"}, asked]), FRENCH)
    assert "Needs a rewriter" in shown
    assert "would rewrite 2 texts (translation to fr); needs a judge that compares answers" in shown


def test_a_rewriter_writes_what_needs_one():
    """A paraphrase is shown as the model words it; what it words wrongly is not applicable."""
    view = read_prompt("Why did order 4711 not arrive yet? I paid for it last week.", "test")
    tried = try_all(view, by_name(["general.paraphrase"]), 1.0, "0")

    async def outcome(reply):
        async with serving([said(f"<rewritten>{reply}</rewritten>")]) as server:
            rewriter = {"base_url": server.url, "model": "m"}
            settings = Settings(routes=[{"upstream": "http://127.0.0.1:9"}], replays={"rewriter": rewriter})
            (found,) = record(view, await written(tried, settings, 1.0))["perturbations"]
            return found

    good = asyncio.run(outcome("What is keeping order 4711? My payment for it went through last week."))
    assert good["status"] == "changed"
    assert "What is keeping order 4711?" in good["body"]
    bad = asyncio.run(outcome("What is keeping my order? My payment for it went through last week."))
    assert (bad["status"], bad["reason"]) == ("not_applicable", "rewriter_lost_protected")


def test_changes_outside_the_text_are_shown():
    """A member that goes away is a line of the diff, and a kind that can't act says why."""
    view = view_of(response_format={"type": "json_object"})
    assert '-"response_format": {"type": "json_object"}' in page_of(view, PLAIN)
    assert "already_wanted: the prompt asks for it already" in page_of(view_of(), PLAIN)


def test_documents_are_changed_where_inputs_names_them():
    """Text that no end user typed stays by default."""
    text = "Doc 1: Lamps are in store A.\n\nQuestion: Where are the lamps?"
    (typed,) = as_json("--only", "general.casing", "--severity", "1", text=text)["perturbations"]
    (all_,) = as_json(
        "--only", "general.casing", "--severity", "1", "--inputs", "documents", text=text
    )["perturbations"]  # fmt: skip
    assert "Lamps are in store A." in typed["body"]
    assert "Lamps are in store A." not in all_["body"]

"""Examples of the documentation: they run, and what they show is what comes out."""

import ast
import doctest
import importlib
import re

import pytest
import yaml

from evenkeel.settings import Settings
from evenkeel.simulate import planted
from tests.docs.documentation import DOCS, PAGES, all_blocks, blocks_of, text_of

OURS = {"proxy", "shadow", "metrics", "console", "evenkeel"}
WITH_SESSIONS = [page for page in PAGES if any(block.language == "pycon" for block in blocks_of(page))]
TUTORIAL = DOCS / "tutorial"


@pytest.mark.parametrize("page", WITH_SESSIONS, ids=lambda page: page.relative_to(DOCS).as_posix())
def test_sessions_say_what_the_code_says(page):
    """Each page's Python sessions, run from top to bottom, print what the page shows."""
    sessions = "\n".join(block.text for block in blocks_of(page) if block.language == "pycon")
    test = doctest.DocTestParser().get_doctest(sessions, {}, page.name, str(page), 0)
    outputs = []
    result = doctest.DocTestRunner().run(test, out=outputs.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(outputs)


def test_every_page_of_concepts_has_an_example_that_runs():
    """Figures in the explanations are worked, not claimed."""
    assert set((DOCS / "concepts").glob("*.md")) <= set(WITH_SESSIONS)


@pytest.mark.parametrize("block", all_blocks("python"), ids=str)
def test_python_examples_import_what_there_is(block):
    """Every Python block is Python, and each name of ours that it imports exists."""
    lost = []
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in OURS:
            module = importlib.import_module(node.module)
            lost += [f"{node.module}.{alias.name}" for alias in node.names if not hasattr(module, alias.name)]
    assert not lost


def test_the_settings_of_the_tutorial_are_accepted():
    for page in TUTORIAL.glob("*.md"):
        for block in blocks_of(page):
            if block.language == "yaml":
                assert Settings.model_validate(yaml.safe_load(block.text)).routes


def test_what_the_tutorial_has_its_readers_save_has_a_name():
    """Readers, and the script that takes the pictures, know which file a block is."""
    for page in (TUTORIAL / "index.md", TUTORIAL / "alert.md"):
        text = text_of(page)
        assert re.findall(r"^```(?:yaml|python)$", text, re.MULTILINE) == []
        names = re.findall(r'^```(?:yaml|python) title="(.+)"$', text, re.MULTILINE)
        assert all(text.count(name) > 1 for name in names)  # it is used afterwards


def test_the_tutorial_says_what_was_planted():
    """The figures to be expected follow from the options that the simulated model is started with."""
    text = text_of(TUTORIAL / "index.md")
    options = {name: float(re.search(rf"--{name} ([\d.]+)", text)[1]) for name in ("noise", "fragility")}
    truth = planted(**options, worse_share=0.5)
    expected = {
        "noise floor": truth.baseline_content_delta,
        "content delta": truth.perturbed_content_delta,
        "points above noise (`excess`)": truth.excess,
        "quality delta": truth.perturbed_quality_delta,
        "robustness": truth.perturbed_robustness,
    }
    for figure, value in expected.items():
        shown = re.search(rf"^\| {re.escape(figure)} \|.*\| ([\d.]+) % \|$", text, re.MULTILINE)[1]
        assert shown == f"{100 * value:.1f}", figure
    changed = text_of(TUTORIAL / "alert.md")
    fragility = float(re.search(r'"fragility": ([\d.]+)', changed)[1])
    after = planted(fragility, options["noise"], 0.5)
    assert (
        re.search(r"points above noise should be near ([\d.]+):", changed)[1] == f"{100 * after.excess:.1f}"
    )

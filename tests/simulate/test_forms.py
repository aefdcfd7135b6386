"""Prompts of the simulated application, read back, and its answers in every format and language."""

import re
from html import unescape

import pytest

from evenkeel.metrics.structured.json import read_json
from evenkeel.metrics.structured.tree import leaves
from evenkeel.metrics.structured.xml import read_xml
from evenkeel.metrics.structured.yaml import read_yaml
from evenkeel.simulate import Condition, PromptMessage, TaskName, make_case
from evenkeel.simulate.model import read, render, tell, wanted_format
from evenkeel.simulate.phrases import LANGUAGES
from evenkeel.simulate.recognition import read_details
from evenkeel.simulate.tasks import TASKS
from tests.cases import cases
from tests.kit.simulated_prompts import make_prompt

CASES = cases(__file__)

READERS = {"json": read_json, "yaml": read_yaml, "xml": read_xml}
ASKED = {
    "free": "Answer in plain prose, without any JSON.",
    "json": "Answer in JSON.",
    "yaml": "Answer in YAML.",
    "xml": "Answer in XML.",
    "html": "Answer in HTML.",
    "markdown": "Answer in Markdown.",
}
IN_GERMAN = "Antworte auf Deutsch."


def messages_for(task, seed, *more):
    """The task's prompt with further wishes at its end."""
    *before, last = (PromptMessage(raw["role"], raw["content"]) for raw in make_prompt(task, seed))
    return [*before, PromptMessage(last.role, "\n\n".join((last.text, *more)))]


def values(form, text):
    """The values in an answer, whose blanks a reader may write otherwise."""
    if form == "markdown":
        # The product's reader takes "INC-1: …" for a label here, and in HTML.
        found = [line.removeprefix("- ") for line in text.splitlines() if not line.startswith("## ")]
    elif form == "html":
        found = map(unescape, re.findall(r"<(?:p|li)>(.*?)</(?:p|li)>", text, re.DOTALL))
    else:
        found = leaves(READERS[form](text))
    return [" ".join(leaf.split()) for leaf in found if leaf]


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.tag)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_formats_hold_one_content(task, language):
    """An answer is valid in all formats and has the very same parts; free text has their sentences."""
    reading = read(messages_for(task.name, 11))
    for condition in Condition:
        told = tell(reading.topic, reading.details, condition, language)
        items, prose = task.items(told), task.prose(told, language)
        expected = values("json", render(items, prose, "json"))
        for form in (*READERS, "html", "markdown"):
            assert values(form, render(items, prose, form)) == expected
        for sentence in (told.problem, told.event, told.fix):
            assert sentence in prose
            assert any(" ".join(sentence.split()) in leaf for leaf in expected)
        assert read_details(prose) == read_details("\n".join(expected))


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_prompts_are_read_back(task):
    """A prompt is read as what it was made of: task, topic and every identifier."""
    for seed in range(40):
        case = make_case(seed)
        reading = read(messages_for(task.name, seed))
        assert (reading.task, reading.topic, reading.details) == (task, case.topic, case.details)
        assert (reading.format, reading.language.tag) == ("json", "en")


@pytest.mark.parametrize("form", ASKED)
@pytest.mark.parametrize("task", list(TaskName))
def test_a_prompt_is_understood_in_two_languages(task, form):
    """Task, format and language of the answer are those that its words ask for."""
    for language, more in (("en", ()), ("de", (IN_GERMAN,))):
        reading = read(messages_for(task, 3, ASKED[form], *more))
        assert (reading.task.name, reading.format, reading.language.tag) == (task, form, language)


@pytest.mark.parametrize(("text", "wanted"), CASES["wanted formats"])
def test_wanted_format(text, wanted):
    """The last format that is asked for counts, and none that is ruled out."""
    assert wanted_format(text) == wanted

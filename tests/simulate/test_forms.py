"""Answers in every format and language: valid, and of one content."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
import yaml

from evenkeel.simulate import (
    Condition,
    PromptMessage,
    TaskName,
    make_prompt,
)
from evenkeel.simulate.model import read, render, tell, wanted_format
from evenkeel.simulate.phrases import LANGUAGES
from evenkeel.simulate.recognition import (
    read_details,
)
from evenkeel.simulate.tasks import TASKS

FORMATS = ("free", "json", "yaml", "xml", "html", "markdown")
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


class Texts(HTMLParser):
    """The texts of an HTML fragment, headings left out; fails on tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and self.open[-1] != "h2":
            self.texts.append(data)


def values(raw):
    """The scalars of parsed JSON or YAML."""
    if isinstance(raw, dict):
        return [leaf for value in raw.values() for leaf in values(value)]
    return [leaf for value in raw for leaf in values(value)] if isinstance(raw, list) else [str(raw)]


def leaves(form, text):
    """What an answer says, read by the standard reader of its format; prose is split into words."""
    match form:
        case "json":
            return values(json.loads(text))
        case "yaml":
            return values(yaml.load(text, Loader=yaml.CSafeLoader))
        case "xml":
            return [leaf for leaf in map(str.strip, ET.fromstring(text).itertext()) if leaf]
        case "html":
            return Texts(text).texts
        case "markdown":
            lines = [line for line in text.splitlines() if line]
            assert lines[0].startswith("## ")
            return [line.removeprefix("- ") for line in lines if not line.startswith("## ")]
        case _:
            return text.split()


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.tag)
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_formats_hold_one_content(task, language):
    """In all formats an answer is valid and has the very same parts; free text has their sentences."""
    reading = read(messages_for(task.name, 11))
    for condition in Condition:
        told = tell(reading.topic, reading.details, condition, language)
        items, prose = task.items(told), task.prose(told, language)
        expected = leaves("json", render(items, prose, "json"))
        for form in FORMATS[2:]:
            assert leaves(form, render(items, prose, form)) == expected
        for sentence in (told.problem, told.event, told.fix):
            assert sentence in prose
            assert any(sentence in leaf for leaf in expected)
        assert read_details(prose) == read_details("\n".join(expected))


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("task", list(TaskName))
def test_a_prompt_is_understood_in_two_languages(task, form):
    """Task, format and language of the answer are those that its words ask for."""
    for language, more in (("en", ()), ("de", (IN_GERMAN,))):
        reading = read(messages_for(task, 3, ASKED[form], *more))
        assert (reading.task.name, reading.format, reading.language.tag) == (task, form, language)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Summarise this.", "free"),
        ("Respond in valid JSON.", "json"),
        ("Respond in JSON. Then again: in YAML, please.", "yaml"),
        ("Give it as an XML document.", "xml"),
        ("Use Markdown, not HTML.", "markdown"),
        ("Use Markdown, no HTML.", "markdown"),
        ("Write HTML without any Markdown or JSON around it.", "html"),
        ("Reply in JSON. No: write running text, with no JSON or XML in it.", "free"),
        ("Do not add anything and answer in JSON.", "json"),
        ("Responda no JSON descrito acima.", "json"),
        ("```yml", "yaml"),
        ("JSONL is another matter", "free"),
    ],
)
def test_wanted_format(text, wanted):
    """The last format that is asked for counts, and none that is ruled out."""
    assert wanted_format(text) == wanted

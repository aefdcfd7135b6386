"""Prompts for tests of perturbations, and a pretended rewriter that marks its texts."""

import json
import random
from dataclasses import dataclass

from evenkeel.shadow.perturbations import Draft, RewriteTask, by_name, protected_spans
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import TemplateLearner
from tests.cases import cases

SYSTEM = "You help customers of a furniture shop. Be friendly, and never promise a refund."
BY_LANGUAGE = cases(__file__)["languages"]
QUESTION = BY_LANGUAGE["en"]


def view_of(*messages, classify=None):
    body = json.dumps({"messages": [{"role": role, "content": text} for role, text in messages]}).encode()
    return PromptView.parse(body, classify) if classify else PromptView.parse(body)


def unclassified(*messages):
    """The first chat of a route, of whose template nothing is known."""
    return view_of(*messages, classify=TemplateLearner().classifier(""))


def asked(text):
    """A chat with one message of a user."""
    return view_of(("user", text))


def chat(question=QUESTION):
    return view_of(("system", SYSTEM), ("user", question))


@dataclass
class Pretended:
    """A rewriter that marks what it was given, so that one can see where it went."""

    tasks: list[RewriteTask]

    def texts(self, draft):
        self.tasks += draft.tasks
        return [f"[{task.kind} {task.target}] {task.text}" for task in draft.tasks]


def finished(outcome):
    """Return an outcome once the pretended rewriter has done its part, and the tasks it was given."""
    rewriter = Pretended([])
    while isinstance(outcome, Draft):
        outcome = outcome.finish(rewriter.texts(outcome))
    return outcome, rewriter.tasks


def made(kind, view, severity=1.0, seed=1):
    outcome, _ = finished(kind.apply(view, severity, random.Random(seed)))
    assert isinstance(outcome, PromptView), outcome
    return outcome


def variant(name, text, severity=0.5, seed=1):
    """Return the text after one perturbation by rule, which must apply."""
    (kind,) = by_name([name])
    return made(kind, asked(text), severity, seed).input_text


def reason(kind, view):
    outcome, _ = finished(kind.apply(view, 1.0, random.Random(1)))
    return outcome.reason


def survives(text, changed):
    """Return whether all protected spans of `text` stand in `changed`, in order."""
    at = 0
    for span in protected_spans(text):
        kept = text[span.start : span.end]
        at = changed.find(kept, at)
        if at < 0:
            return False
        at += len(kept)
    return True


def typed(*blocks):
    """A classifier that cuts the only slot into these blocks."""
    return lambda slots: [blocks for _ in slots]

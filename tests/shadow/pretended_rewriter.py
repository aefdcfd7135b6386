"""Prompts for tests of perturbations, and a pretended rewriter that marks its texts."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

from evenkeel.shadow.perturbations import Draft, RewriteTask, by_name, protected_spans
from evenkeel.shadow.prompt import PromptView
from evenkeel.shadow.prompt.template import TemplateLearner

SYSTEM = "You help customers of a furniture shop. Be friendly, and never promise a refund."
QUESTION = "I can't find the screws of table FJ-220, and I need to know why the top has 2 holes. What now?"
BY_LANGUAGE = {
    "en": QUESTION,
    "de": "Bei meinem Tisch FJ-220 fehlen die Schrauben. Warum hat die Platte 2 Löcher? Ich brauche Hilfe.",
    "es": "Necesito saber por qué la mesa FJ-220 tiene 2 agujeros. ¿Puede usted ayudarme con los tornillos?",
    "fr": "Je veux savoir pourquoi la table FJ-220 a 2 trous. Pouvez-vous m'aider avec les vis ?",
    "it": "Voglio sapere perché il piano del tavolo FJ-220 ha 2 buchi. Mi aiutate con le viti mancanti?",
    "ja": "テーブルFJ-220の穴が2つあるのはなぜですか。ねじがないので、どうすればよいか教えてください。",
    "nl": "Ik wil graag weten waarom het blad van tafel FJ-220 2 gaten heeft. Waar zijn de schroeven?",
    "pt": "Quero saber por que o tampo da mesa FJ-220 tem 2 furos. Preciso de ajuda com os parafusos.",
}


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

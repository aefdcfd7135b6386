"""Texts made to be slow to read, everything of the replay plane that reads texts, and how its work grows.

What reads is discovered: a new perturbation, metric, quality or redaction pattern is among `subjects()`
by itself.
"""

from __future__ import annotations

import functools
import gc
import json
import random
import sys
import time
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Answer, Pair, ToolCall
from evenkeel.core.protected_spans import protected_spans
from evenkeel.metrics.entity import read_schema, read_slots
from evenkeel.metrics.judge.prompts import marked, unforgeable_tag
from evenkeel.metrics.judge.rendering import render
from evenkeel.metrics.judge.reply import read_ruling
from evenkeel.metrics.quality.bundles import BUNDLES
from evenkeel.metrics.registry import heuristics
from evenkeel.metrics.scoring import measure
from evenkeel.metrics.structured.reading import fences, read_structure
from evenkeel.metrics.tasks import Turn, recognise
from evenkeel.metrics.workflow.reading import read_workflow
from evenkeel.metrics.workflow.workflow import WorkflowError
from evenkeel.proxy.credentials import is_credential, key_fingerprints, redacted
from evenkeel.shadow import original
from evenkeel.shadow.answer import read_answer
from evenkeel.shadow.perturbations import BUILTIN, Draft
from evenkeel.shadow.perturbations.gate import faults_of, passages_to_keep
from evenkeel.shadow.perturbations.protocol import RewriteTask, attempt
from evenkeel.shadow.perturbations.rewriting import has_prose, pieces
from evenkeel.shadow.prompt import CHAT, PromptView, refusal
from evenkeel.shadow.prompt.parameters import parameters_of
from evenkeel.shadow.prompt.template import TemplateLearner, fixed_template
from evenkeel.shadow.protection import BUILTIN as PATTERNS
from evenkeel.shadow.protection.redaction import Placeholders, redact_events, redact_json
from evenkeel.shadow.references.keeper import sketch_of

if TYPE_CHECKING:
    from collections.abc import Callable


def _counted(line):
    """Whole lines, with a number of their own."""
    return lambda size: "".join(
        line.format(n=number, m=number * 7919 % 100_003) for number in range(1 + size // (len(line) + 2))
    )


def _repeated(unit):
    return lambda size: unit * (1 + size // len(unit))


def _runs(mark, behind=""):
    """Runs of a mark, each of another length than the one before."""
    step = 4 * len(mark) + len(behind)
    return lambda size: "".join(mark * (1 + number % 7) + behind for number in range(1 + size // step))


def _lettered(size):
    """Distinct capitalised words, none with a digit."""
    draw = random.Random(7)
    return "".join("".join(draw.choices("abcdefghij", k=7)).capitalize() + " " for _ in range(size // 8))


SHAPES = {
    "code fences": _repeated("```\nx = 1\n```\n\nAnd why?\n\n"),
    "bare code fences": _repeated("```\n"),
    "nested fences": lambda size: "".join(f"{'`' * (3 + n % 9)}\n> " for n in range(size // 9)),
    "one long word": _repeated("a"),
    "distinct words": _lettered,
    "digit and a long word": lambda size: "1" + "a" * (size - 1),
    "digits and separators": _repeated("1,2.3-4:5/6 "),
    "blank lines": lambda size: "a" + "\n" * (size - 2) + "b",
    "blanks and line ends": _repeated(" \n\t"),
    "assent and blanks": lambda size: "Sure" + " " * (size - 5) + "b",
    "fence and blank lines": lambda size: "```\n" + "\n" * (size - 5) + "b",
    "unclosed typographic quotes": _repeated("\u201ca \u00abb \u300cc \u201ed "),
    "opening quotes": _repeated("\u201c"),
    "escaped quotes": _repeated('\\"'),
    "unclosed brackets": _repeated("([{<"),
    "JSON fragments": _repeated('{"a": [1, '),
    "names": lambda size: "".join(
        f"Then {first} {second} came. " for first, second in pairwise(_lettered(size).split())
    ),
    "short lines": _repeated("a:\n"),
    "pointing words": _repeated("as above and below, the following rules: "),
    "YAML": _counted("k{n}:\n  - {m}\n"),
    "tables": _counted("| a{n} | {m} |\n"),
    "unclosed tags": _repeated('<a b="'),
    "comments": _repeated("<!--"),
    "calls": _repeated("f(a(b("),
    "statements": _repeated("SELECT a, "),
    "quoted lines": _repeated("\n> "),
    "addresses": _repeated("a.b@c.d"),
    "combining marks": lambda size: "a" + "\u0301" * (size - 1),
    "ideographs": _repeated("请告诉我这个问题的答案。"),
    "names of keys": _repeated("key-"),
    "bearer": _repeated("bearer "),
    "key headers": _repeated("-----BEGIN PRIVATE KEY-----"),
    "tokens": _repeated("eyJ"),
    "placeholders": _repeated("{{a}} [EMAIL_1] "),
    "addends": _repeated("1 + 2 \u00d7 "),
    "months": _repeated("May 3 "),
    "runs of fences": _runs("`"),
    "runs of fences before JSON": _runs("`", '{"a":1}'),
    "runs of waves before JSON": _runs("~", '{"a":1}'),
    "runs of heading marks": _runs("#"),
    "runs of tags before JSON": _runs("<a>", '{"a":1}'),
    "runs of braces": _runs("{"),
    "runs of arrows before JSON": _runs("=> ", '{"a":1}'),
    "runs of labels": _runs("x: "),
    "runs of names of formats": _runs("JSON "),
    "runs of documents before JSON": _runs("Doc 1: a\n\n", '{"a":1}'),
    "runs of line separators": _runs("\u2028"),
}
"""Makers by name: a text of so many characters, or nearly so."""


EVERYWHERE = (
    "code fences",
    "one long word",
    "distinct words",
    "blank lines",
    "unclosed typographic quotes",
    "escaped quotes",
    "unclosed brackets",
    "JSON fragments",
    "short lines",
    "pointing words",
    "YAML",
    "tables",
    "unclosed tags",
    "combining marks",
)
"""Shapes that tests give to everything."""


def _body(*contents):
    turns = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(contents)]
    return json.dumps({"model": "m", "messages": turns}).encode()


def in_one(text):
    """A request with a text in its one message."""
    return _body("Answer in JSON:\n\n" + text)


def in_many(text):
    """A request of many short messages."""
    return _body(*(text[at : at + 12] for at in range(0, len(text), 12)))


def view_of(text, body=in_one):
    """A prompt as the worker sees the first one of a route."""
    return PromptView.parse(body(text), classify=TemplateLearner().classifier("main"))


def _many_of(text):
    return view_of(text, in_many)


def pair_of(text):
    """Two answers that share most of a text."""
    third = len(text) // 3
    context = f"Which is it?\n\n{text[: len(text) // 2]}"
    return Pair(Answer(text), Answer(f"{text[:third]} Sure: {text[third:-5]}"), context)


def unlike_pair_of(text):
    """Two answers that share words in another order, and nothing else."""
    half = len(text) // 2
    return Pair(Answer(text), Answer(f"So {text[half:]}x{text[:half]}"), text)


def scattered_pair_of(text):
    """Two answers of the same words, each in another order than the prompt."""
    words = text.split()
    orders = [" ".join(random.Random(seed).sample(words, len(words))) for seed in (1, 2)]
    return Pair(*map(Answer, orders), text)


def calling_pair_of(text):
    """Two answers that call tools."""
    third = len(text) // 3
    calls = [
        tuple(ToolCall(f"f{at % 7}", json.dumps({"a": half[at : at + 50]})) for at in range(0, len(half), 50))
        for half in (text, text[third:] + text[:third])
    ]
    return Pair(*(Answer("", call) for call in calls), text)


def _answered(text):
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": text}}
    message = {"role": "assistant", "content": text, "tool_calls": [call]}
    return json.dumps({"model": "m", "choices": [{"index": 0, "message": message}]}).encode()


def _streamed(text):
    deltas = (text[at : at + 8] for at in range(0, len(text), 8))
    events = ({"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in deltas)
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def _learnt(view):
    learner = TemplateLearner()
    for _ in range(3):
        learner.observe("main", view.slots)
        learner.version("main", view.slots)
    view.classified(learner.classifier("main"))


def _learnt_apart(views):
    learner = TemplateLearner()
    for view in (*views, *views):
        learner.observe("main", view.slots)
        learner.version("main", view.slots)
        view.classified(learner.classifier("main"))


def _unlike_views(text):
    third = len(text) // 3
    texts = (text, text[third:] + "x" + text[:third], text[2 * third :] + "y" + text[: 2 * third])
    return tuple(map(view_of, texts))


def _perturbed(kind, severity, view):
    outcome = attempt(kind, view, severity, random.Random(1))
    if isinstance(outcome, Draft):
        outcome = outcome.finish([task.text.replace("a", "b") for task in outcome.tasks])
    if isinstance(outcome, PromptView):
        outcome.for_replay()


def _read_stream(text):
    return read_answer({"content-type": "text/event-stream"}, text.encode(), CHAT.answer_reader())


def _read_whole(body):
    return read_answer({"content-type": "application/json"}, body, CHAT.answer_reader())


def _judged(kind, text):
    faults_of(RewriteTask(kind, text, "es" if kind == "translation" else None), text[:-7] + " so.")


def _steps(text):
    try:
        return read_workflow(text)
    except WorkflowError as error:
        return error


def _has_parameter(text):
    return redacted(f"/v1/x?{text}=1&{text[: len(text) // 2]};".encode())


def _is_named_so(text):
    return is_credential(text.encode().lower(), text.encode())


def _fingerprints(text):
    raw = f"POST / HTTP/1.1\r\nauthorization: bearer {text}\r\n{text}: api-key\r\n\r\n".encode()
    return key_fingerprints(raw, len(raw))


def _stated(view):
    return view.classified(fixed_template(["Answer in {form}:\n\n{text}\nThank you"]))


def _rated(pair):
    return measure(pair)


def _as_is(text):
    return text


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that reads texts."""

    name: str
    made: Callable[[str], Any]
    """Make what is read from a text; not counted as work."""
    work: Callable[[Any], object]

    def shapes(self, wanted):
        """Select the shapes that make a difference: of many short messages, few do."""
        return (shape for shape in wanted if "many messages" not in self.name or shape in _OF_MANY_MESSAGES)


_OF_MANY_MESSAGES = ("pointing words", "unclosed tags", "tables")


def subjects():
    """Everything that reads texts of others in the replay plane and in redaction."""
    return (*_readers(), *_gate(), *_perturbations(), *_metrics(), *_redaction())


def _readers():
    yield Subject("protected spans", _as_is, protected_spans)
    yield Subject("pieces for the rewriter", _as_is, pieces)
    yield Subject("prose for the rewriter", _as_is, has_prose)
    yield Subject("task", _as_is, lambda text: recognise([Turn("system", text), Turn("user", text)]))
    yield Subject("language", _as_is, language_of)
    yield Subject("prompt", in_one, PromptView.parse)
    yield Subject("prompt of many messages", in_many, PromptView.parse)
    yield Subject("refusal", view_of, refusal)
    yield Subject("refusal of many messages", _many_of, refusal)
    yield Subject("parameters", view_of, parameters_of)
    yield Subject("replay", view_of, PromptView.for_replay)
    yield Subject("replay of many messages", _many_of, PromptView.for_replay)
    yield Subject("template", view_of, _learnt)
    yield Subject("templates", _unlike_views, _learnt_apart)
    yield Subject("stated template", view_of, _stated)
    yield Subject("template of many messages", _many_of, _learnt)
    yield Subject("traits of a prompt", view_of, original.traits_of)
    yield Subject("sketch", view_of, sketch_of)
    yield Subject("sketch of many messages", _many_of, sketch_of)
    yield Subject("answer", _answered, _read_whole)
    yield Subject("streamed answer", _streamed, _read_stream)


def _gate():
    for kind in ("paraphrase", "tone", "translation"):
        yield Subject(f"gate of a {kind}", _as_is, partial(_judged, kind))
    yield Subject("passages to keep", partial(RewriteTask, "paraphrase"), passages_to_keep)


def _perturbations():
    seen = set()
    for kind in BUILTIN:
        # The other pairs of languages are the same code.
        code = (type(kind), kind.name.partition(".")[0]) if kind.wanted.language else kind.name
        if code not in seen:
            yield Subject(kind.name, view_of, partial(_perturbed, kind, 0.5))
            yield Subject(f"{kind.name} of many messages", _many_of, partial(_perturbed, kind, 1.0))
        seen.add(code)


def _metrics():
    for metric in heuristics():
        yield Subject(metric.name, pair_of, metric.score)
        yield Subject(f"{metric.name}, unlike", unlike_pair_of, metric.score)
        yield Subject(f"{metric.name}, scattered", scattered_pair_of, metric.score)
        yield Subject(f"{metric.name}, calls", calling_pair_of, metric.score)
    known = {}
    for bundle in BUNDLES.values():
        known |= {quality.name: quality for quality in bundle.by_rule}
    for name, quality in known.items():
        for kind, made in (("", pair_of), (", unlike", unlike_pair_of), (", scattered", scattered_pair_of)):
            if hasattr(quality, "measure_now"):
                yield Subject(f"{name}{kind}", made, quality.measure_now)
    yield Subject("heuristic rater", pair_of, _rated)
    yield Subject("heuristic rater, unlike", unlike_pair_of, _rated)
    yield Subject("heuristic rater, calls", calling_pair_of, _rated)
    yield Subject("steps", _as_is, _steps)
    yield Subject("schema of slots", _as_is, read_schema)
    yield Subject("slots", _as_is, read_slots)
    yield Subject("fences", _as_is, lambda text: list(fences(text)))
    yield Subject("structure", _as_is, read_structure)
    yield Subject("rendered answer", Answer, render)
    yield Subject("ruling of a judge", _as_is, read_ruling)
    yield Subject("question to a judge", _as_is, lambda text: marked("A", text, unforgeable_tag([text])))


def _redaction():
    for number, pattern in enumerate(PATTERNS):
        yield Subject(
            f"pattern {number} ({pattern.kind})",
            _as_is,
            lambda text, pattern=pattern: list(pattern.find(text)),
        )
    yield Subject("placeholders", _as_is, lambda text: Placeholders(PATTERNS).redact(text))
    yield Subject(
        "redaction of a request",
        lambda text: in_one(text).decode(),
        lambda body: redact_json(body, Placeholders(PATTERNS).redact),
    )
    yield Subject(
        "redaction of many messages",
        lambda text: in_many(text).decode(),
        lambda body: redact_json(body, Placeholders(PATTERNS).redact),
    )
    yield Subject(
        "redaction of a stream", _streamed, lambda body: redact_events(body, Placeholders(PATTERNS).redact)
    )
    yield Subject("credentials in a query", _as_is, _has_parameter)
    yield Subject("credentials by name", _as_is, _is_named_so)
    yield Subject("fingerprints of keys", _as_is, _fingerprints)


@functools.cache
def _caches():
    """Caches of texts that were read; what is kept forever is of no text."""
    caches = []
    for name, module in list(sys.modules.items()):
        if name.startswith("evenkeel."):
            caches += [value for value in vars(module).values() if hasattr(value, "cache_parameters")]
    return tuple(cache for cache in caches if cache.cache_parameters()["maxsize"] is not None)


@functools.lru_cache(maxsize=512)
def _given(made, shape, size):
    return made(SHAPES[shape](size))


RATIO = 2.5
"""Most that twice the text may cost."""
_ENOUGH_S = 0.006
"""Processor time from which on a ratio says something."""
_SMALLEST = 2_000
_TRIES = 5


def grown_too_fast(subject, shape, largest):
    """Say how the work grew if it grew faster than the text; "" if not, as far as can be seen.

    Processor time of this thread, the least of several runs: other work on the machine does not count.
    It only grows too fast if it does so at three sizes in a row: a cache that overflows shows at one, and a
    neighbour on the same core at two.

    Args:
        subject: What reads.
        shape: Of the text.
        largest: Characters at which to stop looking for a size that takes some milliseconds.
    """

    def least(size):
        return spent(subject, _given(subject.made, shape, size))

    size = _SMALLEST
    single, double = least(size), least(2 * size)
    while double < _ENOUGH_S and 4 * size <= largest:
        size *= 2
        single, double = double, least(2 * size)
    for again in (True, True, False):
        for _ in range(_TRIES):
            if double < _ENOUGH_S or double <= RATIO * single:
                return ""
            single, double = min(single, least(size)), min(double, least(2 * size))
        if again:
            size, single, double = 2 * size, double, least(4 * size)
    return f"{size} characters take {single:.4f} s and twice as many {double:.4f} s"


def spent(subject, given):
    """Processor time of one run, in seconds, with nothing remembered."""
    for cache in _caches():
        cache.cache_clear()
    collects = gc.isenabled()
    # A collection would count what others have left behind as work.
    gc.disable()
    try:
        start = time.thread_time()
        subject.work(given)
        return time.thread_time() - start
    finally:
        if collects:
            gc.enable()

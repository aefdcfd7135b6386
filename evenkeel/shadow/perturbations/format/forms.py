"""Format perturbations, which ask for the answer in another format in the words of `formats.toml`.

Members of a request that bind its answer to a format, such as `response_format`, are read here as well.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, ClassVar, Final

from evenkeel.core.languages import language_of
from evenkeel.core.pair import AnswerForm
from evenkeel.core.rewordings import Category, Rewording
from evenkeel.llm.answer import fields
from evenkeel.shadow.perturbations.format.instructions import (
    Speech,
    asked_format,
    forbids,
    line_before,
    named_format,
    named_formats,
    skeletons,
    speaks_of_format,
)
from evenkeel.shadow.perturbations.format.outline import outline_of_schema
from evenkeel.shadow.perturbations.places import with_request
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable
from evenkeel.shadow.prompt.references import leads_on, speaks_of_output
from evenkeel.shadow.prompt.segments import text_of

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Mapping, Sequence

    from evenkeel.core.pair import Format
    from evenkeel.shadow.prompt import PromptView, Segment


_ENGLISH: Final = "en"
# Words that prose has no place for: its parts, and what belonged to the noun that it replaced.
_PARTS: Final = re.compile(
    r"\b(?:elements?|tags?|attributes?|braces|elemento?s?|éléments?|elementi)\b"
    r"|\bplain[ -]prose[ ](?:of|instance|containing|matching|conforming|that[ ]conforms)\b",
    re.IGNORECASE,
)
_STRUCTURE: Final = re.compile(r"\{\s*\"[^\"\n]+\"\s*:|\[\s*\"[^\"\n]+\"\s*[,\]]")
# "une chaîne JSON", "Markdown table": with prose in the format's place the rest is no grammar, or forbids it.
_LISTING: Final = re.compile(
    r"\b(?:array|matriz|cadena|tableau|chaîne|stringa)\s+JSON\b|\bJSON-array|JSON配列"
    r"|\b(?:Markdown|HTML)[ -]tab(?:le|elle|el)\b|\bno\s+prose\b",
    re.IGNORECASE,
)
_NOT_SAID: Final = frozenset({"document", "code", "examples"})
# Formats in which marks of Markdown would be part of the content.
_TEXT_ONLY: Final = frozenset({"free", "json", "yaml", "xml"})


@dataclass(frozen=True, slots=True)
class Form:
    """Asks for the answer in one format, whatever the prompt asked for.

    Names, contents and every other wish of the output instructions stay; only the way of writing
    changes. A structure in JSON becomes an outline, which fits every format. Where there are no output
    instructions, a sentence is added to the last user message.
    """

    format: Format
    rewording: Rewording
    version: int = 10

    graded: ClassVar[bool] = False
    requires: ClassVar = NOTHING

    @property
    def name(self) -> str:
        """Implement `Perturbation.name`."""
        return f"format.{self.format}"

    @property
    def wanted(self) -> AnswerForm:
        """The format."""
        return AnswerForm(format=self.format)

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant that asks for this format, as `Perturbation.apply`.

        Not applicable: "already_wanted"; "tools_forced"; "unclear_format" where a user's own words ask for a
        format or two are named; "unreadable_structure", "markup_wanted", "examples_show_format", "own_form",
        "format_forbidden" where the old wish could not be replaced whole; "language_unsupported"; "open_end"
        and "no_user_slot" where a sentence would have to be added and there is no place for it.
        """
        del severity, rng
        if forces_tools(view):
            return NotApplicable("tools_forced")
        constraint, asking = _constraint_of(view), _asking(view)
        # What the request demands of the answer counts, whatever its words say.
        stated = "json" if constraint.is_json else _stated(asking)
        refused = self._refused(view, asking, stated)
        if refused is not None:
            return refused
        speech = SPEECHES[_language(view, asking)]
        texts, has_outline = self._rewritten(asking, stated, speech)
        missing = _unnamed(constraint.outline, texts.values())
        changed = view.with_texts(texts).with_members(constraint.removed)
        left = self._left(changed, texts, stated)
        if left is not None:
            return left
        # Prose has no structure: what an outline is for has to be said.
        is_prose = self.format == "free" and not has_outline
        reworded = any(texts[segment.index] != segment.text for segment in asking)
        is_stated = (is_prose and reworded) or named_format("\n".join(texts.values())) == self.format
        if asking and missing is None and is_stated:
            return changed
        sentence = speech.asked(self.format)
        if missing is not None:
            sentence = f"{sentence}\n\n{missing}"
        last = changed.segments[asking[-1].index] if asking else None
        if last is not None and not leads_on(last.text):
            # Behind what the prompt says of its answers already
            return changed.with_texts({last.index: _appended(last.text, sentence)})
        return with_request(changed, sentence)

    def _refused(
        self, view: PromptView, asking: Sequence[Segment], stated: Format | None
    ) -> NotApplicable | None:
        """Return a reason if the prompt's format request cannot or need not be replaced, else None."""
        if stated is None and _is_named_anywhere(view):
            return NotApplicable("unclear_format")
        if (stated or "free") == self.format:
            return NotApplicable("already_wanted")
        if self.format == "free" and any(_LISTING.search(segment.text) for segment in asking):
            return NotApplicable("own_form")
        for segment in view.segments:
            if segment.kind != "history" and _shows_structure(segment, of_answer=False):
                return NotApplicable("unclear_format")
        language = _language(view, asking)
        if language not in SPEECHES or self.format not in SPEECHES[language].answer:
            return NotApplicable("language_unsupported")
        return self._irreplaceable(view, asking, stated)

    def _irreplaceable(
        self, view: PromptView, asking: Sequence[Segment], stated: Format | None
    ) -> NotApplicable | None:
        named = _form_named(asking)
        own_words: list[str] = []
        for segment in view.segments:
            # An earlier question counts, too: "now do the same for these" asks for its form again.
            if segment.role != "assistant" and segment.type not in _NOT_SAID:
                own_words.append(segment.text)
        text = "\n".join(own_words)
        if _ARTEFACT.search(text):
            return NotApplicable("own_form")
        asked = "\n".join(_words(segment.text, named) for segment in asking)
        if (_OWN_FORM.search(text) if stated is None else _BOUND.search(asked)) is not None:
            return NotApplicable("own_form")
        for segment in asking:
            if any(skeleton.outline is None for skeleton in skeletons(segment.text, named)):
                return NotApplicable("unreadable_structure")
        if self.format in _TEXT_ONLY and _MARKUP.search(text):
            return NotApplicable("markup_wanted")
        for segment in view.segments:
            if stated is not None and segment.type == "examples" and _shows(segment.text, stated):
                return NotApplicable("examples_show_format")
        return None

    def _left(
        self, changed: PromptView, asking: Collection[int], stated: Format | None
    ) -> NotApplicable | None:
        """Return a reason if the reworded prompt names another format or forbids this one, else None."""
        words = "\n".join(changed.segments[index].text for index in asking)
        old_wish = is_forbidden = False
        for segment in changed.segments:
            if segment.kind == "history" or segment.type in ("document", "code"):
                continue
            is_forbidden = is_forbidden or forbids(segment.text, self.format)
            # An example anywhere ("The output {"a": 1} is well-formed") would speak against the new format.
            old_wish = old_wish or (stated == "json" and _STRUCTURE.search(segment.text) is not None)
            # So would a sentence that was not known to say how to answer: "You must output valid JSON."
            old_wish = old_wish or (stated is not None and _asked_in(segment.text) == stated)
        parts = self.format == "free" and stated is not None and _PARTS.search(words)
        if set(named_formats(words)) - {self.format} or old_wish or parts:
            return NotApplicable("unclear_format")
        return NotApplicable("format_forbidden") if is_forbidden else None

    def _rewritten(
        self, asking: Sequence[Segment], stated: Format | None, speech: Speech
    ) -> tuple[dict[int, str], bool]:
        """Return the new texts of the output instructions, and whether they hold an outline."""
        named = _form_named(asking)
        texts: dict[int, str] = {}
        has_outline = False
        for segment in asking:
            pieces: list[str] = []
            done = 0
            for skeleton in skeletons(segment.text, named):
                lead = speech.renamed(segment.text[done : skeleton.start], stated, self.format)
                pieces += [_on_a_line(lead), skeleton.outline or ""]
                has_outline = True
                done = skeleton.end
            rest = segment.text[done:]
            if done:
                # What ended the sentence with the structure ends nothing on a line of its own.
                rest = rest.lstrip(" .,;")
                rest = f"\n{rest}" if rest and rest[0] not in "\r\n" else rest
            pieces.append(speech.renamed(rest, stated, self.format))
            texts[segment.index] = "".join(pieces)
        return texts, has_outline


def _on_a_line(lead: str) -> str:
    bare = lead.rstrip(" \t")
    return f"{bare}\n" if bare and not bare.endswith("\n") else bare


def _language(view: PromptView, asking: Sequence[Segment]) -> str:
    """Return the language of the prompt's own words about its answers."""
    own = []
    for segment in view.segments:
        if segment.kind == "template" and segment.type != "document":
            own.append(segment)
    words = "\n".join(_words(segment.text, None) for segment in asking)
    language = language_of(words)
    if language is not None and language in SPEECHES:
        return language
    counts = {}
    for tag, pattern in _TELLS.items():
        counts[tag] = len(pattern.findall(words))
    if any(counts.values()):
        return max(_TELLS, key=lambda tag: counts[tag])
    language = language_of(text_of(own, "\n")) or language_of(text_of(view.typed, "\n"))
    language = language or language_of(view.input_text)
    return language or ("zh" if _HAN.search(view.text) and not _KANA.search(view.text) else _ENGLISH)


_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_KANA: Final = re.compile(r"[\u3040-\u30ff]")


def _words(text: str, named: Format | None) -> str:
    """Return an output instruction without the structures that it shows."""
    pieces: list[str] = []
    done = 0
    for skeleton in skeletons(text, named):
        pieces.append(text[done : skeleton.start])
        done = skeleton.end
    return "".join((*pieces, text[done:]))


def _shows(text: str, format_: Format) -> bool:
    for skeleton in skeletons(text, format_):
        if skeleton.format == format_:
            return True
    return False


def _asking(view: PromptView) -> list[Segment]:
    """Return the segments that say how to answer, including skeletons in code segments after them."""
    segments: list[Segment] = []
    for segment in view.segments:
        earlier = segment.role == "user" and segment.slot != view.last_user_slot
        if segment.kind == "history" or earlier:
            continue
        follows = (
            bool(segments) and segments[-1].index == segment.index - 1 and segments[-1].slot == segment.slot
        )
        shown = follows and segment.type == "code" and segments[-1].text.rstrip().endswith(":")
        if segment.type == "output_instructions" or shown or _shows_structure(segment, of_answer=True):
            segments.append(segment)
    return segments


# The schema of what is to be answered, which takes on the new format; one of tools or tables is data.
_SCHEMA_OF_ANSWER: Final = re.compile(
    r"\b(?:slots?|fields?|answer|response|reply|output|form)\b[^\n]{0,80}\bschema\b", re.IGNORECASE
)


def _shows_structure(segment: Segment, *, of_answer: bool) -> bool:
    """Return whether instructions show a structure: the answer's schema, or another, which may be data."""
    if segment.type not in ("instructions", "text"):
        return False
    for skeleton in skeletons(segment.text, None):
        lead = line_before(segment.text, skeleton.start)
        if speaks_of_output(lead) and of_answer == bool(_SCHEMA_OF_ANSWER.search(lead)):
            return True
    return False


def _is_named_anywhere(view: PromptView) -> bool:
    """Return whether a prompt names a format anywhere but in a document, "JSON-Zeichenkette" included."""
    for segment in view.segments:
        is_asked = segment.role != "assistant" and segment.type != "document"
        if is_asked and speaks_of_format(segment.text):
            return True
    return False


def _asked_in(text: str) -> Format | None:
    if named_format(text) is None:
        return None
    for line in text.split("\n"):
        asked = asked_format(line)
        if asked is not None:
            return asked
    return None


def _stated(asking: Sequence[Segment]) -> Format | None:
    """Return the format that output instructions ask for: that of a skeleton, else the one they name."""
    named = _form_named(asking)
    shown: list[Format | None] = []
    for segment in asking:
        shown += [skeleton.format for skeleton in skeletons(segment.text, named)]
    if named is not None and (named in shown or not shown):
        return named
    return next((format_ for format_ in shown if format_ is not None), named)


def _form_named(asking: Sequence[Segment]) -> Format | None:
    return named_format("\n".join(segment.text for segment in asking))


def _unnamed(outline: str | None, texts: Collection[str]) -> str | None:
    """Return an outline, or None if instructions name all of its fields already."""
    instructions = "\n".join(texts)
    if outline is None or all(name in instructions for name in _NAME.findall(outline)):
        return None
    return outline


_NAME: Final = re.compile(r"^[ -]*([^:\n]+):", re.MULTILINE)


def _appended(text: str, sentence: str) -> str:
    core = text.rstrip()
    gap = "\n\n" if "\n" in core or "\n" in text[len(core) :] or len(core) == len(text) else " "
    return f"{core}{gap}{sentence}{text[len(core) :]}"


# Members by which inference servers constrain the format. The first holds a JSON Schema.
_GRAMMARS: Final = (
    "guided_json",
    "guided_regex",
    "guided_grammar",
    "guided_choice",
    "guided_decoding_backend",
    "structured_outputs",
    "grammar",
    "json_schema",
)
# Members that hold a format among other things: `text` of the Responses API, `output_config` of Anthropic's.
_NESTED: Final = ("text", "output_config")
_PLAIN: Final = ("response_format", "output_format")


@dataclass(frozen=True, slots=True)
class _Constraint:
    """Constraint that the members of a request put on its answer."""

    is_json: bool
    outline: str | None
    """Outline of what a JSON Schema requires."""
    removed: Mapping[str, str | None]
    """Changes that lift the constraint, for `PromptView.with_members`."""


def _constraint_of(view: PromptView) -> _Constraint:
    """Return the format constraints that a request's members put on its answer, with its JSON Schema read."""
    is_json = False
    outline: str | None = None
    removed: dict[str, str | None] = {}
    for key in (*_PLAIN, *_NESTED):
        member = view.get(key)
        if not isinstance(member, dict):
            continue
        wanted = member.get("format") if key in _NESTED else member
        kind = wanted.get("type") if isinstance(wanted, dict) else None
        if kind is None or kind == "text":
            continue
        rest = {name: value for name, value in member.items() if name != "format"} if key in _NESTED else {}
        removed[key] = json.dumps(rest, ensure_ascii=False, separators=(",", ":")) if rest else None
        if kind in ("json_object", "json_schema"):
            is_json = True
            outline = outline or _outline_of(wanted)
    for key in _GRAMMARS:
        if view.get(key) is not None:
            removed[key] = None
    if "guided_json" in removed:
        is_json = True
        outline = outline or outline_of_schema(_decoded(view.get("guided_json")))
    return _Constraint(is_json, outline, removed)


def forces_tools(view: PromptView) -> bool:
    """Return whether the request makes the model call a tool, so that it writes no answer."""
    choice = view.get("tool_choice")
    if choice is None:
        choice = view.get("function_call")
    if isinstance(choice, dict):
        kind = choice.get("type")
        mode = choice.get("mode") or fields(choice.get("allowed_tools")).get("mode")
        return kind not in ("auto", "none") and not (kind == "allowed_tools" and mode != "required")
    return choice in ("required", "any")


def _outline_of(wanted: Any) -> str | None:
    if not isinstance(wanted, dict) or wanted.get("type") != "json_schema":
        return None
    inner = wanted.get("json_schema")
    schema = inner.get("schema") if isinstance(inner, dict) else wanted.get("schema")
    return outline_of_schema(schema) if isinstance(schema, dict) else None


def _decoded(member: Any) -> Any:
    if not isinstance(member, str):
        return member
    try:
        return json.loads(member)
    except ValueError:
        return None


_CATEGORY: Final = Category(
    "format",
    "Template perturbations: the same contents, asked for in another format.",
    order=30,
    phrase="an answer in {kind}",
    asks_for="format",
    on_template=True,
)

_TABLES: Final = tomllib.loads(files(__package__).joinpath("formats.toml").read_text("utf-8"))
# Parts of an answer that only markup has.
_MARKUP: Final = re.compile("|".join(_TABLES["refused"]["markup"]), re.IGNORECASE)
# Request for a form without a name, or for a bare answer. No other format can replace either.
_OWN_FORM: Final = re.compile("|".join(_TABLES["refused"]["own_form"]), re.IGNORECASE)
# What is left of the old format when its name is replaced.
_BOUND: Final = re.compile("|".join(_TABLES["refused"]["bound"]), re.IGNORECASE)
# File or page whose format belongs to it: a web page in another format is no web page.
_ARTEFACT: Final = re.compile("|".join(_TABLES["refused"]["artefact"]), re.IGNORECASE)
SPEECHES: Final[dict[str, Speech]] = {tag: Speech(**table) for tag, table in _TABLES["speech"].items()}
"""Languages in which formats are asked for."""


def _telling(tag: str, words: str) -> re.Pattern[str]:
    spaced = words if tag in ("ja", "zh") else rf"(?<![^\W_])(?:{words})(?![^\W_])"
    return re.compile(spaced, re.IGNORECASE)


_TELLS: Final = {tag: _telling(tag, speech.tells) for tag, speech in SPEECHES.items() if speech.tells}


def _form(name: Format) -> Form:
    table = _TABLES[name]
    rewording = Rewording(
        _CATEGORY, phrase=table["phrase"], description=table["description"], order=table["order"]
    )
    return Form(name, rewording)


FREE: Final = _form("free")
JSON: Final = _form("json")
YAML: Final = _form("yaml")
XML: Final = _form("xml")
HTML: Final = _form("html")
MARKDOWN: Final = _form("markdown")
FORMATS: Final = (FREE, JSON, YAML, XML, HTML, MARKDOWN)
"""Every format perturbation."""

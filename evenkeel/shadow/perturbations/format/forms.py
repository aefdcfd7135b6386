"""Format perturbations: the answer is asked for in another format instead, in the words of `formats.toml`."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, ClassVar, Final
from xml.sax.saxutils import escape

from evenkeel.core.languages import language_of
from evenkeel.core.pair import Wanted
from evenkeel.core.rewordings import Category, Rewording
from evenkeel.shadow.perturbations.format.instructions import (
    Speech,
    Words,
    asked_format,
    forbids,
    named_format,
    named_formats,
    renamed,
    skeletons,
)
from evenkeel.shadow.perturbations.format.schema import (
    Field,
    Leaf,
    Listing,
    Node,
    Record,
    constraint_of,
    forces_tools,
    names_in,
)
from evenkeel.shadow.perturbations.places import with_request
from evenkeel.shadow.perturbations.protocol import NOTHING, NotApplicable
from evenkeel.shadow.prompt.references import speaks_of_output

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Collection, Sequence

    from evenkeel.core.pair import Format
    from evenkeel.shadow.perturbations.format.instructions import Skeleton
    from evenkeel.shadow.prompt import PromptView, Segment


_ENGLISH: Final = "en"
COLONS: Final = (":", "\uff1a")
_PARTS: Final = re.compile(
    r"\b(?:elements?|tags?|attributes?|braces|elemento?s?|éléments?|elementi)\b", re.IGNORECASE
)
_STRUCTURE: Final = re.compile(r"[{\[]\s*\"[^\"\n]+\"\s*:")
_NOT_SAID: Final = frozenset({"document", "code", "examples"})
_TEXT_ONLY: Final = frozenset({"free", "json", "yaml", "xml"})


@dataclass(frozen=True, slots=True)
class Form:
    """Asks for the answer in one format, whatever the prompt asked for.

    Names, contents and every other wish of the output instructions stay; only the way of writing
    changes. Where there are no output instructions, a sentence is added to the last user message.
    """

    format: Format
    render: Callable[[Node], str]
    """Writes the structure that an answer should have in this format, with placeholders."""
    words: Words
    request: str
    """The sentence that asks for the format where nothing else does."""
    rewording: Rewording
    fenced: bool = True
    """Whether a structure to follow is shown as a block of its own."""
    version: int = 2

    graded: ClassVar[bool] = False
    requires: ClassVar = NOTHING

    @property
    def name(self) -> str:
        """As `Perturbation.name`."""
        return f"format.{self.format}"

    @property
    def wanted(self) -> Wanted:
        """The format."""
        return Wanted(format=self.format)

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> PromptView | NotApplicable:
        """A variant that asks for this format, as `Perturbation.apply`.

        Not applicable: "already_wanted"; "tools_forced"; "unclear_format" where a user's own words ask for a
        format or two are named; "unreadable_structure", "markup_wanted", "examples_show_format", "own_form",
        "format_forbidden" where the old wish could not be replaced whole; "open_end" and "no_user_slot" where
        a sentence would have to be added and there is no place for it.
        """
        del severity, rng
        if forces_tools(view):
            return NotApplicable("tools_forced", "the request makes the model call a tool")
        constraint, asking, reminders = constraint_of(view), _asking(view), _reminders(view)
        stated = _stated(asking) or ("json" if constraint.is_json else next(iter(reminders.values()), None))
        refused = self._refused(view, asking, stated)
        if refused is not None:
            return refused
        speech = SPEECHES.get(_language(view, asking))
        texts, shown = self._rewritten(asking, stated, speech)
        missing = constraint.node if not _holds(texts.values(), constraint.node) else None
        changed = view.with_texts(texts).with_members(
            constraint.any_json if self.format == "json" else constraint.removed
        )
        changed = changed.with_texts(
            {
                index: self._reminding(view.segments[index].text, stated, speech)
                for index, format_ in reminders.items()
                if format_ == stated
            }
        )
        left = self._left(changed, [one.index for one in asking], list(reminders), stated)
        if left is not None:
            return left
        reworded = any(texts[one.index] != one.text for one in asking)
        said = (self.format == "free" and reworded) or named_format("\n".join(texts.values())) == self.format
        if asking and missing is None and (shown or said):
            return changed
        sentence = (
            self.request if speech is None else speech.request.format(answer=speech.answer[self.format])
        )
        if missing is not None:
            sentence = f"{sentence}\n\n{self._structure(missing, speech)}"
        last = changed.segments[asking[-1].index] if asking else None
        if last is not None and not last.text.rstrip().endswith(COLONS):
            # Behind what the prompt says of its answers already
            return changed.with_texts({last.index: _appended(last.text, sentence)})
        return with_request(changed, sentence)

    def _refused(
        self, view: PromptView, asking: Sequence[Segment], stated: Format | None
    ) -> NotApplicable | None:
        """Why what the prompt says of its answers cannot be replaced whole, or need not be."""
        if not asking and _is_asked_by_user(view):
            return NotApplicable("unclear_format", "a user's text that may be anything asks for a format")
        if (stated or "free") == self.format:
            return NotApplicable("already_wanted", f"the prompt asks for {self.words.name} as it is")
        return self._irreplaceable(view, asking, stated)

    def _irreplaceable(
        self, view: PromptView, asking: Sequence[Segment], stated: Format | None
    ) -> NotApplicable | None:
        named = _form_named(asking)
        said = "\n".join(
            one.text for one in view.segments if one.kind != "history" and one.type not in _NOT_SAID
        )
        if stated is None and _OWN_FORM.search(said):
            return NotApplicable("own_form", "the prompt asks for a form of its own, or for a bare answer")
        if any(one.node is None for segment in asking for one in skeletons(segment.text, named)):
            return NotApplicable("unreadable_structure", "the structure that the prompt shows cannot be read")
        if self.format in _TEXT_ONLY and _MARKUP.search(said):
            return NotApplicable("markup_wanted", "the prompt asks for headings, lists or tables")
        shown = [one.text for one in view.segments if one.type == "examples"]
        if stated is not None and any(_shows(text, stated) for text in shown):
            return NotApplicable(
                "examples_show_format", "examples in the prompt show answers in the old format"
            )
        return None

    def _left(
        self, changed: PromptView, asking: Sequence[int], reminders: Sequence[int], stated: Format | None
    ) -> NotApplicable | None:
        """What of the old wish the rewritten words still say."""
        reminding = "\n".join(changed.segments[index].text for index in reminders).split("\n")
        words = "\n".join((
            *(changed.segments[index].text for index in asking),
            *(line for line in reminding if asked_format(line) is not None),
        ))  # fmt: skip
        old_structure = stated == "json" and _STRUCTURE.search(words)
        parts = self.format == "free" and stated is not None and _PARTS.search(words)
        if set(named_formats(words)) - {self.format} or old_structure or parts:
            return NotApplicable("unclear_format", "the prompt speaks of more than one format")
        if forbids(words, self.format):
            return NotApplicable("format_forbidden", f"the prompt forbids {self.words.name}")
        return None

    def _rewritten(
        self, asking: Sequence[Segment], stated: Format | None, speech: Speech | None
    ) -> tuple[dict[int, str], bool]:
        """New texts of the output instructions, and whether they now name or show this format."""
        named = _form_named(asking)
        texts: dict[int, str] = {}
        shown = False
        for segment in asking:
            pieces: list[str] = []
            done = 0
            for one in skeletons(segment.text, named):
                pieces.append(
                    renamed(segment.text[done : one.start], stated, self.format, self.words, speech)
                )
                pieces.append(self._skeleton(segment.text, one, speech))
                shown = shown or (one.node is not None and not self.fenced)
                done = one.end
            pieces.append(renamed(segment.text[done:], stated, self.format, self.words, speech))
            texts[segment.index] = "".join(pieces)
        return texts, shown

    def _reminding(self, text: str, stated: Format | None, speech: Speech | None) -> str:
        """A text with those lines reworded that ask for a format among other things."""
        return "\n".join(
            renamed(line, stated, self.format, self.words, speech) if asked_format(line) == stated else line
            for line in text.split("\n")
        )

    def _skeleton(self, text: str, skeleton: Skeleton, speech: Speech | None) -> str:
        if skeleton.node is None or isinstance(skeleton.node, Leaf):
            return text[skeleton.start : skeleton.end]
        if not self.fenced:
            return self._structure(skeleton.node, speech)
        if skeleton.fence:
            tag = self.format if skeleton.tag else ""
            return f"{skeleton.fence}{tag}\n{self.render(skeleton.node)}\n{skeleton.fence}"
        before = text[: skeleton.start].rstrip(" \t")
        return ("" if not before or before.endswith("\n") else "\n") + self.render(skeleton.node)

    def _structure(self, node: Node, speech: Speech | None) -> str:
        if not self.fenced:
            return _free(node, speech)
        return f"```{self.format}\n{self.render(node)}\n```"


def _language(view: PromptView, asking: Sequence[Segment]) -> str:
    """The language that the prompt's own words about its answers are in."""
    own = [one for one in view.segments if one.kind == "template" and one.type != "document"]
    words = "\n".join(_words(one.text, None) for one in asking)
    found = language_of(words)
    if found in (*SPEECHES, _ENGLISH):
        return found or _ENGLISH
    told = {tag: len(pattern.findall(words)) for tag, pattern in _TELLS.items()}
    if any(told.values()):
        return max(_TELLS, key=lambda tag: told[tag])
    found = language_of("\n".join(one.text for one in own)) or language_of(view.input_text)
    return found or ("zh" if _HAN.search(view.text) and not _KANA.search(view.text) else _ENGLISH)


_HAN: Final = re.compile(r"[\u3400-\u9fff]")
_KANA: Final = re.compile(r"[\u3040-\u30ff]")


def _words(text: str, named: Format | None) -> str:
    """An output instruction without the structures that it shows."""
    pieces: list[str] = []
    done = 0
    for one in skeletons(text, named):
        pieces.append(text[done : one.start])
        done = one.end
    return "".join((*pieces, text[done:]))


def _shows(text: str, format_: Format) -> bool:
    """Whether an example is written in a format."""
    return any(one.format == format_ for one in skeletons(text, format_))


def _asking(view: PromptView) -> list[Segment]:
    """The segments that say how to answer, skeletons in code segments behind them included."""
    found: list[Segment] = []
    for segment in view.segments:
        if segment.kind == "history":
            continue
        follows = bool(found) and found[-1].index == segment.index - 1 and found[-1].slot == segment.slot
        shown = follows and segment.type == "code" and found[-1].text.rstrip().endswith(":")
        if segment.type == "output_instructions" or shown or _shows_form(segment):
            found.append(segment)
    return found


def _shows_form(segment: Segment) -> bool:
    """Whether words that lead in to a form are followed by it, in a segment that says other things too."""
    if segment.type not in ("instructions", "text"):
        return False
    return any(
        speaks_of_output(segment.text[: one.start].rstrip().rpartition("\n")[2]) and one.node is not None
        for one in skeletons(segment.text, None)
    )


def _reminders(view: PromptView) -> dict[int, Format]:
    """The formats that other words of the template ask for, by segment: "You respond in JSON"."""
    found: dict[int, Format] = {}
    for segment in view.segments:
        if segment.kind == "template" and segment.type in ("instructions", "text"):
            asked = _asked_in(segment.text)
            if asked is not None:
                found[segment.index] = asked
    return found


def _is_asked_by_user(view: PromptView) -> bool:
    """Whether the last user message is no template's, and asks for a format somewhere."""
    own = [segment for segment in view.segments if segment.slot == view.last_user_slot]
    if any(segment.kind != "input" for segment in own):
        return False
    return any(_asked_in(segment.text) is not None for segment in own if segment.type != "document")


def _asked_in(text: str) -> Format | None:
    if named_format(text) is None:
        return None
    return next((asked for line in text.split("\n") if (asked := asked_format(line)) is not None), None)


def _stated(asking: Sequence[Segment]) -> Format | None:
    """The format that output instructions ask for: that of a skeleton, else the one they name."""
    named = _form_named(asking)
    shown = [
        one.format for segment in asking for one in skeletons(segment.text, named) if one.node is not None
    ]
    if named is not None and (named in shown or not shown):
        return named
    return next((one for one in shown if one is not None), named)


def _form_named(asking: Sequence[Segment]) -> Format | None:
    return named_format("\n".join(segment.text for segment in asking))


def _holds(texts: Collection[str], node: Node | None) -> bool:
    """Whether instructions name all fields already."""
    return node is None or all(any(name in text for text in texts) for name in names_in(node))


def _appended(text: str, sentence: str) -> str:
    core = text.rstrip()
    gap = "\n\n" if "\n" in core or "\n" in text[len(core) :] or len(core) == len(text) else " "
    return f"{core}{gap}{sentence}{text[len(core) :]}"


_SAYS_NOTHING: Final = re.compile(r"(?:string|str|text|any|object)s?|\.{3}|…", re.IGNORECASE)


_ENGLISH_WORDS: Final = ("such as", "any number", "each", "with")


def _free(node: Node, speech: Speech | None = None) -> str:
    """One sentence that names the contents, with what is said of them in parentheses."""
    words = _ENGLISH_WORDS if speech is None else speech.words
    match node:
        case Record(fields=fields):
            contents = "; ".join(_described(one.name, one.value, words) for one in fields)
        case Listing(item=item):
            many = "any number of parts" if speech is None else words[1]
            hint = _hint(item, words)
            contents = f"{many}, {words[2]} {hint}" if hint else many
        case Leaf():
            contents = node.text
    if speech is not None:
        return speech.covers.format(contents=contents)
    return f"Plain prose, without JSON or any markup, that covers: {contents}."


def _described(name: str, node: Node, words: Sequence[str]) -> str:
    hint = _hint(node, words)
    return f"{name} ({hint})" if hint else name


def _hint(node: Node, words: Sequence[str]) -> str:
    such_as, any_number, each, having = words
    match node:
        case Leaf(text=text, form="literal"):
            return text if " " in text else f"{such_as} “{text}”"
        case Leaf(text=text, form="bare"):
            return f"{such_as} {text}"
        case Leaf(text=text):
            return "" if _SAYS_NOTHING.fullmatch(text) else text
        case Listing(item=item):
            inner = _hint(item, words)
            return f"{any_number}, {each} {inner}" if inner else any_number
        case Record(fields=()):
            return ""
        case Record(fields=fields):
            return f"{having} " + ", ".join(_described(one.name, one.value, words) for one in fields)


def _json(node: Node) -> str:
    """The structure as JSON with placeholders in quotation marks, indented by two."""
    return _value(node, "")


def _value(node: Node, indent: str) -> str:
    inner = indent + "  "
    match node:
        case Record(fields=()):
            return "{}"
        case Record(fields=fields):
            lines = [f"{inner}{_quoted(one.name)}: {_value(one.value, inner)}" for one in fields]
            return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
        case Listing(item=Leaf() as leaf):
            return f"[{_json_leaf(leaf)}]"
        case Listing(item=item):
            return f"[\n{inner}{_value(item, inner)}\n{indent}]"
        case Leaf():
            return _json_leaf(node)


def _json_leaf(leaf: Leaf) -> str:
    if leaf.form == "bare":
        return leaf.text
    if leaf.form == "literal":
        return _quoted(leaf.text)
    return f"<{leaf.text}>" if leaf.is_number else _quoted(f"<{leaf.text}>")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_PLAIN: Final = re.compile(r"[^\W\d][\w ./()…-]*(?<! )|<(?!<)[^:#\n]*>")
_OTHER_TYPE: Final = re.compile(r"true|false|yes|no|on|off|null|y|n", re.IGNORECASE)


def _yaml(node: Node) -> str:
    """The structure as YAML in block style, placeholders in angle brackets."""
    return "\n".join(_yaml_lines(node))


def _yaml_lines(node: Node) -> list[str]:
    match node:
        case Record(fields=fields) if fields:
            lines: list[str] = []
            for one in fields:
                lines += _yaml_named(f"{_scalar(one.name)}:", one.value)
            return lines
        case Record():
            return ["{}"]
        case Listing(item=item):
            first, *others = _yaml_lines(item)
            return [f"- {first}", *(f"  {line}" for line in others)]
        case Leaf():
            return [_yaml_leaf(node)]


def _yaml_named(key: str, value: Node) -> list[str]:
    if isinstance(value, Leaf) or value == Record(()):
        return [f"{key} {_yaml_lines(value)[0]}"]
    return [key, *(f"  {line}" for line in _yaml_lines(value))]


def _yaml_leaf(leaf: Leaf) -> str:
    return (
        leaf.text if leaf.form == "bare" else _scalar(f"<{leaf.text}>" if leaf.form == "hint" else leaf.text)
    )


def _scalar(text: str) -> str:
    """The text, in quotation marks where it would be read as something else without."""
    plain = _PLAIN.fullmatch(text) and not _OTHER_TYPE.fullmatch(text)
    return text if plain else json.dumps(text, ensure_ascii=False)


_NOT_IN_NAMES: Final = re.compile(r"[^\w.-]+")
_NAME_START: Final = re.compile(r"[^\W\d]")


def _xml(node: Node) -> str:
    """The structure as elements in one element "response", placeholders in square brackets."""
    return "\n".join(_element("response", node))


def _element(name: str, node: Node) -> list[str]:
    match node:
        case Leaf():
            return [f"<{name}>{_xml_leaf(node)}</{name}>"]
        case Record(fields=fields):
            inner = [line for one in fields for line in _element(element_name(one), one.value)]
        case Listing(item=item):
            inner = _element("item", item)
    return [f"<{name}>", *(f"  {line}" for line in inner), f"</{name}>"]


def element_name(field: Field) -> str:
    """The field's name, as XML allows it."""
    name = _NOT_IN_NAMES.sub("_", field.name).strip("_") or "field"
    return name if _NAME_START.match(name) else f"_{name}"


def _xml_leaf(leaf: Leaf) -> str:
    return escape(f"[{leaf.text}]" if leaf.form == "hint" else leaf.text)


_LEVELS = (2, 6)


def _html(node: Node) -> str:
    """The structure as headings, paragraphs and lists, placeholders in square brackets."""
    return "\n".join(_html_lines(node, _LEVELS[0]))


def _html_lines(node: Node, level: int) -> list[str]:
    match node:
        case Leaf():
            return [f"<p>{_html_leaf(node)}</p>"]
        case Listing(item=Leaf() as leaf):
            return ["<ul>", f"  <li>{_html_leaf(leaf)}</li>", "</ul>"]
        case Listing(item=item):
            return ["<ul>", "  <li>", *(f"    {line}" for line in _html_part(item)), "  </li>", "</ul>"]
        case Record(fields=fields):
            lines: list[str] = []
            for one in fields:
                lines.append(f"<h{level}>{escape(one.name)}</h{level}>")
                lines += _html_lines(one.value, min(level + 1, _LEVELS[1]))
            return lines


def _html_part(node: Node) -> list[str]:
    """Inside a list, where headings would be out of place."""
    match node:
        case Leaf():
            return [_html_leaf(node)]
        case Listing(item=item):
            return ["<ul>", "  <li>", *(f"    {line}" for line in _html_part(item)), "  </li>", "</ul>"]
        case Record(fields=fields):
            lines = ["<dl>"]
            for one in fields:
                name = f"  <dt>{escape(one.name)}</dt>"
                if isinstance(one.value, Leaf):
                    lines.append(f"{name}<dd>{_html_leaf(one.value)}</dd>")
                else:
                    lines += [name, "  <dd>", *(f"    {line}" for line in _html_part(one.value)), "  </dd>"]
            return [*lines, "</dl>"]


def _html_leaf(leaf: Leaf) -> str:
    return escape(f"[{leaf.text}]" if leaf.form == "hint" else leaf.text)


def _markdown(node: Node) -> str:
    """The structure as headings, paragraphs and lists, placeholders in square brackets."""
    return "\n".join(_markdown_lines(node, _LEVELS[0]))


def _markdown_lines(node: Node, level: int) -> list[str]:
    match node:
        case Leaf():
            return [_markdown_leaf(node)]
        case Listing(item=item):
            return _markdown_part(item)
        case Record(fields=fields):
            lines: list[str] = []
            for one in fields:
                # A blank line before each heading but the first
                lines += ([""] if lines else []) + [f"{'#' * level} {one.name}"]
                inner = _markdown_lines(one.value, min(level + 1, _LEVELS[1]))
                lines += ([""] if isinstance(one.value, Record) else []) + inner
            return lines


def _markdown_part(node: Node) -> list[str]:
    """One item of a list, and what belongs under it."""
    match node:
        case Leaf():
            return [f"- {_markdown_leaf(node)}"]
        case Listing(item=item):
            return ["-", *(f"  {line}" for line in _markdown_part(item))]
        case Record(fields=fields):
            lines: list[str] = []
            for one in fields:
                if isinstance(one.value, Leaf):
                    lines.append(f"  **{one.name}:** {_markdown_leaf(one.value)}  ")
                else:
                    lines += [f"  **{one.name}:**", *(f"  {line}" for line in _nested(one.value))]
            first, *others = lines or ["  "]
            return [
                line.rstrip() if place == len(others) else line
                for place, line in enumerate([f"- {first[2:]}", *others])
            ]


def _nested(node: Node) -> list[str]:
    return _markdown_part(node.item) if isinstance(node, Listing) else _markdown_part(node)


def _markdown_leaf(leaf: Leaf) -> str:
    return f"[{leaf.text}]" if leaf.form == "hint" else leaf.text


_CATEGORY: Final = Category(
    "format",
    "Template perturbations: the same contents, asked for in another format.",
    order=30,
    phrase="an answer in {kind}",
    asks_for="format",
    on_template=True,
)

_TABLES: Final = tomllib.loads(files(__package__).joinpath("formats.toml").read_text("utf-8"))
_MARKUP: Final = re.compile("|".join(_TABLES["refused"]["markup"]), re.IGNORECASE)
"""Parts of an answer that only markup has."""
_OWN_FORM: Final = re.compile("|".join(_TABLES["refused"]["own_form"]), re.IGNORECASE)
"""A form without a name, or a bare answer: neither can be put into another format."""
SPEECHES: Final = {tag: Speech.of(table) for tag, table in _TABLES["speech"].items()}
"""Languages other than English in which formats are asked for."""
_TELLS: Final[dict[str, re.Pattern[str]]] = {
    tag: re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])" if tag not in ("ja", "zh") else words, re.IGNORECASE)
    for tag, words in (
        (
            _ENGLISH,
            r"the|in|as|with|answer|reply|respond|return|give|use|a|an|and|or|only|output|format|either",
        ),
        *((tag, one.tells) for tag, one in SPEECHES.items()),
    )
}


def _form(name: Format, render: Callable[[Node], str], *, fenced: bool = True) -> Form:
    table = _TABLES[name]
    rewording = Rewording(
        _CATEGORY, phrase=table["phrase"], description=table["description"], order=table["order"]
    )
    return Form(name, render, Words(**table["words"]), table["request"], rewording, fenced)


FREE: Final = _form("free", _free, fenced=False)
JSON: Final = _form("json", _json)
YAML: Final = _form("yaml", _yaml)
XML: Final = _form("xml", _xml)
HTML: Final = _form("html", _html)
MARKDOWN: Final = _form("markdown", _markdown)
FORMATS: Final = (FREE, JSON, YAML, XML, HTML, MARKDOWN)
"""Every format perturbation."""

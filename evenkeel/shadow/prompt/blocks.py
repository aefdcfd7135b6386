"""Cuts a text into typed blocks: documents, examples, output instructions, lists, code, and the rest.

Rules over lines, tried in one pass; no rule looks back or ahead further than its own block, so the time is
linear in the length of the text. English first; the words by which a block is recognised are also known in
German, Spanish, French, Italian, Dutch, Portuguese and Japanese.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple

from evenkeel.shadow.prompt.references import asks, introduces_context, orders

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkeel.shadow.prompt.segments import SegmentType


_DOCUMENT_WORDS: Final = (
    r"doc(?:ument)?s?|passages?|source(?:[ ]documents?)?|articles?|excerpts?|snippets?|context|background"
    r"|observation|tool[ _](?:results?|output|response)|search[ ]results?|function[ ](?:results?|output)"
    r"|reference(?:[ ]text)?|knowledge[ ]base|transcript|chat[ ]log|conversation|e-?mail|ticket|case[ ]notes?"
    r"|dokumente?|kontext|quellen?|artikel|documentos?|contexto|fuentes?|art[íi]culos?|contexte|extraits?"
    r"|text|texte|testo|tekst|courriel|correo|mail|case|documenti?|contesto|fonti?|documenten|bronn?en?"
    r"|fontes?|artigos?|conversa|achtergrond|文書|資料|文脈|コンテキスト|背景|材料|资料|文档|本文"
)
_EXAMPLE_WORDS: Final = (
    r"(?:here[ ](?:are|is)[ ])?(?:for[ ]example|(?:(?:some|a[ ]few|an?)[ ])?examples?|demonstrations?"
    r"|few-shot[ ]examples?|zum[ ]beispiel|beispiele?|por[ ]ejemplo|ejemplos?|par[ ]exemple|exemples?"
    r"|per[ ]esempio|esemp(?:io|i)|bijvoorbeeld|voorbeeld(?:en)?|por[ ]exemplo|exemplos?|例)"
)
_OUTPUT_WORDS: Final = (
    r"(?:(?:output|response|answer|reply)[ ])?(?:format|schema)(?:ting)?(?:[ ](?:rules?|instructions?))?"
    r"|output(?:[ ](?:instructions?|requirements?))?|citation[ ](?:format|rules?)|response[ ]requirements"
    r"|ausgabe(?:format)?|antwortformat|formato(?:[ ]de[ ](?:salida|respuesta|sa[íi]da|resposta))?"
    r"|format[ ]de[ ](?:sortie|r[ée]ponse)|formato[ ](?:di[ ])?(?:output|risposta)|uitvoer(?:formaat)?"
    r"|antwoordformaat|出力形式|回答形式|出力"
)
_FORM: Final = (
    r"json|ya?ml|xml|html|csv|markdown|(?:a[ ]|bullet(?:ed)?[ ]|numbered[ ])?(?:list|points|table)|sentences?"
    r"|words?|paragraphs?|bullets?|lines?|formats?|formatted|schema|structure|letters?|characters?"
    r"|plain[ ]text|s[äa]tze?n?|w[öo]rter|wort|frases?|oraci(?:ón|ones)|palabras?|phrases?|mots?|frasi"
    r"|parol[ae]|zinn?en|zin|woord(?:en)?|palavras?|tabelle|stichpunkten?|lista|elenco|lijst|tabel|tabla|tableau"
    r"|formato"
    r"|(?:english|german|french|spanish|italian|dutch|portuguese|japanese)"
)
_OUTPUT_SENTENCE: Final = rf"""
    (?:please[ ]|bitte[ ]|always[ ]|then[ ])?(?:
        (?:answer|respond|reply|output|format(?:[ ](?:your|the)[ ]\w+)?|write|give|present|return|structure
          |print|produce|provide|keep)\b (?:[ ](?:the|your|a|an|it))? [^\n.!?]{{0,60}}?
          [ ](?:in|as|with|using|to|under|within|at[ ]most|no[ ]more[ ]than|exactly|only|short|valid
            |one|per)\b
          [^\n.!?]{{0,60}}? \b(?:{_FORM})\b
      | (?:return|output|reply[ ]with|respond[ ]with|answer[ ]with|print|give|write)[ ]
          (?:only|just|nothing[ ]but|exactly|valid|a[ ]single|one[ ]of|a[ ]json|json|yaml|xml)\b
      | (?:extract|list)\b [^\n.!?]{{0,80}}? [ ]as[ ](?:an?[ ]|valid[ ]|one[ ]){{0,2}}(?:json|ya?ml|xml)\b
      | (?:use|follow|adhere[ ]to|stick[ ]to)[ ] [^\n.!?]{{0,40}}?
          \b(?:format|schema|structure|json|ya?ml|xml|html)\b
      | (?:your|the)[ ](?:answer|output|response|reply|result)[ ](?:must|should|has[ ]to)\b
      | (?:cite|quote)[ ] [^\n.!?]{{0,60}}? \b(?:sources?|documents?|brackets?|passages?|numbers?|like|as)\b
      | do[ ]not[ ](?:include|add|write|output|return)[ ]
          (?:any|explanations?|anything|other|additional|extra|text|comments?)\b
      | no[ ](?:explanations?|preamble|markdown|extra[ ]text)\b
      | (?:antwort\w*|gib|geben[ ]sie|liefer\w*|erstell\w*|schreib\w*|formatier\w*|verwend\w*
          |nutz\w*|respond\w*|contest\w*|devuelv\w*|devolv\w*|escri?[bv]\w*|utiliz\w*|r[ée]pond\w*|renvo\w*
          |[ée]cri\w*|fourni\w*|donne\w*|utilis\w*|rispond\w*|restitui\w*|scriv\w*
          |fornisc\w*|forneç\w*|antwoord\w*|geef|schrijf\w*|gebruik\w*|lever\w*)\b
          [^\n.!?]{{0,80}}? \b(?:json|ya?ml|xml|html|markdown|auf[ ](?:deutsch|englisch)
            |en[ ](?:español|inglés|français|anglais)
            |in[ ](?:italiano|inglese|het[ ](?:nederlands|engels))|em[ ](?:português|inglês))\b
      | (?:antworte|antworten[ ]sie|gib|geben[ ]sie|schreibe)\b [^\n.!?]{{0,60}}?
          \b(?:in|als|im|mit|nur)\b [^\n.!?]{{0,40}}? \b(?:{_FORM})\b
      | (?:responde|responda|contesta|devuelve|escribe|devolva|escreva)\b [^\n.!?]{{0,60}}?
          \b(?:en|em|como|con|com|solo|apenas)\b [^\n.!?]{{0,40}}? \b(?:{_FORM})\b
      | (?:r[ée]ponds|r[ée]pondez|renvoie|renvoyez|[ée]cris)\b [^\n.!?]{{0,60}}?
          \b(?:en|au|sous|avec|uniquement)\b [^\n.!?]{{0,40}}? \b(?:{_FORM})\b
      | (?:rispondi|rispondete|restituisci|scrivi)\b [^\n.!?]{{0,60}}?
          \b(?:in|come|con|solo)\b [^\n.!?]{{0,40}}? \b(?:{_FORM})\b
      | (?:antwoord|geef|schrijf)\b [^\n.!?]{{0,60}}?
          \b(?:in|als|met|alleen)\b [^\n.!?]{{0,40}}? \b(?:{_FORM})\b
    )"""
_COLON: Final = "[:\\uff1a]"

LINE: Final = re.compile(
    rf"""(?>(?P<indent>[ ]{{4}}|[ ]{{0,3}}\t)?)[ \t]*+(?:
        (?P<fence>```|~~~)
      | (?(indent)(?!))(?:[^\W\d_][^\n:]{{0,30}}:[ ]*)?(?P<quotes>\"{{3}}|'{{3}})[^\n]*$
      | (?(indent)(?!))<(?P<tag>(?:document|doc|context|source|passage|article|transcript|text|excerpt
          |reference|example|tool[_-](?:result|response|output)s?|search[_-]results?|observation
          |output[_-]?format|format|input|conversation|ticket|email)(?:_?\d+)?)
          (?:[ ](?!class|style|src|type|placeholder|href|on)[^<>\n]*)?>
      | (?P<item>(?:[-*+•]|\d{{1,3}}[.)])[ \t]{{1,3}}(?=\S))
      | (?P<heading>\#{{1,6}}[ \t]+|\*\*(?=[^*\n]+\*\*:?[ \t]*$))?(?:
            (?P<output>(?:{_OUTPUT_WORDS})(?:\*\*)?(?:[ ]?{_COLON}|(?(heading)(?:\*\*)?[ \t]*$|(?!))))
          | (?P<examples>{_EXAMPLE_WORDS}(?:[ ]?\#?\d+)?(?:[ ][^\n:.]{{0,30}})?(?:\*\*)?
              (?:[ ]?[,:\uff1a]|(?(heading)(?:\*\*)?[ \t]*$|(?!))))
          | (?(indent)(?!))(?P<document>(?:{_DOCUMENT_WORDS})
              (?:[ ]?[\#\[(]?[ ]?\w{{1,3}}[\])]?)?(?:[ ]\([^()\n]{{0,60}}\))?
              (?:\*\*)?(?:[ ]?[:\uff1a\]](?:\*\*)?|(?(heading)[^\n]*$|[ \t]*$(?=\n)))
            | \[\d{{1,3}}\][ \t]*(?=\S))
          | (?P<pair>(?:input|output|q|a|question|answer|eingabe|ausgabe)[ ]?\d*[ ]?{_COLON})
          | (?P<label>[^\W\d_][^\n:.!?<>]{{0,30}}{_COLON}(?=[ \t\n]|\Z))
          | (?(heading)(?P<title>[^\n]*)|(?!))
          | (?P<asks>(?:using|based[ ]on|answer|summari[sz]e|write|translate|extract|classify|list|explain|now
              |decide|review|find|identify|please|given|what|which|how|why|who)\b)
        )
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""Pattern for the start of a line. The group that matched names the block that begins there."""
RULES: Final = (
    "fence",
    "quotes",
    "tag",
    "item",
    "output",
    "examples",
    "document",
    "pair",
    "label",
    "title",
    "asks",
)
"""Groups of `LINE` in order of precedence."""
PAIRS: Final = (("input", "output"), ("q", "a"), ("question", "answer"), ("eingabe", "ausgabe"))
"""Labels of the two sides of a demonstration."""
PAIR_LABEL: Final = re.compile(r"^[ \t]*(\w{1,8}) ?\d* ?:", re.MULTILINE)
BARE_LABEL: Final = re.compile(r"(?:output|ausgabe|出力)\s?[:\uff1a]", re.IGNORECASE)
LINE_START: Final = re.compile(r"\s*")
LIST_MARK: Final = re.compile(r"(?:[-*+•–]|\(?(?:\d{1,3}|[A-Za-z])[.)])[ \t]")
BLANK_LINES: Final = re.compile(r"\n[ \t\r]*\n\s*")
CLOSED: Final = re.compile(r"(?:</[\w-]+>|\"{3}|'{3}|`{3})\s*\Z")
"""End of a document that has a closing mark."""
MOST_REQUESTS: Final = 4
"""Most paragraphs after documents that are examined."""
CLOSING_TAG: Final = re.compile(r"</[A-Za-z][\w-]{0,30}>")
NUMBERED_HEADING: Final = re.compile(r"^[ \t]*\#{1,6}[ \t]+([^\W\d_]+)[ ]\#?(?:\d+|[A-Z])\b", re.MULTILINE)
SENTENCE_END: Final = re.compile(r"[.!?](?=[ \t\n]|\Z)|[。\uff01\uff1f]|\n|\Z")
BOUNDARY: Final = re.compile(r"[.!?:][ ]+(?=[A-Za-zÀ-ÿ])|。(?=[^\n])")
"""Places in the middle of a line at which a sentence may begin."""
_ANNOUNCES: Final = re.compile(
    r"(?:[:\uff1a]|\b(?:format|schema|structure|as follows|below|following[^\n]{0,40}))[.]?\s*\Z",
    re.IGNORECASE,
)
LONGEST_ANNOUNCEMENT: Final = 80
"""Characters at the end of a line that are searched for an announcement."""
_SAYS: Final = re.compile(_OUTPUT_SENTENCE, re.VERBOSE | re.IGNORECASE)
_SAYS_JAPANESE: Final = re.compile(
    r"[^\n。]{0,30}?(?:输出|返回|回答|写成|给出)[^\n。]{0,12}?(?:json|ya?ml|xml|html|markdown)"
    r"|[^\n。]{0,30}?用(?:[中英日德法]文|json|ya?ml|xml)[^\n。]{0,6}(?:回答|写|输出)"
    r"|[^\n。]{0,30}?(?:json|一文|箇条書き|形式|表|日本語|英語)[^\n。]{0,10}?(?:で|に)[^\n。]{0,10}?(?:答え|回答|出力|返し|書い)",
    re.IGNORECASE,
)


# Characters of a paragraph in which a question is looked for.
_LONGEST_QUESTION: Final = 2_000
# Characters in which a sentence says that it is about the form; no pattern reaches further.
_LONGEST_SENTENCE: Final = 400


def says_form(text: str, at: int, end: int) -> bool:
    """Return whether a sentence about the form of the answer begins at `at`."""
    # A line may be as long as the prompt, and hold a sentence at every third character.
    end = min(end, at + _LONGEST_SENTENCE)
    if text[at : at + 1] > "\u3000" or not text[at:end].isascii():
        return _SAYS_JAPANESE.match(text, at, end) is not None or _SAYS.match(text, at, end) is not None
    return _SAYS.match(text, at, end) is not None


def announces(line: str) -> bool:
    """Return whether a line announces something that only the following text shows."""
    return _ANNOUNCES.search(line[-LONGEST_ANNOUNCEMENT:]) is not None


@dataclass(frozen=True, slots=True)
class TypedText:
    """Stretch of a text and its type."""

    type: SegmentType
    text: str


_JOINED: Final = frozenset({"text", "list", "output_instructions"})


class _Stretch(NamedTuple):
    type: SegmentType
    start: int
    end: int


@dataclass(slots=True)
class _Open:
    """The block that lines are being added to."""

    type: SegmentType
    start: int
    until: str = ""
    """Closing delimiter; "" if the block ends where another begins."""
    labelled: bool = False
    """True if the block began with its own label, so it continues across blank lines."""
    opens: bool = False
    """True if the stretch announces the next list, fence or paragraph, which then belongs to it."""


def cut(text: str) -> tuple[TypedText, ...]:
    """Return the typed blocks of a text, in order; joined they are the text. () for "".

    Every document and every example with a number is a block of its own, its label included. Blank
    lines stay with the block before them, so that blocks can change places. What no rule names is "text".
    """
    scanner = _Scanner(text)
    at = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        scanner.line(at, end)
        at = end
    return scanner.blocks()


class _Scanner:
    """Reads line by line and notes where blocks begin."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._open = _Open("text", 0)
        self._found: list[tuple[SegmentType, int]] = []
        # True if the line before was blank.
        self._blank = False
        self._closings = {match[0]: match.start() for match in CLOSING_TAG.finditer(text)}
        self._numbered = Counter(match[1].lower() for match in NUMBERED_HEADING.finditer(text))
        labels = Counter(match[1].lower() for match in PAIR_LABEL.finditer(text))
        # One pair may be the open question; two are a demonstration and the question.
        self._pairs: dict[str, int] = {}
        for first, second in PAIRS:
            if labels[first] and labels[second] and labels[first] + labels[second] > len((first, second)):
                self._pairs |= {first: 0, second: 1}

    def blocks(self) -> tuple[TypedText, ...]:
        starts = [*self._found, (self._open.type, self._open.start)]
        bounds = [start for _, start in starts[1:]] + [len(self._text)]
        stretches: list[_Stretch] = []
        for (type_, start), end in zip(starts, bounds, strict=True):
            if end > start:
                self._append(stretches, _Stretch(type_, start, end))
        texts: list[TypedText] = []
        for block in self._freed(stretches):
            texts.append(TypedText(block.type, self._text[block.start : block.end]))
        return tuple(texts)

    def _freed(self, stretches: Sequence[_Stretch]) -> Iterator[_Stretch]:
        """The stretches; paragraphs behind the last of some documents that ask for something are text."""
        for index, block in enumerate(stretches):
            behind = stretches[index + 1] if index + 1 < len(stretches) else None
            if block.type != "document" or (behind is not None and behind.type == "document"):
                yield block
                continue
            start = self._request_start(block, asked=behind is not None and behind.type == "text")
            yield block._replace(end=start)
            if start < block.end:
                yield _Stretch("text", start, block.end)

    def _request_start(self, document: _Stretch, *, asked: bool) -> int:
        """Return where the first paragraph begins that is none of the document's own; its end if all are."""
        text = self._text[document.start : document.end]
        if CLOSED.search(text[-LONGEST_ANNOUNCEMENT:]):
            return document.end
        blanks = [match.end() for match in BLANK_LINES.finditer(text.rstrip())]
        bounds = [*blanks, len(text)]
        for start, end in pairwise(bounds):
            if orders(text[start:end]):
                return document.start + start
        end = len(text)
        for start in [] if asked else blanks[: -MOST_REQUESTS - 1 : -1]:
            if not asks(text[start:end]):
                break
            end = start
        return document.start + end

    def _append(self, stretches: list[_Stretch], new: _Stretch) -> None:
        """Blanks join the block before them; neighbours join unless each is a thing of its own."""
        text = self._text
        if new.type == "list" and "\n" not in text[new.start : new.end].strip():
            new = _Stretch("text", new.start, new.end)  # one item is no list
        last = stretches[-1] if stretches else None
        if last is not None and text[new.start].isspace():
            blanks = LINE_START.match(text, new.start, new.end)
            assert blanks is not None  # the pattern matches anywhere
            line = text.rfind("\n", new.start, blanks.end()) + 1 or new.start
            last = stretches[-1] = _Stretch(last.type, last.start, line)
            new = _Stretch(new.type, line, new.end)
        if new.start == new.end:
            return
        if last is None:
            stretches.append(new)
        elif _blank(text, new) or (new.type == last.type and new.type in _JOINED):
            stretches[-1] = _Stretch(last.type, last.start, new.end)
        elif len(stretches) == 1 and _blank(text, last):
            stretches[0] = _Stretch(new.type, last.start, new.end)
        else:
            stretches.append(new)

    def line(self, at: int, end: int) -> None:
        if self._open.until:
            if self._text.find(self._open.until, at, end) >= 0:
                self._begin("text", end)
                self._blank = False
            return
        if self._text[at:end].isspace():
            self._blank = True
            return
        match = LINE.match(self._text, at, end)
        rule = match and next((name for name in RULES if match[name] is not None), None)
        if rule in {None, "asks", "label"} and says_form(self._text, at, end):
            rule = "says"
        before = self._open
        self._read(rule, match, at, end)
        if rule in {None, "asks", "title"} and self._open.type == "text" and self._leads_in(at, end):
            self._begin("document", end, labelled=True, opens=True)
            self._blank = False
            return
        if self._open is before and rule not in {"output", "says"}:
            self._open.opens = False  # this line is what was announced
        self._blank = False

    def _read(self, rule: str | None, match: re.Match[str] | None, at: int, end: int) -> None:
        if rule == "says":
            self._output(at, end)
        elif match is None or rule is None:
            self._prose(at, end)
        elif rule in {"fence", "quotes"}:
            self._delimiter(rule, match, end)
        elif rule == "tag":
            self._tag(match["tag"], at, end)
        elif rule == "item":
            self._item(at)
        elif rule in {"output", "pair"}:
            self._pair_or_output(match[rule], rule, at, end)
        elif rule == "examples":
            self._begin("examples", at, labelled=True, opens=True)
        elif rule == "document":
            self._begin("document", at, labelled=True, opens=self._text[match.end() : end].isspace())
        else:
            self._plain_label(rule, at, end)

    def _leads_in(self, at: int, end: int) -> bool:
        if not introduces_context(self._text[at:end]):
            return False
        behind = LINE_START.match(self._text, end)
        assert behind is not None  # the pattern matches anywhere
        start = behind.end()
        blank = BLANK_LINES.search(self._text, start, start + _LONGEST_QUESTION)
        paragraph = self._text[start : start + _LONGEST_QUESTION if blank is None else blank.start()]
        return not LIST_MARK.match(paragraph) and not asks(paragraph)

    def _follows(self) -> bool:
        return self._open.opens and self._open.type in {"output_instructions", "examples", "document"}

    def _delimiter(self, rule: str, match: re.Match[str], end: int) -> None:
        mark = match[rule]
        if not self._follows():
            self._begin("code" if rule == "fence" else "document", match.start())
        if self._text.find(mark, match.end(rule), end) < 0:
            self._open.until = mark

    def _item(self, at: int) -> None:
        now = self._open
        if now.type != "list" and not self._follows() and (self._blank or now.type == "text"):
            self._begin("list", at)

    def _pair_or_output(self, label: str, rule: str, at: int, end: int) -> None:
        word = label.strip("#* \t:\uff1a0123456789").lower()
        partner = self._pairs.get(word)
        if self._open.type == "examples" and (partner == 1 or (self._open.labelled and not self._blank)):
            return
        if partner == 0:
            self._begin("examples", at)
        elif rule == "output" and not self._waits(at, end):
            self._output(at, end)
        elif self._open.type != "text" or self._blank:
            self._begin("text", at)

    def _waits(self, at: int, end: int) -> bool:
        bare = BARE_LABEL.fullmatch(self._text[at:end].strip()) is not None
        return bare and not self._text[end : end + 1].strip() and self._text[at] not in "#*"

    def _tag(self, tag: str, at: int, end: int) -> None:
        name = tag.lower().rstrip("0123456789_")
        kind: SegmentType = "document"
        if name == "example":
            kind = "examples"
        elif "format" in name:
            kind = "output_instructions"
        self._begin(kind, at)
        closing = f"</{tag}>"
        if closing in self._text[at:end]:
            self._begin("text", end)
        elif self._closings.get(closing, 0) >= end:
            self._open.until = closing

    def _output(self, at: int, end: int) -> None:
        if self._open.type != "output_instructions":
            self._begin("output_instructions", at)
        self._sentences(self._end_of_output(at, end), end)

    def _end_of_output(self, at: int, end: int) -> int:
        """Return where the text after output instructions continues; `end` if they fill the line."""
        self._open.opens = announces(self._text[max(at, end - LONGEST_ANNOUNCEMENT) : end])
        self._open.labelled = False
        colon = self._text.find(": ", at, end)
        if colon >= 0 and self._text[colon:end].rstrip().endswith("?"):
            # A question on the same line, as behind "Answer in French:", is what a person typed.
            self._begin("text", colon + 2)
            return colon + 2
        stop = SENTENCE_END.search(self._text, at, end)
        while stop is not None and stop.end() < end:
            rest = stop.end()
            while rest < end and self._text[rest] in " \t":
                rest += 1
            if rest >= end or self._text[rest] == "\n":
                break
            if not self._open.opens and not says_form(self._text, rest, end):
                self._begin("text", rest)
                return rest
            stop = SENTENCE_END.search(self._text, rest, end)
        return end

    def _plain_label(self, rule: str, at: int, end: int) -> None:
        if rule == "title":
            word = self._text[at:end].strip("# \t\n*").split(" ")[0].lower()
            kind: SegmentType = "document" if self._numbered[word] > 1 else "text"
            self._begin(kind, at, labelled=kind != "text")
            return
        inside = self._open.type in {"examples", "output_instructions"}
        if inside and self._blank:
            self._begin("text", at)
        if self._open.type == "list" and self._text[at] not in " \t":
            self._begin("text", at)
        self._sentences(at, end)

    def _prose(self, at: int, end: int) -> None:
        now = self._open
        if now.type == "output_instructions":
            # A structure behind a blank line is the form that was announced, even if a list stands between.
            if self._blank and not now.opens and self._text[at] not in "{[":
                self._begin("text", at)
        elif now.type == "list" and (self._blank or self._text[at] not in " \t"):
            self._begin("text", at)
        self._sentences(at, end)

    def _sentences(self, at: int, end: int) -> None:
        """Output instructions that begin in the middle of a line."""
        if self._open.type != "text":
            return
        while (boundary := BOUNDARY.search(self._text, at, end)) is not None:
            at = boundary.end()
            if says_form(self._text, at, end):
                self._begin("output_instructions", at)
                at = self._end_of_output(at, end)

    def _begin(self, kind: SegmentType, at: int, *, labelled: bool = False, opens: bool = False) -> None:
        if at > self._open.start:
            self._found.append((self._open.type, self._open.start))
        self._open = _Open(kind, at, labelled=labelled, opens=opens)


def _blank(text: str, stretch: _Stretch) -> bool:
    return text[stretch.start : stretch.end].isspace()

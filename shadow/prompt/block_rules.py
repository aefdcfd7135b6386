"""The words and marks by which `blocks` recognises what a line begins."""

from __future__ import annotations

import re
from typing import Final

_DOCUMENT_WORDS: Final = (
    r"doc(?:ument)?s?|passages?|source(?:[ ]documents?)?|articles?|excerpts?|snippets?|context|background"
    r"|reference(?:[ ]text)?|knowledge[ ]base|transcript|chat[ ]log|conversation|email|ticket|case[ ]notes?"
    r"|dokumente?|kontext|quellen?|artikel|documentos?|contexto|fuentes?|art[íi]culos?|contexte|extraits?"
    r"|documenti?|contesto|fonti?|documenten|bronn?en?|fontes?|artigos?|文書|資料|文脈|コンテキスト|背景"
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
      | (?:use|follow|adhere[ ]to|stick[ ]to)[ ] [^\n.!?]{{0,40}}? \b(?:format|schema|structure)\b
      | (?:your|the)[ ](?:answer|output|response|reply|result)[ ](?:must|should|has[ ]to)\b
      | (?:cite|quote)[ ] [^\n.!?]{{0,60}}? \b(?:sources?|documents?|brackets?|passages?|numbers?|like|as)\b
      | do[ ]not[ ](?:include|add|write|output|return)[ ]
          (?:any|explanations?|anything|other|additional|extra|text|comments?)\b
      | no[ ](?:explanations?|preamble|markdown|extra[ ]text)\b
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
    rf"""[ \t]*+(?:
        (?P<fence>```|~~~)
      | (?:[^\W\d_][^\n:]{{0,30}}:[ ]*)?(?P<quotes>\"{{3}}|'{{3}})[^\n]*$
      | <(?P<tag>(?:document|doc|context|source|passage|article|transcript|text|excerpt|reference|example
          |output[_-]?format|format|input|conversation|ticket|email)(?:_?\d+)?)(?:[ ][^<>\n]*)?>
      | (?P<item>(?:[-*+•]|\d{{1,3}}[.)])[ \t]+(?=\S))
      | (?P<heading>\#{{1,6}}[ \t]+|\*\*(?=[^*\n]+\*\*:?[ \t]*$))?(?:
            (?P<output>(?:{_OUTPUT_WORDS})(?:\*\*)?(?:[ ]?{_COLON}|(?(heading)(?:\*\*)?[ \t]*$|(?!))))
          | (?P<examples>{_EXAMPLE_WORDS}(?:[ ]?\#?\d+)?(?:[ ][^\n:.]{{0,30}})?(?:\*\*)?
              (?:[ ]?[,:\uff1a]|(?(heading)(?:\*\*)?[ \t]*$|(?!))))
          | (?P<document>(?:{_DOCUMENT_WORDS})(?:[ ]?[\#\[(]?[ ]?\w{{1,3}}[\])]?)?(?:[ ]\([^()\n]{{0,60}}\))?
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
"""What a line begins, by the name of the group that matched."""
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
"""The groups of `LINE` in the order in which they count."""
PAIRS: Final = (("input", "output"), ("q", "a"), ("question", "answer"), ("eingabe", "ausgabe"))
"""Labels that stand before the two sides of a demonstration."""
PAIR_LABEL: Final = re.compile(r"^[ \t]*(\w{1,8}) ?\d* ?:", re.MULTILINE)
CLOSING_TAG: Final = re.compile(r"</[A-Za-z][\w-]{0,30}>")
NUMBERED_HEADING: Final = re.compile(r"^[ \t]*\#{1,6}[ \t]+([^\W\d_]+)[ ]\#?(?:\d+|[A-Z])\b", re.MULTILINE)
SENTENCE_END: Final = re.compile(r"[.!?](?=[ \t\n]|\Z)|[。\uff01\uff1f]|\n|\Z")
BOUNDARY: Final = re.compile(r"[.!?:][ ]+(?=[A-Za-zÀ-ÿ])|。(?=[^\n])")
"""Where a sentence may begin in the middle of a line."""
_ANNOUNCES: Final = re.compile(
    r"(?:[:\uff1a]|\b(?:format|schema|structure|as follows|below|following[^\n]{0,40}))[.]?\s*\Z",
    re.IGNORECASE,
)
LONGEST_ANNOUNCEMENT: Final = 80
"""Characters at the end of a line by which it is seen to announce something."""
_SAYS: Final = re.compile(_OUTPUT_SENTENCE, re.VERBOSE | re.IGNORECASE)
_SAYS_JAPANESE: Final = re.compile(
    r"[^\n。]{0,30}?(?:json|一文|箇条書き|形式|表|日本語|英語)[^\n。]{0,10}?(?:で|に)[^\n。]{0,10}?(?:答え|回答|出力|返し|書い)",
    re.IGNORECASE,
)


def says_form(text: str, at: int, end: int) -> bool:
    """Whether a sentence that says what the answer should look like begins at `at`."""
    if text[at : at + 1] > "\u3000" or not text[at:end].isascii():
        return _SAYS_JAPANESE.match(text, at, end) is not None or _SAYS.match(text, at, end) is not None
    return _SAYS.match(text, at, end) is not None


def announces(line: str) -> bool:
    """Whether a line leaves it to what follows to say what it means."""
    return _ANNOUNCES.search(line[-LONGEST_ANNOUNCEMENT:]) is not None

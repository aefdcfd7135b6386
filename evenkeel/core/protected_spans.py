"""Spans of a text that no perturbation may touch: code, addresses, numbers, identifiers, data, quotations.

One compiled pattern reads a text once from left to right. Runs of plain words are skipped in a single step;
wherever something else begins, the rules are tried in the order of `RULES` and the first that fits takes its
span. A rule that protects too much only costs a place to change; a rule that protects too little lets the
meaning of the question change. The rules therefore protect too much rather than too little.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class ProtectedSpan:
    """A half-open span of a text that must survive as it is."""

    start: int
    end: int
    rule: str
    """Name in `RULES` of the rule that protects the span."""


# Letters and underscore of scripts that put spaces between words, and digits. In the others `\w`
# would take the clause around a number for a part of it.
_A: Final = r"A-Za-z_À-ÖØ-öø-ɏͰ-ϿЀ-ԯ"
_RAISED: Final = "⁰¹²³⁴-⁹⁺⁻₀-₉½¼¾⅓⅔⅛"
_W: Final = rf"\d{_RAISED}{_A}"
_CJK: Final = r"\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef"
MONTH: Final = (
    r"(?:Jan(?:uary|uar|uari|eiro|vier)?|[jJ]anuari|janeiro|janvier|Jänner|[eE]nero|[gG]ennaio"
    r"|Feb(?:ruary|ruar|ruari|rero|braio)?|febrero|febbraio|februari|[fF]évrier|[fF]evereiro"
    r"|Mar(?:ch|s|zo|ço)?|mar(?:s|zo|ço)|März|[mM]aart|[aA]pr(?:il[e]?)|Apr|[aA]vril|[aA]bril"
    r"|May|[mM]ai|[mM]ayo|[mM]aggio|[mM]aio|[mM]ei|June?|[jJ]uni|[jJ]unio|[jJ]uin|[gG]iugno|[jJ]unho"
    r"|July?|[jJ]uli|[jJ]ulio|[jJ]uillet|[lL]uglio|[jJ]ulho|Aug(?:ust)?|[aA]ugustus|[aA]gosto|[aA]oût"
    r"|Sept?(?:ember)?|september|[sS]eptembre|[sS]ep?tiembre|[sS]ettembre|[sS]etembro"
    r"|Oct(?:ober)?|[oO]ktober|[oO]ctobre|[oO]ctubre|[oO]ttobre|[oO]utubro"
    r"|Nov(?:ember)?|november|[nN]ov(?:embre|iembre|embro)"
    r"|Dec(?:ember)?|december|Dezember|[dD]écembre|[dD]iciembre|[dD]icembre|[dD]ezembro)"
)
"""Pattern of the months' names in English, German, Spanish, French, Italian, Dutch and Portuguese; of
abbreviations in English only."""
_OF: Final = r"(?:(?:of|de|del|di|do)[ ])?"
_UNIT: Final = (
    r"(?:[kKMGTP]?i?[Bb](?:ps|it|yte)?s?|[kKMG]?Hz|[kcdmµun]?m[²³]?|[kmµ]?g|[mµc]?[lL]|[mµun]?s|[kM]?Wh?"
    r"|[kM]?V|m?Ah?|°?[CF]|K|px|pt|em|rem|mph|kph|km/h|dpi|fps|rpm|ppm|lbs?|oz|ft"
    r"|USD|EUR|GBP|JPY|CHF|CAD|AUD|BRL|dollars?|[eE]uros?|cents?|reais|pesos?"
    r"|per[ ]?cent|[pP]rozent|procent|pour[ ]cent|por[ ]c(?:i)?ento|per[ ]cento"
    r"|hours?|hrs?|h|minutes?|mins?|seconds?|secs?|days?|weeks?|months?|years?|yrs?"
    r"|Stunden?|Minuten?|Sekunden?|Tage?n?|Wochen?|Monate?n?|Jahre?n?|Uhr"
    r"|horas?|minutos?|segundos?|d[ií]as?|semanas?|mes(?:es)?|a[nñ]os?"
    r"|heures?|secondes?|jours?|semaines?|mois|ans?|années?"
    r"|or[ae]|minut[oi]|second[oi]|giorn[oi]|settiman[ae]|mes[ei]|ann[oi]"
    r"|uur|uren|minu(?:ut|ten)|seconden?|dag(?:en)?|we(?:ek|ken)|maand(?:en)?|jaar|jaren"
    r"|[aApP]\.?[mM]\.?|UTC|GMT|CES?T|[EMP][SD]?T|thousand|million|billion|trillion|k|x"
    r"|Tausend|Millionen|Milliarden|Mio|Mrd|Tsd|mil|mill(?:ón|ones)|mille|millions?|milliards?"
    r"|mila|milion[ei]|miliard[oi]|duizend|miljoen|miljard|milh(?:ão|ões)|bilh(?:ão|ões))"
)

# Words that begin statements, which end in a semicolon.
_STATES: Final = (
    r"return|break|continue|throw|use|using|package|namespace|import|export|goto|delete|yield|await"
)

# Rules that may begin with a plain word.
_BEFORE_WORDS: Final[dict[str, str]] = {
    # Unfenced code, one line at a time: what ends like a statement or begins like one. A line in which
    # a fence or JSON begins is left to those rules.
    "code_line": rf"""
        ^[ \t]*+ (?! [`~{{\[] | [^\n]*(?:```|~~~) ) (?:
            (?:async[ ])?(?:def|class|if|elif|else|for|while|try|except|finally|with|switch|do|match|case)\b
              [^\n]* : [ \t]* (?:\#[^\n]*)? $
          | [^\n{{}}]* [{_W})>] [ \t]* \{{ [ \t]* $ (?!\s*["}}\[{{])
          | (?=[^\n]*;[ \t]*$) [^\n]*? [=()\[\]<>] [^\n]*
          | import [ ] [{_W}.*{{}}, ]+ ;? $  |  from [ ] [{_W}.]++ [ ] import [ ] [^\n]*
          | [{_W}.\[\]"']++ [ \t]* [-+*/|&%:]? = [ \t]* (?: (?=[{{\[]) | [^\s=] [^\n]* )
          | @[{_W}.]++ (?:\([^\n]*)? $
          | \.? [{_W}.]++ \( [^\n]* \) [ \t]* (?:\#[^\n]*|//[^\n]*)? $
          | \.? [{_W}.]*+ \( $  |  [^\n]* [ ] \\ [ \t]* $
          | (?:{_STATES})\b [^\n]* ; [ \t]* (?://[^\n]*)? $  |  [\w-]+ [ ]? : [ ]? [^\n:]+ ; [ \t]* $
          | (?:puts|print|echo|require|import) [ ]+ ["'$@] [^\n]*
          | export[ ]default[ ] [^\n]*  |  package[ ] [{_W}.]+ $
          | def [ ] [{_W}.?!]+ (?:\([^\n]*\))? $
          | \#(?:define|undef|if|ifdef|ifndef|endif|pragma)\b [^\n]*
          | (?:PS[ ])? [A-Z]:\\ [^\n>]* > [^\n]*  |  [{_W}.\-]++ @ [{_W}.\-]++ : [^\n$\#]* [$\#] [ ] [^\n]*
          | (?:\$|>>>|\#include|\#!) [ \t]* (?=[^\d\s]) [^\n]*
          | at [ ] [{_W}.$<>]++ \( [^\n]*  |  File [ ] "[^\n]*  |  Traceback [ ] \( [^\n]*
          | [{_W}.]*? (?:Error|Exception|Warning) : [^\n]*
        )""",
    # Between two ideographs a comma parts clauses, since no blank follows it.
    "table": rf"""
        ^[ \t]*+ \| [^\n]* \| [ \t]* $
      | ^ [^,;\n]*+ (?>(?: (?: (?<![{_CJK}])[,;](?=[^\s,;]) | [,;](?=[^\s,;{_CJK}]) ) [^,;\n]*+ ){{2,}}) $""",
    # Lines that quote a mail or a document.
    "quoted": r"^[ \t]*+ > [^\n]*",
    # One of the answers to choose from, which has to be repeated. Like list items, one alone is none.
    "option": r"""
        ^[ \t]*+ \(?[A-Ha-h][.)]\.? [ \t]+ [^\n]* (?= \n[ \t]*\(?[B-Hb-h][.)]\.?[ \t] )
      | (?<=\n) [ \t]*+ \(?[B-Hb-h][.)]\.? [ \t]+ [^\n]*""",
    # List markers, option letters, headings, rules.
    "marker": r"""
        ^[ \t]*+ (?:
            (?: \#{1,6} | [-*+•·▪●○■◆‣◦–—] | \d{1,3}[.)] | \(?[A-Za-z][.)] ) [ \t]+ (?: \[[ xX]\] [ \t]+ )?
          | [-*_=]{3,} [ \t]* $
          | [・●○■□◆◇] [ \t]*
        )""",
    # Who speaks, or what a field is called: at most two words before a colon at the start of a line.
    "label": rf"^[ \t]*+ [{_W}] [{_W}.\-]{{0,30}}+ (?>(?:[ ][{_W}.\-]{{1,30}})?) : (?=[ \t]|$)",
    "date": rf"""
        (?=[{_A}]{{3,10}}\.?[ ](?:d[eio]l?[ ]|of[ ])?\d)
        {MONTH} \.? [ ] {_OF} \d{{1,4}} (?:st|nd|rd|th)? (?:,?[ ]\d{{4}}\b)?
      | \d{{1,2}} (?:st|nd|rd|th|er|[.º°])? [ ] {_OF} {MONTH}\b \.? (?:,?[ ]{_OF}\d{{4}}\b)?""",
}

# A word without anything odd in or after it: no further rule can begin there.
_PLAIN_WORD: Final = r"""(?: [A-Z]?[a-zß-öø-ÿ]++ | [A-Z]++ ) (?= [\s,;!?)'’"”] | [.:](?:\s|\Z) | \Z )"""

# Arguments of a call, which may hold two further levels of calls.
_INNER: Final = r"[^()\n]{1,200}+"
_ARGUMENTS: Final = rf"\((?>(?:{_INNER}|\((?>(?:{_INNER}|\((?:{_INNER})?\)){{0,40}})\)){{0,40}})\)"

_AFTER_WORDS: Final[dict[str, str]] = {
    # Fences without an end run to the end of the text.
    "code": r"```[\s\S]*?(?:```|\Z) | ~~~[\s\S]*?(?:~~~|\Z) | ``[^\n]{1,500}?`` | `[^`\n]{1,500}`",
    "math": r"""
        \$\$[^$]{1,2000}\$\$ | \\\((?:[^\\]|\\(?!\()){1,500}?\\\) | \\\[(?:[^\\]|\\(?!\[)){1,2000}?\\\]
      | \\[A-Za-z]++(?:\{[^{}\n]*\})* | (?<![0-9A-Za-z])\$[^\s$\d](?:[^$\n]{0,99}[^\s$])?\$(?!\d)""",
    "url": rf"""
        (?: [A-Za-z][A-Za-z0-9+.\-]{{1,15}}+:// | www\. | mailto: | tel: )
        [^\s<>"“”`{_CJK}]* [^\s<>"“”`{_CJK}.,;:!?'’)\]}}*]""",
    "email": rf"[{_W}.+%\-]{{1,64}}+ @ [{_W}\-]++ (?:\.[{_W}\-]++)*",
    "handle": rf"[@\#!] [{_W}] [{_W}\-]*",
    # A short leaf element goes with its value; longer content is text like any other. Where no blanks part
    # the words, a dozen characters are short.
    "markup": rf"""
        <(?P<tag>[A-Za-z][\w:.\-]{{0,60}})(?:\s[^<>\n]{{0,200}})?>
          (?: [ ]?(?>(?:[^<>\s{_CJK}]++[ ]?){{1,4}}) | [^<>\s]{{1,12}}+ ) </(?P=tag)>
      | </?[A-Za-z!?][^<>\n]{{0,300}}>
      | <!--(?:[^<]|<(?!!--)){{0,2000}}?--> | &(?:\#\w{{1,7}}|[A-Za-z]{{2,10}});""",
    "placeholder": r"""
        \{\{[^{}\n]{1,80}\}\} | \$\{[^{}\n]{1,80}\} | \{%[^{}\n]{1,80}%\} | \{[A-Za-z_][\w.\-]{0,60}\}
      | %\(\w{1,60}\)[sdifr] | %[sdifr]\b | \$[A-Z_]{2,60}\b
      | !?\[(?!["{\[])[^\[\]\n]{1,120}\](?:\([^()\s]*\))? | 【[^【】\n]{1,120}】""",
    # Only where a JSON reader agrees, see `_json_end`.
    "json": r"[{\[](?=\s*[\"{\[\]}\d\-])",
    "object": r"\{(?=[^{}\n:=]{0,500}[:=])[^{}\n]{1,1000}\}",
    # Runs of three and more delimit documents; what stands between is text.
    "delimiter": r"\"{3,} | '{3,}",
    "quotation": rf"""
        (?<![{_W}]) " (?:[^"\n]|\n(?![ \t]*\n)){{1,1000}} "
      | “[^“”]{{1,1000}}” | «[^«»]{{1,1000}}» | „[^„“”"]{{1,1000}}[“”"] | »[^«»\n]{{1,1000}}«
      | \u2039[^\u2039\u203a\n]{{1,300}}\u203a | \u201a[^\u201a\u2018’\n]{{1,300}}[\u2018’]
      | 「[^「」]{{1,500}}」 | 『[^『』]{{1,500}}』
      | (?<![{_W}]) ['\u2018] (?:[^'\u2018’\n]|(?<=[{_W}])['’](?=[{_W}])){{1,300}} ['’] (?![{_W}])""",
    "path": rf"""
        (?:[A-Za-z]:\\|\\\\) [^\s"<>|]+
      | (?<![{_W}]) (?:~|\.{{1,2}})? / [{_W}.@%+~\-]++ (?: / [{_W}.@%+~\-]*+ )*
      | [{_W}.\-]{{1,128}}+ (?: / [{_W}.@\-]{{0,128}}[{_W}] )+ /?""",
    "address": r"(?<![0-9A-Za-z:]) (?:[0-9A-Fa-f]{0,4}:){2,7} (?:[0-9A-Fa-f]{1,4}|(?<=::)) (?![0-9A-Za-z:])",
    "setting": rf"[{_W}.\-]{{1,128}}+ = [^\s,;]+",
    # Any token with a digit in it: amounts, dates, times, versions, addresses, hashes, ticket numbers.
    "number": rf"""
        (?: [-+−±]?(?:R|US|CA?|AU?|NZ|HK)?[$€£¥₹][ \u00a0]?(?=\d) | [-+−±.](?=\d) )?
        (?= [{_A}.,:/'’+\-@]{{0,127}}+ [\d{_RAISED}] )
        (?: \d{{1,3}} (?:[ \u00a0\u202f]\d{{3}})+ (?![{_W}]) | [{_W}]++ )
        (?: [-./:,+@'’–×\u066b\u066c]{{1,2}} [{_W}]++ )*
        (?: [ \u00a0\u202f]?{_UNIT} (?![{_W}]) | [ \u00a0\u202f]?[%‰°ºª€£¥$"′″](?![{_W}])
          | [年月日時分秒円元個人歳台本枚回階号週%\uff05] )?""",
    "call": rf"""
        [{_W}.]{{1,128}}+ (?>(?: (?:{_ARGUMENTS}|\[[^\[\]\n]{{1,80}}\]) (?>(?: \.[{_W}]++ )*) )+)""",
    "identifier": rf"""
        [0-9A-Za-z]*+_[{_W}]+ (?: [.\-][{_W}]++ )*
      | [A-Z]*+[a-z]++[A-Z][{_W}]*
      | [A-Z]{{2,}}+[a-z][{_W}]*
      | [{_W}]++ (?: \.[{_W}]++ )+ \.?
      | \.[A-Za-z][{_W}]* | [A-Za-z]\+\+ | [CFJ]\# | [{_W}]++ (?: \+[{_W}]++ )+
      | [a-z]++ (?: -[a-z]++ ){{3,}}
      | (?<![{_W}\-]) --?[A-Za-z][\w\-]*(?:=\S+)?""",
}


# Blanks inside a line, then plain words and the marks after them, many at a time. Not at the start
# of a line, where line rules begin, and no word before a digit, which may belong to a date.
_SKIP: Final = (
    r"(?>(?: (?<=[^\n]) [ \t]++ )?)"
    r" (?>(?: (?<=[ \t(]) (?: [A-Z]?[a-zß-öø-ÿ]++ (?>(?:['’-][a-zß-öø-ÿ]++){0,2}) | [A-Z]++ )"
    r" [,.;:!?)]{0,2}+ [ \t]++ (?!(?:d[eio]l?[ ])?\d) )*)"
)


def _named(rules: dict[str, str]) -> str:
    return "|".join(f"(?P<{name}>{pattern})" for name, pattern in rules.items())


_SCANNER: Final = re.compile(
    rf"{_SKIP} (?: {_named(_BEFORE_WORDS)} | {_PLAIN_WORD} | {_named(_AFTER_WORDS)}"
    rf" | [{_W}]+ | [\u3040-\u30ff\u4e00-\u9fff]+ | [ \t]+ | [^{_W}] | \Z )",
    re.VERBOSE | re.MULTILINE,
)
_OBJECT: Final = re.compile(_AFTER_WORDS["object"], re.VERBOSE)
_READER: Final = json.JSONDecoder(parse_int=float)
# Number of brackets that open no JSON after which a text is no longer tried: each attempt may read far ahead.
_FAILED_READS: Final = 64


@lru_cache(maxsize=16)  # several kinds and the rewriter's gate ask about the same text
def protected_spans(text: str) -> tuple[ProtectedSpan, ...]:
    """Return the spans of a text that must survive, in order and without overlap.

    Linear in the length of the text.
    """
    spans: list[ProtectedSpan] = []
    failed = 0
    at = 0
    while at < len(text):
        match = _SCANNER.match(text, at)
        assert match is not None  # the last alternatives take any character, or the end
        rule = match.lastgroup
        at = match.end()
        if rule is None:
            continue
        start = match.start(rule)
        if rule == "json":
            end = _json_end(text, start) if failed < _FAILED_READS else None
            if end is None:
                failed += 1
                # It may be an object of an application's own language, which is nearly JSON.
                lenient = _OBJECT.match(text, start)
                if lenient is None:
                    continue
                rule, end = "object", lenient.end()
            at = end
        elif rule == "code_line":
            # Indented lines below a line of code belong to it, whatever they look like.
            below = _INDENTED.match(text, at)
            at = at if below is None else below.end()
        spans.append(ProtectedSpan(start, at, rule))
    # Of those that begin at one place the longest comes first: what lies within it is dropped.
    spans += [*_data(text, spans), *_spaced(text)]
    return tuple(_apart(sorted(spans, key=lambda span: (span.start, -span.end))))


_NUMERIC: Final = r"(?=[^\s\d]{0,40}\d)[^\s]{1,60}+"
_SIGN: Final = r"[-+*/=×÷·<>≤≥≠±^|&%?°′″#()]{1,3}"
_COMMAND: Final = (
    r"git|npm|npx|pip3?|docker|kubectl|sudo|apt|apt-get|yum|brew|yarn|pnpm|curl|wget|ssh|scp|rsync|chmod|chown|mkdir"
    r"|rmdir|rm|mv|cp|ls|cd|grep|sed|awk|systemctl|psql|mysql|sqlite3|redis-cli|terraform|helm|aws|gcloud|conda"
    r"|cargo|rustc|gcc|gradle|gradlew|mvn|dotnet|poetry|tar|unzip|nslookup|ipconfig|ifconfig|journalctl|crontab|kinit|openssl"
)
_ALSO_A_WORD: Final = (
    r"make|go|cat|find|kill|sort|cut|head|tail|touch|node|python3?|java|php|ruby|perl|echo|export|env|man|top"
    r"|ping"
)
# Words that go on with the sentence around a command.
_NO_ARGUMENT: Final = (
    r"(?:and|or|but|then|to|is|it|the|on|in|for|with|when|while|does|do|fails?|always|still|gives?|says|not|from|at|as"
    r"|und|oder|dann|ist|nicht|et|ou|puis|ne|est|y|o|luego|no|e|poi|non|en|of|als|niet|ou|não)(?![\w/.=-])|[(\"“]"
)
_SQL: Final = (
    r"WITH[ ]+\w+[ ]+AS[ ]*\(|SELECT\b[^;?!]{0,400}?\bFROM"
    r"|INSERT[ ]+INTO|UPDATE[ ]+[\w.\"`]+[ ]+SET|DELETE[ ]+FROM|TRUNCATE[ ]+TABLE"
    r"|(?:CREATE|ALTER|DROP)[ ]+(?:TABLE|INDEX|VIEW|DATABASE)|WHERE|GROUP[ ]BY|ORDER[ ]BY"
    r"|(?:INNER|LEFT|RIGHT)[ ]JOIN"
    r"|select\s+(?:\*|[\w.()*]+(?:\s*,\s*[\w.()*]+){0,20})\s+from[ ]+\w+"
)
# Beginnings of lines that go on with a statement of SQL.
_CLAUSE: Final = (
    r"FROM|WHERE|AND|OR|(?:INNER |LEFT |RIGHT |FULL |CROSS )?(?:OUTER )?JOIN|ON|GROUP BY|ORDER BY|HAVING"
    r"|LIMIT|OFFSET|UNION|SET|VALUES|SELECT|RETURNING"
    r"|from|where|(?:inner |left |right )?join|on|group by|order by|having|limit"
)
# A line with a tab, or with several blanks that are not those behind a sentence or a label.
_ROW: Final = r"(?=[^\n]*(?:\S[ ]*+\t[ \t]*+|[^\s.!?:][ ]{2,}+)\S)[^\n]*+"
# A list of one or two words each.
_WORD: Final = r"[\w'’-]{1,40}"
_OR: Final = r"(?:and|or|und|oder|y|o|et|ou|e|en|of)"
_ITEM: Final = rf"{_WORD}(?:[ ](?!{_OR}\b){_WORD})?"
_LIST: Final = rf"{_ITEM}(?:(?:[ ]?[,;/|][ ]?(?:{_OR}[ ])?|[ ]{_OR}[ ]){_ITEM}){{1,20}}"
# Words that announce the keys of a record, or the labels of which an answer has to name one.
_NAMES: Final = (
    r"keys?|fields?|columns?|properties|attributes|headers|labels?|categories|classes|tags|options|one[ ]of"
    r"|Schlüsseln?|Feldern?|Spalten|Kategorien|claves|campos|columnas|categorías|etiquetas"
    r"|clés|champs|colonnes|catégories|étiquettes|chiavi|campi|colonne|categorie|etichette"
    r"|sleutels|velden|kolommen|categorieën|chaves|colunas|categorias"
)
_CLASSIFY: Final = (
    r"(?:classif\w{1,9}|categori[sz]\w{1,6}|label\w{0,4}|rate|tag|mark|klassifizier\w{1,4}|clasific\w{1,4})"
    r"\b[^.\n?!]{0,60}?[ ](?:as|into|als|in|como|en|comme|come|em)[ ](?:either[ ])?"
)
_ANSWER: Final = (
    r"(?:answer|reply|respond|output|return|write|say)(?:[ ](?:only|just|simply|with|as|either)){0,3}[ ]"
)
# Answers to choose from on one line: "(a) tibia (b) femur", "A. tibia B. femur C. humerus".
_INLINE_OPTIONS: Final = (
    r"(?<!\w)\(?a\)[ ][^\n]{1,300}?[ ]\(?b\)[ ][^\n]+"
    r"|(?<!\w)A[.:][ ][^\n]{1,300}?[ ]B[.:][ ][^\n]{1,300}?[ ]C[.:][ ][^\n]+"
)
# The rest of a sentence, or up to where a person goes on: "Connection refused, what now?"
_SENTENCE: Final = (
    r"[^\n]*?(?=[.!?](?:\s|\Z)|,\s|$"
    r"|[ ](?:when|since|but|after|and|although|wenn|seit|aber|nachdem|und)[ ](?:[iI]|we|my|it|ich|wir)\b)"
)
# Texts that keep the blanks between their parts.
_SPACED: Final[dict[str, re.Pattern[str]]] = {
    "sql": re.compile(
        rf"\b(?:{_SQL})(?!\w)[^\n;?!]*+(?>(?:\n(?:[ \t]++\S|[(),]|(?:{_CLAUSE})\b)[^\n;?!]*+)*);?"
    ),
    "command": re.compile(
        rf"(?<![\w./-])(?:(?:{_COMMAND})(?![\w/-])(?=[ ][^\s])"
        rf"|(?:{_ALSO_A_WORD})(?=[ ](?:--?[A-Za-z]|\.[ ]-|[\w-]{{0,40}}[./]\w)))"
        rf"(?>(?:[ ]+(?!{_NO_ARGUMENT})[^\s,;!?]{{1,200}}+(?<![^\s.][.:])){{1,6}})"
        rf"|(?<!\S)--[a-z][\w-]*[ ](?!{_NO_ARGUMENT})[\w./:-]{{1,100}}"
    ),
    # What a program says, without quotation marks.
    "error": re.compile(
        rf"(?<![\w-])(?:[\w.]*(?:Error|Exception|Warning)|error|ERROR|FATAL|fatal|panic)"
        rf"(?:[ ]?\[?\w*\d\w*\]?)?(?:[ ]\([\w ]+\))?:[ ]{_SENTENCE}"
        rf"|^[\w./-]+(?:\[\d+\])?:[ ](?:\*\*\*|[^\n:]+:[ ](?:command|no|No|permission|cannot)\b)[^\n]*"
        rf"|(?<!\w)(?:error|exception|Fehler(?:meldung)?|erreur|errore|fout(?:melding)?)"
        rf"(?:[ ](?:message|saying|says))*:?[ ](?=[A-Z][a-z]){_SENTENCE}"
        rf"|(?<!\w)(?:says|throws|prints)[ ](?=[A-Z][a-z]+[ ]){_SENTENCE}",
        re.MULTILINE,
    ),
    # Lines in columns, which tabs or several blanks part. One line alone may have been typed so by mistake.
    "columns": re.compile(rf"^{_ROW}(?:\n{_ROW})+$", re.MULTILINE),
    "spaced": re.compile(
        # Figures in groups, with signs between them: accounts, telephone numbers, sums, cron's fields.
        rf"(?<!\S)(?>(?:(?:[A-Z]{{1,4}}|{_SIGN})[ \t\u00a0]+){{0,3}})(?:{_NUMERIC}|\*)"
        rf"(?>(?:[ \t\u00a0]+(?:{_NUMERIC}|{_SIGN}(?!\S)|[A-Z]{{1,4}}(?!\S)|[xX](?!\S)))+)"
    ),
    "formula": re.compile(
        r"(?<!\S)[\w()²³.]{1,40}+"
        r"(?>(?:[ ](?:[+*/=×÷^<>≤≥≠|]|[=!<>:+*/-]=|&&|\|\||=>|->)[ ][\w()²³.]{1,40}+)+)"
        r"|(?<![\w'’-])(?:[^\W_]|\w{0,20}_\w{0,20})(?>(?:[ ][-–−][ ][\w()²³.]{1,40}+)+)"
        r"|(?<![\w'’])[\w()²³.]{1,40}+[ ][-–−][ ][^\W_](?![\w'’])"
    ),
    # Spelled otherwise, these would ask for an answer with another key or label.
    "choices": re.compile(
        rf"\({_LIST}\) | (?<=:[ ]){_LIST}(?=\?) | {_INLINE_OPTIONS}"
        rf" | \b(?:{_NAMES})(?:[ ](?:called|named|are|is|namens))?[ ]?:?[ ]({_LIST})"
        rf"| \b{_CLASSIFY}({_LIST})"
        rf"| \b{_ANSWER}({_WORD}(?:(?:[ ]?[,/|][ ]?(?:or[ ])?|[ ]or[ ]){_WORD}){{1,20}})",
        re.VERBOSE | re.IGNORECASE,
    ),
    "ideograph": re.compile(
        r"[〇零一二三四五六七八九十百千万萬億兆]{2,}+[年月日時分秒円元個人歳台本枚回階号週番割%]"
        r"|[〇零一二三四五六七八九十百千万萬億兆]{3,}+"
    ),
}
RULES: Final[tuple[str, ...]] = (*_BEFORE_WORDS, *_AFTER_WORDS, "data", *_SPACED)
"""Names of the rules, in the order in which they are tried."""
# Lines that go on with the code above them: indented ones, also behind blank lines.
_INDENTED: Final = re.compile(r"(?>(?:\n(?>(?:[ \t\r]*+\n)*)[ \t]++\S[^\n]*+)*)")


# A line as code, markup, settings, logs and patches have it, besides what `code_line` knows: indented, ends
# or begins with a mark of these, or says when something happened.
_DATA_LINE: Final = re.compile(
    rf"""
        [ \t]++ (?! [-*+•] [ ] (?![\w-]+:(?:[ ]|$)) | \d{{1,3}}[.)] | \(?[A-Za-z][.)][ ] | > ) \S
      | [ ](?>(?:[ ]{{4}})*) \* [ ]
      | </?[A-Za-z!?] | {{[{{%] | /[/*] | @@ | \+{{3}}[ ] | -{{3}}[ ]\w | \[\w+\][ ]
      | [a-z][\w.-]*+ : (?: [ ] \S+ )? [ \t]* $
        # Nothing is indented under the fields of a ticket, whose words are a person's.
        (?= (?: \n [a-z][\w.-]*+ : (?: [ ] \S+ )? [ \t]* $ ){{0,20}} \n [ \t] )
      | [^\n]{{0,20}}? \d\d:\d\d: | \d{{1,3}} (?:\.\d{{1,3}}){{3}}
      | (?: diff[ ]--git | index[ ][0-9a-f]+\.\. | Caused[ ]by: | Exception[ ]in[ ] | import[ ]{{ )
      | class[ ]\w+[ ][<({{]
      | (?: select[ ] [^\n]*[,(*] | (?:{_CLAUSE})\b [^\n]* (?: [.=<>(] | [ ]desc$ | \d$ ) )
      | \w+[ ]ERR! | [\w./-]++ : \d+ : | [A-Z]{{4,}} (?: : | [ ]\( )
      | [^\n=]{{1,60}}[ ]:?=[ ]\S | (?: [^\n=]*\w=\w ){{2}}
      | [^\n]*? (?: ["')][ ]{{ | [}}\\] | /?> | \w\([^()\n]*\) ) [ \t]* $
    """,
    re.VERBOSE | re.MULTILINE,
)
_PARAGRAPH: Final = re.compile(r"(?>(?:[ \t\r]*+\S[^\n]*+\n?)+)")
_FEWEST_DATA_LINES: Final = 2


def _data(text: str, spans: Iterable[ProtectedSpan]) -> Iterator[ProtectedSpan]:
    """Yield the stretches of paragraphs from the first to the last line of data, if most lines are such."""
    coded: set[int] = set()
    for span in spans:
        if span.rule == "code_line":
            at = span.start
            while at < span.end:
                coded.add(at)
                at = text.find("\n", at, span.end) + 1 or span.end
    for paragraph in _PARAGRAPH.finditer(text):
        at = paragraph.start()
        bounds: list[tuple[int, int, int]] = []
        for number, line in enumerate(paragraph[0].splitlines(keepends=True)):
            if at in coded or _DATA_LINE.match(text, at):
                bounds.append((number, at, at + len(line.rstrip("\r\n"))))
            at += len(line)
        if len(bounds) >= _FEWEST_DATA_LINES and 2 * len(bounds) > bounds[-1][0] - bounds[0][0] + 1:
            below = _INDENTED.match(text, bounds[-1][2])
            yield ProtectedSpan(bounds[0][1], bounds[-1][2] if below is None else below.end(), "data")


def _spaced(text: str) -> Iterator[ProtectedSpan]:
    for rule, pattern in _SPACED.items():
        for match in pattern.finditer(text):
            # A group is what has to stay, without the words that announce it.
            kept = match.lastindex or 0
            end = match.start() + len(match[0].rstrip(".,;:!?"))
            yield ProtectedSpan(match.start(kept), end, rule)


def _apart(spans: Iterable[ProtectedSpan]) -> Iterator[ProtectedSpan]:
    # Of two that overlap the later one loses its beginning.
    end = 0
    for span in spans:
        if span.end > end:
            yield span if span.start >= end else ProtectedSpan(end, span.end, span.rule)
            end = span.end


def _json_end(text: str, start: int) -> int | None:
    """Return the end of the JSON value that begins at `start`; None if no value begins there."""
    try:
        return _READER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None

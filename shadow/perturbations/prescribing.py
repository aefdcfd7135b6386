"""Sentences that say in which language to answer, or that ask for a translation."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class _Wording(NamedTuple):
    """How a language says it, as patterns."""

    what: str
    """What is to be done."""
    into: str
    """In or into which language."""


_ENGLISH: Final = _Wording(
    r"answer|respond|reply|write|written|speak|output|response|summar\w+|translat\w+",
    r"(?:in|into|to|from)\s+(?:\w+\s+)?"
    r"(?:english|spanish|french|german|dutch|italian|japanese|portuguese|chinese|korean|russian|arabic|polish"
    r"|turkish|swedish|danish|norwegian|finnish|hindi|latin|greek|hebrew|czech|ukrainian|vietnamese|thai)",
)
_OTHERS: Final = (
    _Wording(
        r"(?:be)?antwort\w*|schreib\w*|formulier\w*|verfass\w*|übersetz\w*",
        r"(?:auf|in|ins)\s+"
        r"(?:deutsch|englisch|französisch|spanisch|italienisch|niederländisch|japanisch|portugiesisch"
        r"|chinesisch|russisch|polnisch|türkisch)(?:e[rsn]?)?",
    ),
    _Wording(
        r"respond\w*|contest\w*|escrib\w*|redact\w*|tradu(?:c|zc)\w*",
        r"(?:en|al)\s+"
        r"(?:español|castellano|inglés|francés|alemán|italiano|neerlandés|japonés|portugués|chino|ruso)",
    ),
    _Wording(
        r"répon\w*|écri\w*|rédig\w*|tradui\w*",
        r"(?:en\s+|vers\s+l(?:e\s+|['’]))"
        r"(?:français|anglais|allemand|espagnol|italien|néerlandais|japonais|portugais|chinois|russe)",
    ),
    _Wording(
        r"rispond\w*|rispost\w*|scriv\w*|tradu[cr]\w*",
        r"in\s+(?:lingua\s+)?"
        r"(?:italian[oa]|inglese|tedesc[oa]|francese|spagnol[oa]|olandese|giapponese|portoghese|cinese|russ[oa])",
    ),
    _Wording(
        r"(?:be)?antwoord\w*|schrijf\w*|schrijven|vertaal\w*|vertalen",
        r"(?:in|naar)\s+(?:het\s+)?"
        r"(?:nederlands|engels|duits|frans|spaans|italiaans|japans|portugees|chinees|russisch)",
    ),
    _Wording(
        r"respond\w*|escrev\w*|redij\w*|tradu[zç]\w*",
        r"(?:em|para)\s+(?:o\s+)?"
        r"(?:português|inglês|alemão|francês|espanhol|italiano|holandês|japonês|chinês|russo)",
    ),
)
_JAPANESE: Final = (
    r"(?:[日英独仏中韓][国本]?|ドイツ|フランス|スペイン|イタリア|オランダ|ポルトガル|ロシア)語[でに]"
    r"[^。\n]{0,20}(?:答え|回答|返答|書|訳|出力|要約)"
)
_ORDERS: Final = (
    rf"\b(?:{_ENGLISH.what})\b[^.!?\n]{{0,60}}\b{_ENGLISH.into}\b",
    # Verbs may stand last.
    *(rf"\b(?:{one.what})\b[^.!?\n]{{0,60}}\b{one.into}\b" for one in _OTHERS),
    *(rf"\b{one.into}\b[^.!?\n]{{0,30}}\b(?:{one.what})\b" for one in _OTHERS),
    _JAPANESE,
)
_PRESCRIBED: Final = re.compile("|".join(_ORDERS), re.IGNORECASE)
_NAMES_BEGIN: Final = (
    *("engl", "ingl", "angl", "engels", "german", "deutsch", "alem", "allem", "tedesc", "duits"),
    *("fren", "franz", "franc", "franç", "frans", "span", "españ", "espan", "espagn", "spaans", "spagn"),
    *("castell", "dutch", "niederl", "neerl", "néerl", "oland", "holand", "nederl", "ital", "japan", "japon"),
    *("giapp", "portug", "portog", "chin", "cine", "kore", "russ", "ruso", "arab", "polish", "poln", "turk"),
    *("türk", "swed", "danish", "norweg", "finn", "hindi", "latin", "greek", "hebrew", "czech", "ukrain"),
    *("vietnam", "thai", "語"),
)
"""Looked for first, because the pattern is slow and most prompts name no language."""


def prescribes(text: str) -> bool:
    """Whether a text says in which language to write, or asks for a translation.

    Wordings of English, German, Spanish, French, Italian, Dutch, Portuguese and Japanese are known.
    """
    lowered = text.lower()
    return any(name in lowered for name in _NAMES_BEGIN) and _PRESCRIBED.search(text) is not None

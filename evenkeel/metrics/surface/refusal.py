"""Detection of answers that decline to answer, in nine languages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar, Final

from evenkeel.core.verdict import Failure
from evenkeel.metrics.identity import is_empty
from evenkeel.metrics.protocol import About

if TYPE_CHECKING:
    from evenkeel.core.pair import Answer, Pair


def _any(listed: str) -> str:
    """Return a pattern for any of the phrases, which are separated by bars on any number of lines."""
    phrases = (" ".join(phrase.split()) for phrase in listed.split("|"))
    return "(?:" + "|".join(phrase for phrase in phrases if phrase) + ")"


OPENINGS: Final = _any("""
    but | however | unfortunately | sorry | regrettably | i'm afraid | i am afraid | i'm sorry | i am sorry
    | that | as an ai | as an ai language model | aber | leider | daher | dass | pero | lamentablemente
    | lo siento | que | désolée? | mais | malheureusement | ma | purtroppo | mi dispiace | che | helaas
    | maar | dat | mas | infelizmente | desculpe | lamento
""")
"""Words that may stand before a refusal within its clause."""

_REST: Final = r"[^.!?\n]{0,60}"
"""Pattern of the text that may stand within a clause between the words that matter."""

_EN = (
    _any("i | we")
    + "(?: really| simply| just| also)? ?"
    + _any("""can't | cannot | can not | won't | will not | am unable to | 'm unable to | am not able to
        | 'm not able to | am not allowed to | am not permitted to | 'm not allowed to | 'm not permitted to
        | are unable to | are not able to""")
    + "(?: [a-z]+ly)? "
    + _any("""help | assist | comply | fulfil | provide | answer | respond to | support | do that | do this
        | share | discuss | create | generate | produce | write | engage | participate | continue with
        | process this | complete this""")
    + "|i (?:must|have to|need to|will have to|respectfully) decline"
    + "|(?:this|that)(?: is|'s) (?:not something i can|something i (?:can't|cannot|won't)) (?:help|do|assist)"
    + "|(?:this|your) request (?:violates|goes against)"
)
_DE = (
    r"(?:\w+ ){0,4}"
    + _any("kann ich | ich kann | darf ich | ich darf | wir können | können wir")
    + rf"\b{_REST}\b(?:nicht|keine\w*)\b{_REST}"
    + _any("""helfen | behilflich | unterstützen | beantworten | erfüllen | nachkommen | entsprechen
        | bereitstellen | verfassen | weitergeben | auskunft | hilfe | anleitung""")
    + "|ich bin (?:leider )?nicht (?:in der lage|befugt|berechtigt)"
    + rf"|(?:ich muss|ich möchte|muss ich){_REST}ablehnen"
)
_ES = (
    "(?:yo )?no (?:te |le |os |les )?(?:puedo|podemos|podré) "
    + _any("""ayudar | asist | cumplir | proporcionar | responder | ofrecer | continuar | hacer es | generar
        | crear | escribir | redactar | compartir | atender | facilitar""")
    + "|no (?:me es posible|soy capaz de|estoy en condiciones de|estoy autorizad|tengo permitido)"
    + "|(?:debo|tengo que) (?:rechazar|declinar)"
)
_FR = (
    "je ne (?:peux|puis|pourrai)(?: malheureusement)?(?: pas)? (?:vous |t'|te |y )?"
    + _any("""aider | assister | répondre | fournir | satisfaire | accéder | créer | générer | rédiger
        | partager | faire cela | continuer | traiter""")
    + "|je ne suis (?:malheureusement )?pas (?:en mesure|autorisé|capable)"
    + "|il m'est impossible|je dois (?:refuser|décliner)"
)
_IT = (
    "non (?:ti |la |vi )?(?:posso|possiamo) "
    + _any("""aiutar | assist | fornir | risponder | soddisfar | crear | generar | scriver | condivider
        | continuar | farlo | procedere | offrir""")
    + "|non (?:sono in grado di|mi è possibile|sono autorizzat)|devo (?:rifiutare|declinare)"
)
_JA = (
    "(?:[^\u3002\n]{0,30}"
    + _any("お手伝い | お答え | 回答 | お応え | ご案内 | お力添え | ご要望 | ご依頼")
    + "|(?:申し訳|恐れ入り|すみません|残念)[^\u3002\n]{0,30}"
    + _any("対応 | 提供 | 支援 | 作成 | リクエスト")
    + ")[^\u3002\n]{0,16}"
    + _any("できません | できかねます | いたしかねます | 致しかねます | 応じかねます")
    + "|お断り(?:します|いたします|させて)"
)
_NL = (
    _any("ik kan | kan ik | ik mag | mag ik | wij kunnen | we kunnen")
    + rf"\b{_REST}\b(?:niet|geen)\b{_REST}"
    + _any("""helpen | beantwoorden | verstrekken | voldoen | assisteren | ondersteunen | schrijven | hulp
        | informatie""")
    + "|ik ben (?:helaas )?niet (?:in staat|bevoegd|gemachtigd)"
    + rf"|ik moet{_REST}(?:weigeren|afwijzen)"
)
_PT = (
    "(?:eu )?não (?:te |lhe |o |a )?(?:posso|consigo|podemos|poderei) (?:te |lhe )?"
    + _any("""ajud | auxili | fornecer | responder | atender | cumprir | criar | gerar | escrever
        | compartilhar | partilhar | fazer isso | prosseguir | continuar | oferecer""")
    + "|não (?:sou capaz de|estou autorizad|me é possível|estou em condições|tenho permissão)"
    + "|(?:devo|preciso|tenho que) recusar"
)
_ZH = (
    _any("我 | 我们 | 抱歉 | 对不起 | 不好意思 | 很遗憾")
    + "[^\u3002\uff01\uff1f\n]{0,12}"
    + _any("无法 | 不能 | 没法 | 没有办法 | 不便")
    + "[^\u3002\uff01\uff1f\n]{0,8}"
    + _any("提供 | 协助 | 帮 | 回答 | 满足 | 完成 | 继续 | 生成 | 处理 | 答复")
    + "|我(?:必须|只能|不得不)拒绝"
)

REFUSALS: Final[dict[str, str]] = {
    "en": _EN, "de": _DE, "es": _ES, "fr": _FR, "it": _IT, "ja": _JA, "nl": _NL, "pt": _PT, "zh": _ZH,
}  # fmt: skip
"""Patterns for the beginning of a sentence or clause that declines, by language."""


_REFUSING_FINISH = frozenset(("content_filter", "refusal", "safety"))
_BEGINNING = 240
"""Characters within which a refusal is expressed; text behind them is about something else."""
_MARKS = re.compile(r"[*_#>`]+")
_QUOTES = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'"})
# At the begin of a sentence or clause: what others cannot do has a subject before it.
_REFUSAL = re.compile(
    r"(?:\A|[.!?;:,\u2013\u2014\u3002\u3001\uff01\uff0c\uff1f\s-])\s*+"
    rf"(?:(?:{OPENINGS})[ ,:-]+)*(?:{'|'.join(REFUSALS.values())})"
)


class RefusalAgreement:
    """Agreement of two answers in declining: both do, or neither."""

    name: ClassVar[str] = "refusal_agreement"
    version: ClassVar[int] = 1
    about: ClassVar[About] = About(
        "surface", languages=("en", "de", "es", "fr", "it", "ja", "nl", "pt", "zh")
    )

    def score(self, pair: Pair) -> float | Failure:
        """Agreement of the two answers in declining; see `refused`. Symmetric.

        Returns: 1.0 = both decline or neither does; 0.0 = only one does. A `Failure` "no_text" if
            neither answer has text or a tool call and no filter said why.
        """
        states = refused(pair.reference), refused(pair.candidate)
        if not any(states) and is_empty(pair.reference) and is_empty(pair.candidate):
            return Failure(self.name, self.version, "no_text", "Neither answer has text.")
        return float(states[0] == states[1])


def refused(answer: Answer) -> bool:
    """Return whether an answer declines.

    An answer declines by its finish reason, or by a phrase in its first 240 characters. The phrases are in
    English, German, Spanish, French, Italian, Japanese, Dutch, Portuguese and Chinese (`REFUSALS`), so a
    refusal in other words is missed. An answer with a tool call acts and does not decline, whatever its text.
    """
    if answer.finish_reason in _REFUSING_FINISH:
        return True
    if answer.tool_calls:
        return False
    beginning = _MARKS.sub("", answer.text.lstrip()[:_BEGINNING].translate(_QUOTES)).lower()
    return _REFUSAL.search(beginning) is not None

"""The same in another tone: by phrases and punctuation, or by a model."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

from evenkeel.core.languages import language_of
from evenkeel.core.pair import AS_BEFORE
from evenkeel.core.rewordings import Rewording
from evenkeel.shadow.perturbations.places import change_places, protected_spans
from evenkeel.shadow.perturbations.protocol import GENERAL, NOTHING, NotApplicable, RewriteTask
from evenkeel.shadow.perturbations.rewriting import NO_INPUT, draft

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Mapping, Sequence

    from evenkeel.shadow.perturbations.protocol import Outcome, Requirement
    from evenkeel.shadow.prompt import PromptView, Segment


@dataclass(frozen=True, slots=True)
class Manner:
    """How a tone sounds in one language."""

    openers: tuple[str, ...]
    """Whole sentences for the beginning of a text."""
    closers: tuple[str, ...]
    """Whole sentences for its end."""
    swaps: Mapping[str, str] = field(default_factory=dict)
    """Phrases in lower case and what stands in their place. A key that begins with "^" counts at the
    start of a sentence only."""
    ends: Mapping[str, str] = field(default_factory=dict)
    """Marks at the end of a sentence, and what stands in their place."""


_NEGATIONS: Final = {
    "don't": "do not", "doesn't": "does not", "didn't": "did not", "can't": "cannot",
    "couldn't": "could not", "won't": "will not", "wouldn't": "would not", "shouldn't": "should not",
    "isn't": "is not", "aren't": "are not", "wasn't": "was not", "weren't": "were not",
    "haven't": "have not", "hasn't": "has not", "hadn't": "had not",
}  # fmt: skip
# Without 's and 'd, which stand for two verbs each.
_CONTRACTIONS: Final = {
    "i'm": "I am", "we're": "we are", "you're": "you are", "they're": "they are", "i've": "I have",
    "we've": "we have", "you've": "you have", "they've": "they have", "i'll": "I will", "we'll": "we will",
    "you'll": "you will", "they'll": "they will", "it'll": "it will",
}  # fmt: skip
_ORDERS: Final = (
    "write", "explain", "describe", "summarise", "summarize", "give", "show", "tell", "find", "compare",
    "translate", "create", "provide", "help", "check", "draft", "identify", "calculate", "solve",
)  # fmt: skip
# With its object an order is no noun ("Help desk", "Draft version").
_OBJECTS: Final = (
    "a",
    "an",
    "the",
    "me",
    "us",
    "how",
    "why",
    "what",
    "whether",
    "this",
    "these",
    "my",
    "our",
)
_LOUD: Final = {".": "!"}
_CALM: Final = {"!": "."}
_LOUD_JA: Final = {"。": "\uff01"}
_CALM_JA: Final = {"\uff01": "。"}

_EN: Final = {
    "formal": Manner(
        ("Good day.", "Dear Sir or Madam,", "I am writing to you with the following request."),
        ("I look forward to your reply.", "Yours faithfully.", "Your attention to this is appreciated."),
        {
            **_NEGATIONS, **_CONTRACTIONS, "gonna": "going to", "wanna": "want to", "gotta": "have to",
            "asap": "as soon as possible", "info": "information", "kids": "children", "maybe": "perhaps",
            "help me": "assist me", "^thanks": "thank you", "^hi": "hello", "^hey": "hello",
        },
        _CALM,
    ),
    "casual": Manner(
        ("Hey there!", "Hi!", "Hey, quick one.", "So, here goes."),
        ("Thanks!", "Cheers!", "Thanks a bunch!"),
        {
            **{full: short for short, full in _NEGATIONS.items()}, "want to": "wanna",
            "information": "info", "children": "kids", "perhaps": "maybe", "assist me": "help me",
            "as soon as possible": "asap", "regarding": "about", "obtain": "get", "requires": "needs",
            "^thank you": "thanks", "^hello": "hey",
        },
        _LOUD,
    ),
    "urgent": Manner(
        ("This is urgent.", "I need help with this right now.", "Please hurry, this can't wait."),
        ("I need this right away!", "Please don't let this wait!", "It is really urgent."),
        {"i need": "I urgently need", "we need": "we urgently need", "help me": "help me right now"},
        _LOUD,
    ),
    "frustrated": Manner(
        ("Honestly, I'm getting tired of this.", "This is so frustrating.", "Ugh, seriously."),
        ("I really don't want to ask again.", "This is driving me crazy!", "Come on."),
        {
            "i need": "I really need", "i want": "I just want", "^why does": "why on earth does",
            "^why is": "why on earth is", "^why do": "why on earth do", "^how do i": "how on earth do I",
            "^how can i": "how on earth can I", "^what is": "what on earth is",
        },
        _LOUD | {"?": "?!"},
    ),
    "polite": Manner(
        ("Hello, and thank you for your time.", "Good day, I hope you are well.", "Excuse me."),
        ("Thank you very much in advance.", "I would be very grateful.", "Many thanks for your kind help."),
        {
            "i want": "I would like", "we want": "we would like", "^can you": "could you please",
            "^could you": "could you please", "^thanks": "thank you very much",
            **{f"^{order} {what}": f"please {order} {what}" for order in _ORDERS for what in _OBJECTS},
        },
        _CALM,
    ),
}  # fmt: skip

_DE: Final = {
    "formal": Manner(
        ("Guten Tag.", "Sehr geehrte Damen und Herren,"),
        ("Mit freundlichen Grüßen.", "Ich sehe Ihrer Antwort gern entgegen."),
        {"^hallo": "guten Tag", "^hi": "guten Tag", "^danke": "vielen Dank", "infos": "Informationen"},
        _CALM,
    ),
    "casual": Manner(
        ("Hey!", "Hi, kurze Frage.", "Also, pass auf."),
        ("Danke dir!", "Besten Dank schon mal!"),
        {"^guten tag": "hallo", "^vielen dank": "danke", "informationen": "Infos", "vielleicht": "eventuell"},
        _LOUD,
    ),
    "urgent": Manner(
        ("Es ist dringend.", "Bitte schnell, das kann nicht warten."),
        ("Ich brauche das sofort!", "Bitte nicht liegen lassen!"),
        {"ich brauche": "ich brauche dringend", "wir brauchen": "wir brauchen dringend"},
        _LOUD,
    ),
    "frustrated": Manner(
        ("Ehrlich, langsam reicht es mir.", "Das ist wirklich ärgerlich."),
        ("Ich will nicht noch einmal fragen müssen.", "Das nervt wirklich!"),
        {"ich brauche": "ich brauche wirklich", "^warum": "warum um alles in der Welt"},
        _LOUD | {"?": "?!"},
    ),
    "polite": Manner(
        ("Guten Tag, und danke für Ihre Zeit.", "Entschuldigen Sie bitte."),
        ("Vielen Dank im Voraus.", "Ich wäre Ihnen sehr dankbar."),
        {"ich will": "ich möchte", "^können sie": "könnten Sie bitte", "^kannst du": "könntest du bitte"},
        _CALM,
    ),
}

_ES: Final = {
    "formal": Manner(
        ("Buenos días.", "Estimados señores:"),
        ("Quedo a la espera de su respuesta.", "Atentamente."),
        {"^hola": "buenos días", "^gracias": "muchas gracias", "a lo mejor": "quizás"},
        _CALM,
    ),
    "casual": Manner(
        ("¡Hola!", "Oye, una pregunta rápida."),
        ("¡Gracias!", "¡Mil gracias!"),
        {"^buenos días": "hola", "^muchas gracias": "gracias", "quizás": "a lo mejor"},
    ),
    "urgent": Manner(
        ("Esto es urgente.", "Por favor, rápido, no puede esperar."),
        ("¡Lo necesito ya!", "Es realmente urgente."),
        {"necesito": "necesito urgentemente", "necesitamos": "necesitamos urgentemente"},
    ),
    "frustrated": Manner(
        ("La verdad, ya estoy harto de esto.", "Esto es muy frustrante."),
        ("No quiero tener que preguntarlo otra vez.", "¡Esto me desespera!"),
        {"necesito": "de verdad necesito", "quiero": "solo quiero"},
    ),
    "polite": Manner(
        ("Buenos días, y gracias por su tiempo.", "Disculpe la molestia."),
        ("Muchas gracias de antemano.", "Se lo agradecería mucho."),
        {
            "quiero": "quisiera",
            "queremos": "quisiéramos",
            "¿puedes": "¿Podrías, por favor,",
            "¿puede": "¿Podría, por favor,",
        },
        _CALM,
    ),
}

_FR: Final = {
    "formal": Manner(
        ("Bonjour.", "Madame, Monsieur,"),
        ("Dans l'attente de votre réponse.", "Veuillez agréer mes salutations distinguées."),
        {"^salut": "bonjour", "^merci": "je vous remercie", "infos": "informations"},
        _CALM,
    ),
    "casual": Manner(
        ("Salut !", "Coucou, petite question."),
        ("Merci !", "Merci d'avance !"),
        {"^bonjour": "salut", "^je vous remercie": "merci", "informations": "infos"},
    ),
    "urgent": Manner(
        ("C'est urgent.", "Vite, s'il vous plaît, cela ne peut pas attendre."),
        ("J'en ai besoin tout de suite !", "C'est vraiment urgent."),
        {"j'ai besoin": "j'ai un besoin urgent", "nous avons besoin": "nous avons un besoin urgent"},
    ),
    "frustrated": Manner(
        ("Franchement, j'en ai assez.", "C'est vraiment agaçant."),
        ("Je ne veux pas avoir à redemander.", "Ça commence à bien faire !"),
        {"je veux": "je veux juste", "^pourquoi": "mais pourquoi donc"},
    ),
    "polite": Manner(
        ("Bonjour, et merci de votre temps.", "Excusez-moi de vous déranger."),
        ("Merci beaucoup d'avance.", "Je vous en serais très reconnaissant."),
        {"je veux": "je voudrais", "nous voulons": "nous voudrions", "^pouvez-vous": "pourriez-vous"},
        _CALM,
    ),
}

_IT: Final = {
    "formal": Manner(
        ("Buongiorno.", "Gentili Signori,"),
        ("Resto in attesa di un Vostro riscontro.", "Distinti saluti."),
        {"^ciao": "buongiorno", "^grazie": "la ringrazio", "magari": "forse"},
        _CALM,
    ),
    "casual": Manner(
        ("Ciao!", "Ehi, una domanda veloce."),
        ("Grazie!", "Grazie mille!"),
        {"^buongiorno": "ciao", "^la ringrazio": "grazie"},
        _LOUD,
    ),
    "urgent": Manner(
        ("È urgente.", "Per favore, in fretta, non può aspettare."),
        ("Mi serve subito!", "È davvero urgente."),
        {"ho bisogno": "ho urgente bisogno", "abbiamo bisogno": "abbiamo urgente bisogno"},
        _LOUD,
    ),
    "frustrated": Manner(
        ("Sinceramente, non ne posso più.", "È davvero frustrante."),
        ("Non voglio doverlo chiedere di nuovo.", "Mi fa impazzire!"),
        {"voglio": "voglio solo", "^perché": "ma perché mai"},
        _LOUD,
    ),
    "polite": Manner(
        ("Buongiorno, e grazie del Suo tempo.", "Mi scusi il disturbo."),
        ("Molte grazie in anticipo.", "Le sarei molto grato."),
        {"voglio": "vorrei", "vogliamo": "vorremmo"},
        _CALM,
    ),
}

_NL: Final = {
    "formal": Manner(
        ("Goedendag.", "Geachte heer, mevrouw,"),
        ("Ik zie uw antwoord graag tegemoet.", "Met vriendelijke groet."),
        {"^hoi": "goedendag", "^hallo": "goedendag", "^bedankt": "hartelijk dank", "info": "informatie"},
        _CALM,
    ),
    "casual": Manner(
        ("Hoi!", "Hé, een vraagje."),
        ("Bedankt!", "Alvast bedankt!"),
        {"^goedendag": "hoi", "^hartelijk dank": "bedankt", "informatie": "info"},
        _LOUD,
    ),
    "urgent": Manner(
        ("Dit is dringend.", "Graag snel, dit kan niet wachten."),
        ("Ik heb dit meteen nodig!", "Het is echt dringend."),
        {"ik moet": "ik moet dringend", "we moeten": "we moeten dringend"},
        _LOUD,
    ),
    "frustrated": Manner(
        ("Eerlijk gezegd ben ik het zat.", "Dit is echt frustrerend."),
        ("Ik wil het niet nog eens hoeven vragen.", "Ik word hier gek van!"),
        {"ik wil": "ik wil gewoon", "^waarom": "waarom in hemelsnaam"},
        _LOUD | {"?": "?!"},
    ),
    "polite": Manner(
        ("Goedendag, en bedankt voor uw tijd.", "Neemt u mij niet kwalijk."),
        ("Hartelijk dank alvast.", "Ik zou u zeer dankbaar zijn."),
        {"ik wil": "ik zou graag willen", "^kunt u": "zou u alstublieft kunnen"},
        _CALM,
    ),
}

_PT: Final = {
    "formal": Manner(
        ("Bom dia.", "Prezados senhores,"),
        ("Fico no aguardo de sua resposta.", "Atenciosamente."),
        {"^oi": "bom dia", "^olá": "bom dia", "^obrigado": "agradeço", "pra": "para"},
        _CALM,
    ),
    "casual": Manner(
        ("Oi!", "Olá, uma pergunta rápida."),
        ("Obrigado!", "Valeu!"),
        {"^bom dia": "oi", "talvez": "quem sabe"},
        _LOUD,
    ),
    "urgent": Manner(
        ("Isto é urgente.", "Por favor, rápido, não dá para esperar."),
        ("Preciso disso já!", "É realmente urgente."),
        {"preciso": "preciso urgentemente", "precisamos": "precisamos urgentemente"},
        _LOUD,
    ),
    "frustrated": Manner(
        ("Sinceramente, já estou cansado disso.", "Isso é muito frustrante."),
        ("Não quero ter que perguntar de novo.", "Isso me deixa louco!"),
        {"quero": "só quero", "^por que": "por que diabos"},
        _LOUD | {"?": "?!"},
    ),
    "polite": Manner(
        ("Bom dia, e obrigado pelo seu tempo.", "Com licença."),
        ("Muito obrigado desde já.", "Eu ficaria muito grato."),
        {"quero": "gostaria de", "queremos": "gostaríamos de"},
        _CALM,
    ),
}

_JA: Final = {
    "formal": Manner(
        ("お世話になっております。", "突然のご連絡失礼いたします。"),
        ("何卒よろしくお願い申し上げます。", "ご回答をお待ちしております。"),
        {"してください": "していただけますでしょうか", "ありがとう。": "ありがとうございます。"},
        _CALM_JA,
    ),
    "casual": Manner(
        ("やあ。", "ちょっと聞きたいんだけど。"),
        ("よろしくね。", "ありがとう。"),
        {"してください": "してね", "ありがとうございます": "ありがとう"},
        _LOUD_JA,
    ),
    "urgent": Manner(
        ("急ぎです。", "至急お願いします。"),
        ("とにかく急いでいます。", "今すぐお願いします。"),
        {"教えてください": "至急教えてください"},
        _LOUD_JA,
    ),
    "frustrated": Manner(
        ("正直、もううんざりです。", "本当に困っています。"),
        ("もう一度聞きたくはありません。", "いい加減にしてほしいです。"),
        {"教えてください": "ちゃんと教えてください"},
        _LOUD_JA,
    ),
    "polite": Manner(
        ("お忙しいところ恐れ入ります。", "すみません、お尋ねします。"),
        ("どうぞよろしくお願いいたします。", "お手数をおかけします。"),
        {"してください": "していただけると幸いです", "教えてください": "教えていただけますか"},
        _CALM_JA,
    ),
}

MANNERS: Final[Mapping[str, Mapping[str, Manner]]] = {
    "en": _EN, "de": _DE, "es": _ES, "fr": _FR, "it": _IT, "nl": _NL, "pt": _PT, "ja": _JA,
}  # fmt: skip
"""Base tag of the language → tone → how it sounds."""

SPACELESS: Final = frozenset({"ja"})
"""Languages that put no space between sentences or words."""


TONES: Final = ("formal", "casual", "urgent", "frustrated", "polite")

_TELLING: Final = 400
"""Characters by which the language is told: more would not tell it better, and costs more than all else."""
_CLOSED: Final = ".!?…:;,。\uff01\uff1f"


class Tone:
    """Writes what the user says in another tone, which the generator picks.

    By rule: greetings and closing words, set phrases, contractions and marks at the end of sentences,
    in eight languages; severity is the share of these places. By the rewriter: the whole input at once.
    What is protected stays, and no phrase states a fact or asks for a form of answer.

    Versions by rule are odd, by the rewriter even, so that their verdicts can be told apart.
    """

    name: Final = "general.tone"
    rewording: Final = Rewording(GENERAL, phrase="another tone", order=60)
    wanted: Final = AS_BEFORE

    def __init__(self, by: Literal["rule", "rewriter"] = "rule", tones: Sequence[str] = TONES) -> None:
        """Choose how.

        Args:
            by: Who changes the tone.
            tones: What to pick from.

        Raises: ValueError for an unknown tone, or none.
        """
        unknown = [tone for tone in tones if tone not in TONES]
        if unknown or not tones:
            raise ValueError(f"unknown tone {unknown[0] if unknown else ''!r}: known are {', '.join(TONES)}")
        self._by = by
        self._tones = tuple(tones)
        self.version: Final = 1 if by == "rule" else 2
        self.graded: Final = by == "rule"
        self.requires: Final[frozenset[Requirement]] = NOTHING if by == "rule" else frozenset({"rewriter"})

    def apply(self, view: PromptView, severity: float, rng: random.Random) -> Outcome:
        """A variant in another tone, as `Perturbation.apply`.

        Not applicable: "no_input"; by rule also "language_unknown" and "language_unsupported".
        """
        tone = self._tones[rng.randrange(len(self._tones))]
        spoken = _spoken(view)
        if not spoken:
            return NO_INPUT
        if self._by == "rewriter":
            return draft(view, spoken, lambda text: RewriteTask("tone", text, tone))
        language = language_of(view.input_text[:_TELLING])
        if language is None:
            return NotApplicable("language_unknown", "the language of the input is not clear")
        if language not in MANNERS:
            return NotApplicable("language_unsupported", f"there are no phrases for the language {language}")
        return _by_rule(view, severity, rng, spoken=spoken, language=language, tone=tone)


def _spoken(view: PromptView) -> list[Segment]:
    """What a user says in his own words; where nothing is known of that, all input but code."""
    inputs = [one for one in view.segments if one.kind == "input" and one.type != "code" and one.text.strip()]
    return [one for one in inputs if one.type == "text"] or inputs


def _by_rule(
    view: PromptView,
    severity: float,
    rng: random.Random,
    *,
    spoken: list[Segment],
    language: str,
    tone: str,
) -> Outcome:
    manner = MANNERS[language][tone]
    texts = {one.text for one in spoken}
    first, last = spoken[0].text, spoken[-1].text

    def find(text: str) -> Iterator[re.Match[str]]:
        if text not in texts:
            return
        for place in _places(text, language, tone):
            # One greeting and one close for the whole input, wherever it is cut.
            if (place.lastgroup == "opening" and text != first) or (
                place.lastgroup == "closing" and text != last
            ):
                continue
            yield place

    def rewrite(place: re.Match[str], rng: random.Random) -> str | None:
        return _rewritten(place, rng, manner, spaceless=language in SPACELESS)

    return change_places(view, severity, rng, find=find, rewrite=rewrite)


def _rewritten(place: re.Match[str], rng: random.Random, manner: Manner, *, spaceless: bool) -> str:
    text, found = place.string, place[0]
    match place.lastgroup:
        case "opening":
            phrase = manner.openers[rng.randrange(len(manner.openers))]
            # Before a list, a heading, a label or code it gets a paragraph of its own.
            spoken = text[0].isalpha() or text[0] in "¿¡"
            kept = protected_spans(text)
            flows = spoken and phrase[-1] in ".!?。" and not (kept and kept[0].start == 0)
            return phrase + (("" if spaceless else " ") if flows else "\n\n")
        case "closing":
            phrase = manner.closers[rng.randrange(len(manner.closers))]
            flows = text[place.start() - 1] in _CLOSED
            return (("" if spaceless else " ") if flows else "\n\n") + phrase
        case "end":
            return manner.ends[found]
        case _:
            plain = found.lower().replace("’", "'")
            new = manner.swaps.get(plain) or manner.swaps[f"^{plain}"]
            return new[0].upper() + new[1:] if found[0].isupper() else new


def _places(text: str, language: str, tone: str) -> Iterator[re.Match[str]]:
    """The beginning of a text, its phrases and marks to swap, and its end."""
    opening = _OPENING.match(text)
    assert opening is not None  # the pattern matches anywhere
    yield opening
    inside = _inside(language, tone)
    if inside is not None:
        yield from inside.finditer(text)
    # Looked for once: at each place of a text it would cost more than all the rest.
    closing = _CLOSING.match(text, len(text.rstrip()))
    if closing is not None:
        yield closing


_OPENING: Final = re.compile(r"(?P<opening>)")
_CLOSING: Final = re.compile(r"(?P<closing>(?<=\S))")


@cache
def _inside(language: str, tone: str) -> re.Pattern[str] | None:
    """Finds phrases to swap and marks to swap; None if there are none."""
    manner = MANNERS[language][tone]
    spaceless = language in SPACELESS
    edges = ("", "") if spaceless else (r"(?<![\w'’\-])", r"(?![\w'’\-])")
    ends = "".join(re.escape(mark) for mark in manner.ends)
    anywhere = [key for key in manner.swaps if key[0] != "^"]
    starting = [key[1:] for key in manner.swaps if key[0] == "^"]
    phrases = [
        *_phrases(starting, r"(?:\A|(?<=[.!?]\s)|(?<=\n))", edges[1]),
        *_phrases(anywhere, edges[0], edges[1]),
    ]
    rules = [f"(?P<swap>{'|'.join(phrases)})"] if phrases else []
    if ends and spaceless:
        rules.append(f"(?P<end>(?<=\\w)[{ends}])")
    elif ends:
        # Not behind abbreviations of one letter, and only where a sentence begins next.
        rules.append(rf"(?P<end>(?<=[^\W\d_]{{2}})[{ends}](?=\s+[A-ZÀ-ÞŒ¿¡]|\s*\Z))")
    return re.compile("|".join(rules)) if rules else None


def _phrases(keys: Sequence[str], before: str, behind: str) -> list[str]:
    """A pattern for all of them, or none; the first letter is looked at before the phrases are."""
    if not keys:
        return []
    firsts = "".join(sorted({re.escape(form) for key in keys for form in (key[0], key[0].upper())}))
    words = "|".join(re.escape(key).replace("'", "['’]") for key in sorted(keys, key=len, reverse=True))
    return [f"(?=[{firsts}]){before}(?i:{words}){behind}"]

"""Mail that is a user's whole message: what its sender typed, told from headers, quotes and signature.

A text is a mail if header lines stand at its head, or if an earlier mail is quoted or forwarded in it. If its
last paragraph asks something, only that is known to be typed, whoever asks: "Write a reply." A mail inside an
application's prompt is a document instead.
"""

from __future__ import annotations

import re
from typing import Final

from evenkeel.shadow.prompt.blocks import BLANK_LINES, cut
from evenkeel.shadow.prompt.references import asks, leads_on, orders
from evenkeel.shadow.prompt.segments import Span

# Names of headers in English, German, Spanish, French, Italian, Dutch, Portuguese, Japanese and Chinese.
_NAMES: Final = (
    r"from|to|b?cc|subject|date|sent|reply-to|x-[\w-]{1,40}|von|an|betreff|datum|gesendet|de|para|asunto|fecha"
    r"|à|objet|envoyé|da|a|oggetto|data|inviato|van|aan|onderwerp|verzonden|assunto|enviad[ao]"
    r"|差出人|送信者|宛先|件名|日時|发件人|寄件者|收件人|主题|主旨|日期"
)
# Lines of which the last stands before a blank line or at the end.
_HEAD: Final = re.compile(
    rf"\s*(?:[*_]{{0,2}}(?:{_NAMES})[ ]?[:\uff1a][^\n]{{0,998}}(?:\n[ \t]+\S[^\n]{{0,998}})*(?:\n|\Z))+"
    r"(?=\s*?\n|\Z)",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"[ \t]*>")
# Line that says who wrote what is quoted below it.
_WROTE: Final = re.compile(
    r"[^\n]{0,300}(?:\b(?:wrote|schrieb|escribió|écrit|scritto|schreef|escreveu)\b|写道|書きました|のメール)"
    r"[^\n]{0,100}[:\uff1a]\s*\Z",
    re.IGNORECASE,
)
_FORWARDED: Final = re.compile(
    r"[ \t]*-{2,}[ ]?(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht"
    r"|mensaje original|message (?:d['’]origine|transféré)|messaggio originale|oorspronkelijk bericht"
    r"|mensagem original|元のメッセージ|原始邮件)",
    re.IGNORECASE,
)
_SIGNATURE: Final = re.compile(r"--[ \t]*\r?\n?\Z")
_GREETING: Final = (
    r"(?:hi|hello|hey|oi|hoi|dear|greetings|good (?:morning|afternoon|evening|day)|to whom"
    r"|hallo|guten|sehr geehrte[rn]?|liebe[rs]?|moin|servus|grüezi|bonjour|bonsoir|salut|ch(?:er|ère)s?"
    r"|hola|buen[oa]s|estimad[oa]s?|querid[oa]s?|ciao|salve|buongiorno|buonasera|gentil[ei]|egregi[oa]?"
    r"|goede\w*|beste|geachte|olá|bom dia|boa tarde|boa noite|prezad[oa]s?|car[oa]s?"
    r"|dzień dobry|cześć|witam|szanown\w+|merhaba|selam|здравствуйте|привет|добрый день|добрий день|вітаю"
    r"|السلام عليكم|مرحبا|أهلا|שלום|היי|नमस्ते|नमस्कार|你好|您好|こんにちは|안녕\w*)(?!\w)"
)
# "Mr.", "Mrs.", "Ms.", "Dr.", "Prof.", "Fr.", "Sra.", "Sig."
_TITLE_END: Final = r"(?<=[MDSFH]r|Ms|rs|of|ra|ig)\."
_SALUTATION: Final = re.compile(
    rf"{_GREETING}(?:[^\n.:;?>]|{_TITLE_END}){{0,60}}[,!\uff0c][ \t]*\r?(?:\n|\Z)", re.IGNORECASE
)
# Also one that the text goes on behind: "Hi, can you help?", "Bonjour, j'ai une question."
_GREETED: Final = re.compile(
    rf"{_GREETING}(?:(?:[^\n.:;?,]|{_TITLE_END}){{0,30}}[,.!\uff0c、。،।]|[ \t]*\r?(?:\n|\Z))", re.IGNORECASE
)


def is_greeted(text: str) -> bool:
    """Return whether a text opens with a line such as "Dear Ms Okafor,"."""
    salutation = _SALUTATION.match(text.lstrip())
    return salutation is not None and not orders(salutation[0])


def opens_with_greeting(text: str) -> bool:
    """Return whether a text opens with a greeting, on a line of its own or not."""
    return _GREETED.match(text.lstrip()) is not None


def opens_with_headers(text: str) -> bool:
    """Return whether a text opens with headers of a mail."""
    return _HEAD.match(text) is not None


def typed_in_mail(text: str) -> tuple[Span, ...] | None:
    """Return the stretches that the sender of a mail typed; None if the text is no mail by itself.

    Left out are headers, quoted lines with the line that introduces them, and all below the mark of a
    signature or of a forwarded mail.
    """
    head = _HEAD.match(text)
    if head is not None and "\n" not in head[0].strip() and not is_greeted(text[head.end() :]):
        head = None  # one line alone may be any label
    begin = head.end() if head is not None else 0
    stretches, has_thread = _own_stretches(text, begin)
    body = "\n\n".join(text[stretch.start : stretch.end].strip() for stretch in stretches).strip()
    if not body or not (head or has_thread) or _is_composed(body, has_head=head is not None):
        return None
    paragraphs = BLANK_LINES.split(body)
    if len(paragraphs) == 1 or not asks(paragraphs[-1]):
        return stretches
    last = stretches[-1]
    start = text.rindex(paragraphs[-1], last.start, last.end)
    return (Span(start, last.end),)


def _own_stretches(text: str, begin: int) -> tuple[tuple[Span, ...], bool]:
    """Return the stretches of the sender's own lines, and whether another mail stands among or below them."""
    stretches: list[Span] = []
    has_thread = is_below_own = False
    at = begin
    for line in text[begin:].splitlines(keepends=True):
        start, at = at, at + len(line)
        if _SIGNATURE.match(line) or _FORWARDED.match(line):
            has_thread = has_thread or _SIGNATURE.match(line) is None or _quotes(text[at:])
            break
        if _QUOTED.match(line):
            is_below_own = False
        elif _WROTE.match(line) and _quotes(text[at:]):
            has_thread, is_below_own = True, False
        elif line.strip() or is_below_own:
            # Blank lines belong to what stands before them.
            if is_below_own:
                stretches[-1] = Span(stretches[-1].start, at)
            else:
                stretches.append(Span(start, at))
            is_below_own = True
    return tuple(stretches), has_thread


def _quotes(text: str) -> bool:
    """Return whether the next line that is not blank is quoted."""
    return _QUOTED.match(text.lstrip()) is not None


def _is_composed(body: str, *, has_head: bool) -> bool:
    """Return whether an application's words stand beside the sender's."""
    types = {piece.type for piece in cut(body)}
    if types & {"output_instructions", "examples"}:
        return True
    first = BLANK_LINES.split(body)[0]
    # No application's prompt opens with headers or a salutation.
    is_opened = has_head or is_greeted(body)
    return not is_opened and (orders(first) or leads_on(first) or "document" in types)

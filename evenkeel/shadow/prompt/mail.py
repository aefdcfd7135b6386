"""Mail that a user's message consists of: what its sender typed, told from headers, quotes and signature.

A text is a mail by itself if header lines stand at its head, if an earlier mail is quoted in it, or if it
opens with a salutation and ends with a signature. A mail inside an application's prompt is a document
instead. Headers and closing formulas are known in English, German, Spanish, French, Italian, Dutch,
Portuguese, Japanese and Chinese.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from evenkeel.shadow.prompt.blocks import BLANK_LINES, cut
from evenkeel.shadow.prompt.references import orders, points_ahead, points_back
from evenkeel.shadow.prompt.segments import Span

# Headers of which a mail has at least one: its sender or its subject.
_TELLING: Final = (
    r"from|subject|von|betreff|de|asunto|objet|da|oggetto|van|onderwerp|assunto"
    r"|差出人|送信者|件名|发件人|寄件者|主题|主旨"
)
_OTHER: Final = (
    r"to|b?cc|date|sent|reply-to|importance|priority|attachments?|message-id|in-reply-to|references"
    r"|mime-version|content-[\w-]{1,30}|x-[\w-]{1,40}|received|delivered-to|return-path"
    r"|an|kopie|datum|gesendet|anlagen?|para|fecha|enviado(?:[ ]el)?|à|envoyé(?:[ ]le)?|a|data|inviato|aan"
    r"|verzonden|bijlagen?|enviada(?:[ ]em)?|宛先|日時|送信日時|收件人|抄送|日期|发送时间"
)
_COLON: Final = r"[*_]{0,2}[ ]?[:\uff1a]"
# Header with its value, which may go on in indented lines.
_HEADER: Final = (
    rf"[ \t]*[*_]{{0,2}}(?:{_TELLING}|{_OTHER}){_COLON}[^\n]{{0,998}}(?:\n[ \t]+\S[^\n]{{0,998}})*(?:\n|\Z)"
)
_HEADERS: Final = re.compile(rf"(?:{_HEADER}){{2,}}(?=\s*?\n|\Z)", re.IGNORECASE | re.VERBOSE)
_TOLD_BY: Final = re.compile(rf"^[ \t]*[*_]{{0,2}}(?:{_TELLING}){_COLON}", re.IGNORECASE | re.MULTILINE)

_QUOTED: Final = re.compile(r"[ \t]*>")
# Line that says who wrote what stands below it, with an address, a date or a time. It may be wrapped.
_ATTRIBUTION: Final = re.compile(
    r"[^\n]{0,200}?(?:\b(?:wrote|schrieb|escribió|écrit|scritto|schreef|escreveu)\b|写道|書きました|のメール)"
    r"[^\n]{0,100}[:\uff1a]\s*\Z",
    re.IGNORECASE,
)
_DATED: Final = re.compile(r"@|\d:\d\d|\b20\d\d\b|\d[./-]\d")
_WRAPPED: Final = re.compile(r"[ \t]*(?:On|Am|Le|El|Il|Op|Em)\b[^\n]*\d")
# Line below which nothing is the sender's own any more.
_FORWARDED: Final = re.compile(
    r"[ \t]*-{2,}[ ]?(?:original message|forwarded message|ursprüngliche nachricht|weitergeleitete nachricht"
    r"|mensaje original|message (?:d['’]origine|transféré)|messaggio originale|oorspronkelijk bericht"
    r"|mensagem original|元のメッセージ|原始邮件)",
    re.IGNORECASE,
)
_SIGNATURE_MARK: Final = re.compile(r"--[ \t]*\s*\Z")
_SENT_FROM: Final = re.compile(
    r"[ \t]*(?:sent from (?:my|outlook|mail)|get outlook for|(?:von meinem|mit meinem) .{1,20} gesendet"
    r"|enviado desde mi|envoyé de mon|inviato da(?:l mio)? i|verzonden vanaf mijn|enviado do meu)",
    re.IGNORECASE,
)
_FORMULA: Final = re.compile(
    r"[ \t]*(?:(?:(?:with )?(?:best|kind|kindest|warm|warmest|many) )?regards"
    r"|(?:with )?(?:best|kind|warm) wishes|all the best|(?:yours )?(?:sincerely|faithfully|truly)(?: yours)?"
    r"|mit (?:freundlich|best|herzlich|lieb)en grü(?:ß|ss)en|(?:freundliche|beste|viele|liebe) grü(?:ß|ss)e"
    r"|(?:bien )?cordialement|bien à vous|(?:un )?(?:cordial )?saludos?(?: cordiales)?|atentamente"
    r"|(?:cordiali |distinti )?saluti|(?:met )?(?:vriendelijke |hartelijke )?groet(?:en)?"
    r"|atenciosamente|(?:com os )?(?:melhores )?cumprimentos|敬具|此致)"
    r"(?:[ ]*[,.!、\uff0c]?\s*\Z|[,!][ ][^\n?]{1,40}\s*\Z)",
    re.IGNORECASE,
)
# Most lines of a signature that no mark begins, and their greatest length.
_SIGNATURE_LINES: Final = 8
_SIGNATURE_LINE: Final = 100
_SALUTATION: Final = re.compile(
    r"(?:hi|hello|hey|dear|greetings|good (?:morning|afternoon|evening|day)|to whom"
    r"|hallo|guten|sehr geehrte[rn]?|liebe[rs]?|moin|servus|grüezi|bonjour|bonsoir|salut|ch(?:er|ère)s?"
    r"|hola|buen[oa]s|estimad[oa]s?|querid[oa]s?|ciao|salve|buongiorno|buonasera|gentil[ei]|egregi[oa]?"
    r"|goede\w*|beste|geachte|olá|bom dia|boa tarde|boa noite|prezad[oa]s?|car[oa]s?|你好|您好)\b"
    r"[^\n.:;?>]{0,60}[,!\uff0c][ \t]*\r?(?:\n|\Z)",
    re.IGNORECASE,
)
_NAMES_A_MAIL: Final = re.compile(
    r"\b(?:e-?mails?|mail|message|nachricht|correo|mensaje|courriel|messaggio|bericht|mensagem)\b",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _MailLine:
    text: str
    start: int
    own: bool = True
    """True if the sender typed the line."""

    @property
    def is_blank(self) -> bool:
        return not self.text.strip()


def typed_in_mail(text: str) -> tuple[Span, ...] | None:
    """Return the stretches that the sender of a mail typed; None if the text is no mail by itself.

    Headers, quoted lines with the line that introduces them, and the signature are left out.
    """
    head = _headers(text, len(text) - len(text.lstrip()))
    lines = _lines_of(text)
    for line in lines:
        line.own = line.start >= (head or 0)
    has_thread = _leave_out_thread(text, lines, is_opened=head is not None or is_greeted(text))
    signature = _leave_out_signature(lines)
    stretches = _own_stretches(lines)
    body = "\n\n".join(text[stretch.start : stretch.end].strip() for stretch in stretches)
    is_letter = bool(signature) and is_greeted(body)
    if not stretches or not (head or has_thread or is_letter):
        return None
    if _asks_about_mail(text, signature) or _is_composed(body, has_head=head is not None):
        return None
    return stretches


def _headers(text: str, at: int) -> int | None:
    """Return where the header lines at a place end; None if none stand there."""
    headers = _HEADERS.match(text, at)
    return headers.end() if headers is not None and _TOLD_BY.search(headers[0]) else None


def is_greeted(text: str) -> bool:
    """Return whether a text opens with a line such as "Dear Ms Okafor,"."""
    salutation = _SALUTATION.match(text.lstrip())
    return salutation is not None and not orders(salutation[0])


def _lines_of(text: str) -> list[_MailLine]:
    lines: list[_MailLine] = []
    at = 0
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        lines.append(_MailLine(text[at:end], at))
        at = end
    return lines


def _leave_out_thread(text: str, lines: list[_MailLine], *, is_opened: bool) -> bool:
    """Leave quoted lines and earlier mails out; return whether there is an earlier mail.

    Header lines below the head begin an earlier mail only if the text is known to open like a mail.
    """
    is_thread = False
    for index, line in enumerate(lines):
        if not line.own:
            continue
        if _QUOTED.match(line.text):
            line.own = False
            is_thread = is_thread or _is_attribution(line.text)
            continue
        attribution = _attribution(lines, index)
        behind = [other for other in lines[index + 1 : index + 3] if not other.is_blank]
        if attribution and behind and _QUOTED.match(behind[0].text):
            is_thread = True
            for other in attribution:
                other.own = False
            continue
        is_forwarded = _FORWARDED.match(line.text) is not None
        is_headed = is_opened and index > 0 and _is_behind_a_gap(lines, index) and _headers(text, line.start)
        if attribution or is_forwarded or is_headed:
            for other in (*attribution, *lines[index:]):
                other.own = False
            return True
    return is_thread


def _is_attribution(text: str) -> bool:
    is_lead = text.rstrip().endswith((":", "\uff1a"))
    return is_lead and _ATTRIBUTION.match(text) is not None and _DATED.search(text) is not None


def _attribution(lines: list[_MailLine], index: int) -> list[_MailLine]:
    """Return the one or two lines up to a place that say who wrote what stands below them."""
    line = lines[index]
    before = lines[index - 1] if index else None
    if before and _WRAPPED.match(before.text) and _is_attribution(f"{before.text.strip()} {line.text}"):
        return [before, line]
    return [line] if _is_attribution(line.text) else []


def _is_behind_a_gap(lines: list[_MailLine], index: int) -> bool:
    return not lines[index - 1].text.strip(" \t\r\n_-")


def _leave_out_signature(lines: list[_MailLine]) -> str:
    """Leave out the signature: all behind its mark, or a closing formula with a few short lines.

    Returns: its text; "" if there is none.
    """
    own = [line for line in lines if line.own and not line.is_blank]
    for index, line in enumerate(own[1:], start=1):
        is_marked = _SIGNATURE_MARK.match(line.text) or _SENT_FROM.match(line.text)
        is_near_end = len(own) - index <= _SIGNATURE_LINES
        is_closing = is_near_end and _FORMULA.match(line.text) and _are_short(own[index:])
        if is_marked or is_closing:
            for other in own[index:]:
                other.own = False
            return "".join(other.text for other in own[index:])
    return ""


def _are_short(lines: list[_MailLine]) -> bool:
    for line in lines:
        if len(line.text) > _SIGNATURE_LINE or "?" in line.text:
            return False
    return True


def _own_stretches(lines: list[_MailLine]) -> tuple[Span, ...]:
    """Return the stretches of lines that the sender typed; blank lines belong to what stands before them."""
    own = False
    for line in lines:
        if not line.is_blank:
            own = line.own
            break
    stretches: list[Span] = []
    for line in lines:
        own = own if line.is_blank else line.own
        end = line.start + len(line.text)
        if own and stretches and stretches[-1].end == line.start:
            stretches[-1] = Span(stretches[-1].start, end)
        elif own:
            stretches.append(Span(line.start, end))
    return tuple(stretches)


def _asks_about_mail(text: str, signature: str) -> bool:
    """Return whether a request about the mail stands below it: "Summarise the e-mail above"."""
    last = BLANK_LINES.split(text.strip())[-1]
    if not orders(last):
        return False
    is_below_signature = last in signature and _COURTEOUS.match(last) is None
    return is_below_signature or _NAMES_A_MAIL.search(last) is not None or points_back(last)


# What a signature may end in: "Please consider the environment before printing".
_COURTEOUS: Final = re.compile(r"\W*(?:please|bitte|por favor|s['’]il|per favore|gelieve)", re.IGNORECASE)


def _is_composed(body: str, *, has_head: bool) -> bool:
    """Return whether an application's words may stand beside the sender's."""
    types = {piece.type for piece in cut(body)}
    if types & {"output_instructions", "examples"}:
        return True
    # No application's prompt opens with a salutation.
    if has_head or is_greeted(body):
        return False
    first, *rest = BLANK_LINES.split(body)
    if "document" in types or orders(first) or points_ahead(first) or first.endswith((":", "\uff1a")):
        return True
    for paragraph in rest:
        if orders(paragraph) and points_ahead(paragraph):
            return True
    return False

"""Goldens in a terminal. Texts come from models: what would steer the terminal is made visible."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rich.text import Text

from evenkeel.core.text import visible
from evenkeel.release.goldens.files import golden_row
from evenkeel.release.goldens.prompts import prompt_text
from evenkeel.release.kit.terminal import show_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from evenkeel.release.goldens.candidates import GoldenCandidate
    from evenkeel.stores.goldens import Golden

_SHORT = 60
_TEXTS = ("prompt", "answer")


def show_list(goldens: Sequence[Golden], console: Console) -> None:
    """Print one line a golden."""
    rows = []
    for golden in goldens:
        state = "retired" if golden.retired_at is not None else _day(golden.approved_at)
        prompt, answer = _last(prompt_text(golden.request)), _short(golden.answer.shown)
        rows.append(
            (
                golden.id, f"v{golden.version}", golden.route, golden.task, state, golden.approved_by,
                golden.model, prompt, answer,
            )
        )  # fmt: skip
    columns = ("id", "version", "route", "task", "approved", "by", "model", "prompt", "answer")
    show_rows(console, columns, rows, wide=_TEXTS)


def show_candidates(choices: Sequence[GoldenCandidate], console: Console) -> None:
    """Print one line an exchange."""
    rows = []
    for candidate in choices:
        exchange = candidate.exchange
        prompt, answer = _last(candidate.prompt), _short(exchange.answer.shown)
        day = _day(exchange.received_at)
        rows.append((exchange.id, exchange.route, exchange.task, day, exchange.model, prompt, answer))
    columns = ("exchange", "route", "task", "received", "model", "prompt", "answer")
    show_rows(console, columns, rows, wide=_TEXTS)


def show_one(golden: Golden, history: Sequence[Golden], console: Console) -> None:
    """Print a golden in full, and who approved and retired each of its versions."""
    state = (
        "" if golden.retired_at is None else f"   retired by {golden.retired_by}, {_day(golden.retired_at)}"
    )
    _say(console, Text(f"{golden.id}   version {golden.version} of {len(history)}{state}", style="bold"))
    facts = {
        "route": golden.route,
        "task": golden.task,
        "path": golden.path,
        "model": golden.model,
        "prompt version": golden.prompt_version,
        "approved": f"{_day(golden.approved_at)} by {golden.approved_by or 'nobody named'}",
        "note": golden.note,
    }
    for name, fact in facts.items():
        if fact:
            _say(console, Text(f"  {name:<15}", style="cyan"), fact)
    _say(console, Text("\nPrompt", style="bold"))
    _say(console, prompt_text(golden.request) or "(only the answer is known)")
    _say(console, Text("\nApproved answer", style="bold"))
    _say(console, golden.answer.shown)
    _say(console, Text("\nVersions", style="bold"))
    for version in history:
        retired = ""
        if version.retired_at is not None:
            retired = f"; retired {_time(version.retired_at)} by {version.retired_by}"
        answered = f"   answered by {version.model}" if version.model else ""
        prompt = f", prompt {version.prompt_version}" if version.prompt_version else ""
        approved = f"approved {_time(version.approved_at)} by {version.approved_by or 'nobody named'}"
        _say(console, f"  {version.version}  {approved}{retired}{answered}{prompt}")


def golden_record(golden: Golden, history: Sequence[Golden]) -> dict[str, Any]:
    """Return a golden with its versions, as values for JSON."""
    return {"golden": golden_row(golden), "versions": [golden_row(version) for version in history]}


def candidate_records(choices: Sequence[GoldenCandidate]) -> list[dict[str, Any]]:
    """Return candidates as values for JSON."""
    rows = []
    for candidate in choices:
        exchange = candidate.exchange
        rows.append(
            {
                "exchange": exchange.id,
                "route": exchange.route,
                "task": exchange.task,
                "received_at": exchange.received_at,
                "model": exchange.model,
                "prompt_version": exchange.prompt_version,
                "prompt": candidate.prompt,
                "answer": exchange.answer.shown,
            }
        )
    return rows


def _say(console: Console, *pieces: Text | str) -> None:
    line = Text()
    for piece in pieces:
        line.append(visible(piece) if isinstance(piece, str) else piece)
    # As it is: no markup, no wrapping, so that what is copied is what is there.
    console.print(line, soft_wrap=True, markup=False, highlight=False)


def _last(prompt: str) -> str:
    """The beginning of a prompt's last turn, which tells one from the other."""
    return _short(prompt.rpartition("\n\nuser: ")[2].removeprefix("user: "))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 1]}…"


def _day(moment: float | None) -> str:
    return _time(moment)[:10]


def _time(moment: float | None) -> str:
    return "" if moment is None else time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))

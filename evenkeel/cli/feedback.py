"""`feedback`: exports people's ratings of verdicts as the two files that `evenkeel judge-audit` reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from evenkeel.cli.options import route_option, table_console, with_stores
from evenkeel.release.kit.arguments import write_lines
from evenkeel.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from evenkeel.core.verdict import Evidence
    from evenkeel.runtime.stores import Stores
    from evenkeel.stores.labels import Label, Quality

SIMILARITY: Final = "similarity"
QUALITY_CHANGE: Final = "quality_change"
METRICS: Final = (SIMILARITY, QUALITY_CHANGE)
"""Metrics of the rows: similarity of two answers, and which of them is better."""
SCALE: Final = "1-3"
_QUALITY_STEPS: Final[dict[Quality | None, int]] = {"worse": 1, "equal": 2, "better": 3}

_judge = click.option("--judge", metavar="MODEL", help="Only trials that this judge rated.")
_drawn = click.option("--drawn", is_flag=True, help="Only trials drawn at random and rated blind.")


@click.group()
def feedback() -> None:
    """Export people's ratings of trials, to measure the judge against.

    People rate trials on a trial's page in the console, and the page of the judge shows how far they agree
    with it. Ratings are kept with their names, longer than the trial itself. Works while `up` runs.

    \b
      evenkeel feedback export -o labels.jsonl --recorded judge.jsonl
      evenkeel judge-audit labels.jsonl --recorded judge.jsonl
    """


@feedback.command()
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE",
    help="Write people's ratings to FILE; .gz compresses.  [default: standard output]",
)  # fmt: skip
@click.option(
    "--recorded", type=click.Path(path_type=Path), metavar="FILE",
    help="Write the judge's ratings of the same trials to FILE; skips trials it did not decide.",
)  # fmt: skip
@route_option
@_judge
@_drawn
@with_stores
def export(stores: Stores, output: Path | None, recorded: Path | None, **narrowed: Any) -> None:
    """Write ratings as JSON lines for `evenkeel judge-audit`."""
    labels = _chosen(stores, **narrowed)
    if not labels:
        raise SettingsError("no matching ratings; people rate trials on their page in the console")
    if recorded is not None:
        labels = _judged(labels)
    rows = list(rating_lines(labels, stores.labels.texts))
    # Nothing but rows on standard output, which may be piped.
    if output is None:
        table_console().out("\n".join(rows), highlight=False)
    else:
        write_lines(output, rows)
    if recorded is not None:
        write_lines(recorded, list(judge_lines(labels)))
    if output is not None:
        click.echo(f"{len(rows)} rows in {output}")


def _judged(labels: Sequence[Label]) -> list[Label]:
    """Return the labels of verdicts that a judge decided.

    Raises: SettingsError if there are none, or if they are of several judges.
    """
    judged = []
    for label in labels:
        if label.decided_by == "judge":
            judged.append(label)
    judges = sorted({label.judge_model for label in judged})
    if len(judges) > 1:
        raise SettingsError(
            f"the labels are about several judges ({', '.join(judges)}); choose one with --judge"
        )
    if not judged:
        raise SettingsError("no judge decided any of the labelled verdicts; leave --recorded out")
    return judged


def _chosen(stores: Stores, *, route: str | None, judge: str | None, drawn: bool) -> list[Label]:
    labels = []
    for label in stores.labels.select(route=route):
        if judge in (None, label.judge_model) and (label.drawn or not drawn):
            labels.append(label)
    return labels


def rating_lines(labels: Iterable[Label], texts: Callable[[str], Evidence | None]) -> Iterator[str]:
    """Yield the ratings that people gave, as a line of JSON per verdict and metric, without line ends.

    Each has `item` (the verdict's id), `metric`, `scale`, `ratings` by person, `text` (the answer to the
    changed prompt) and `context` (the request and the answer to the original), "" where they are not known.

    Args:
        labels: those that count.
        texts: prompts and answers by verdict.
    """
    for verdict_id, labels_of_verdict in _by_verdict(labels).items():
        evidence, text, context = texts(verdict_id), "", ""
        if evidence:
            text = evidence.candidate.shown if evidence.candidate else ""
            context = f"Request:\n{evidence.prompt}\n\nFirst answer:\n{evidence.reference.shown}"
        for metric in METRICS:
            ratings = {}
            for label in labels_of_verdict:
                rating, _ = _ratings(label)[metric]
                if rating is not None:
                    ratings[label.by] = rating
            if ratings:
                row = {"item": verdict_id, "metric": metric, "scale": SCALE, "ratings": ratings}
                yield json.dumps({**row, "text": text, "context": context})


def judge_lines(labels: Iterable[Label]) -> Iterator[str]:
    """Yield the verdicts' ratings of the same items, for `--recorded`; a missing rating becomes a failure."""
    for verdict_id, labels_of_verdict in _by_verdict(labels).items():
        for metric in METRICS:
            # Without people's ratings there is nothing to hold the judge's against.
            if all(_ratings(label)[metric][0] is None for label in labels_of_verdict):
                continue
            _, rating = _ratings(labels_of_verdict[0])[metric]
            row = {"item": verdict_id, "metric": metric, "strategy": "knowledge", "condition": "plain"}
            # The judge may have rated the content and no quality, or the reverse.
            rest: dict[str, Any]
            if rating is None:
                rest = {"rating": None, "failure": "not_rated"}
            else:
                rest = {"rating": rating, "justification": labels_of_verdict[0].explanation}
            yield json.dumps({**row, **rest})


def _by_verdict(labels: Iterable[Label]) -> dict[str, list[Label]]:
    """Group labels by verdict; the verdict that was labelled first comes first."""
    grouped: dict[str, list[Label]] = {}
    for label in sorted(labels, key=lambda each: (each.at, each.verdict_id, each.by)):
        grouped.setdefault(label.verdict_id, []).append(label)
    return grouped


def _ratings(label: Label) -> dict[str, tuple[int | None, int | None]]:
    """Return a person's rating and that of the verdict, by metric."""
    steps = (_QUALITY_STEPS.get(label.quality), _QUALITY_STEPS.get(label.judge_quality))
    return {SIMILARITY: (label.rating, label.judge_rating), QUALITY_CHANGE: steps}

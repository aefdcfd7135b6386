"""`score`: rates whether the two answers of each pair in a file say the same."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any

import click

from evenkeel.cli.options import FILE, emit, file_option, json_option
from evenkeel.core.errors import UserError
from evenkeel.core.figures import NO_JUDGE, count
from evenkeel.core.text import escaped
from evenkeel.metrics.pairs import PairError, finding, read_pair, scored, without_judge
from evenkeel.release.kit.arguments import read_text
from evenkeel.release.kit.datasets import json_lines
from evenkeel.runtime import choices
from evenkeel.runtime.instruments import make_judge, make_scorer
from evenkeel.runtime.replays import prices
from evenkeel.settings import load
from evenkeel.stores.counters import Tally

if TYPE_CHECKING:
    from pathlib import Path

    from evenkeel.core.pair import Pair
    from evenkeel.core.verdict import Scorer
    from evenkeel.metrics.scoring import TwoStageScorer


@click.command()
@click.argument("file", type=FILE)
@file_option("--config", "Settings file with judge and qualities.  [default: no judge]")
@json_option
def score(file: Path, config: Path | None, *, as_json: bool) -> None:
    """Score the pairs of answers in FILE, or on standard input (-).

    FILE holds JSON lines with `reference` and `candidate`, and optionally `prompt`, `task` and `wanted` (the
    requested format and language). Each line is printed with `rating` (3 = same content, 2 = some details
    differ, 1 = different message, null = unsure), `similarity` (0 to 1), `decided_by`, `explanation`,
    `qualities` and `invalid`.

    Without a judge, only identical answers (3) and an empty answer beside a text (1) are rated. A judge in
    the settings file rates the rest.

    \b
      evenkeel score pairs.jsonl
      evenkeel score pairs.jsonl --config evenkeel.yaml > scored.jsonl
      echo '{"reference": "Berlin.", "candidate": "In Berlin."}' | evenkeel score -

    Counts of the ratings go to standard error.

    Exit code: 0 done, also if some pairs could not be scored; 2 invalid file or settings.
    """
    rows, pairs = _read(file)
    counts: Counter[str] = Counter()
    out: list[dict[str, Any]] = []

    async def run() -> Scorer:
        async with AsyncExitStack() as stack:
            scorer = _scorer(config, stack)
            index = 0
            async for judgement in scored(pairs, scorer):
                row = {**rows[index], **finding(judgement)}
                index += 1
                counts[str(row["rating"] or row["decided_by"])] += 1
                # Lines are printed as they come, so that a long file shows its progress.
                if as_json:
                    out.append(row)
                else:
                    click.echo(escaped(json.dumps(row, ensure_ascii=False)))
            return scorer.scorer

    decided_by = asyncio.run(run())
    if as_json:
        emit({"pairs": out, "counts": dict(sorted(counts.items()))})
    else:
        summary = ", ".join(f"{name}: {rated}" for name, rated in sorted(counts.items(), reverse=True))
        click.echo(f"{count(len(rows), 'pair')}; {summary or 'none'}", err=True)
        if counts["unsure"] and decided_by == "metrics":
            click.echo(NO_JUDGE, err=True)


def _read(file: Path) -> tuple[list[dict[str, Any]], list[Pair]]:
    """Read the rows of a file, and the pairs in them.

    Raises: UserError with the number of the first line that is no pair.
    """
    rows: list[dict[str, Any]] = []
    pairs: list[Pair] = []
    for row in json_lines(read_text(file).split("\n"), "standard input" if str(file) == "-" else str(file)):
        try:
            pairs.append(read_pair(row.cells))
        except PairError as error:
            raise UserError(f"{row.place}: {error}") from error
        rows.append(row.cells)
    return rows, pairs


def _scorer(config: Path | None, stack: AsyncExitStack) -> TwoStageScorer:
    """Return the scorer of the settings, or heuristics.

    Raises: UserError if the judge's key is missing.
    """
    if config is None:
        return without_judge()
    settings = load(config, {}, {}, forwards=False)
    choices.check(settings, str(config))
    judge = make_judge(settings, None, prices(settings))[0]
    if judge is not None:
        stack.push_async_callback(judge.close)
    return make_scorer(settings, judge, Tally())

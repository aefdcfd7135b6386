"""Words about a challenger: the same in the terminal, on its page and in messages; and its JSON.

The JSON is what the API answers, and what Argo Rollouts and Flagger read.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from evenkeel.core.figures import (
    MISSING,
    count,
    date,
    listing,
    number,
    percent,
    points_text,
    reasons,
    rounded,
    usd,
)
from evenkeel.release.challenge.figures import DIFFERS, MEASURES
from evenkeel.release.challenge.verdict import (
    ERROR_RATE,
    FRAGILE,
    SEGMENT_LIMIT,
    UNUSABLE,
    WORSE,
)

if TYPE_CHECKING:
    from evenkeel.core.cells import Estimate
    from evenkeel.core.challenge import Challenge
    from evenkeel.release.challenge.figures import ChallengeFigures, SideFigures
    from evenkeel.release.challenge.verdict import SegmentFigures

ANSWERS: Final = {"may_switch": "may switch", "must_not": "must not switch", "not_yet": "not yet"}
"""Words for a decision."""
_OPEN: Final = {
    WORSE: "whether its answers are worse",
    FRAGILE: "whether rewordings move its answers more",
    UNUSABLE: "whether more of its answers are of no use",
}
_DAYS_A_MONTH: Final = 30
_FIFTH: Final = "all challengers together use at most a fifth of the day's budget"
CONDITION: Final = (
    f"“Must not switch” is wrong for at most {percent(ERROR_RATE)} of challengers, and so is “may switch”, "
    "however often you look. This assumes that requests are independent of each other, and that the judge "
    "is right. A judge that reverses 30 % of its preferences at random sees 4 of 10 lost points; one "
    "that reverses half of them sees none."
)
"""Promise of a decision, and its condition."""


class ChallengeRow(NamedTuple):
    """Row of the table of figures."""

    name: str
    figure: str
    limit: str
    n: int
    about: str


def name_of(challenge: Challenge) -> str:
    """Return the candidate's name for people."""
    if challenge.prompt and challenge.model:
        return f"{challenge.model} with another prompt"
    if challenge.prompt:
        return "another prompt"
    return challenge.model or challenge.upstream


def headline(challenge: Challenge, figures: ChallengeFigures) -> str:
    """Return the decision in one sentence."""
    decision, name = figures.decision, name_of(challenge)
    if decision.answer == "may_switch":
        return f"{name} may take over on {challenge.route}."
    if decision.answer == "not_yet":
        return f"Not yet known whether {name} may take over on {challenge.route}."
    why = []
    if WORSE in decision.because:
        why.append(f"its answers are worse, {_over(figures.measures[WORSE], challenge.worse)}")
    if FRAGILE in decision.because:
        why.append(f"rewordings move its answers more, {_over(figures.measures[FRAGILE], challenge.fragile)}")
    if UNUSABLE in decision.because:
        failed = reasons(figures.candidate_side.failures)
        named = f" ({failed})" if failed else ""
        why.append(
            f"more of its answers are of no use{named}, {_over(figures.measures[UNUSABLE], challenge.worse)}"
        )
    # The other reasons are measures of the whole traffic.
    segments = [reason for reason in decision.because if reason not in _OPEN]
    # Where the whole loses, the parts that show it as well add nothing.
    if segments and WORSE not in decision.because:
        why.append(f"its answers are worse for {listing(segments)}")
    return f"{name} must not take over on {challenge.route}: {'; '.join(why)}."


def _over(estimate: Estimate | None, limit: float) -> str:
    return f"{points_text(estimate)} points where {limit:g} are tolerated"


def details(challenge: Challenge, figures: ChallengeFigures) -> list[str]:
    """Return what else a reader of the decision needs, a sentence each."""
    decision, lines = figures.decision, []
    if figures.left_out:
        pairs, why = count(figures.left_out, "pair"), reasons(figures.hindrances)
        lines.append(
            f"{pairs} could not be asked of both models and count in nothing ({why}): check the addresses, "
            "and the keys and limits of replays."
        )
    if decision.may_for is not None:
        lines.append(_spared(decision.may_for, figures))
    if decision.because == ("judge",):
        lines.append(
            f"There is no judge, so only contents are compared: {_contents(figures.measures[DIFFERS])}. "
            "Set one (`judge: {model: …}`) to learn which answers are better."
        )
    elif decision.because == ("length",):
        lines.append(
            "The judge prefers answers of a certain length even between two of the same model, and the "
            "candidate's answers differ in length. Label pairs under Challengers in the console: they "
            "correct the judge."
        )
    elif decision.answer == "not_yet":
        lines.append(_open(challenge, figures))
        if figures.unrated:
            lines.append(
                f"{count(figures.unrated, 'pair')} could not be rated, and may all be losses: the numbers of "
                "pairs assume that no more of them come."
            )
    saved = figures.saved_dollars
    # The incumbent asked again and not the served answers: both sides were asked in the same way.
    if saved is not None and figures.again_side.dollars:
        share = saved / figures.again_side.dollars
        word = "less" if saved >= 0 else "more"
        before = usd(1000 * figures.again_side.dollars)
        now = usd(1000 * (figures.candidate_side.dollars or 0.0))
        month = _a_month(saved, figures, 1.0)
        # With "less" once more: behind two prices a bare sum would be read as a third one.
        whole = f"; that is {month} {word} for all of today's traffic" if month else ""
        cost = f"{percent(abs(share))} {word}, {now} where {before} are paid today{whole}"
        lines.append(f"A thousand requests would cost {'the same, ' + now if now == before else cost}.")
    return lines


def limits(challenge: Challenge) -> str:
    """Return what the limits of the decision mean."""
    worse, fragile = f"{challenge.worse:g}", f"{challenge.fragile:g}"
    return (
        f"Limits: of 100 answers, {worse} more may get worse than get better, and {worse} more may be of no "
        f"use; of 100 reworded questions, {fragile} more may get another answer than with today's model. Up "
        "to there it may take over. The limits are the team's choice: `challenger.margin` in the settings, "
        "or `--worse` and `--fragile` of `evenkeel challenge`."
    )


def _spared(segment: SegmentFigures, figures: ChallengeFigures) -> str:
    """Return the part of the traffic that may switch, and what that part saves."""
    share = 1 - segment.share
    sentence = f"It may take over the other {percent(share)} of the traffic, all but {segment.title}"
    saved = figures.spared_saved_dollars
    if saved is None:
        return f"{sentence}."
    word = "less" if saved >= 0 else "more"
    thousand, month = usd(1000 * abs(saved)), _a_month(saved, figures, share)
    part = f"; that is {month} {word} for this part of today's traffic" if month else ""
    return f"{sentence}; there a thousand requests would cost {thousand} {word}{part}."


def _a_month(saved: float, figures: ChallengeFigures, share: float) -> str:
    """Return the dollars that a share of the traffic saves or costs a month; "" before that is known."""
    if figures.requests_a_day is None:
        return ""
    return f"{usd(abs(saved) * figures.requests_a_day * share * _DAYS_A_MONTH)} a month"


def _contents(differs: Estimate | None) -> str:
    if differs is None:
        return "nothing is known yet"
    if differs.lower > 0:
        return f"the candidate's differ in {points_text(differs)} points more than the incumbent's own"
    return f"they differ no more than the incumbent's own, {points_text(differs)} points"


def _open(challenge: Challenge, figures: ChallengeFigures) -> str:
    """Return each outcome that is not known yet, and for how long about."""
    decision = figures.decision
    why = []
    for outcome in decision.open:
        reason = _OPEN.get(outcome.name, f"whether its answers are worse for {outcome.name}")
        pairs = outcome.more_pairs
        why.append(f"{reason} (about {count(rounded(pairs), 'more pair')})" if pairs else reason)
    still_open = f"It is open {listing(why)}."
    if challenge.stopped_at is not None:
        return (
            f"It was stopped on {date(challenge.stopped_at)} and is asked nothing more. {still_open} Start "
            "it with the same options to go on from there."
        )
    if not figures.pairs and not figures.left_out:
        return (
            f"No pair has been compared yet. Requests have to be sampled; {_FIFTH}; a model whose price "
            "nobody knows is not asked where the budget is in dollars, nor a prompt that has none to replace "
            "(`evenkeel_challenge_pairs_total` in the metrics counts the outcomes)."
        )
    more = decision.more_pairs
    if more is None:
        return still_open
    # A pair comes with one sampled request of many; users see neither.
    requests = number(rounded(round(more / challenge.share)))
    cost = pair_cost(figures)
    price = f", and {usd(more * cost)} for the candidate's answers alone" if cost is not None else ""
    when = f", until about {date(figures.settled_at)} at the pace so far" if figures.settled_at else ""
    return (
        f"{still_open} That takes about {requests} more requests of the route{when}{price}. Nothing is to be "
        f"done meanwhile, as long as pairs come: {_FIFTH} (Spend in the console)."
    )


def pair_cost(figures: ChallengeFigures) -> float | None:
    """Return the usual price of the candidate's answers of a pair; None without a price.

    The judge's calls, and the incumbent's where its trials made none, come on top.
    """
    # Every third pair has a rewording, to which the candidate gives two more answers: five for three pairs.
    return None if figures.candidate_side.dollars is None else 5 / 3 * figures.candidate_side.dollars


def rows(challenge: Challenge, figures: ChallengeFigures) -> list[ChallengeRow]:
    """Return the table of figures: name, figure with its interval, limit, n, and what it counts."""
    names = {
        FRAGILE: "more fragile",
        UNUSABLE: "of no use",
        DIFFERS: "different",
        "tool_choice": "other tools",
    }
    limits = {WORSE: challenge.worse, FRAGILE: challenge.fragile, UNUSABLE: challenge.worse}
    rows = []
    for name, about in MEASURES.items():
        estimate = figures.measures[name]
        if estimate is not None or name in limits:
            limit, n = f"{limits[name]:g}" if name in limits else "", estimate.n if estimate else 0
            rows.append(ChallengeRow(names.get(name, name), points_text(estimate), limit, n, about))
    return rows


def sides(figures: ChallengeFigures) -> list[tuple[str, str, str]]:
    """Return the two sides' answers row by row: name, the incumbent's asked again, the candidate's."""
    incumbent, candidate = _side_texts(figures.again_side), _side_texts(figures.candidate_side)
    sides = []
    for name, text in incumbent.items():
        sides.append((name, text, candidate[name]))
    return sides


def _side_texts(side: SideFigures) -> dict[str, str]:
    counts, failed = side.places, sum(side.failures.values())
    places = MISSING
    if counts.n:
        shares = (counts.worse / counts.n, counts.as_good / counts.n, counts.better / counts.n)
        places = "worse {}, as good {}, better {}".format(*map(percent, shares))
    return {
        "answers": number(side.answers),
        "against the served answer": places,
        "failed": f"{failed} ({reasons(side.failures)})" if failed else "0",
        "without the form asked for": number(side.invalid),
        "refused": number(side.refusals),
        "characters, mean": _number(side.characters),
        "seconds to the first token, median": _number(side.first_s, 2),
        "seconds, median": _number(side.total_s, 2),
        "tokens in, mean": _number(side.prompt_tokens),
        "tokens out, mean": _number(side.completion_tokens),
        "price of a request": MISSING if side.dollars is None else usd(side.dollars),
    }


def _number(value: float | None, digits: int = 0) -> str:
    return MISSING if value is None else number(value, digits)


def segment_rows(challenge: Challenge, figures: ChallengeFigures) -> list[tuple[str, str, str, str]]:
    """Return the segments, the worst first: name, share, net losses, and what these say."""
    margin = challenge.worse / 100
    table = []
    for segment in sorted(figures.segments, key=lambda segment: -segment.worse.value):
        if segment.worse.lower > margin:
            says = "worse"
        elif segment.worse.upper >= SEGMENT_LIMIT:
            says = f"not known yet (must be below {100 * SEGMENT_LIMIT:g} points)"
        elif segment.worse.upper < 0:
            says = "better"
        else:
            says = f"less than {100 * SEGMENT_LIMIT:g} points worse"
        table.append((segment.title, percent(segment.share), points_text(segment.worse), says))
    return table


def judge_lines(figures: ChallengeFigures) -> list[str]:
    """Return what is known about the judge of the preferences, a sentence each."""
    judge = figures.judge
    if judge is None:
        return []
    lines = []
    if judge.order_changed is not None:
        share, n = percent(judge.order_changed.value), judge.order_changed.n
        lines.append(
            f"The judge changed its mind in {share} of the {count(n, 'pair')} that it saw in both orders."
        )
    if judge.prefers_longer is not None:
        share, n = percent(judge.prefers_longer.value), judge.prefers_longer.n
        cases = count(n, "case")
        lines.append(
            f"Of two answers of the incumbent the judge preferred the longer one in {share} of {cases}."
        )
    if judge.favours is not None:
        lines.append(
            f"On {count(judge.favours.n, 'labelled pair')} it favours the candidate by "
            f"{points_text(judge.favours)} points more than people do."
        )
    return lines


def challenge_json(challenge: Challenge, figures: ChallengeFigures) -> dict[str, Any]:
    """Return a challenger with its decision and figures. It holds no word of a prompt or an answer."""
    decision = figures.decision
    return {
        "id": challenge.id,
        "route": challenge.route,
        "model": challenge.model,
        "name": name_of(challenge),
        "started_at": challenge.started_at,
        "stopped_at": challenge.stopped_at,
        "share": challenge.share,
        "margin": {"worse": challenge.worse, "fragile": challenge.fragile},
        "decision": decision.answer,
        "headline": headline(challenge, figures),
        "because": list(decision.because),
        # Of the traffic outside of the segment, where the candidate may take over.
        "may_for_share": None if decision.may_for is None else round(1 - decision.may_for.share, 4),
        "but_not_for": None if decision.may_for is None else decision.may_for.title,
        "more_pairs": decision.more_pairs,
        "open": [{"name": outcome.name, "more_pairs": outcome.more_pairs} for outcome in decision.open],
        "pairs": figures.pairs,
        "unrated": figures.unrated,
        "left_out": dict(figures.hindrances),
        "judge": figures.judge is not None,
        **{name: _estimate_json(estimate) for name, estimate in figures.measures.items()},
        "candidate": asdict(figures.candidate_side),
        "incumbent_again": asdict(figures.again_side),
        "settled_about": figures.settled_at,
        "saved_usd_a_request": figures.saved_dollars,
        "saved_usd_a_request_of_the_rest": figures.spared_saved_dollars,
        "segments": [_segment(segment) for segment in figures.segments],
    }


def _segment(segment: SegmentFigures) -> dict[str, Any]:
    return {
        "segment": segment.title,
        "share": round(segment.share, 4),
        "worse": _estimate_json(segment.worse),
        "rest": _estimate_json(segment.rest),
    }


def _estimate_json(estimate: Estimate | None) -> dict[str, float] | None:
    """Return an estimate in points."""
    if estimate is None:
        return None
    return {
        "points": round(100 * estimate.value, 2),
        "lower": round(100 * estimate.lower, 2),
        "upper": round(100 * estimate.upper, 2),
        "n": estimate.n,
    }

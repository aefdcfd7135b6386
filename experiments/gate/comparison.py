"""The two sides as the options make them, and whether they can be told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkeel.experiments.gate.sides import Side
from evenkeel.proxy.endpoint import Upstream
from evenkeel.settings import Credential, SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkeel.experiments.gate.run_options import GateOptions
    from evenkeel.experiments.gate.sides import SideName, Task


def sides_of(options: GateOptions) -> tuple[Side, ...]:
    """Candidate and, if one is wanted, reference.

    Raises: SettingsError for a URL that is none.
    """
    routes: Mapping[str, Upstream] = {}
    if options.has_routes:
        routes = {route.name: Upstream.parse(route.upstream) for route in options.settings.routes}
    chosen, beside = options.candidate, options.reference
    sides = [_side("candidate", chosen.url, None, routes, options)]
    if beside is not None:
        sides.append(_side("reference", beside.url, chosen.url, routes, options))
    return tuple(sides)


def _side(
    name: SideName,
    url: str | None,
    otherwise: str | None,
    routes: Mapping[str, Upstream],
    options: GateOptions,
) -> Side:
    """A side of the comparison.

    Args:
        name: Which.
        url: Its own endpoint, which all its goldens are put to; None = the routes' upstreams.
        otherwise: Endpoint for goldens whose route has no upstream.
        routes: Upstreams by route.
        options: Of the run.

    Raises: SettingsError for a URL that is none.
    """
    chosen = options.candidate if name == "candidate" else options.reference
    assert chosen is not None
    try:
        own = Upstream.parse(url) if url else None
        spare = Upstream.parse(otherwise) if otherwise else None
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return Side(
        name=name,
        upstreams={} if own else routes,
        upstream=own or spare,
        credential=Credential.read(chosen.key_env, options.key_header),
        model=chosen.model,
        edit=options.candidate.edit if name == "candidate" else None,
    )


def check_different(asked: Sequence[Task], sides: Sequence[Side]) -> None:
    """Refuse to compare something with itself: it would pass and say nothing.

    Raises: SettingsError.
    """
    if len(sides) == 1 or not asked:
        return
    alike = all(
        task.requests["candidate"].body == task.requests["reference"].body
        and task.requests["candidate"].target == task.requests["reference"].target
        for task in asked
    )
    if alike:
        raise SettingsError(
            "candidate and reference are the same: name what is new with --model, --base-url, --prompt or "
            "--template and --new-template, or what it is compared with by --reference-url or "
            "--reference-model"
        )


def described(side: Side) -> str:
    """What a side is, in a line without credentials."""
    where = str(side.upstream) if side.upstream else f"upstreams of {len(side.upstreams)} route(s)"
    what = side.model or "the goldens' model"
    edit = f", {side.edit.said}" if side.edit else ""
    return f"{what} at {where}{edit}"

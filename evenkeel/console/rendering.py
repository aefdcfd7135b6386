"""Renders templates to bytes, and serves the other parts of pages: style sheet, script, icons, live parts.

Everything printed is escaped unless the template itself wrote it. Assets are read once and served from
memory under their digest. A page that keeps itself fresh has one address for the page and one for the part
that changes.
"""

from __future__ import annotations

from hashlib import blake2s
from importlib.resources import files
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from litestar import MediaType, Request, Response, get
from litestar.params import FromPath, FromQuery, HeaderParameter, URLEncodedBody
from markupsafe import Markup, escape

from evenkeel.console import links
from evenkeel.console.overview import cell_id, counted
from evenkeel.core import figures, rewordings
from evenkeel.core.labels import label as metric_label
from evenkeel.core.verdict import BASELINE, JUDGED_AGAIN, JUDGED_ALONE, JUDGED_SWAPPED
from evenkeel.monitor.changes.kinds import NAMES, values_of
from evenkeel.monitor.notify import summary
from evenkeel.monitor.notify.tool_words import step_words, tool_changes
from evenkeel.release.kit.renderings import environment
from evenkeel.stores.audit_log import KNOWN_BY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from litestar.handlers import HTTPRouteHandler

    from evenkeel.core.cells import CellReport, Estimate
    from evenkeel.core.verdict import Stage, Verdict


_MEDIA_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "svg": "image/svg+xml",
}


class Assets:
    """The files of `console/static`, by name."""

    def __init__(self) -> None:
        self._contents: dict[str, bytes] = {}
        for entry in files("evenkeel.console").joinpath("static").iterdir():
            if entry.name.rpartition(".")[2] in _MEDIA_TYPES:
                self._contents[entry.name] = entry.read_bytes()

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Return content and media type of the file of a name, or None."""
        content = self._contents.get(name)
        return None if content is None else (content, _MEDIA_TYPES[name.rpartition(".")[2]])

    def url(self, name: str) -> str:
        """Return the address of a file; the digest in it lets browsers cache the file forever."""
        return f"/static/{name}?v={blake2s(self._contents[name], digest_size=4).hexdigest()}"


KnownTag = Annotated[str | None, HeaderParameter(name="if-none-match")]
AnyRequest = Request[Any, Any, Any]
Form = URLEncodedBody[dict[str, str]]
PathText = FromPath[str]
QueryText = FromQuery[str | None]


class Place(NamedTuple):
    """A top-level entry of the navigation."""

    name: str
    pages: Mapping[str, str]
    """Names of its pages by address, in order; the entry links to the first."""

    @property
    def href(self) -> str:
        """Address of its first page."""
        return next(iter(self.pages))


class FilterLink(NamedTuple):
    """A link that narrows, widens or orders a list."""

    label: str
    href: str
    active: bool


class Page(SimpleNamespace):
    """The content of a live page: every value that its template prints is an attribute."""

    title: str
    """The document's title, without the number of open incidents."""
    announcement: str
    """Text for screen readers, read when it changes; it has no times, so that it is read only once."""

    def __init__(self, title: str, *, announcement: str = "", **values: Any) -> None:
        super().__init__(title=title, announcement=announcement, **values)


def live_handlers(
    path: str,
    template: str,
    view: Callable[[AnyRequest], Page],
    renderer: Renderer,
) -> list[HTTPRouteHandler]:
    """GET `path`, and `/fragments` + `path` for its live part, which answers 304 while nothing has changed.

    The page belongs to the address of the navigation that its path begins with. `template` is that of the
    live part: one element `.view` with sections that have ids. `view` is called in a worker thread.
    """
    here = f"/{path.split('/')[1]}"

    @get(path, sync_to_thread=True, needs="viewer")
    def page(request: AnyRequest) -> Response[bytes]:
        query = request.scope["query_string"].decode("latin-1")
        source = f"/fragments{_raw_path(request)}{'?' * bool(query)}{query}"
        return renderer.response("live.html", page=view(request), fragment=template, source=source, here=here)

    @get(f"/fragments{path}", sync_to_thread=True, needs="viewer")
    def fragment(request: AnyRequest, known: KnownTag = None) -> Response[bytes]:
        return tagged(renderer.page(template, page=view(request)), known)

    return [page, fragment]


def tagged(content: bytes, known: str | None) -> Response[bytes]:
    """Respond with the part of a page, tagged by its digest; 304 if the browser has it already."""
    tag = f'"{blake2s(content, digest_size=8).hexdigest()}"'
    if known == tag:
        return Response(b"", status_code=304, headers={"etag": tag})
    return Response(content, media_type=MediaType.HTML, headers={"etag": tag})


def see_other(location: str) -> Response[bytes]:
    """Return a redirect (303) to a location."""
    return Response(b"", status_code=303, headers={"location": location})


def _raw_path(request: AnyRequest) -> str:
    raw = request.scope.get("raw_path") or request.scope["path"].encode()
    return raw.partition(b"?")[0].decode("latin-1")


class Renderer:
    """Renders the console's templates.

    Rendering is called by the handlers themselves, in their worker thread: handing templates to
    the framework would render them on the event loop that also answers health checks.
    """

    def __init__(
        self,
        assets: Assets,
        clock: Callable[[], float],
        places: Sequence[Place] = (),
        *,
        open_incidents: Callable[[], int] = int,
        signs_in: bool = False,
        has_judge: bool = True,
    ) -> None:
        """Load the templates.

        Every page shows the `places` of the navigation and the number of `open_incidents`, a button to sign
        out if people sign in, and what cannot be seen without a judge.
        """
        self._open_incidents = open_incidents
        self._environment = environment("evenkeel.console")
        self._environment.globals["asset"] = assets.url
        self._environment.globals["places"] = places
        self._environment.globals["signs_in"] = signs_in
        self._environment.globals["has_judge"] = has_judge
        self._environment.globals["links"] = links
        self._environment.globals["now"] = clock
        own: dict[str, Callable[..., Any]] = {
            "category": lambda perturbation: rewordings.category(perturbation).name,
            "known_by": lambda how: KNOWN_BY.get(how, how),
            "metric_label": metric_label,
            "mark_words": lambda kind: NAMES.get(kind, kind),
            "mark_values": values_of,
            "moment": lambda at: figures.moment(at, clock()),
        }
        self._environment.filters |= {each.__name__: each for each in _FILTERS} | own

    def page(self, template: str, **values: Any) -> bytes:
        """Render a template as UTF-8.

        Models can answer with half of a surrogate pair, which has no UTF-8; it becomes "?". Reads the number
        of open incidents, unless it is among the values.
        """
        # An error page brings its own: reading the number may be what failed.
        if "open_incidents" not in values:
            values["open_incidents"] = self._open_incidents()
        return self._environment.get_template(template).render(**values).encode("utf-8", "replace")

    def response(self, template: str, status_code: int = 200, **values: Any) -> Response[bytes]:
        """Respond with a whole page."""
        return Response(self.page(template, **values), status_code=status_code, media_type=MediaType.HTML)


RATINGS = {3: "same content", 2: "some details differ", 1: "different message"}
"""Names of the levels of the similarity scale."""


def rating_words(rating: int | None) -> str:
    """Describe a rating; None means that the trial has none."""
    return "not rated" if rating is None else RATINGS.get(rating, "not rated")


def outcome_words(verdict: Verdict) -> str:
    """Describe the outcome of a trial: its rating, or the reason why there is none."""
    if verdict.invalid:
        return f"ignores the {' and the '.join(verdict.invalid)}"
    if verdict.unsure:
        near = "" if verdict.similarity is None else f", similarity {verdict.similarity:.2f}"
        return f"unsure{near}"
    return rating_words(verdict.rating)


def control_words(verdict: Verdict) -> str:
    """Describe what the control of a trial's exchange did."""
    if verdict.perturbation == BASELINE:
        return "this is the control"
    if verdict.control.shifted is None:
        return "no rated control"
    return "control changed as well" if verdict.control.shifted else "control held"


STAGES: dict[Stage, str] = {
    "equality": "identical, judge not called",
    "empty": "only one side answered, judge not called",
    "judge": "decided by the judge",
    "unsure": "not identical, not decided",
}
"""Stages that decide, for a scorer with a judge."""

SECOND_RATINGS = {
    JUDGED_AGAIN: "judged again",
    JUDGED_SWAPPED: "judged with sides swapped",
    JUDGED_ALONE: "judged alone, not with other trials of the exchange",
}
"""Names of additional ratings, by the detail that holds them."""


def trials_left(report: CellReport) -> str:
    """Say about how many more trials decide on the limit, "~300 more"; "" if nobody can say."""
    more = None if report.key.perturbation == BASELINE else report.more_trials
    return f"~{figures.rounded(more):,} more" if more else ""


def sentence(text: str) -> str:
    """Turn a line of a log into a sentence."""
    return f"{text[:1].upper()}{text[1:]}"


def code_spans(text: str) -> Markup:
    """Render text in which backticks mark code, as in the descriptions of settings."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without a partner
        return escape(text)
    marked = Markup()
    for index, part in enumerate(parts):
        marked += Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
    return marked


def spaced(name: str) -> str:
    """Return a name of the API as words."""
    return name.replace("_", " ")


def points_measured(estimate: Estimate | None) -> str:
    """Format a difference in points with its interval and trials, or a dash."""
    return figures.MISSING if estimate is None else f"{figures.points_text(estimate, 0)} of {estimate.n:,}"


def measured(estimate: Estimate | None) -> str:
    """Format an estimate with its interval and trials, or a dash."""
    return figures.MISSING if estimate is None else figures.estimate_of(estimate)


_FILTERS: Final = (
    figures.clients,
    figures.count,
    figures.estimate_of,
    figures.estimate_text,
    figures.iso,
    figures.limit,
    figures.moment_exact,
    figures.number,
    figures.percent,
    figures.points,
    figures.points_interval,
    figures.points_text,
    figures.usd,
    cell_id,
    counted,
    rewordings.column_label,
    rewordings.label,
    rewordings.pair_label,
    rewordings.phrase,
    control_words,
    outcome_words,
    rating_words,
    summary,
    trials_left,
    step_words,
    tool_changes,
    code_spans,
    measured,
    points_measured,
    sentence,
    spaced,
)

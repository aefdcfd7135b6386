"""Candidate and reference: what each is asked for a golden, with its edits, and whether they differ."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from evenkeel.core.endpoint import with_model
from evenkeel.core.figures import count
from evenkeel.core.verdict import Failure
from evenkeel.llm.price import estimate_tokens
from evenkeel.metrics.tasks import Turn, recognise
from evenkeel.release.kit.arguments import InputError
from evenkeel.release.kit.asking import AskedCall, call_key
from evenkeel.shadow.prompt import PromptView, UnreadablePrompt, api_of, headers_of, refusal
from evenkeel.shadow.prompt.template.labelling import PLACEHOLDER, candidates
from evenkeel.shadow.prompt.template.skeleton import fixed_characters, gaps, padded, place
from evenkeel.shadow.replay import Target

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenkeel.core.endpoint import Upstream
    from evenkeel.stores.goldens import Golden

    Headers = tuple[tuple[str, str], ...]

SideName = Literal["candidate", "reference"]

_VERSION = 1
_SYSTEM = frozenset({"system", "developer"})


class EditError(ValueError):
    """An edit cannot be made of these texts. The message says what is wrong and what to do."""


class NewSystemPrompt:
    """Replaces the text of the system message."""

    def __init__(self, text: str, description: str = "another system prompt") -> None:
        """Take the new text.

        Raises: EditError if it is empty.
        """
        if not text.strip():
            raise EditError("the new system prompt is empty")
        self._text = text
        self.said = description

    def __call__(self, view: PromptView) -> PromptView | Failure:
        """The prompt with the one system message replaced."""
        indices = []
        for segment in view.segments:
            if segment.role in _SYSTEM:
                indices.append(segment.index)
        if len(indices) != 1:
            what = "no system message" if not indices else f"{len(indices)} system texts"
            return _failure("does_not_fit", f"the request has {what}, so there is not one to replace")
        return view.with_texts({indices[0]: self._text})


class NewTemplate:
    """Takes the inputs out of a text that fits the old template, and puts them into the new one."""

    def __init__(self, old: str, new: str, description: str = "another template") -> None:
        """Take both templates, texts with `{placeholders}`.

        Raises: EditError if the old one does not tell where inputs begin and end, or the new one asks for
            an input that the old one does not have.
        """
        # Text editors end files with a line break; messages have none.
        old, new = old.removesuffix("\n"), new.removesuffix("\n")
        self._names = PLACEHOLDER.findall(old)
        self._fragments = tuple(PLACEHOLDER.split(padded(old)))
        self._new = new
        self.said = description
        if not self._names:
            raise EditError("the old template has no {placeholder}, so there is no input to take over")
        if fixed_characters(self._fragments) == 0:
            raise EditError("the old template needs text besides its placeholders")
        for name, behind in zip(self._names[:-1], self._fragments[1:-1], strict=True):
            if not behind:
                raise EditError(f"the old template has nothing behind {name} that tells where it ends")
        unknown = []
        for name in PLACEHOLDER.findall(new):
            if name not in self._names:
                unknown.append(name)
        if unknown:
            raise EditError(
                f"the new template asks for {unknown[0]}, the old one has only {', '.join(self._names)}"
            )
        if not new.strip():
            raise EditError("the new template is empty")

    def __call__(self, view: PromptView) -> PromptView | Failure:
        """The prompt with the last text that fits the old template put into the new one."""
        # The last message that fits: earlier ones may be examples of the same template.
        for index in reversed(candidates(view.slots)):
            inputs = self._inputs(view.segments[index].text)
            if inputs is not None:
                return view.with_texts({index: self._filled(inputs)})
        return _failure("does_not_fit", "no message of the request fits the old template")

    def _filled(self, inputs: dict[str, str]) -> str:
        # One pass: an input may hold what looks like a placeholder.
        return PLACEHOLDER.sub(lambda found: inputs[found[0]], self._new)

    def _inputs(self, text: str) -> dict[str, str] | None:
        """The inputs by placeholder; None if the text does not fit."""
        marked = padded(text)
        spans = place(self._fragments, marked)
        if spans is None:
            return None
        inputs: dict[str, str] = {}
        for name, gap in zip(self._names, gaps(spans), strict=True):
            value = marked[gap.start : gap.end]
            # A placeholder that stands twice has one value, or the text is of another template.
            if inputs.setdefault(name, value) != value:
                return None
        return inputs


Edit: TypeAlias = NewSystemPrompt | NewTemplate
"""Turns a golden's prompt into the candidate's, or returns a failure that says why not ("does_not_fit").

It takes a view that is classified by role, so that each string of the body is one segment.
"""


def drawn(call: AskedCall, repeat: int) -> AskedCall:
    """Return the call with a key that also depends on the side and the repeat.

    So two sides with the same request still get two independent answers.
    """
    where: list[object] = [call.payee, call.target.url, call.target.unix_path, repeat]
    return replace(call, key=call_key(where, call.body))


class SideEndpoint(NamedTuple):
    """An upstream with its credential: a key belongs to an origin."""

    upstream: Upstream
    headers: Headers = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """An endpoint, a model and a prompt."""

    name: SideName
    endpoints: Mapping[str, SideEndpoint] = field(default_factory=dict)
    """Endpoints by route."""
    default: SideEndpoint | None = None
    """Endpoint of the routes that are not listed."""
    key_variable: str = ""
    """Environment variable with the credential of `default`, for messages."""
    model: str | None = None
    """None = the model that the golden's request names, else the one that gave its answer."""
    edit: Edit | None = None
    """None = the golden's own prompt."""

    def request(self, golden: Golden, view: PromptView) -> AskedCall | Failure:
        """Return a golden's request, made free of side effects as replays are, or why it cannot be sent."""
        endpoint = self.endpoints.get(golden.route, self.default)
        if endpoint is None:
            return _failure("no_endpoint", f'no endpoint is known for the route "{golden.route}"')
        if self.edit is not None:
            edited = self.edit(view)
            if isinstance(edited, Failure):
                return edited
            view = edited
        path = golden.path
        # A request that names no model is put to the one that gave the approved answer.
        model = self.model or (golden.model if view.model is None else None)
        if model is not None:
            renamed = with_model(path, model)
            # Where the path names the model, the body does only if it did before.
            if renamed is None or view.model is not None:
                view = view.with_members({"model": json.dumps(model)})
            if renamed is not None and self.model is not None:
                path = renamed
        extra = headers_of(view.api, golden.headers)
        upstream = endpoint.upstream
        target = Target(upstream.url(path), (*extra, *endpoint.headers), upstream.unix_path)
        tokens = estimate_tokens(view.text)
        call = AskedCall(
            self.name, target, view.for_replay(), b"", model or view.model or "", tokens, view.api
        )
        return drawn(call, 0)


def view_of(golden: Golden) -> PromptView | Failure:
    """A golden's prompt, or why it cannot be asked again."""
    if golden.request is None:
        return _failure("no_request", "the golden holds an answer but no request")
    api = api_of(golden.path)
    if api is None:
        return _failure("api_unsupported", f"requests to {golden.path} cannot be read")
    try:
        view = PromptView.parse(golden.request.encode("utf-8", "surrogatepass"), api=api)
    except UnreadablePrompt as error:
        return _failure(error.reason, error.detail)
    refused = refusal(view)
    return view if refused is None else _failure(refused.reason, refused.detail)


def task_of(golden: Golden, by_route: Mapping[str, str | None], otherwise: str | None = None) -> str | None:
    """Return a golden's task: its own, its route's, `otherwise`, or the one recognised in the prompt."""
    named_task = golden.task or by_route.get(golden.route) or otherwise
    if named_task is not None:
        return named_task
    view = view_of(golden)
    if isinstance(view, Failure):
        return None
    return recognise(Turn(message.role, message.text) for message in view.messages)


@dataclass(frozen=True, slots=True)
class SideTask:
    """A golden that can be asked, and its requests."""

    golden: Golden
    context: str
    """The golden's own prompt, for scoring."""
    requests: Mapping[SideName, AskedCall]


class PreparedGoldens(NamedTuple):
    """Goldens with their requests."""

    tasks: list[SideTask]
    left_out: list[Failure]
    """A reason for each golden that cannot be asked."""


def prepare(goldens: Iterable[Golden], sides: Sequence[Side]) -> PreparedGoldens:
    """Return the requests of each golden."""
    prepared = PreparedGoldens([], [])
    for golden in goldens:
        task = _task(golden, sides)
        if isinstance(task, Failure):
            prepared.left_out.append(task)
        else:
            prepared.tasks.append(task)
    return prepared


def _task(golden: Golden, sides: Sequence[Side]) -> SideTask | Failure:
    view = view_of(golden)
    if isinstance(view, Failure):
        return view
    requests: dict[SideName, AskedCall] = {}
    for side in sides:
        request = side.request(golden, view)
        if isinstance(request, Failure):
            return request
        requests[side.name] = request
    return SideTask(golden, view.text, requests)


def _failure(reason: str, detail: str) -> Failure:
    return Failure("gate", _VERSION, reason, detail)


def check_different(asked: Sequence[SideTask], sides: Sequence[Side]) -> None:
    """Refuse to compare something with itself: it would pass and say nothing.

    Raises: InputError.
    """
    # A single side is compared with nothing.
    if len(sides) == 1 or not asked:
        return
    for task in asked:
        candidate, reference = task.requests["candidate"], task.requests["reference"]
        # One request that differs is enough: a template edit may not affect every golden.
        if candidate.body != reference.body or candidate.target != reference.target:
            return
    raise InputError(
        "candidate and reference are the same: say what is new with --model, --base-url, --prompt or "
        "--template and --new-template, or what to compare it with by --reference-url or --reference-model"
    )


def described(side: Side) -> str:
    """Describe a side in a line without credentials."""
    where = f"the upstreams of {count(len(side.endpoints), 'route')}"
    if side.default is not None:
        where = str(side.default.upstream)
    what = side.model or "the goldens' model"
    edit = f", {side.edit.said}" if side.edit else ""
    return f"{what}, at {where}{edit}"

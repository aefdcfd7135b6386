"""Base class of the APIs: everything in which their request shapes differ."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from evenkeel.llm.price import stated_limit
from evenkeel.shadow.prompt.body import Body, UnreadablePrompt, outermost
from evenkeel.shadow.prompt.members import CHOICES, FORCED_FALSE, STREAM_OPTIONS, USAGE_IN_STREAM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from evenkeel.core.tiers import Tier
    from evenkeel.llm.answer import AnswerReader
    from evenkeel.shadow.prompt.body import RawMessage
    from evenkeel.shadow.prompt.spans import Member

Get = Callable[[str], Any]
"""Function that returns the decoded value of a top-level member, None if it is absent."""
# Values of `service_tier` that a replay keeps. Others, such as priority, cost more than the list price.
_TIERS: Final = (None, "auto", "default", "flex", "standard", "standard_only")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Reason to never replay a request. Counted by reason."""

    reason: str
    """Short snake_case word, usable as a label: "server_side_tools", "remote_content", "ambiguous",
    "stateful", "background", "compaction", "audio_output", "media_output", "stored_prompt",
    "several_prompts" or "echo"."""
    detail: str
    """Explanation for people, one sentence; holds no prompt text."""


class Api(ABC):
    """Request shape of an API: it reads the prompt, selects a replay's members, and reads the answer."""

    name: ClassVar[str]
    """Name for people and for `--api`."""
    path: ClassVar[str]
    """The end of its requests' paths, one of `core.endpoint.API_PATHS`."""
    prompt_members: ClassVar[tuple[str, ...]]
    """The members that hold prompt text, the conversation first."""
    text_parts: ClassVar[tuple[str, ...]] = ("text",)
    """The `type` of content parts whose member `text` is prompt text."""
    kept: ClassVar[frozenset[str]]
    """Members that a replay sends as the client wrote them."""
    added: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Members, with their JSON text, that a replay adds where the client left them out."""
    limits: ClassVar[tuple[str, ...]]
    """Members that limit the answer, the one that most servers accept first."""
    adds_limit: ClassVar[bool] = True
    """True if a replay may state a limit where the client stated none."""
    usage_on_request: ClassVar[bool] = False
    """True if a stream holds token counts only if `stream_options` asks for them."""
    has_flex: ClassVar[bool] = False
    """True if `service_tier: "flex"` asks for a cheaper answer."""
    client_tools: ClassVar[tuple[str, ...]] = ()
    """Types of provider-defined tools that run at the client; one that ends in "_" is followed by a date."""
    parameters: ClassVar[tuple[tuple[str, str, str], ...]] = ()
    """Parameters nested in a member: the member, the key in it, and the other APIs' name for it."""
    headers: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Headers that the API demands, for requests that are kept without their own."""
    answer_reader: ClassVar[type[AnswerReader]]
    """Class that reads one answer, whole or streamed."""
    operation: ClassVar[Literal["chat", "text_completion"]] = "chat"
    """Operation name in traces (OpenTelemetry's `gen_ai.operation.name`)."""

    def __repr__(self) -> str:
        return self.name

    @abstractmethod
    def messages(self, text: str, members: tuple[Member, ...]) -> tuple[RawMessage, ...]:
        """Return the messages of a body.

        Args:
            text: Of the body.
            members: Of its outermost object.

        Raises: UnreadablePrompt with any reason but "not_json" and "too_deep"; json.JSONDecodeError and
            RecursionError as `value_at`.
        """

    def is_request(self, body: Mapping[str, Any]) -> bool:
        """Return whether a body without a path looks like a request of this API."""
        return self.prompt_members[0] in body

    def is_answer(self, body: Mapping[str, Any]) -> bool:  # noqa: ARG002 - for APIs that are known by a body
        """Return whether a body without a path looks like a whole answer of this API."""
        return False

    def ask(self, question: str) -> dict[str, Any]:
        """Return the members of a request in which a user asks a question."""
        return {self.prompt_members[0]: question}

    def runs_at_client(self, tool: Mapping[str, Any], is_function: Callable[[Any], bool]) -> bool:  # noqa: ARG002 - for APIs with tools that hold tools
        """Return whether a tool that is no function runs at the client, so that offering it has no effect.

        Args:
            tool: Its definition.
            is_function: Tells whether a definition is a function's.
        """
        kind = tool.get("type")
        if not isinstance(kind, str):
            return False
        if kind in self.client_tools:
            return True
        for dated in self.client_tools:
            if dated.endswith("_") and kind.startswith(dated):
                return True
        return False

    def offered(self, get: Get) -> list[Any]:
        """Return the lists of tools that a request offers; in a bad request they may be anything else."""
        return [get("tools")]

    def refusals(self, get: Get) -> Iterator[Refusal]:  # noqa: ARG002 - for APIs with reasons of their own
        """Return this API's own reasons not to replay a request."""
        return iter(())

    def read_body(self, text: str) -> Body:
        """Read the text of a request body.

        Raises: UnreadablePrompt "not_json", "too_deep", "no_messages", "token_prompt" or
            "unsupported_shape".
        """
        try:
            members = outermost(text)
            return Body(members, self.messages(text, members))
        except json.JSONDecodeError as fault:
            raise UnreadablePrompt("not_json", f"{fault.msg} at character {fault.pos}") from fault
        except RecursionError as fault:
            raise UnreadablePrompt("too_deep", "the body is nested too deeply to be read") from fault

    def left_out(self, members: Iterable[Member]) -> frozenset[str]:
        """The keys, of the outermost object, that a replay does not carry."""
        sent = self.kept | {*FORCED_FALSE, *CHOICES}
        return frozenset(member.key for member in members if member.key not in sent)

    def replay_changes(
        self, members: tuple[Member, ...], tier: Tier = "standard", most_tokens: int | None = None
    ) -> dict[str, str | None]:
        """Return the changes of the outermost object that prepare a body for a replay, as JSON text by key.

        Keys the client did not send are not added, since many compatible servers reject keys they do not
        know; the exceptions are `added` and, where a flex replay is asked for, `service_tier`. Repeated keys
        are all treated. A limit of the answer that is higher than `most_tokens` becomes that. One that limits
        nothing, such as null, is left out where the replayer adds a limit under that name.
        """
        changes: dict[str, str | None] = dict.fromkeys(self.left_out(members))
        for member in members:
            if member.key in FORCED_FALSE and member.value.decoded is not False:
                changes[member.key] = "false"
            elif member.key == STREAM_OPTIONS and self.usage_on_request and _streams(members):
                changes[member.key] = USAGE_IN_STREAM
            elif member.key == "service_tier" and member.value.decoded not in _TIERS:
                changes[member.key] = None
            elif member.key in CHOICES and not _at_most_one(member.value.decoded):
                changes[member.key] = "1"
            elif member.key in self.limits:
                stated = stated_limit(member.value.decoded)
                if stated is None and self.adds_limit:
                    changes[member.key] = None
                elif stated is not None and most_tokens is not None and stated > most_tokens:
                    changes[member.key] = str(most_tokens)
        written = {member.key for member in members}
        changes |= {key: value for key, value in self.added if key not in written}
        if tier == "flex" and self.has_flex:
            changes["service_tier"] = '"flex"'
        return changes


def _streams(members: Iterable[Member]) -> bool:
    for member in members:
        if member.key == "stream" and member.value.decoded is True:
            return True
    return False


def _at_most_one(value: object) -> bool:
    """Return whether a number of choices is none or one. A text is not: servers take "128" for a number."""
    return value is None or (isinstance(value, bool | float) and value <= 1)

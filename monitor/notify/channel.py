"""A channel to people that gets grouped messages, and none that a broken yardstick makes meaningless."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from evenkeel.monitor.notify.backoff import Backoff
from evenkeel.monitor.notify.groups import Groups, Message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkeel.stores.monitor_state import AlertEvent


class Sender(Protocol):
    """Something that shows a message to people."""

    name: str
    """For logs; not a secret."""

    def send(self, message: Message) -> bool:
        """Whether it was taken. May block for seconds; raises nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Grouping:
    """How events become messages."""

    window_s: float = 30.0
    """What happens on a route within that time is one message."""
    trouble_after_s: float = 60.0
    """People are told of a trouble that lasts so long; alerts wait from its first second."""
    console_url: str = ""


class Channel:
    """Hands groups of events to one sender.

    While there is a trouble, events wait; one message says so once it has lasted, and one that it is
    over. What cancels out while it waits is never sent. After a failure the sender is tried again
    after 1 s, 2 s, 4 s … up to 5 min.
    """

    def __init__(
        self,
        sender: Sender,
        announce: Callable[[str], None],
        clock: Callable[[], float],
        grouping: Grouping | None = None,
        troubles: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Open the channel.

        Args:
            sender: shows messages.
            announce: gets a line when the sender fails.
            clock: seconds from any time on.
            grouping: how events become messages.
            troubles: what makes robustness alerts meaningless now, a sentence each.
        """
        self._sender = sender
        self._announce = announce
        self._clock = clock
        self._grouping = grouping or Grouping()
        self._troubles = troubles
        self._groups = Groups(self._grouping.window_s, self._grouping.console_url)
        self._backoff = Backoff(clock)
        self._trouble_since: float | None = None
        self._trouble_told = False

    def take(self, events: Sequence[AlertEvent]) -> set[str]:
        """Gather events and send what is due; returns the ids of those that are settled.

        Call it often, with everything that is not settled yet, also when there is nothing.
        """
        now = self._clock()
        self._groups.add(events, now)
        held = self._hold(now)
        settled: set[str] = set()
        if held:
            return settled
        for batch in list(self._groups.due(now)):
            if batch.message is not None and not self._send(batch.message):
                break
            self._groups.settle(batch)
            settled |= batch.ids
        return settled

    def _hold(self, now: float) -> bool:
        """Whether alerts have to wait; tells people about it."""
        troubles = self._troubles()
        if troubles:
            if self._trouble_since is None:
                self._trouble_since = now
            lasting = now - self._trouble_since >= self._grouping.trouble_after_s
            if lasting and not self._trouble_told:
                text = "\n\n".join(troubles)
                title = "[evenkeel] alerts on robustness are held back"
                self._trouble_told = self._send(Message(title, text, good=False))
            return True
        self._trouble_since = None
        if self._trouble_told:
            over = Message(
                "[evenkeel] alerts on robustness mean something again",
                "What held them back is over.",
                good=True,
            )
            self._trouble_told = not self._send(over)
        return False

    def _send(self, message: Message) -> bool:
        if not self._backoff.due:
            return False
        if self._sender.send(message):
            self._backoff.succeed()
            return True
        self._announce(
            f"[evenkeel] the notification to {self._sender.name} failed; "
            f"trying again in {self._backoff.fail():.0f} s"
        )
        return False

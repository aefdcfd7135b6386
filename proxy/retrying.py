"""When a request is sent a second time.

Only on one occasion: a kept-alive connection turned out dead before a byte of the answer came,
and the request is still at hand. Then it is sent once more, on a fresh connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from evenkeel.proxy.headers import has_idempotency_key

if TYPE_CHECKING:
    from evenkeel.proxy.request_head import RequestHead

RetryPolicy = Literal["never", "unread", "always"]
"""What to do with requests that may have an effect, which in an LLM API is nearly all of them:
never repeat; repeat if it is proven that the upstream has not read them; or always repeat, which
may run (and bill) a completion twice."""

_IDEMPOTENT = frozenset({b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"TRACE"})


def may_repeat(head: RequestHead, policy: RetryPolicy, *, unread: bool) -> bool:
    """Whether an unanswered request may be sent again.

    Idempotent methods (RFC 9110, 9.2.2) and requests with an `Idempotency-Key` always may.

    Args:
        head: The request.
        policy: For all others.
        unread: Whether the upstream provably has not read the whole request, see `liveness`.
    """
    if head.method in _IDEMPOTENT or has_idempotency_key(head.raw, head.end):
        return True
    return policy == "always" or (policy == "unread" and unread)

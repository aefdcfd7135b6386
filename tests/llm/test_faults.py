"""Classification of calls that brought no answer."""

import json

import httpx2
import pytest

from evenkeel.llm.faults import fault_of
from evenkeel.llm.wire import RawResponse


@pytest.mark.parametrize("value", [[], {}, [1], None, 1.5, True])
@pytest.mark.parametrize("member", ["message", "type", "code", "param", "innererror", "metadata"])
@pytest.mark.parametrize("status", [400, 403, 404, 429, 503])
def test_no_value_in_an_error_breaks_its_reader(status, member, value):
    """The call ends with a reason, whatever an endpoint puts into its error."""
    body = json.dumps({"error": {"message": "no", "code": "c", member: value}}).encode()
    response = RawResponse(status, httpx2.Headers({"content-type": "application/json"}), body)
    assert fault_of(response, "sk-key").reason

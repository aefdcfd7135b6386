"""Plain requests and answers, and how an error answer is read."""

import json

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def error_of(text):
    """Status and error object of an OpenAI-shaped answer."""
    head, _, body = text.partition(b"\r\n\r\n")
    error = json.loads(body)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert b"content-type: application/json" in head
    return int(head.split(b" ")[1]), error

"""One client for all models that evenkeel asks itself, whatever it asks for.

`client` (an `Endpoint`: pace, retries, costs) stands on `chat` (requests, replies, parameters that a server
rejects), `limits` (its pace, the pauses it asks for, the breaker), `faults` (calls that brought no answer),
`price` and `observer` (for tracing). `sdk` is the only module that needs the SDK. Import the modules
themselves: `client` loads it.
"""

"""The client for all models that evenkeel asks itself, whatever it asks for.

`client` (a `ModelClient`: pace, retries, costs) stands on `chat` (requests, replies, parameters that a
server rejects), `limits` (its pace, the pauses it asks for, the breaker), `faults` (calls that brought no
answer), `price` and `observer` (for tracing). Replays, which go to any upstream as the application's own
requests do, share `wire` (one request, its answer bounded in time and size) and `evenkeel.core.budget.booked`
with it.
"""

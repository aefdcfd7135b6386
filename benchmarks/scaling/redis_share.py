"""What an exchange takes of Redis: its own processor time, and its memory while it waits."""

from __future__ import annotations

import json
import socket
import subprocess
import tempfile
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import redis

from evenkeel.core.exchange import Exchange
from evenkeel.simulate import make_prompt
from evenkeel.stores.redis.connection import RedisPlace, RedisStore
from evenkeel.stores.redis.queue import RedisExchangeQueue

if TYPE_CHECKING:
    from benchmarks.scaling.load import Measured

EXCHANGES, BATCH = 4_000, 16


def exchange(number: int) -> Exchange:
    """A captured support case."""
    request = {"model": "simulated-1", "messages": make_prompt("case_summary", number)}
    answer = {"choices": [{"index": 0, "message": {"content": "The case is settled. " * 20}}]}
    return Exchange(
        id=f"{number:016x}",
        route="default",
        received_at=time.time(),
        duration_s=0.0,
        method="POST",
        path="/v1/chat/completions",
        status=200,
        request_headers=(),
        request_body=json.dumps(request).encode(),
        response_headers=(),
        response_body=json.dumps(answer).encode(),
    )


def measured_redis(known: Measured) -> Measured:
    """The measurements with Redis' share, on a server of its own that keeps an append-only file."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        options = [
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--dir",
            folder,
            "--save",
            "",
            "--appendonly",
            "yes",
        ]
        server = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
        try:
            with redis.Redis(port=port, retry=None) as client:
                return _measured(known, client, port)
        finally:
            server.terminate()
            server.wait(10)


def _measured(known: Measured, client: redis.Redis, port: int) -> Measured:
    for _ in range(200):
        try:
            client.ping()
            break
        except redis.ConnectionError:
            time.sleep(0.05)
    queue = RedisExchangeQueue(RedisStore(RedisPlace(url=f"redis://127.0.0.1:{port}/0")), time.time)
    made = [exchange(number) for number in range(EXCHANGES)]
    before, empty = _processor_s(client), client.info("memory")["used_memory"]
    for start in range(0, EXCHANGES, BATCH):
        queue.put(made[start : start + BATCH])
    full = client.info("memory")["used_memory"]
    while leases := queue.reserve(BATCH, 15.0):
        queue.acknowledge([lease.exchange.id for lease in leases])
    spent_s = _processor_s(client) - before
    return replace(
        known,
        redis_exchange_s=spent_s / EXCHANGES,
        redis_exchange_bytes=(full - empty) / EXCHANGES,
    )


def _processor_s(client: redis.Redis) -> float:
    found = client.info("cpu")
    return float(found["used_cpu_sys"]) + float(found["used_cpu_user"])

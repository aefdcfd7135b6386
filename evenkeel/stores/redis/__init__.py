"""Distributed store: Redis 7 or later, alone, with Sentinel, or as a Cluster.

`connection` (address, one client, scripts, names of keys) → one module a contract, its Lua in `scripts/`.
Importing this package loads no client library: a process that stays on SQLite never does.

What must be consistent changes in one script, and its keys share a hash tag, so that a Cluster keeps them on
one node. Queue, verdict log and the monitors' state share the tag `{main}`: replication is ordered within
a node, so that a failover that remembers an acknowledged exchange remembers its verdicts too. Caches,
counters, spend, goldens and archive have tags of their own.
"""

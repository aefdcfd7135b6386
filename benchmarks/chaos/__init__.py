"""Faults on purpose, and the account afterwards: what became of every request and every exchange.

`upstream` is the simulated model with a log of its own, `traffic` the clients, `stage` the processes;
`faults` draws what goes wrong, the scenarios (`on_redis`, `on_sentinel`, `on_sqlite`) do it; `witness` reads
what the stores accepted without evenkeel's own code, `account` balances all of it.
"""

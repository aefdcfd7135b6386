"""Chaos tests: faults on purpose, and an account of every request and every exchange afterwards.

`upstream` is the simulated model with a log of its own, `traffic` has the clients and `stage` the processes.
`faults` draws the faults, and the scenarios (`on_redis`, `on_sentinel`, `on_sqlite`) make them happen. After
the run, `witness` reads the contents of the stores without evenkeel's own code, and `account` balances them
against the requests.
"""

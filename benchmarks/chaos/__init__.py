"""Faults on purpose, and the account afterwards: what became of every request and every exchange.

`upstream` is the simulated model with a log of its own; `traffic` the clients; `stage` the processes;
`faults` draws what goes wrong, `acts` does it; `witness` reads what the stores had accepted, past evenkeel's
own code; `account` balances all of it. `rolling` restarts every role under load.
"""

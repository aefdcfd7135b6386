"""Are changes named by their cause by the real thing? `python -m benchmarks.live_changes [--runs 10 --seed 1]`.

Each run starts `evenkeel up` in front of `evenkeel simulate` (a SIMULATED model and judge whose faults are
planted, so that the truth is known) as processes of their own, sends seeded requests through the proxy,
changes one thing half-way, and reads what evenkeel says.

`deployment` starts and stops the processes, `requests` sends, `cases` says what changes, `outcome` is what
evenkeel said about it, `table` shows it.
"""

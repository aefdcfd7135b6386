"""Are changes named by their cause in a running evenkeel?

    python -m benchmarks.live_changes [--runs 10 --seed 1]

Each run starts `evenkeel up` in front of `evenkeel simulate` (a SIMULATED model and judge whose faults are
planted, so that the truth is known) as processes of their own, sends seeded requests through the proxy,
changes one thing half-way, and reads what evenkeel reports.
"""

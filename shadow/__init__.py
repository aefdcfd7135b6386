"""Replay plane: what happens to a sampled exchange while nobody waits.

`handoff` (an `Exchange` on an `ExchangeQueue`) → `planner` (which trials) → `perturbations` (a
variant of the prompt) → `replay` (the variant's answer) → `worker` (scores the pair and logs it).

Submodules are imported by name: the data plane needs `shadow.handoff` alone and must not pay for
the rest.
"""

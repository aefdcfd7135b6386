"""Replay plane: what happens to a sampled exchange while nobody waits.

`handoff` (an `Exchange` on an `ExchangeQueue`) → `worker` (takes it off) → `original` (reads it: `prompt`,
`answer`) → `planner` (which trials) → `perturbations` (a variant of the prompt), `rewriter` (texts that
a model must write) → `replay` (the variant's answer) → `trials` (scores the pair and logs it) within
`spend` (the budgets).

Submodules are imported by name: the data plane needs `shadow.handoff` alone and must not pay for
the rest.
"""

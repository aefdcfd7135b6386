"""Replay plane: processes sampled exchanges in the background.

`worker` (takes an `Exchange` off an `ExchangeQueue`) → `original` (reads it: `prompt`, `answer`) → `planner`,
`groups` and `exchange_trial` (which trials) → `perturbations` (a variant of the prompt), `rewriter` (texts
that a model must write) → `quoted_replays` and `replay` (the variant's answer, within the budget) →
`trial_maker` (rates the pairs) → `trial_log`.

Submodules are imported by name: the data plane needs `evenkeel.core.exchange` alone and must not pay for the
rest.
"""

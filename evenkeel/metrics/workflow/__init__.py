"""Agreement of two workflows in their steps and in the order of the steps.

`reading` (an answer, in any usual form) → `workflow` (steps and precedence edges) → `chain` (which step is
which, and how far one workflow follows the order of the other).

Source: WorFBench (chain F1). Its graph F1 and the other metrics of WorkflowPerturb are in `lab/metrics`.
"""

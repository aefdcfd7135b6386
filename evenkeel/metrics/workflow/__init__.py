"""Agreement of two workflows in their steps, the order of the steps and their dependencies.

`reading` (an answer, in any usual form) → `workflow` (steps and precedence edges) → `alignment` (which
step is which) → `chain`, `graph`, `tau` (structure and order); `wording` compares the words, `judge` asks
a model.

Source: WorkflowPerturb (seven metrics, three degradations) and WorFBench (chain and graph F1).
"""

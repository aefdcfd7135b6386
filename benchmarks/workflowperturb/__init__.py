"""Workflow metrics on the public goldens of WorFBench, beside the tables of WorkflowPerturb.

Run: python -m benchmarks.workflowperturb [--quick] [--no-models] [--json FILE]

`goldens` reads the data, `published` holds the paper's figures, `measure` degrades and scores, `compare`
puts both side by side, `speed` takes times.
"""

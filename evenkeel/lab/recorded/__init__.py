"""Answers that real models gave, served by `evenkeel simulate --recorded` in place of simulated models.

`importers` read the files, a `prompt_index` finds the recorded prompt of a request, and `answers` draws one
of its samples. The server is that of `evenkeel.simulate`.
"""

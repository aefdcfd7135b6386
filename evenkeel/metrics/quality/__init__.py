"""Quality of the answers, and whether it changed: the second stage of the score.

`BUNDLES` names the qualities of each task. A judge rates them by `prompts.toml`, in the task's own words or
in an application's, and without one they are not measured; slots and tool calls are measured by rule.
`measure_all` runs them.

Quality changed if any of them changed, in either direction: a rating on 1–3 that differs, a share of
slots that differs, or an agreement with the reference below 1 by more than its tolerance.
"""

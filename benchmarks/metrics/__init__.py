"""Which metrics can be believed: compared with what people say, with real reruns, and by the clock.

    python -m benchmarks.metrics [--quick] [--write] [--only PARTS]

`columns` scores pairs by every metric and compares scores with the truth; `human`, `reruns` and `speed` each
answer one or two questions and give a `Table`.
"""

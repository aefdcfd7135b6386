"""Which metrics can be believed: against what people say, against real reruns, and by the clock.

Run: python -m benchmarks.metrics [--quick] [--write] [--only PARTS]

`corpus` reads the public data, `columns` scores pairs by every metric, `ranking` compares scores with
the truth, `combination` puts metrics together; `human`, `reruns`, `forms`, `preferences` and `speed`
each measure one question and give a `Table`; `page` writes them.
"""

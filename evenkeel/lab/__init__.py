"""Studies that a person starts: benchmarks of the papers, judge audit, backtest, reports of a period."""

"""Makers that tests and benchmarks share: prompts, public data, a browser, processes to run against."""

"""Prompts and public data that tests and benchmarks read."""

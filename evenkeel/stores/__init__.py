"""Durable stores: one module for each contract.

Queue and `verdict_log` are implemented in `sqlite/` and in `redis/`. Everything else is small documents, one
contract over both: the monitors' state, spend, counters, goldens, labels, the audit log and so on are typed
layers on `documents`.
"""

"""Durable stores: one module for each contract, implemented in `sqlite/` and in `redis/`.

Queue, `verdict_log`, `monitor_state`, `archive` and `counters` are contracts of their own. Small documents
share one: goldens, labels, the audit log, the memory of the change response, bursts and templates.

"""

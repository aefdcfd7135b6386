"""Everything that is kept durably: one module a contract, `sqlite/` and `redis/` side by side.

Queue, `verdict_log`, `monitor_state`, `archive` and `counters` are contracts of their own. Small documents
share one: goldens, labels, the audit log, the memory of the change response, bursts and templates.

"""

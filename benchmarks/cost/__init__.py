"""Replays, tokens and dollars that the uniform and the adaptive plan spend until an alert.

`world` draws which rewordings move the answer of an exchange, once for all of its trials; `plans` asks the
real planner for the trials of the exchange; `bill` prices them; `play` feeds their verdicts to the real
monitor until it raises an alert; `compare` does so for both plans, and `tables` makes the tables.
"""

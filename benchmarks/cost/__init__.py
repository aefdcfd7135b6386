"""What certainty costs: replays, tokens and dollars until an alert, with the uniform and the adaptive plan.

`world` draws what moves the answers of an exchange, the same for every trial of it; `plans` asks the real
planner which trials it gets; `bill` prices them; `play` shows their verdicts to the real monitor until it
raises an alert; `tables` writes it all down.
"""

"""Processes and the wiring of the roles: the one place that turns settings into arguments."""

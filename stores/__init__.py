"""Where judgements are kept: the verdict log, the monitor's state, and what the console reads."""

from evenkeel.stores.protocols import LoggedVerdict, MonitorStore, VerdictLog

__all__ = ["LoggedVerdict", "MonitorStore", "VerdictLog"]

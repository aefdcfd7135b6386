"""Implementations of `shadow.handoff.ExchangeQueue`."""

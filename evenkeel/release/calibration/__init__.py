"""Limits of the live alerts, placed by a route's own quiet traffic."""

"""Embedded store: one SQLite file in WAL mode, shared by all processes of one machine."""

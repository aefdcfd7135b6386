"""Entity slot filling: named values out of a text, compared slot by slot."""

from evenkeel.metrics.entity.schema import Schema, read_schema
from evenkeel.metrics.entity.slots import SlotMatch, SlotRouge, read_slots

__all__ = ["Schema", "SlotMatch", "SlotRouge", "read_schema", "read_slots"]

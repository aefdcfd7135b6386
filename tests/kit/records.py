"""Records that differ from another one in some fields."""

import dataclasses
from functools import cache

import msgspec


def altered(record, **changes):
    """Return a copy with these fields altered.

    A field of a nested record goes by its own name if the record has none of that name (`task` of a verdict's
    origin), or by both names (`control_rating`).
    """
    own = _fields(type(record))
    for name in [name for name in changes if name not in own]:
        value = changes.pop(name)
        for part in own:
            nested = changes.get(part, getattr(record, part))
            inner = name.removeprefix(f"{part}_")
            if inner in _fields(type(nested)) and (inner != name or part != "control"):
                changes[part] = altered(nested, **{inner: value})
                break
        else:
            raise TypeError(f"{type(record).__name__} has no field {name}")
    if isinstance(record, msgspec.Struct):
        return msgspec.structs.replace(record, **changes)
    return dataclasses.replace(record, **changes)


@cache
def _fields(kind):
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_fields__
    return tuple(kind.__dataclass_fields__) if dataclasses.is_dataclass(kind) else ()

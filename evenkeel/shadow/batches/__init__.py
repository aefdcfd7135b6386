"""Replays that wait for hours: they go to a provider in batches, at half of the price.

- A *parked exchange* has trials whose answers come later. It stays in the store (`evenkeel.stores.batches`).
- A *lane* is what may share a batch: a route, an endpoint and a model.
- A *batch* is what was sent to the provider together (`apis`): made, uploaded, running, ended.
- The *dispatcher* fills batches, sends them, looks for their answers, and has them rated.

Why it is so: `docs/design/0008-batches.md`.
"""

from evenkeel.shadow.batches.dispatcher import BatchDispatcher, BatchLimits
from evenkeel.shadow.batches.parking import Parking

__all__ = ["BatchDispatcher", "BatchLimits", "Parking"]

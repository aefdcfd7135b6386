"""Leases: one of several processes does something, and another one once it is gone."""

from evenkeel.stores.redis.connection import RedisLease


def test_a_lease_is_held_by_one(on_redis):
    """A lease can be renewed, given back, and taken over once it has run out."""
    store = on_redis.place
    one, other = (RedisLease(store, "notify", holder, length_s=50) for holder in ("one", "other"))
    assert one.hold()
    assert one.hold()
    assert not other.hold()
    other.leave()
    assert not other.hold()
    one.leave()
    assert other.hold()
    store.client.pexpire(store.key("main", "lease:notify"), 0)
    assert one.hold()

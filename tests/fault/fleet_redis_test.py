# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet whose Redis dies, freezes, or forgets: the locks go on, in MySQL or in the same Redis."""

import unittest

import redis_group
from fleet_case import FleetCase
from harness import FULL, full_only

# The clean bill of a healthy Redis (5 probes of 250 ms), the hold-down of 1 s, and the change.
BACK_WITHIN = 8.0


class RedisOfAFleet(FleetCase):
    def setUp(self):
        super().setUp()
        self.start_fleet()

    def there_and_back(self, there, back):
        """Into MySQL by one fault, into Redis again once that is over."""
        with self.under_load() as crowd:
            self.renew_through_others()
            there()
            self.fleet.wait_for_tier("mysql")
            self.fleet.wait_for_strict("mysql")
            self.assert_held_locks_go_on()
            crowd.wait_for_grants(60)
            back()
            self.fault_is_over()
            self.fleet.wait_for_tier("redis", deadline=BACK_WITHIN)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(tier="redis")

    def in_place(self, fault, rounds=2, **options):
        """A fault after which Redis is there at once, as another store than it was."""
        with self.under_load() as crowd:
            for _ in range(4 * rounds if FULL else rounds):
                epoch = self.fleet.epoch()
                fault()
                self.fleet.wait_for_epoch_above(epoch)
                self.fleet.wait_for_tier(None)
                self.assert_held_locks_go_on()
                crowd.wait_for_grants(60)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(**options)

    def test_it_is_killed(self):
        self.there_and_back(self.redis_.kill, self.redis_.restart)

    def test_it_stands_still_for_five_seconds(self):
        def thaw():
            self.redis_.wait_until_frozen_for(5)
            self.redis_.thaw()
        self.there_and_back(self.redis_.freeze, thaw)

    @full_only("a minute")
    def test_it_stands_still_for_a_minute(self):
        def thaw():
            for _ in range(6):
                self.some_time(10, 10)
                self.assert_held_locks_go_on()
            self.redis_.thaw()
        self.there_and_back(self.redis_.freeze, thaw)

    def test_it_restarts_empty(self):
        self.in_place(lambda: redis_group.restart_with(self.redis_))

    def test_it_restarts_from_an_old_dump(self):
        dump = redis_group.keep_dump(self.redis_)

        def fault():
            redis_group.restart_with(self.redis_, dump)
        self.in_place(fault)

    def test_a_dump_brings_no_released_lock_back(self):
        self.hold(6)
        dump = redis_group.keep_dump(self.redis_)
        released, self.held = self.held[:3], self.held[3:]
        for resource, name, grant, node in released:
            self.assertEqual(self.actor(node, "ends").unlock(resource, name, grant[0]), 1)
        self.hold(6)
        epoch = self.fleet.epoch()
        redis_group.restart_with(self.redis_, dump)
        self.fault_is_over()
        self.fleet.wait_for_epoch_above(epoch).wait_for_strict()
        for resource, name, grant, node in released:
            again = self.actor(node, "next").lock(resource, name, PX=2000)
            self.assertIsInstance(again, list, f"{resource}/{name} came back")
            self.assertGreater(again[1], grant[1])
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well()

    def test_it_is_flushed(self):
        self.in_place(lambda: self.redis_.ask("FLUSHALL"))

    def test_it_is_flushed_while_nobody_reaches_it(self):
        def fault():
            gates = self.fleet.gates()["redis"]
            for gate in gates:
                gate.refuse()
            self.redis_.ask("FLUSHALL")
            for gate in gates:
                gate.pass_all()
        self.in_place(fault)

    def test_its_scripts_are_flushed_and_nobody_sees_it(self):
        epoch = self.fleet.epoch()
        with self.under_load() as crowd:
            for _ in range(20 if FULL else 4):
                self.redis_.ask("SCRIPT", "FLUSH")
                crowd.wait_for_grants(30)
        self.assertEqual(set(self.fleet.epochs()), {epoch}, "no reason for an epoch")
        self.assertEqual([str(o) for o in self.history.operations if o.is_error], [])
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(tier="redis")

    def test_it_is_a_replica_for_a_moment(self):
        def fault():
            self.redis_.ask("REPLICAOF", "127.0.0.1", 1)
            self.some_time(0.05, 0.5)
            self.redis_.ask("REPLICAOF", "NO", "ONE")
        self.in_place(fault)


class RedisThatEvicts(FleetCase):
    # Each strict LOCK waits for its two seconds and is refused: the crowd is slow.
    def test_strict_locks_are_not_kept_there_and_available_ones_may_be_lost(self):
        redis = self.redis(maxmemory_policy="volatile-lru")
        self.start_fleet(redis=redis, strict=False)
        self.history.allow("(f)", "order")
        with self.under_load(held=0, before=10, after=5) as crowd:
            redis_group.fill_memory(redis)
            crowd.wait_for_grants(20, deadline=25)
        self.assert_fleet_is_well(strict=False)
        kept = [o for o in self.history.grants() if o.lock[0] == "pay" and o.reply[4] == b"redis"]
        self.assertEqual(list(map(str, kept)), [])
        self.assertTrue(any(o.lock[0] == "order" for o in self.history.grants()))


if __name__ == "__main__":
    unittest.main()

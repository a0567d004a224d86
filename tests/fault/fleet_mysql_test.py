# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet's MySQL dies as the tier, as the arbiter only, forgets its last commits; both stores die;
the target of a change dies while it settles."""

import time
import unittest

from fleet_case import VIEW_LEASE, FleetCase
from harness import FULL, Error, full_only, wait_until


class MySqlOfAFleet(FleetCase):
    def test_it_is_killed_as_the_tier(self):
        self.start_fleet(hold_down="10m")
        self.change_tier("mysql")
        with self.under_load() as crowd:
            self.mysql_.kill()
            for node in self.fleet:
                self.assertIsInstance(self.actor(node, "none").lock("pay", "none"), Error)
            self.some_time(0, 1)
            self.mysql_.restart()
            # All nodes saw it fail, and Redis is well: as soon as it answers as the arbiter again,
            # the locks may go there.
            self.fleet.wait_for_tier(None).wait_for_strict()
            crowd.wait_for_grants(30)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=6)

    def test_it_stands_still_as_the_tier(self):
        self.start_fleet(hold_down="10m")
        self.change_tier("mysql")
        with self.under_load():
            self.mysql_.freeze()
            self.mysql_.wait_until_frozen_for(4)
            self.mysql_.thaw()
            self.fault_is_over()
            self.fleet.wait_for_tier(None).wait_for_strict()
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=6)

    def test_it_is_killed_as_the_arbiter_only(self):
        self.start_fleet()
        epoch = self.fleet.epoch()
        with self.under_load() as crowd:
            self.mysql_.kill()
            end = time.monotonic() + VIEW_LEASE * 0.5
            while time.monotonic() < end:  # the view leases run
                self.fleet.wait_for_tier(None, deadline=2).wait_for_strict(deadline=2)
            crowd.wait_for_grants(60)
            self.mysql_.restart()
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=6, tier="redis")
        self.assertEqual(set(self.fleet.epochs()), {epoch})
        self.assertEqual([str(o) for o in self.history.operations
                          if o.is_error and o.lock[0] == "order"], [])

    def test_it_is_gone_as_the_arbiter_for_longer_than_the_view_lease(self):
        self.start_fleet()
        epoch = self.fleet.epoch()
        with self.under_load() as crowd:
            self.mysql_.freeze() if self.random.randrange(2) else self.mysql_.kill()
            for node in self.fleet:
                wait_until(lambda node=node: isinstance(
                    self.actor(node, "none").lock("pay", "none", PX=500), Error), VIEW_LEASE + 4,
                    "the view lease ending")
            reply = self.actor(self.fleet["a"], "other").lock("order", "other", PX=2000)
            self.assertEqual(reply[4], b"redis?")
            crowd.wait_for_grants(30)
            if self.mysql_.is_running():
                self.mysql_.thaw()
            else:
                self.mysql_.restart()
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=8, tier="redis")
        self.assertEqual(set(self.fleet.epochs()), {epoch})


    def test_a_node_starts_while_it_is_away(self):
        """It goes on from the record that it kept, which the marker in Redis confirms."""
        self.start_fleet()
        epoch = self.fleet.epoch()
        c = self.fleet["c"]
        with self.under_load(held=6):
            self.mysql_.kill()
            c.kill()
            c.restart()
            self.fleet.wait_for_tier("redis?", [c])
            self.assertIsInstance(self.actor(c, "none").lock("pay", "none", PX=500), Error)
            self.assertEqual(self.actor(c, "some").lock("order", "some", PX=2000)[4], b"redis?")
            self.mysql_.restart()
            self.fleet.wait_for_tier("redis").wait_for_strict("redis")
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=8, tier="redis")
        self.assertEqual(set(self.fleet.epochs()), {epoch})

    def test_nobody_stops_while_all_say_that_they_have_lost_it(self):
        self.start_fleet(available_max="2s")
        epoch = self.fleet.epoch()
        b, c = self.fleet["b"], self.fleet["c"]
        # Of the available resource alone: a LOCK of a strict one waits in vain meanwhile.
        with self.under_load(held=0, resources=["order"]) as crowd:
            self.mysql_.kill()
            self.fleet.wait_for_tier("redis?")
            end = time.monotonic() + VIEW_LEASE + 14  # the notes of one moment are over by then
            while time.monotonic() < end:
                self.fleet.wait_for_tier("redis?", deadline=2)
            crowd.wait_for_grants(30)
            # One that says nothing may have moved the fleet.
            self.pause(c)
            wait_until(lambda: isinstance(
                self.actor(b, "none").lock("order", "none", PX=500), Error), 30, "b stopping")
            self.resume(c)
            self.mysql_.restart()
            self.fleet.wait_for_tier("redis").wait_for_strict("redis")
        self.assert_fleet_is_well(recovery=8, tier="redis")
        self.assertEqual(set(self.fleet.epochs()), {epoch})


class MySqlReplica(FleetCase):
    def setUp(self):
        super().setUp()
        self.master = self.mariadb("--log-bin", "--log-slave-updates")
        self.replica = self.mariadb_replica(self.master)

    def promote(self):
        self.replica.promote()
        self.fleet.lead_to("mysql", self.replica)

    def test_one_that_is_behind_becomes_the_arbiter(self):
        """Another arbiter: an epoch 64 above all, and strict waits for what may be forgotten."""
        self.start_fleet(mysql=self.master, hold_down="10m", extra="locks: {ttl_max: 30s}\n")
        epoch = self.fleet.epoch()
        self.replica.catch_up(self.master)
        with self.under_load(resources=("order",)) as crowd:
            self.replica.fall_behind()
            self.change_tier("mysql")
            self.change_tier("redis", "FAILBACK")
            self.hold(6)
            moved = self.fleet.epoch()
            self.assertGreater(moved, epoch)
            self.promote()
            self.fleet.wait_for_epoch_above(moved + 63)
            self.fleet.wait_for_tier(None)
            crowd.wait_for_grants(60)
            self.assertIsInstance(self.actor(self.fleet["a"], "early").lock("pay", "early", PX=500),
                                  Error)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=8, strict=FULL and self.wait_out_strict())

    def wait_out_strict(self):
        """view_lease + ttl_max + delay_max, whatever the rows say."""
        self.fleet.wait_for_strict(deadline=VIEW_LEASE + 30 + 60 + 10)
        return True

    def test_one_that_is_behind_becomes_the_tier(self):
        self.start_fleet(mysql=self.master, hold_down="10m")
        self.change_tier("mysql")
        self.replica.catch_up(self.master)
        with self.under_load(resources=("order",)) as crowd:
            self.hold(6)
            self.replica.catch_up(self.master)
            self.replica.fall_behind()
            self.hold(9)  # nothing of these is in the replica
            self.renew_through_others()
            epoch = self.fleet.epoch()
            self.promote()
            self.fleet.wait_for_epoch_above(epoch + 63).wait_for_tier(None)
            crowd.wait_for_grants(60)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=8, strict=False)


class BothStores(FleetCase):
    def back_in_order(self, first, second):
        self.start_fleet()
        with self.under_load() as crowd:
            self.redis_.kill()
            self.mysql_.kill()
            for node in self.fleet:
                for resource in ("pay", "order"):
                    self.assertIsInstance(self.actor(node, "none").lock(resource, "none"), Error)
            first().restart()
            self.some_time(0.5, 2.0)
            second().restart()
            self.fault_is_over()
            self.fleet.wait_for_tier(None).wait_for_strict()
            self.assert_held_locks_go_on()
            crowd.wait_for_grants(60)
            self.fleet.wait_for_tier("redis", deadline=12)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=8, tier="redis")

    def test_both_are_killed_and_redis_is_back_first(self):
        self.back_in_order(lambda: self.redis_, lambda: self.mysql_)

    def test_both_are_killed_and_mysql_is_back_first(self):
        self.back_in_order(lambda: self.mysql_, lambda: self.redis_)


class TheTargetDies(FleetCase):
    def change_and_kill(self, by, store, victim):
        """Kills the target at a random moment of the change that begins."""
        node = self.fleet.alive[0]
        words = ["LATCHD", by] + ([store] if by == "FAILOVER" else [])
        wait_until(lambda: not isinstance(node.ask(*words), Error), 10, " ".join(words))
        self.some_time(0, 0.25)
        victim.kill()

    def test_redis_dies_while_it_settles_there(self):
        self.start_fleet(hold_down="10m")
        with self.under_load() as crowd:
            for _ in range(12 if FULL else 3):
                self.change_tier("mysql")
                self.change_and_kill("FAILBACK", "redis", self.redis_)
                self.fleet.wait_for_tier("mysql").wait_for_strict("mysql")
                self.assert_held_locks_go_on()
                crowd.wait_for_grants(30)
                self.redis_.restart()
                self.change_tier("redis", "FAILBACK")
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well()

    def test_mysql_dies_while_it_settles_there(self):
        self.start_fleet(hold_down="10m")
        with self.under_load() as crowd:
            for _ in range(12 if FULL else 3):
                self.change_and_kill("FAILOVER", "mysql", self.mysql_)
                self.mysql_.restart()
                self.fleet.wait_for_tier(None).wait_for_strict()
                self.assert_held_locks_go_on()
                crowd.wait_for_grants(30)
                self.change_tier("redis", "FAILBACK")
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well()

    @full_only("long")
    def test_both_die_while_it_settles(self):
        self.start_fleet(hold_down="10m")
        with self.under_load() as crowd:
            for _ in range(6):
                self.change_and_kill("FAILOVER", "mysql", self.mysql_)
                self.redis_.kill()
                self.mysql_.restart()
                self.redis_.restart()
                self.fleet.wait_for_tier(None).wait_for_strict()
                crowd.wait_for_grants(30)
                self.change_tier("redis", "FAILBACK")
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well()


if __name__ == "__main__":
    unittest.main()

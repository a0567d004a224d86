# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet's Redis fails over to a replica that lacks the last writes; the old master comes back.

The nodes reach it by a name (a gate) that is moved as a client-reconfiguration script moves it."""

import unittest

import redis_group
from fleet import ALONE
from fleet_case import FleetCase


class Failover(FleetCase):
    def setUp(self):
        super().setUp()
        self.master = self.redis()
        self.replica = redis_group.replica_of(self, self.master)

    def sentinels(self):
        return redis_group.sentinels(self, self.master, 3, down_after_ms=500)

    def assert_nothing_was_lost(self, epoch):
        self.fault_is_over()
        self.fleet.wait_for_epoch_above(epoch)
        self.fleet.wait_for_strict()
        self.assert_held_locks_go_on()

    def test_sentinels_promote_a_replica_that_lacks_the_held_locks(self):
        sentinels = self.sentinels()
        self.start_fleet(redis=self.master)
        self.hold(6)
        redis_group.catch_up(self.replica, self.master)
        epoch = self.fleet.epoch()
        with self.under_load(held=0) as crowd:
            redis_group.fall_behind(self.replica)
            self.hold(12)
            self.renew_through_others()
            self.master.kill()
            self.assertEqual(sentinels[0].wait_for_failover(self.master.port), self.replica.port)
            self.fleet.lead_to("redis", self.replica)
            self.assert_nothing_was_lost(epoch)
            crowd.wait_for_grants(60)
            self.fleet.wait_for_tier("redis", deadline=10)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(tier="redis")

    def test_a_replica_is_promoted_by_hand_at_once(self):
        self.start_fleet(redis=self.master)
        epoch = self.fleet.epoch()
        with self.under_load():
            redis_group.fall_behind(self.replica)
            self.hold(9)
            redis_group.promote(self.replica)
            self.fleet.lead_to("redis", self.replica)
            self.assert_nothing_was_lost(epoch)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well()

    def test_a_frozen_master_thaws_after_the_failover(self):
        self.start_fleet(redis=self.master)
        epoch = self.fleet.epoch()
        with self.under_load() as crowd:
            self.hold(9)
            self.master.freeze()
            redis_group.promote(self.replica)
            # What is connected to the old master stays so; only new connections go elsewhere.
            self.fleet.lead_to("redis", self.replica, ends_old=False)
            self.assert_nothing_was_lost(epoch)
            crowd.wait_for_grants(60)
            self.master.thaw()
            crowd.wait_for_grants(60)
            self.assert_held_locks_go_on()
        self.assert_fleet_is_well()

    def test_a_name_leads_back_to_the_old_master_for_one_node(self):
        self.start_fleet(redis=self.master)
        epoch = self.fleet.epoch()
        with self.under_load() as crowd:
            redis_group.promote(self.replica)
            self.fleet.lead_to("redis", self.replica)
            self.fleet.gates("c")["redis"].lead_to(self.master.address)
            both = [self.fleet["a"], self.fleet["b"]]
            self.fleet.wait_for_epoch_above(epoch, both).wait_for_tier(None, both)
            crowd.wait_for_grants(60)
            reply = self.actor(self.fleet["c"], "alone").lock("pay", "alone", PX=2000)
            self.assertFalse(isinstance(reply, list) and reply[4] == b"redis" and
                             self.master.ask("EXISTS", "lock:pay:alone"), "the old master granted")
            self.fleet.gates("c")["redis"].lead_to(self.replica.address)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=4.0)


class RedisAloneFailsOver(FleetCase):
    """Redis arbitrates about itself, which does not cover zombies: case (c)."""

    resources = ("order",)

    def test_the_old_master_goes_on_for_one_node(self):
        master = self.redis()
        replica = redis_group.replica_of(self, master)
        self.start_fleet(redis=master, mysql=False, strict=False, resources=ALONE)
        self.history.allow("(c)", "order")
        both = [self.fleet["a"], self.fleet["b"]]
        with self.under_load(locks=4) as crowd:
            epoch = self.fleet.epoch()
            redis_group.promote(replica)
            for name in ("a", "b"):
                self.fleet.gates(name)["redis"].lead_to(replica.address)
            self.fleet.wait_for_epoch_above(epoch, both).wait_for_tier("redis", both, 20)
            crowd.wait_for_grants(40)
            self.fleet.gates("c")["redis"].lead_to(replica.address)
            self.fault_is_over()
            self.fleet.wait_for_tier("redis", deadline=20)
        self.assert_fleet_is_well(strict=False, recovery=10)


if __name__ == "__main__":
    unittest.main()

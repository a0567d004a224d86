# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""One node of three loses a store that the others have: it alone answers -NOSTORE, or goes on as
long as nobody can have moved; the fleet moves only for what most of it sees."""

import time
import unittest

from fleet import RESOURCES
from fleet_case import VIEW_LEASE, FleetCase
from harness import FULL, Error, wait_until


class OneNodeIsCutOff(FleetCase):
    def setUp(self):
        super().setUp()
        self.start_fleet()
        self.both = [self.fleet["a"], self.fleet["b"]]
        self.c = self.fleet["c"]

    def assert_it_alone_has_no_store(self, began):
        """c says so, within the deadline; the others go on in Redis and in the same epoch."""
        for resource in ("pay", "order"):
            wait_until(lambda r=resource: self.says_no_store(self.c, r), 10,
                       "the lonely node saying that it has no store")
        self.fleet.wait_for_tier("redis", self.both).wait_for_strict("redis", self.both)
        self.assertEqual(set(self.fleet.epochs(self.both)), {began}, "the fleet has not moved")

    def says_no_store(self, node, resource):
        reply = self.actor(node, "alone").lock(resource, "alone", PX=500)
        return isinstance(reply, Error) and reply.word == "NOSTORE"

    def cut_from(self, *kinds):
        began = self.fleet.epoch()
        with self.under_load() as crowd:
            for kind in kinds:
                self.fleet.gates("c")[kind].cut()
            self.assert_it_alone_has_no_store(began)
            crowd.wait_for_grants(60)
            # What was taken through c is renewed through the others.
            for resource, name, grant, node in self.held:
                if node is self.c:
                    reply = self.actor(self.fleet["a"], "renews").renew(resource, name, grant[0])
                    self.assertGreater(reply, 0)
            self.fleet.open_gates()
            self.fault_is_over()
            self.fleet.wait_for_tier("redis", [self.c], 8)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=8, tier="redis")
        self.assertEqual(set(self.fleet.epochs()), {began}, "no reason for an epoch (I8)")

    def test_from_redis(self):
        self.cut_from("redis")

    def test_from_both(self):
        self.cut_from("redis", "mysql")

    def test_from_redis_by_refused_connections(self):
        began = self.fleet.epoch()
        with self.under_load():
            self.fleet.gates("c")["redis"].refuse()
            self.assert_it_alone_has_no_store(began)
            self.fleet.open_gates()
            self.fault_is_over()
            self.fleet.wait_for_tier("redis", [self.c], 8)
        self.assert_fleet_is_well(recovery=8, tier="redis")

    def test_from_redis_in_one_direction(self):
        began = self.fleet.epoch()
        with self.under_load():
            self.fleet.gates("c")["redis"].drop(self.random.choice(("up", "down")))
            self.assert_it_alone_has_no_store(began)
            self.fleet.open_gates()
            self.fault_is_over()
            self.fleet.wait_for_tier("redis", [self.c], 8)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=8, tier="redis")

    def test_from_mysql_for_a_moment(self):
        began = self.fleet.epoch()
        with self.under_load() as crowd:
            self.fleet.gates("c")["mysql"].cut()
            end = time.monotonic() + VIEW_LEASE * 0.5
            while time.monotonic() < end:  # its view lease runs
                self.fleet.wait_for_tier(None, [self.c], 2).wait_for_strict(None, [self.c], 2)
            crowd.wait_for_grants(30)
            self.fleet.open_gates()
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=4, tier="redis")
        self.assertEqual(set(self.fleet.epochs()), {began})

    def test_from_mysql_for_longer_than_its_view_lease(self):
        began = self.fleet.epoch()
        with self.under_load() as crowd:
            self.fleet.gates("c")["mysql"].cut()
            wait_until(lambda: isinstance(self.actor(self.c, "alone").lock("pay", "alone", PX=500),
                                          Error), VIEW_LEASE + 4, "its view lease ending")
            reply = self.actor(self.c, "alone").lock("order", "alone", PX=2000)
            self.assertIsInstance(reply, list, f"{reply}: available goes on")
            self.assertEqual(reply[4], b"redis?")
            self.fleet.wait_for_strict("redis", self.both)
            crowd.wait_for_grants(60)
            self.fleet.open_gates()
            self.fault_is_over()
            self.fleet.wait_for_strict("redis", [self.c], 8)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=8, tier="redis")
        self.assertEqual(set(self.fleet.epochs()), {began})

    def test_its_name_for_redis_leads_to_another_server(self):
        began = self.fleet.epoch()
        stranger = self.redis()
        with self.under_load() as crowd:
            self.fleet.gates("c")["redis"].lead_to(stranger.address)
            self.assert_it_alone_has_no_store(began)
            crowd.wait_for_grants(60)
            self.assertLessEqual(set(stranger.keys()), {b"latchd:probe"}, "no lock, no marker")
            self.fleet.gates("c")["redis"].lead_to(self.redis_.address)
            self.fault_is_over()
            self.fleet.wait_for_tier("redis", [self.c], 8)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=8, tier="redis")
        self.assertEqual(set(self.fleet.epochs()), {began})


class TheFleetMovesWithoutOne(FleetCase):
    def test_a_node_that_has_only_the_old_tier_goes_on_there(self):
        """Two of three lose Redis and move; the third reaches Redis, and no arbiter. Its locks of
        strict resources are waited out, those of available ones may be had twice: case (a)."""
        self.start_fleet()
        both, c = [self.fleet["a"], self.fleet["b"]], self.fleet["c"]
        self.history.allow("(a)", "order")
        with self.under_load(held=0, after=10) as crowd:
            self.hold(6, nodes=both)
            self.fleet.gates("c")["mysql"].cut()
            for name in ("a", "b"):
                self.fleet.gates(name)["redis"].refuse()
            self.fleet.wait_for_tier("mysql", both)
            self.assert_held_locks_go_on(both)
            # Its view lease, and what it may have granted in it, are waited out; then strict goes
            # on. It renewed locks that it has no record of: these may have a ttl and a delay of a
            # minute each.
            self.assert_strict_waits(both[0], "c")
            if FULL:
                self.fleet.wait_for_strict("mysql", both, VIEW_LEASE + 120 + 4)
            wait_until(lambda: isinstance(self.actor(c, "alone").lock("pay", "alone", PX=500),
                                          Error), VIEW_LEASE + 4, "its view lease ending")
            crowd.wait_for_grants(10)
            self.fleet.open_gates()
            self.fault_is_over()
            self.fleet.wait_for_tier(None, [c], 8)
        self.fleet.wait_for_tier("redis", deadline=10)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=12, strict=FULL)


class LocalMode(FleetCase):
    RESOURCES = RESOURCES + "    - {name: till, safety: available, degrade: local}\n"

    def test_a_node_that_reaches_nothing_grants_locally_and_says_so(self):
        self.start_fleet(resources=self.RESOURCES, local=True)
        self.history.allow("(e)", "till")
        c = self.fleet["c"]
        with self.under_load() as crowd:
            for gate in self.fleet.gates("c").values():
                gate.cut()

            def is_local():
                reply = self.actor(c, "host").lock("till", "1", PX=3000)
                return isinstance(reply, list) and reply[4] == b"local" and reply
            local = wait_until(is_local, 10, "a local grant")
            self.assertLess(local[1], 1 << 32, "below every shared fence")
            shared = self.actor(self.fleet["a"], "shared").lock("till", "1", PX=2000)
            self.assertGreater(shared[1], 1 << 32)
            for resource in ("pay", "order"):
                self.assertIsInstance(self.actor(c, "host").lock(resource, "alone"), Error)
            self.assertRegex(c.said(), r"(?m)^\S+ error \S+: local mode", "logged as an error")
            crowd.wait_for_grants(30)
            self.fleet.open_gates()
            self.fault_is_over()
            self.fleet.wait_for_tier("redis", [c], 10)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(recovery=10)

    def test_a_node_that_reaches_the_arbiter_grants_nothing_locally(self):
        self.start_fleet(resources=self.RESOURCES, local=True)
        self.fleet.gates("c")["redis"].cut()
        c = self.fleet["c"]
        wait_until(lambda: isinstance(self.actor(c, "host").lock("till", "1", PX=500), Error), 6,
                   "it losing Redis")
        end = time.monotonic() + (15 if FULL else 3)
        while time.monotonic() < end:
            self.assert_error(self.actor(c, "host").lock("till", "1", PX=500), "NOSTORE")
            time.sleep(0.1)  # between two looks
        self.fleet.open_gates()
        self.fault_is_over()
        self.fleet.wait_for_tier("redis", [c], 8)
        self.assert_fleet_is_well(recovery=8)


if __name__ == "__main__":
    unittest.main()

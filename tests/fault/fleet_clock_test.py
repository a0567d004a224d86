# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""The clocks of a fleet's stores are stepped, and a host is paused without its clocks seeing it."""

import time
import unittest

from clock_shift import ClockShift
from fleet_case import FleetCase
from harness import FULL, is_sanitized, latchd_program

STEPS = (2, -2, 60, -60)


@unittest.skipIf(is_sanitized(), "a sanitizer must be loaded before everything else")
class Clocks(FleetCase):
    def setUp(self):
        super().setUp()
        latchd_program()
        self.clock = ClockShift(self.folder)
        self.history.allow("(d)", "order")

    def step_under_load(self, tier, steps=STEPS):
        self.assert_serves(tier)
        with self.under_load() as crowd:
            for step in steps:
                self.clock.step(step)
                crowd.wait_for_grants(40, 25)
                self.assert_serves(tier)
                self.assert_stepped_locks_go_on()
        self.assert_stepped_locks_go_on()
        self.assert_fleet_is_well(recovery=8)

    def assert_stepped_locks_go_on(self):
        """Where no probe of another store vouches for a node in time, as on a busy machine, its
        locks get a fence of the new epoch (docs/arbiter.md): never an older one."""
        self.assert_held_locks_go_on(late=self.fleet.alive)

    def assert_serves(self, tier):
        self.fleet.wait_for_tier(tier, deadline=15).wait_for_strict(tier, deadline=15)

    def test_redis_is_stepped_forth_and_back(self):
        self.start_fleet(redis=self.redis(environment=self.clock.environment))
        self.step_under_load(None)

    def test_mysql_is_stepped_as_the_arbiter(self):
        self.start_fleet(mysql=self.mariadb(environment=self.clock.environment))
        self.step_under_load(None)

    def test_mysql_is_stepped_as_the_tier(self):
        self.start_fleet(mysql=self.mariadb(environment=self.clock.environment), hold_down="10m")
        self.change_tier("mysql")
        self.step_under_load(None)

    def test_a_node_sees_its_wall_clock_stepped_and_nothing_happens(self):
        self.start_fleet(environments={"c": self.clock.environment})
        epoch = self.fleet.epoch()
        with self.under_load() as crowd:
            for step in (3600, -7200):
                self.clock.step(step)
                crowd.wait_for_grants(40)
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well(tier="redis")
        self.assertEqual(set(self.fleet.epochs()), {epoch})

    def test_a_host_is_paused_and_its_clocks_with_it(self):
        """As a guest that is stopped and goes on: by its clocks no time has passed, and leases
        that it counts would be too long. The stores' clocks tell, but not in the moment in which it
        goes on: a grant that it had on its way says what was left before (docs/promises.md)."""
        self.history.clocks_paused = True
        self.start_fleet(environments={"c": self.clock.environment})
        c = self.fleet["c"]
        with self.under_load(ttl_ms=2500) as crowd:
            for _ in range(5 if FULL else 1):
                self.pause(c)
                began = c.frozen_at
                c.wait_until_frozen_for(4)
                self.clock.skip(time.monotonic() - began)
                self.resume(c)
                crowd.wait_for_grants(60)
                self.fleet.wait_for_tier(None, deadline=15).wait_for_strict(deadline=15)
        self.assert_held_locks_go_on(late=(c,))
        self.assert_fleet_is_well(recovery=15)


if __name__ == "__main__":
    unittest.main()

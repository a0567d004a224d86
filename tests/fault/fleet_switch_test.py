# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A fleet changes its tier under two hundred clients; and the judge of these tests is judged: two
fleets that don't know each other grant one lock twice, and that is found."""

import unittest

from fleet import Fleet
from fleet_case import FleetCase
from harness import FULL


class UnderTwoHundredClients(FleetCase):
    """They send LOCK, RENEW and UNLOCK of one lock to different nodes, with time-outs of 300 ms to
    5 s after which they send them again, elsewhere, with the same REQ."""

    def switches(self, there, back, **options):
        self.start_fleet(**options)
        rounds = 5 if FULL else 1
        with self.under_load(clients=200, locks=40, before=400, after=400) as crowd:
            for _ in range(rounds):
                there()
                crowd.wait_for_grants(400)
                self.assert_held_locks_go_on()
                back()
                crowd.wait_for_grants(400)
                self.assert_held_locks_go_on()
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well()
        tiers = {o.reply[4] for o in self.history.grants()}
        self.assertEqual(tiers, {b"redis", b"mysql"})
        resent = {}
        for o in self.history.operations:
            resent.setdefault(o.options.get("REQ"), []).append(o)
        print(f"{self.id()}: {len(self.history.operations)} sendings, "
              f"{len(self.history.grants())} grants, "
              f"{sum(1 for each in resent.values() if len(each) > 1)} wishes sent again",
              flush=True)

    def kill(self):
        self.redis_.kill()
        self.fleet.wait_for_tier("mysql").wait_for_strict("mysql")

    def come_back(self):
        self.redis_.restart()
        self.fleet.wait_for_tier("redis", deadline=12).wait_for_strict("redis")

    def test_redis_is_killed_and_comes_back(self):
        self.switches(self.kill, self.come_back)

    def test_an_operator_changes_there_and_back(self):
        self.switches(lambda: self.change_tier("mysql"),
                      lambda: self.change_tier("redis", "FAILBACK"), hold_down="10m")


class Willing(FleetCase):
    def test_nobody_who_waits_two_seconds_is_refused_while_all_nodes_live(self):
        self.start_fleet()
        with self.under_load(clients=40, locks=400, patience_ms=6000):
            self.redis_.kill()
            self.fleet.wait_for_tier("mysql").wait_for_strict("mysql")
        self.assert_held_locks_go_on()
        self.assert_fleet_is_well()
        failed = [o for o in self.history.operations
                  if o.verb == "LOCK" and o.options.get("WAIT") == 2000 and o.is_error]
        self.assertEqual(list(map(str, failed)), [])


class TheJudge(FleetCase):
    def test_two_fleets_grant_one_lock_twice_and_it_is_found(self):
        self.start_fleet(count=2)
        other = Fleet(self, self.redis(), self.mariadb(), count=1)
        other.wait_for_strict("redis")
        for each in (self.fleet["a"], other["a"]):
            self.assertIsInstance(self.actor(each, "client").lock("pay", "1", PX=5000), list)
        self.fault_is_over()
        with self.assertRaisesRegex(AssertionError, "granted twice, for [1-4]"):
            self.assert_good_history()
        self.history.allow("(a)", "pay")
        self.assert_good_history()


if __name__ == "__main__":
    unittest.main()

# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""KEEP through outages: a lock that is renewed is held, or its holder is told first."""

import threading
import time
import unittest

from fault_case import FaultCase
from harness import FULL, Stalls, wait_until


class Keep(FaultCase):
    def setUp(self):
        super().setUp()
        self.redis_ = self.redis()
        self.gate_ = self.gate(self.redis_)
        self.a = self.node(self.gate_, "a")
        self.b = self.node(self.redis_, "b")
        self.listen(self.a, self.b)
        self.holder = self.actor(self.a, "holder")

    def assert_is_held(self, name, grant, node=None):
        self.assertIsNone(self.actor(self.b, "other").lock("kept", name, PX=500))
        self.assertIn(grant[0], self.redis_.ask("GET", f"lock:kept:{name}"))

    def ends(self):
        """When the leases of the twenty end, by the server's clock."""
        return [self.redis_.ask("PEXPIRETIME", f"lock:kept:{i}") for i in range(20)]

    def well(self, **options):
        self.fault_is_over()
        self.assert_all_is_well([self.a, self.b], self.redis_, **options)

    def test_outages_shorter_than_the_lease_lose_nothing(self):
        # Renewed after a third: a renewal, the longest outage and the way back are within it.
        grants = [self.holder.lock("kept", str(i), PX=6000, KEEP=True) for i in range(20)]
        for outage in (("freeze", 1.5), ("refuse", 1.2), ("drop", 1.0)) * (5 if FULL else 1):
            kind, seconds = outage
            if kind == "freeze":
                self.redis_.freeze()
                self.redis_.wait_until_frozen_for(seconds)
                self.redis_.thaw()
            else:
                self.gate_.refuse() if kind == "refuse" else self.gate_.drop("down")
                self.some_time(seconds, seconds)
                self.gate_.pass_all()
            self.fault_is_over()
            ends = self.ends()
            self.a.wait_for_store(2.5)
            wait_until(lambda ends=ends: all(now > then for now, then in zip(self.ends(), ends)),
                       4.5, "a renewal of each")
        self.assertEqual(self.told("lost"), [])
        for i, grant in enumerate(grants):
            self.assert_is_held(str(i), grant)
            self.assertEqual(self.holder.unlock("kept", str(i), grant[0]), 1)
        self.well()

    def test_a_restart_of_redis_inside_the_lease_loses_nothing(self):
        # One node: two may lose a lock then (docs/redis.md).
        self.b.stop()
        grant = self.holder.lock("kept", "1", PX=5000, KEEP=True)
        for _ in range(5 if FULL else 2):
            self.redis_.kill()
            self.redis_.restart()
            self.fault_is_over()
            self.a.wait_for_store(2.5)
            wait_until(lambda: self.redis_.ask("PTTL", "lock:kept:1") > 3000, 3, "a renewal")
        self.assertEqual(self.told("lost"), [])
        self.assertEqual(self.holder.unlock("kept", "1", grant[0]), 1)
        self.fault_is_over()
        self.assert_all_is_well([self.a], self.redis_)

    def test_an_outage_longer_than_the_lease_is_told_before_anybody_else_is_granted(self):
        for round_ in range(6 if FULL else 2):
            lock = ("kept", f"lost{round_}")
            self.holder.lock(*lock, PX=2000, KEEP=True)
            waiter = self.actor(self.b, "waiter")
            thread = threading.Thread(target=waiter.lock, args=lock,
                                      kwargs={"WAIT": 8000, "PX": 4000})
            thread.start()
            self.some_time(0, 0.7)
            self.gate_.drop("up", "down") if round_ % 2 else self.gate_.refuse()
            lost = self.wait_for_told("lost", lock)
            thread.join()
            self.assertIsInstance(waiter.last.reply, list)
            self.assertLess(lost.at, waiter.last.returned, "told before another was granted")
            self.gate_.pass_all()
            self.fault_is_over()
            self.a.wait_for_store(2.5)
            self.assertEqual(waiter.unlock(*lock, waiter.last.reply[0]), 1)
        self.well()

    def test_the_whole_of_redis_is_away_for_longer_than_the_lease(self):
        self.holder.lock("kept", "1", PX=1500, KEEP=True)
        self.redis_.freeze()
        lost = self.wait_for_told("lost", ("kept", "1"))
        self.redis_.thaw()
        self.fault_is_over()
        grant = self.actor(self.b, "next").lock("kept", "1", PX=1000, WAIT=2500)
        self.assertIsInstance(grant, list)
        self.assertLess(lost.at, self.history.faults_ended)
        self.well()

    def test_renew_keep_takes_it_over_on_another_node(self):
        grant = self.holder.lock("kept", "1", PX=2000, KEEP=True)
        successor = self.actor(self.b, "successor")
        self.assertGreater(successor.renew("kept", "1", grant[0], KEEP=True), 0)
        self.gate_.refuse()  # node a can do nothing for it any more
        self.holder.close()
        grant_of = next(o for o in self.history.grants(("kept", "1")))
        grant_of.options["kept_until"] = float("inf")  # by the successor
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.assertIsNone(self.actor(self.b, "other").lock("kept", "1", PX=500))
            self.assertGreater(self.redis_.ask("PTTL", "lock:kept:1"), 1000)
            time.sleep(0.1)  # between two looks
        self.gate_.pass_all()
        self.assertEqual(successor.unlock("kept", "1", grant[0]), 1)
        self.fault_is_over()
        self.a.wait_for_store(2.5)
        self.well()

    def test_a_renewal_behind_an_unlock_revives_nothing(self):
        self.gate_.delay(20)
        for i in range(60 if FULL else 15):
            grant = self.holder.lock("kept", f"short{i}", PX=900, KEEP=True)
            self.assertIsInstance(grant, list)
            self.some_time(0.25, 0.35)  # a renewal is due at 300 ms
            self.assertEqual(self.holder.unlock("kept", f"short{i}", grant[0]), 1)
            self.assertIsNone(self.redis_.ask("GET", f"lock:kept:short{i}"))
        self.assertEqual(self.told("lost"), [])
        self.well()

    def test_maxhold_ends_it_on_both_nodes(self):
        stalls = self.enterContext(Stalls())
        began = time.monotonic()
        grant = self.holder.lock("kept", "1", PX=2000, KEEP=True, MAXHOLD=3000)
        successor = self.actor(self.b, "successor")
        self.some_time(0.3, 0.9)  # the first renewal is due at 0.67 s
        self.assertGreater(successor.renew("kept", "1", grant[0]), 0)
        self.gate_.reset()
        waiter = self.actor(self.b, "waiter")
        reply = waiter.lock("kept", "1", WAIT=6000, PX=1000)
        self.assertIsInstance(reply, list)
        ended = time.monotonic() - began
        self.assertGreater(ended, 2.9)
        self.assertLess(ended, 4.2 + stalls.seconds)
        self.assert_error(self.holder.renew("kept", "1", grant[0]), "LOST maxhold")
        self.well()


if __name__ == "__main__":
    unittest.main()

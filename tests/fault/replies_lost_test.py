# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""The write took place and its reply is lost, or the request comes late: kill, then look."""

import threading
import unittest

from fault_case import FaultCase
from gate import DOWN, UP
from harness import FULL, Error, wait_until


class RepliesLost(FaultCase):
    def setUp(self):
        super().setUp()
        self.redis_ = self.redis()
        self.gate_ = self.gate(self.redis_)
        self.node_ = self.node(self.gate_, "a")

    def lose(self, count=1):
        """The connections that are there get no more replies."""
        self.gate_.drop(DOWN, only_current=True)

    def later(self, function, *args, **options):
        """Runs it in a thread; the thread is to be joined."""
        thread = threading.Thread(target=function, args=args, kwargs=options)
        thread.start()
        return thread

    def assert_well(self):
        self.fault_is_over()
        self.assert_all_is_well([self.node_], self.redis_)

    def test_of_a_lock(self):
        client = self.actor(self.node_)
        self.lose()
        grant = client.lock("order", "1", PX=30_000)
        self.assertIsInstance(grant, list, "found again within the deadline")
        self.assertEqual(grant[3], 1)
        record = self.redis_.ask("GET", "lock:order:1")
        self.assertIn(grant[0], record)
        self.assertEqual(client.unlock("order", "1", grant[0]), 1)
        following = client.lock("order", "1", PX=30_000)
        self.assertEqual(following[1], grant[1] + 1, "one grant took one fence")
        self.assert_well()

    def test_of_an_unlock(self):
        client = self.actor(self.node_)
        grant = client.lock("order", "1", PX=30_000)
        self.lose()
        self.assertEqual(client.unlock("order", "1", grant[0]), 1)
        self.assertEqual(self.redis_.keys("lock:order*"), [])
        self.assertEqual(client.unlock("order", "1", grant[0]), 1, "the same answer again")
        self.assert_well()

    def test_of_a_renewal(self):
        client = self.actor(self.node_)
        grant = client.lock("order", "1", PX=10_000)
        self.lose()
        left = client.renew("order", "1", grant[0], PX=30_000)
        self.assertGreater(left, 20_000)
        self.assert_well()

    def test_of_a_hand_over(self):
        holder, waiter = self.actor(self.node_, "holder"), self.actor(self.node_, "waiter")
        grant = holder.lock("order", "1", PX=30_000)
        thread = self.later(waiter.lock, "order", "1", PX=30_000, WAIT=5000)
        wait_until(lambda: self.node_.info("locks")["locks_waiting"] == "1")
        self.lose()
        self.assertEqual(holder.unlock("order", "1", grant[0]), 1)
        thread.join()
        self.assertEqual(waiter.last.reply[1], grant[1] + 1)
        self.assertEqual(waiter.last.reply[3], 1)
        self.assert_well()

    def test_of_a_cancel(self):
        client = self.actor(self.node_)
        client.lock("order", "1", PX=30_000, REQ="wish")
        self.lose()
        reply = client.cancel("order", "1", "wish")
        self.assertTrue(reply == 1 or isinstance(reply, Error), f"a grant was undone: {reply!r}")
        self.assertEqual(self.redis_.keys("lock:order*"), [])
        self.assert_error(client.lock("order", "1", PX=30_000, REQ="wish"), "ERR cancelled")
        self.assert_well()

    def test_of_the_undoing_of_a_lock_whose_client_left(self):
        holder = self.actor(self.node_, "holder")
        grant = holder.lock("order", "1", PX=30_000)
        waiters = [self.actor(self.node_, f"waiter{i}") for i in range(2)]
        threads = [self.later(w.lock, "order", "1", PX=30_000, WAIT=6000) for w in waiters]
        wait_until(lambda: self.node_.info("locks")["locks_waiting"] == "2")
        self.lose()
        thread = self.later(holder.unlock, "order", "1", grant[0])
        wait_until(lambda: grant[0] not in (self.redis_.ask("GET", "lock:order:1") or b""),
                   what="the UNLOCK in Redis")
        waiters[0].client.socket.shutdown(2)
        thread.join()
        threads[0].join()
        threads[1].join()
        granted = [w.last for w in waiters if isinstance(w.last.reply, list)]
        self.assertGreaterEqual(len(granted), 1)
        self.assert_well()

    def test_a_lock_that_is_held_up_for_good_is_uncertain_and_never_comes(self):
        client = self.actor(self.node_)
        self.gate_.hold(UP)
        reply = client.lock("order", "1", PX=30_000)
        self.assert_error(reply, "UNCERTAIN max_ms=30000 req=")
        self.gate_.pass_all()
        self.fault_is_over()
        self.node_.wait_for_store(2.5)
        self.assert_no_ghosts([self.node_], self.redis_)
        self.assert_well()

    def test_an_uncertain_lock_is_found_by_its_request_id(self):
        client = self.actor(self.node_)
        self.gate_.drop(DOWN)
        self.assert_error(client.lock("order", "1", PX=30_000, REQ="wish"),
                          "UNCERTAIN max_ms=30000 req=wish")
        again = self.later(client.lock, "order", "1", PX=30_000, REQ="wish", WAIT=5000)
        self.some_time(0, 0.5)
        self.gate_.pass_all()
        self.fault_is_over()
        again.join()
        self.assertIsInstance(client.last.reply, list)
        self.assertGreater(client.renew("order", "1", client.last.reply[0]), 0)
        self.assert_no_other_holder("order", "1")
        self.assert_well()

    def assert_no_other_holder(self, resource, name):
        self.assertIsNone(self.actor(self.node_, "other").lock(resource, name, PX=1000))

    def test_a_copy_of_a_lock_that_comes_after_its_unlock(self):
        client = self.actor(self.node_)
        self.gate_.hold(UP, only_current=True)
        thread = self.later(client.lock, "order", "1", PX=30_000)
        wait_until(lambda: self.gate_.is_holding(b"lock:order:1", UP), what="a LOCK on its way")
        self.gate_.orphan()
        thread.join()
        self.assertEqual(client.unlock("order", "1", client.last.reply[0]), 1)
        self.gate_.pass_all()
        self.fault_is_over()
        wait_until(lambda: self.gate_.connections <= 3, what="the old connection's end")
        self.assert_no_ghosts([self.node_], self.redis_)
        self.assert_well()

    def test_a_copy_of_a_renewal_that_comes_after_its_unlock(self):
        client = self.actor(self.node_)
        grant = client.lock("order", "1", PX=30_000)
        self.gate_.hold(UP, only_current=True)
        thread = self.later(client.renew, "order", "1", grant[0])
        wait_until(lambda: self.gate_.is_holding(b"lock:order:1", UP), what="a RENEW on its way")
        self.gate_.orphan()
        thread.join()
        self.assertEqual(client.unlock("order", "1", grant[0]), 1)
        self.gate_.pass_all()
        self.fault_is_over()
        wait_until(lambda: self.gate_.connections <= 3, what="the old connection's end")
        self.assert_no_ghosts([self.node_], self.redis_)
        self.assert_well()

    def test_connections_are_reset_at_random_places_under_load(self):
        load = self.load([self.node_], clients=12, locks=6)
        for _ in range(100 if FULL else 12):
            load.wait_for_grants(30)
            direction = self.random.choice((UP, DOWN))
            accepted = self.gate_.accepted
            self.gate_.cut_after(self.random.randrange(1, 4000), direction)
            wait_until(lambda accepted=accepted: self.gate_.accepted > accepted, what="a cut")
        self.gate_.pass_all()
        load.wait_for_grants(30)
        load.stop()
        self.assert_well()

    def test_replies_are_lost_again_and_again_under_load(self):
        load = self.load([self.node_], clients=12, locks=6, WAIT=500)
        for _ in range(20 if FULL else 4):
            load.wait_for_grants(30)
            self.lose()
            load.wait_for_grants(30)
        load.stop()
        self.assert_well()

    def test_one_direction_is_closed_under_load(self):
        load = self.load([self.node_], clients=8)
        for direction in (DOWN, UP) * (10 if FULL else 1):
            load.wait_for_grants(30)
            self.gate_.half_close(direction)
            load.wait_for_grants(30)
        load.stop()
        self.assert_well()


if __name__ == "__main__":
    unittest.main()

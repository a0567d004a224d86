# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""One wish, sent again and again over new connections to two nodes: it meets itself."""

import threading
import time
import unittest

from fault_case import FaultCase
from harness import FULL, wait_until

SENDINGS = 11  # what the most stubborn client library does


class Resend(FaultCase):
    def setUp(self):
        super().setUp()
        self.redis_ = self.redis()
        self.gate_ = self.gate(self.redis_)
        self.a = self.node(self.gate_, "a")
        self.b = self.node(self.redis_, "b")

    def send_again_and_again(self, name, leave_after, **options):
        """Sends a LOCK over SENDINGS connections to both nodes in turn; all but the last are cut
        after `leave_after()` seconds without a reply. Returns the last reply."""
        reply = None
        for i in range(SENDINGS):
            node = (self.a, self.b)[i % 2]
            actor = self.actor(node, f"{name}.{i}")
            last = i == SENDINGS - 1
            seconds = None if last else max(leave_after(), 0.0005)
            reply = actor.lock("order", name, timeout=seconds, PX=20_000, REQ=f"wish-{name}",
                               **options)
            if not last:
                actor.close()
        return reply

    def assert_one_hold(self, name, reply):
        """One lock, one fence, one hold; it ends with the one UNLOCK of its holder."""
        self.assertIsInstance(reply, list, f"{reply!r}: " + "\n".join(
            str(o) for o in self.history.operations if o.lock[1] == name))
        self.assertEqual(reply[3], 1, "one hold")
        answers = self.history.grants(("order", name))
        self.assertEqual(len({(o.reply[0], o.reply[1]) for o in answers if o.returned is not None
                              and o.reply[0] == reply[0]}), 1)
        info = self.b.ask("LOCKINFO", "order", name)
        fields = dict(zip(info[::2], info[1::2]))
        self.assertEqual(fields[b"fence"], reply[1], fields)

    def assert_is_never_freed_under_its_holder(self, name, reply, seconds):
        """For so long the token holds the lock and nobody else gets it."""
        end = time.monotonic() + seconds
        holder, other = self.actor(self.b, "holder"), self.actor(self.a, "other")
        while time.monotonic() < end:
            self.assertIsNone(other.lock("order", name, PX=1000))
            self.assertGreater(holder.renew("order", name, reply[0]), 0)
            time.sleep(0.05)  # between two looks
        self.assertEqual(holder.unlock("order", name, reply[0]), 1)
        self.assertEqual(self.redis_.keys(f"lock:order:{name}"), [], "freed by its one UNLOCK")

    def test_a_lock_that_is_sent_eleven_times_is_one(self):
        for round_ in range(20 if FULL else 4):
            name = f"plain{round_}"
            self.gate_.delay(self.random.choice((0, 2, 20)))
            reply = self.send_again_and_again(name, lambda: self.random.uniform(0, 0.03))
            self.assert_one_hold(name, reply)
            self.assert_is_never_freed_under_its_holder(name, reply, 0.3)
        self.finish()

    def test_a_lock_that_is_sent_while_the_first_node_undoes_its_attempt_is_one(self):
        # The first client leaves while its LOCK is on its way: node a undoes that attempt, late,
        # while later sendings adopt the grant through node b and a.
        for round_ in range(20 if FULL else 5):
            name = f"undone{round_}"
            self.gate_.delay(self.random.choice((30, 100, 200)))
            reply = self.send_again_and_again(name, lambda: self.random.uniform(0.005, 0.06))
            self.assert_one_hold(name, reply)
            self.assert_is_never_freed_under_its_holder(name, reply, 0.8)
        self.finish()

    def test_a_waiting_lock_that_is_sent_eleven_times_is_one(self):
        for round_ in range(10 if FULL else 2):
            name = f"waits{round_}"
            self.gate_.delay(self.random.choice((0, 20)))
            holder = self.actor(self.b, "first")
            first = holder.lock("order", name, PX=20_000)
            thread = threading.Thread(
                target=lambda first=first, name=name, holder=holder:
                (self.some_time(0.1, 0.5), holder.unlock("order", name, first[0])))
            thread.start()
            reply = self.send_again_and_again(name, lambda: self.random.uniform(0.01, 0.1),
                                              WAIT=3000)
            thread.join()
            self.assert_one_hold(name, reply)
            self.assert_is_never_freed_under_its_holder(name, reply, 0.5)
        self.finish()

    def test_sendings_at_the_same_time_are_one(self):
        for round_ in range(20 if FULL else 4):
            name = f"together{round_}"
            self.gate_.delay(self.random.choice((0, 10, 50)))
            actors = [self.actor((self.a, self.b)[i % 2], f"{name}.{i}") for i in range(SENDINGS)]
            threads = [threading.Thread(target=actor.lock, args=("order", name),
                                        kwargs={"PX": 20_000, "REQ": f"wish-{name}"})
                       for actor in actors]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            grants = [actor.last.reply for actor in actors if isinstance(actor.last.reply, list)]
            self.assertGreaterEqual(len(grants), 1)
            self.assertEqual(len({(g[0], g[1]) for g in grants}), 1, grants)
            self.assert_one_hold(name, grants[0])
            self.assert_is_never_freed_under_its_holder(name, grants[0], 0.3)
        self.finish()

    def finish(self):
        self.gate_.pass_all()
        self.fault_is_over()
        wait_until(lambda: self.a.info("locks")["locks_waiting"] == "0", 7,
                   "places of clients that left ending")
        self.assert_all_is_well([self.a, self.b], self.redis_)


if __name__ == "__main__":
    unittest.main()

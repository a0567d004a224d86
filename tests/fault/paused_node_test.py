# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""latchd stands still for longer than leases, and ends under load."""

import threading
import time
import unittest

from fault_case import FaultCase
from harness import FULL, Client, Error, Stalls, wait_until
from resp_client import encode


class PausedNode(FaultCase):
    def test_a_paused_node_tells_no_grant_whose_lease_is_over(self):
        redis = self.redis()
        gate = self.gate(redis)
        node, other = self.node(gate, "a"), self.node(redis, "b")
        for round_ in range(5 if FULL else 2):
            name = str(round_)
            client = self.actor(node, f"client{round_}", timeout=20)
            gate.hold("down")
            thread = threading.Thread(target=client.lock, args=("order", name),
                                      kwargs={"PX": 1000, "WAIT": 10_000})
            thread.start()
            # Granted in the store; the answer is on its way when the node is paused.
            wait_until(lambda name=name: redis.ask("EXISTS", f"lock:order:{name}") == 1)
            node.freeze()
            gate.pass_all()
            # By the store's clock its lease has ended, and somebody else has the lock.
            taken = self.actor(other, f"taker{round_}").lock("order", name, PX=2000, WAIT=5000)
            self.assertIsInstance(taken, list)
            node.thaw()
            thread.join()
            reply = client.last.reply
            if isinstance(reply, list):
                self.assertGreater(reply[1], taken[1], "a grant of its own, after the other's")
            self.fault_is_over()
            node.wait_for_store(2.5)
        self.pauses_are_not_late_answers()
        self.assert_all_is_well([node, other], redis)

    def pauses_are_not_late_answers(self):
        """A node that is paused can't answer; only then the deadline can't be its promise."""
        for operation in self.history.operations:
            if operation.actor.startswith("client"):
                operation.options["WAIT"] = int(operation.options.get("WAIT", 0)) + 8000

    def test_a_waiter_of_a_paused_node_is_told_that_its_time_is_over(self):
        redis = self.redis()
        node, other = self.node(redis, "a"), self.node(redis, "b")
        held = self.actor(other, "holder").lock("order", "1", PX=3000)
        waiter = self.actor(node, "client-waiter", timeout=20)
        thread = threading.Thread(target=waiter.lock, args=("order", "1"),
                                  kwargs={"PX": 2000, "WAIT": 1000})
        thread.start()
        wait_until(lambda: node.info("locks")["locks_waiting"] == "1")
        node.freeze()
        node.wait_until_frozen_for(4)  # longer than its client waits
        node.thaw()
        self.fault_is_over()
        thread.join()
        self.assertNotIsInstance(waiter.last.reply, list, "its wait was over")
        self.assertEqual(self.actor(other).unlock("order", "1", held[0]), 0)
        self.pauses_are_not_late_answers()
        self.assert_all_is_well([node, other], redis)

    def test_a_kept_lock_of_a_paused_node_is_lost_and_told(self):
        redis = self.redis()
        node, other = self.node(redis, "a"), self.node(redis, "b")
        self.listen(node, other)
        holder = self.actor(node, "client-holder")
        grant = holder.lock("kept", "1", PX=1000, KEEP=True)
        node.freeze()
        taken = self.actor(other, "taker").lock("kept", "1", PX=10_000, WAIT=4000)
        self.assertGreater(taken[1], grant[1])
        node.thaw()
        self.fault_is_over()
        self.wait_for_told("lost", ("kept", "1"), 2)
        self.assertEqual(holder.renew("kept", "1", grant[0]), -1)
        self.assertEqual(holder.unlock("kept", "1", grant[0]), -1)
        # Nobody can tell while the node stands still: only the fence protects then.
        self.assert_all_is_well([node, other], redis, losses_are_told_late=6.0)

    def test_a_paused_embedded_node_tells_no_grant_whose_lease_is_over(self):
        node = self.latchd()
        holder = self.actor(node, "client-holder")
        holder.lock("order", "1", PX=1000)
        waiter = self.actor(node, "client-waiter", timeout=20)
        thread = threading.Thread(target=waiter.lock, args=("order", "1"),
                                  kwargs={"PX": 500, "WAIT": 5000})
        thread.start()
        wait_until(lambda: node.info("locks")["locks_waiting"] == "1")
        node.freeze()
        node.wait_until_frozen_for(2.5)  # the lease and the whole of the next one
        node.thaw()
        self.fault_is_over()
        thread.join()
        self.assertIsInstance(waiter.last.reply, list)
        self.assertGreater(waiter.last.reply[2], 300, "its lease began after the pause")
        self.pauses_are_not_late_answers()
        self.assert_all_is_well([node])

    def assert_every_request_has_a_reply(self, node):
        """Pipelines of 400 requests are under way in 8 connections when SIGTERM comes."""
        clients = [Client(node.address, timeout=20) for _ in range(8)]
        replies, read = {}, []

        def run(index, client):
            requests = []
            for i in range(200):
                requests += [("LOCK", "term", f"{index}.{i}", "PX", 2000),
                             ("UNLOCK", "term", f"{index}.{i}", "none")]
            began = len(requests)
            client.send_bytes(b"".join(encode(*request) for request in requests))
            try:
                first = client.read_many(1)
                read.append(index)
                replies[index] = first + client.read_many(began - 1)
            except ConnectionError as error:
                replies[index] = error

        threads = [threading.Thread(target=run, args=each) for each in enumerate(clients)]
        waiter = Client(node.address, timeout=20)
        waiter.ask("LOCK", "term", "waits", "PX", 20_000)
        waiter.send("LOCK", "term", "waits", "WAIT", 20_000)
        wait_until(lambda: node.info("locks")["locks_waiting"] == "1")
        for thread in threads:
            thread.start()
        # What no node has read when it ends is not answered, only the connection ends.
        wait_until(lambda: len(read) == len(clients), what="a reply on each connection")
        self.some_time(0, 0.02)
        with Stalls() as stalls:
            began = time.monotonic()
            self.assertEqual(node.stop(), 0)
            self.assertLess(time.monotonic() - began, 5 + stalls.seconds)
        for thread in threads:
            thread.join()
        self.assert_error(waiter.read(), "NOSTORE draining")
        for index, got in replies.items():
            self.assertIsInstance(got, list, f"connection {index}: {got}")
            self.assertEqual(len(got), 400)
            words = {r.split(" ")[0] for r in got if isinstance(r, Error)}
            self.assertLessEqual(words, {"NOSTORE", "UNCERTAIN"})
        for client in clients + [waiter]:
            client.close()

    def test_sigterm_under_load_leaves_no_request_without_a_reply(self):
        for _ in range(10 if FULL else 2):
            self.assert_every_request_has_a_reply(self.latchd())

    def test_sigterm_under_load_with_redis_leaves_no_request_without_a_reply(self):
        redis = self.redis()
        for round_ in range(10 if FULL else 2):
            self.assert_every_request_has_a_reply(self.node(redis, f"n{round_}"))

    def test_sigterm_while_redis_stands_still_ends_in_time(self):
        redis = self.redis()
        node = self.node(redis, "a")
        client = self.actor(node, "client")
        client.lock("kept", "1", PX=20_000, KEEP=True)
        redis.freeze()
        thread = threading.Thread(target=self.actor(node, "late").lock, args=("order", "1"))
        before = node.info("commandstats")["cmdstat_lock"]
        thread.start()
        wait_until(lambda: node.info("commandstats")["cmdstat_lock"] != before, what="a LOCK read")
        with Stalls() as stalls:
            began = time.monotonic()
            self.assertEqual(node.stop(), 0)
            self.assertLess(time.monotonic() - began, 4 + stalls.seconds)
        thread.join()
        self.assertIsNotNone(self.history.operations[-1].returned, "every request has a reply")
        redis.thaw()


if __name__ == "__main__":
    unittest.main()

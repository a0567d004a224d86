# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""One hot lock through several nodes: whose turn it is, and what waiting costs the store."""

import collections
import pathlib
import selectors
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from gate import DOWN, Gate
from standing import Watch

HANDOVER_MAX = 16
# A lock is reserved for a node for 200 ms: one that stands still, or whose store does, for longer
# loses its turn, and is in line again only once it has asked. Seconds of each of the two; and how
# long before it was seen, and how long after, what came is not looked at.
STILL, BEFORE, AFTER = 0.09, 0.02, 0.2
QUIET = ("--log-level", "info")


class Crowd:
    """Clients that take a lock, give it back and stand in line again, without holding it."""

    def __init__(self, nodes, each, wait=30_000):
        self.wait = wait
        self.grants = []  # (fence, node, when), as they are answered
        self.refused = 0
        self.selector = selectors.DefaultSelector()
        self.clients = []
        for number, node in enumerate(nodes):
            for _ in range(each):
                client = node.client(timeout=30)
                self.clients.append((client, number))
                self.selector.register(client.socket, selectors.EVENT_READ, (client, number))

    def begin(self):
        for client, _ in self.clients:
            client.send("LOCK", "r", "hot", "PX", 10_000, "WAIT", self.wait)

    def step(self, timeout=15.0):
        ready = self.selector.select(timeout)
        if not ready:
            raise AssertionError(f"nobody gets the lock any more, after {len(self.grants)} grants")
        for key, _ in ready:
            client, number = key.data
            reply = client.read()
            if isinstance(reply, list):
                self.grants.append((reply[1], number, time.monotonic()))
                client.send("UNLOCK", "r", "hot", reply[0])
            elif reply == 1:
                client.send("LOCK", "r", "hot", "PX", 10_000, "WAIT", self.wait)
            elif reply is None:
                self.refused += 1
                client.send("LOCK", "r", "hot", "PX", 10_000, "WAIT", self.wait)
            else:
                raise AssertionError(f"answered {reply!r}")

    def run(self, grants):
        while len(self.grants) < grants:
            self.step()

    def turns(self):
        """The nodes in the order of the fences."""
        return [node for _, node, _ in sorted(self.grants)]

    def stretches(self, stills):
        """The same in pieces, without what came in one of these (begin, end)."""
        pieces, is_whole = [], False
        for _, node, when in sorted(self.grants):
            if any(begin - BEFORE < when < end + AFTER for begin, end in stills):
                is_whole = False
                continue
            if not is_whole:
                pieces.append([])
                is_whole = True
            pieces[-1].append(node)
        return pieces


def sent_to(redis):
    """Commands that came by connections, not by scripts, since the last CONFIG RESETSTAT."""
    calls = redis.commands()
    return calls.get("evalsha", 0) + calls.get("eval", 0) + calls.get("script|load", 0)


class Turns(harness.Case):
    def nodes(self, redis, count):
        return [self.node(redis, f"n{number}", *QUIET) for number in range(count)]

    def watch(self, *programs):
        watch = Watch(programs)
        self.addCleanup(watch.close)
        return watch

    def check_in_order(self, crowd, watch, nodes, handover_max=HANDOVER_MAX):
        """Checks the order of the grants that came while all nodes were in line and nobody stood
        still, and lets the crowd run until these are nine tenths of what there was; returns
        ({node: how many}, in how many pieces)."""
        each, pieces, whole = collections.Counter(), 0, len(crowd.grants)
        until = time.monotonic() + 60 * harness.SLOWNESS
        while True:
            fences = [fence for fence, _, _ in crowd.grants]
            self.assertEqual(len(set(fences)), len(fences), "a fence was given twice")
            for turns in crowd.stretches(watch.stills(STILL)):
                each += self.check_order(turns, nodes, handover_max)
                pieces += 1
            if each.total() >= whole * 0.9:
                return each, pieces
            self.assertLess(time.monotonic(), until, f"{each}: a node is left out")
            crowd.grants.clear()
            crowd.run(whole // 4)

    def check_order(self, turns, nodes, handover_max):
        last, row, each = {}, 0, collections.Counter()
        for at, node in enumerate(turns):
            row = row + 1 if at and turns[at - 1] == node else 1
            self.assertLessEqual(row, handover_max, f"at grant {at} of {turns}")
            self.assertLessEqual(at - last.get(node, at), handover_max * nodes,
                                 f"at grant {at} of {turns}")
            last[node] = at
            if len(last) == nodes:
                each[node] += 1
        return each

    def test_three_nodes_with_twenty_clients_each_take_turns(self):
        redis = self.redis()
        nodes = self.nodes(redis, 3)
        crowd = Crowd(nodes, 20)
        watch = self.watch(redis, *nodes)
        crowd.begin()
        crowd.run(200)  # all stand in line
        crowd.grants.clear()
        redis.ask("CONFIG", "RESETSTAT")
        crowd.run(4_000)
        calls = redis.commands()
        turns = crowd.turns()
        changes = sum(a != b for a, b in zip(turns, turns[1:]))
        self.assertGreater(changes, 4_000 / HANDOVER_MAX / 2)
        # A release that leaves the node is one message, to the next node alone.
        self.assertLessEqual(calls.get("publish", 0), changes * 1.2 + 10)
        self.assertLessEqual(sent_to(redis) / len(turns), 4)
        print(f"store commands per grant: {sent_to(redis) / len(turns):.3f}, "
              f"messages per change of node: {calls.get('publish', 0) / changes:.3f}, "
              f"looks: {calls.get('evalsha', 0) - len(turns)}")
        each, pieces = self.check_in_order(crowd, watch, 3)
        self.assertGreater(min(each.values()) + pieces * HANDOVER_MAX, each.total() / 3 * 0.9, each)

    def test_the_configuration_says_how_many_grants_in_a_row_a_node_has(self):
        redis = self.redis()
        text = (f"stores: [{{url: '{redis.url}'}}]\n"
                "log: {level: info}\n"
                "locks: {handover_max: 3}\n")
        nodes = [self.latchd("--node", f"n{number}", config=text) for number in range(2)]
        self.assertEqual(nodes[0].ask("CONFIG", "GET", "locks.handover_max"),
                         [b"locks.handover_max", b"3"])
        crowd = Crowd(nodes, 10)
        watch = self.watch(redis, *nodes)
        crowd.begin()
        crowd.run(100)  # all stand in line
        crowd.grants.clear()
        crowd.run(600)
        self.check_in_order(crowd, watch, 2, handover_max=3)

    def test_one_node_with_fifty_clients_asks_once_for_each_grant(self):
        redis = self.redis()
        crowd = Crowd(self.nodes(redis, 1), 50)
        crowd.begin()
        crowd.run(200)
        crowd.grants.clear()
        redis.ask("CONFIG", "RESETSTAT")
        with redis.client() as listener:
            # Not the channel without a name, to which nodes send to see whether they may.
            listener.ask("PSUBSCRIBE", "latchd:node:?*")
            crowd.run(4_000)
            self.assertEqual(listener.ask("PING"), [b"pong", b""], "there is nobody to be told")
        self.assertLessEqual(sent_to(redis) / len(crowd.grants), 2)

    def test_it_goes_on_while_messages_are_lost_and_come_twice(self):
        redis = self.redis()
        nodes = self.nodes(redis, 3)
        crowd = Crowd(nodes, 20)
        crowd.begin()
        crowd.run(100)
        end = threading.Event()

        def spoil():
            with redis.client() as client:
                while not end.wait(0.05):
                    client.ask("CLIENT", "KILL", "TYPE", "pubsub")
                    for number in range(3):
                        client.ask("PUBLISH", f"latchd:node:n{number}", "offered 0 lock:r:hot")

        spoiler = threading.Thread(target=spoil)
        spoiler.start()
        try:
            before = len(crowd.grants)
            until = time.monotonic() + 5
            while time.monotonic() < until:
                crowd.step()
            # Where no message comes at all it would be one turn of 16 a second and node.
            self.assertGreater(len(crowd.grants) - before, 3 * HANDOVER_MAX * 2)
        finally:
            end.set()
            spoiler.join()
        watch = self.watch(redis, *nodes)
        with redis.client() as client:
            while not all(client.ask("PUBSUB", "NUMSUB", f"latchd:node:n{number}")[1]
                          for number in range(3)):
                crowd.step()
        crowd.run(len(crowd.grants) + 100)  # all hear what is sent to them, and stand in line
        crowd.grants.clear()
        crowd.run(500)
        self.check_in_order(crowd, watch, 3)

    def test_a_killed_node_costs_the_others_its_reservation(self):
        redis = self.redis()
        nodes = self.nodes(redis, 3)
        holder, first, second = nodes[0].client(), nodes[1].client(), nodes[2].client(timeout=20)
        token = self.lock(holder, "r", "hot", "PX", 60_000)[0]
        first.send("LOCK", "r", "hot", "WAIT", 50_000)
        harness.wait_until(lambda: queue_of(redis) == b"n1", 5)
        second.send("LOCK", "r", "hot", "WAIT", 50_000)
        harness.wait_until(lambda: queue_of(redis) == b"n1 n2", 5)
        nodes[1].kill()  # at the head of the line
        with harness.Stalls() as stalls:
            freed = time.monotonic()
            # In one write: 200 ms may be over before another one is.
            self.assertEqual(holder.pipeline([("UNLOCK", "r", "hot", token), ("LOCK", "r", "hot")]),
                             [1, None], "it is reserved")
            self.assertEqual(len(second.read()), 5)
            self.assertLess(time.monotonic() - freed, 2.5 + stalls.seconds,
                            "more than wake_check and a reservation")

    def test_a_lock_that_is_deleted_in_the_store_wakes_its_waiters(self):
        redis = self.redis()
        nodes = self.nodes(redis, 2)
        holder, waiter = nodes[0].client(), nodes[1].client(timeout=20)
        self.lock(holder, "r", "hot", "PX", 60_000)
        waiter.send("LOCK", "r", "hot", "WAIT", 50_000)
        harness.wait_until(lambda: queue_of(redis) == b"n1", 5)
        with harness.Stalls() as stalls:
            redis.ask("DEL", "lock:r:hot")
            deleted = time.monotonic()
            self.assertEqual(len(waiter.read()), 5)
            self.assertLess(time.monotonic() - deleted, 1.5 + stalls.seconds)

    def test_nothing_stays_of_ten_thousand_short_waits_on_a_slow_store(self):
        redis = self.redis()
        gate = Gate(redis.address)
        self.addCleanup(gate.close)
        near = self.node(redis, "near", *QUIET)
        far = self.latchd("--store", gate.url, "--node", "far", *QUIET)
        gate.delay(5, DOWN)
        whole = 10_000
        clients = [far.client(timeout=30) for _ in range(100)]
        holder = near.client()
        tokens = [self.lock(holder, "r", number, "PX", 60_000)[0] for number in range(5)]
        granted = 0
        for begin in range(0, whole, 1_000):
            for client in clients:
                for number in range(10):
                    client.send("LOCK", "r", self.random.randrange(10), "PX", 5_000, "WAIT", 1)
            for client in clients:
                for reply in client.read_many(10):
                    self.assertTrue(reply is None or len(reply) == 5, reply)
                    granted += reply is not None
            self.release_all(far, clients[0])
        self.assertGreater(granted, 0)
        for number, token in enumerate(tokens):
            self.assertEqual(holder.ask("UNLOCK", "r", number, token), 1)
        self.assertEqual(far.info("locks")["locks_waiting"], "0")
        harness.wait_until(lambda: not redis.keys("lock:*") and not redis.keys("queue:*"), 10,
                           "no ghost of a holder or a waiter")
        for number in range(10):
            reply = self.lock(holder, "r", number, "PX", 1_000, "WAIT", 1_000)
            self.assertEqual(holder.ask("UNLOCK", "r", number, reply[0]), 1)

    def release_all(self, node, client):
        for number in range(10):
            client.ask("FORCEUNLOCK", "r", number) if number >= 5 else None

    def test_redis_paused_under_ten_thousand_waiters(self):
        redis = self.redis()
        node = self.node(redis, "n", *QUIET, open_files=12_000,
                         config="listen: [{address: 127.0.0.1:0, max_clients: 11000}]\n")
        locks, each = 10, 1_000 if not harness.is_sanitized() else 100
        holder = node.client(timeout=30)
        tokens = [self.lock(holder, "r", number, "PX", 60_000)[0] for number in range(locks)]
        selector = selectors.DefaultSelector()
        for index in range(locks * each):
            client = node.client(timeout=30)
            client.send("LOCK", "r", index % locks, "PX", 60_000, "WAIT", 60_000)
            selector.register(client.socket, selectors.EVENT_READ, (client, index % locks))
        harness.wait_until(lambda: node.info("locks")["locks_waiting"] == str(locks * each), 30)
        redis.freeze()
        for number, token in enumerate(tokens):
            holder.send("UNLOCK", "r", number, token)
        worst, until = 0.0, time.monotonic() + 3
        with harness.Stalls() as stalls:
            while time.monotonic() < until:
                asked, stalled = time.monotonic(), stalls.seconds
                node.ask("PING")
                worst = max(worst, time.monotonic() - asked - (stalls.seconds - stalled))
        redis.thaw()
        self.assertLess(worst, 0.5, "its loop was busy with waiters")
        granted, fences = 0, collections.defaultdict(list)
        while granted < locks * each:
            ready = selector.select(15)
            self.assertTrue(ready, f"only {granted} were granted")
            for key, _ in ready:
                client, number = key.data
                reply = client.read()
                self.assertIsInstance(reply, list, reply)
                fences[number].append(reply[1])
                granted += 1
                client.send("UNLOCK", "r", number, reply[0])
                selector.unregister(client.socket)
        for given in fences.values():
            self.assertEqual(given, sorted(set(given)))
        harness.wait_until(lambda: not redis.keys("lock:*"), 10)
        self.assertEqual(node.info("locks")["locks_waiting"], "0")
        node.close_clients()


def queue_of(redis):
    """The names of the nodes that wait for the hot lock."""
    keys = redis.keys("queue:*")
    value = redis.ask("GET", keys[0]) if keys else None
    return b" ".join(value.split(b" ")[1:]).strip() if value else None


if __name__ == "__main__":
    unittest.main()

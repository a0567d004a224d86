# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Clients that wait for locks, go away while they do, or are sent away; what waiting costs."""

import pathlib
import select
import sys
import socket
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness

# How long the idle waiters are counted; the figure is over a minute.
IDLE_SECONDS = 60 if harness.FULL else 15


def waiting(latchd):
    return int(latchd.info("locks")["locks_waiting"])


def held(latchd):
    return int(latchd.info("locks")["locks_held"])


class Waiters(harness.Case):
    def wait_for_waiters(self, latchd, count):
        harness.wait_until(lambda: waiting(latchd) == count, 20, f"{count} waiters")

    def test_half_of_five_hundred_are_killed_and_the_rest_served_in_order(self):
        for store in (False, True):
            with self.subTest(redis=store):
                latchd = self.node(self.redis(), "n1") if store else self.latchd()
                self.check_half_killed(latchd)

    def check_half_killed(self, latchd):
        holder = latchd.client()
        token, fence, *_ = self.lock(holder, "r", "1", "PX", 60000)
        clients = []
        for number in range(500):
            client = latchd.client(timeout=30)
            client.send("LOCK", "r", "1", "PX", 60000, "WAIT", 60000)
            # One after another: the order of connections is that of the queue.
            if number % 50 == 49:
                self.wait_for_waiters(latchd, number + 1)
            clients.append(client)
        order = queue_of(latchd, clients)
        victims = set(self.random.sample(range(500), 250))
        for number in victims:
            end = self.random.choice(["close", "reset", "behind", "kill"])
            client = clients[number]
            if end == "behind":
                client.send_bytes(b"PING\r\n" * 1000)
                client.close()
            elif end == "reset":
                client.reset()
            elif end == "kill":
                self.assertEqual(holder.ask("CLIENT", "KILL", "ADDR", address_of(client)), 1)
            else:
                client.close()
        self.wait_for_waiters(latchd, 250)
        self.assertEqual(holder.ask("UNLOCK", "r", "1", token), 1)
        for number in (n for n in order if n not in victims):
            token, next_fence, *_ = clients[number].read()
            self.assertGreater(next_fence, fence)
            fence = next_fence
            self.assertEqual(clients[number].ask("UNLOCK", "r", "1", token), 1)
        self.assertEqual((waiting(latchd), held(latchd)), (0, 0))
        latchd.close_clients()

    def test_client_kill_of_a_waiter_takes_it_out_of_the_queue(self):
        latchd = self.latchd()
        holder, first, second = latchd.client(), latchd.client(), latchd.client()
        token = self.lock(holder, "r", "1")[0]
        number = first.ask("CLIENT", "ID")
        first.send("LOCK", "r", "1", "WAIT", 60000)
        self.wait_for_waiters(latchd, 1)
        second.send("LOCK", "r", "1", "WAIT", 60000)
        self.wait_for_waiters(latchd, 2)
        self.assertEqual(holder.ask("CLIENT", "KILL", "ID", number), 1)
        self.assertEqual(first.read_to_end(), b"")
        self.wait_for_waiters(latchd, 1)
        self.assertEqual(holder.ask("UNLOCK", "r", "1", token), 1)
        self.assertEqual(len(second.read()), 5)

    def test_a_client_gone_with_a_full_pipeline_behind_its_lock_leaves_the_queue(self):
        # A reset is seen whatever is queued, and so is a close of a Unix socket; by TCP a close
        # comes behind what the client had sent, and is seen when latchd could read that ahead.
        for end, size, door in (("close", 900_000, "tcp"), ("reset", None, "tcp"),
                                ("close", None, "unix")):
            with self.subTest(end=end, door=door):
                latchd = self.latchd("--listen", f"unix:{self.folder}/{len(self.programs)}.sock"
                                     if door == "unix" else "127.0.0.1:0")
                token = latchd.ask("LOCK", "r", "1", "PX", 60000)[0]
                client = latchd.client()
                client.send("LOCK", "r", "1", "WAIT", 60000)
                self.wait_for_waiters(latchd, 1)
                if size:
                    client.send_bytes(b"ECHO 0123456789\r\n" * (size // 17))
                else:
                    fill(client)
                getattr(client, end)()
                self.wait_for_waiters(latchd, 0)
                self.assertEqual(latchd.ask("UNLOCK", "r", "1", token), 1)
                self.assertEqual(held(latchd), 0)

    def test_a_grant_that_meets_a_closed_connection_is_given_back(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        holder = latchd.client()
        for _ in range(20):
            token = self.lock(holder, "r", "1", "PX", 60000)[0]
            client = latchd.client()
            client.send("LOCK", "r", "1", "PX", 60000, "WAIT", 60000)
            self.wait_for_waiters(latchd, 1)
            redis.freeze()
            holder.send("UNLOCK", "r", "1", token)
            # Another command of the holder's has been read behind it: the hand-over is under way.
            latchd.ask("PING")
            client.reset()
            harness.wait_until(lambda: latchd.info("clients")["connected_clients"] == "2")
            redis.thaw()
            self.assertEqual(holder.read(), 1)
            harness.wait_until(lambda: not redis.keys("lock:*") and held(latchd) == 0, 5)

    def test_a_client_gone_while_its_lock_is_granted_leaves_it_no_longer_than_its_lease(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        for number in range(100):
            client = latchd.client()
            client.send("LOCK", "r", number, "PX", 1000)
            time.sleep(self.random.random() * 0.002)  # not for an event: anywhere in its way
            self.random.choice([client.reset, client.close])()
        harness.wait_until(lambda: not redis.keys("lock:*") and held(latchd) == 0, 5)
        self.assertEqual(latchd.info("locks")["locks_uncertain"], "0")

    def test_a_client_gone_between_unlock_and_its_reply_has_released(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        for number in range(50):
            client = latchd.client()
            token = self.lock(client, "r", number, "PX", 60000, "KEEP")[0]
            client.send("UNLOCK", "r", number, token)
            client.reset()
        harness.wait_until(lambda: held(latchd) == 0 and not redis.keys("lock:*"))

    def test_waiters_on_two_nodes_all_get_the_lock(self):
        redis = self.redis()
        nodes = [self.node(redis, "n1"), self.node(redis, "n2")]
        clients = [node.client(timeout=30) for node in nodes for _ in range(10)]
        for client in clients:
            client.send("LOCK", "r", "1", "PX", 60000, "WAIT", 30000)
        fences, left = [], list(clients)
        while left:
            client = harness.wait_until(lambda: ready(left), 20, "a grant")
            token, fence, *_ = client.read()
            fences.append(fence)
            left.remove(client)
            self.assertIsNone(ready(left), "two hold the lock")
            self.assertEqual(client.ask("UNLOCK", "r", "1", token), 1)
        self.assertEqual(fences, sorted(set(fences)))

    def test_a_thousand_idle_waiters_ask_the_store_once_a_second(self):
        redis = self.redis()
        here, there = self.node(redis, "here"), self.node(redis, "there")
        holder = there.client()
        token = self.lock(holder, "r", "1", "PX", 60000, "KEEP")[0]
        clients = []
        for number in range(1000):
            client = here.client(timeout=30)
            client.send("LOCK", "r", "1", "WAIT", 60000)
            clients.append(client)
        self.wait_for_waiters(here, 1000)
        asked, seconds = commands_about(redis, b"lock:r:1", IDLE_SECONDS)
        # Besides the head of the queue the holder's node renews, every 20 s.
        self.assertLessEqual(asked, seconds + 3 + seconds // 20, "commands for waiters")
        self.assertGreater(asked, 2, "a missed message would never be noticed")
        for client in clients:
            client.close()
        self.wait_for_waiters(here, 0)
        self.assertEqual(holder.ask("UNLOCK", "r", "1", token), 1)


class Retries(harness.Case):
    def check_one_hold(self, nodes, replies):
        """All that were granted got the same grant, and nobody frees it under its holder."""
        grants = [reply for reply in replies if isinstance(reply, list)]
        self.assertGreater(len(grants), 0, replies)
        self.assertEqual(len({(grant[0], grant[1], grant[3]) for grant in grants}), 1, grants)
        for reply in replies:
            if not isinstance(reply, list):
                # A sending that waits gives way to a later one at the same node.
                self.assertRegex(str(reply), r"^(UNCERTAIN|NOSTORE|ERR superseded)\b")
        token, fence = grants[0][:2]
        time.sleep(2.5)  # longer than any undoing that might still come
        for node in nodes:
            self.assertEqual(node.ask("FENCE", "r", "1", fence), 1)
            self.assertIsNone(node.ask("LOCK", "r", "1"))
        info = nodes[0].ask("LOCKINFO", "r", "1")
        self.assertEqual(info[info.index(b"holds") + 1], 1)
        self.assertEqual(nodes[1].ask("UNLOCK", "r", "1", token), 1)
        self.assertGreater(self.lock(nodes[0].client(), "r", "1", "WAIT", 2000)[1], fence)

    def test_a_lock_sent_eleven_times_over_two_nodes_is_one_hold(self):
        redis = self.redis()
        nodes = [self.node(redis, "n1"), self.node(redis, "n2")]
        clients = [nodes[number % 2].client() for number in range(11)]
        for client in clients:
            client.send("LOCK", "r", "1", "PX", 60000, "REQ", "wish")
        self.check_one_hold(nodes, [client.read() for client in clients])

    def test_a_lock_sent_again_while_its_first_attempt_is_undone_is_one_hold(self):
        redis = self.redis()
        nodes = [self.node(redis, "n1"), self.node(redis, "n2")]
        first = nodes[0].client()
        redis.freeze()
        first.send("LOCK", "r", "1", "PX", 60000, "REQ", "wish")
        nodes[0].wait_for("no reply within")
        clients = []
        for number in range(10):
            client = nodes[number % 2].client()
            client.send("LOCK", "r", "1", "PX", 60000, "REQ", "wish", "WAIT", 5000)
            clients.append(client)
            if number == 4:
                redis.thaw()
        replies = [client.read(timeout=15) for client in [first] + clients]
        self.check_one_hold(nodes, replies)

    def test_clients_that_leave_after_each_sending_keep_one_hold(self):
        redis = self.redis()
        nodes = [self.node(redis, "n1"), self.node(redis, "n2")]
        for number in range(10):
            client = nodes[number % 2].client()
            client.send("LOCK", "r", "1", "PX", 60000, "REQ", "wish")
            self.random.choice([client.close, client.reset])()
        reply = nodes[0].ask("LOCK", "r", "1", "PX", 60000, "REQ", "wish", "WAIT", 5000)
        self.check_one_hold(nodes, [reply])


class Watchdog(harness.Case):
    def test_a_hundred_thousand_fast_pairs_with_keep_leave_nothing(self):
        redis = self.redis()
        quiet = ("--log-level", "info")
        share = 5 if harness.is_sanitized() else 1
        for latchd, kept in ((self.latchd(*quiet), None), (self.node(redis, "n1", *quiet), redis)):
            with self.subTest(redis=kept is not None):
                whole = 100_000 if kept is None or harness.FULL else 20_000
                self.check_pairs(latchd, whole // share, 500 if kept is None else 100)
                if kept is not None:
                    self.assertEqual(redis.keys("lock:*"), [])
                    self.check_nothing_renews(latchd)

    def check_nothing_renews(self, latchd):
        # By the time that the store was probed again a ttl of 1 s would have been renewed.
        locks = latchd.info("locks")
        self.assertEqual(int(locks["locks_kept"]), 0)
        probes = [latchd.info("stores")["store0"]]
        for _ in range(2):
            harness.wait_until(lambda: latchd.info("stores")["store0"] != probes[-1], 5)
            probes.append(latchd.info("stores")["store0"])
        self.assertEqual(latchd.info("locks")["locks_renewed"], locks["locks_renewed"])

    def check_pairs(self, latchd, count, batch):
        client = latchd.client(timeout=60)
        for begin in range(0, count, batch):
            ids = range(begin, begin + batch)
            grants = client.pipeline([
                ("LOCK", "r", i % 1000, "PX", 1000 if i % 2 else 60000, "KEEP") for i in ids])
            self.assertEqual([grant for grant in grants if not isinstance(grant, list)], [])
            answers = client.pipeline([("UNLOCK", "r", i % 1000, grant[0])
                                       for i, grant in zip(ids, grants)])
            self.assertLessEqual(set(answers), {0, 1})
        info = latchd.info("locks")
        self.assertEqual(info["locks_held"], "0")
        self.assertEqual(info["locks_kept"], "0")

    def test_a_thousand_kept_locks_are_renewed_in_batches_and_all_live(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        client = latchd.client(timeout=30)
        grants = client.pipeline([("LOCK", "r", n, "PX", 3000, "KEEP") for n in range(1000)])
        time.sleep(4)  # longer than the lease: whatever lives was renewed
        self.assertEqual(len(redis.keys("lock:r:*")), 1000)
        self.assertEqual(int(latchd.info("locks")["locks_lost"]), 0)
        answers = client.pipeline([("UNLOCK", "r", n, g[0]) for n, g in enumerate(grants)])
        self.assertEqual(set(answers), {1})

    def test_a_kept_lock_that_was_lost_is_never_taken_again(self):
        redis = self.redis()
        latchd = self.node(redis, "n1")
        client = latchd.client()
        token = self.lock(client, "r", "1", "PX", 2000, "KEEP")[0]
        events = latchd.client()
        events.ask("SUBSCRIBE", "latchd:events:r")
        self.assertEqual(redis.ask("DEL", "lock:r:1"), 1)
        self.assertRegex(events.read()[2].decode(), r"^lost r/1#\d+ ")
        self.assertEqual(redis.keys("lock:*"), [])
        self.assertEqual(client.ask("RENEW", "r", "1", token), 0)


def queue_of(latchd, clients):
    """The numbers of the clients in the order in which their connections were accepted."""
    by_address = {address_of(client): number for number, client in enumerate(clients)}
    rows = latchd.ask("CLIENT", "LIST").decode().splitlines()
    found = [by_address.get(dict(word.split("=", 1) for word in row.split())["addr"])
             for row in rows]
    return [number for number in found if number is not None]


def address_of(client):
    return "%s:%d" % client.socket.getsockname()


def fill(client):
    """Sends commands until neither side's kernel takes more."""
    client.socket.setblocking(False)
    while select.select([], [client.socket], [], 0.2)[1]:
        client.socket.send(b"ECHO 0123456789\r\n" * 1000)


def ready(clients):
    """A client that has something to read, or None."""
    readable = select.select([c.socket for c in clients], [], [], 0)[0] if clients else []
    return next((c for c in clients if c.socket in readable), None)


def commands_about(redis, key, seconds):
    """How many scripts with this key Redis ran in so many seconds, and in how many it was."""
    with socket.create_connection(redis.address) as monitor:
        began = time.monotonic()
        monitor.sendall(b"MONITOR\r\n")
        time.sleep(seconds)  # what is counted
        monitor.sendall(b"PING\r\n")
        seen = b""
        while b"+PONG" not in seen:
            seen += monitor.recv(1 << 20)
        took = time.monotonic() - began
    return sum(key in line and b'"evalsha"' in line.lower() and b" lua]" not in line
               for line in seen.splitlines()), took


if __name__ == "__main__":
    unittest.main()

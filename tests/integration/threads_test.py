# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""--threads: several nodes that are one server to who comes in by their one port. What locks do
through them is in tests/behaviour."""

import subprocess
import unittest

import harness
from harness import wait_until
from resp_client import Client, Closed, encode

MANY = 40  # connections of which, by chance, not all come to one loop
# What a client sees whose connection was ended, whether or not it had sent something more.
GONE = (Closed, ConnectionError)


def maps(reply):
    """An array of maps, or one map, as dicts of text."""
    def text(value):
        return value.decode() if isinstance(value, bytes) else value
    if reply and not isinstance(reply[0], list):
        reply = [reply]
    return [{text(k): text(v) for k, v in zip(row[::2], row[1::2])} for row in reply]


class OneServer(harness.Case):
    """What is told of the process, and done to it, whichever loop is asked."""

    def setUp(self):
        super().setUp()
        self.latchd_ = self.latchd("--threads", "2")
        self.a = self.latchd_.client_of_loop(1)
        self.b = self.latchd_.client_of_loop(2)

    def test_info_adds_up_and_tells_of_each_loop(self):
        self.lock(self.a, "r", "1")
        self.lock(self.b, "r", "2")
        self.lock(self.b, "r", "3")
        for client in self.a, self.b:
            info = harness.fields(client.ask("INFO", "everything"))
            self.assertEqual(info["locks_held"], "3")
            self.assertEqual(info["connected_clients"], "2")
            self.assertEqual(info["latchd_loops"], "2")
            self.assertEqual(info["latchd_loops_silent"], "0")
            self.assertIn(",state=ok,clients=1,locks_held=1,", info["latchd_loop1"])
            self.assertIn("/2,state=ok,clients=1,locks_held=2,", info["latchd_loop2"])
            # harness/ready was locked, too.
            self.assertIn("calls=4,", info["cmdstat_lock"])
            self.assertEqual(client.ask("DBSIZE"), 3)
            status = maps(client.ask("LATCHD", "STATUS"))[0]
            self.assertEqual((status["locks_held"], status["clients"], status["loops"]), (3, 2, 2))

    def test_locks_lists_those_of_all_loops(self):
        for i in range(7):
            self.lock(self.a if i % 2 else self.b, "r", str(i))
        for client in self.a, self.b:
            cursor, rows = client.ask("LOCKS", "COUNT", 1000)
            self.assertEqual((cursor, sorted(row["id"] for row in maps(rows))),
                             (b"0", [str(i) for i in range(7)]))
            found, cursor, pages = [], b"0", 0
            while pages == 0 or cursor != b"0":
                cursor, rows = client.ask("LOCKS", "COUNT", 2, "CURSOR", cursor)
                found += [row["id"] for row in maps(rows)]
                pages += 1
            self.assertEqual(sorted(set(found)), [str(i) for i in range(7)])
        self.assertEqual(self.a.ask("LOCKS", "CURSOR", 63), [b"0", []])

    def test_clients_are_listed_and_ended_from_any_loop(self):
        ids = [self.a.ask("CLIENT", "ID"), self.b.ask("CLIENT", "ID")]
        self.assertNotEqual(ids[0] % 2, ids[1] % 2)
        listed = self.b.ask("CLIENT", "LIST").decode().splitlines()
        self.assertEqual([int(line.split()[0].removeprefix("id=")) for line in listed],
                         sorted(ids))
        only = self.a.ask("CLIENT", "LIST", "ID", ids[1]).decode()
        self.assertIn(" loop=2 ", only)
        self.assertEqual(self.a.ask("CLIENT", "KILL", "ID", ids[1]), 1)
        with self.assertRaises(GONE):
            self.b.ask("PING")
        victims = [self.latchd_.client_of_loop(loop) for loop in (1, 2)]
        self.assertEqual(self.a.ask("CLIENT", "KILL", "TYPE", "normal"), 2)
        for victim in victims:
            with self.assertRaises(GONE):
                victim.ask("PING")
        peer = self.latchd_.client_of_loop(2)
        address = [word for word in peer.ask("CLIENT", "INFO").decode().split()
                   if word.startswith("addr=")][0].removeprefix("addr=")
        self.assertEqual(self.a.ask("CLIENT", "KILL", address), b"OK")
        with self.assertRaises(GONE):
            peer.ask("PING")
        # Oneself, and in the middle of a pipeline: nothing overtakes.
        kill = ("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no")
        self.a.socket.sendall(encode(*kill) + encode("PING"))
        self.assertEqual(self.a.read(), 1)
        with self.assertRaises(GONE):
            self.a.read()

    def test_replies_of_a_pipeline_keep_their_order(self):
        words = [("PING",), ("INFO", "latchd"), ("ECHO", "x"), ("CLIENT", "LIST"), ("PING",)]
        for _ in range(20):
            for word in words:
                self.b.send(*word)
        for _ in range(20):
            replies = [self.b.read() for _ in words]
            self.assertEqual((replies[0], replies[2], replies[4]), (b"PONG", b"x", b"PONG"))
            self.assertIn(b"latchd_loops:2", replies[1])
            self.assertIn(b" loop=1 ", replies[3])

    def test_client_reply_off_silences_what_is_gathered(self):
        self.b.send("CLIENT", "REPLY", "OFF")
        self.b.send("INFO")
        self.b.send("CLIENT", "REPLY", "ON")
        self.assertEqual(self.b.read(), b"OK")
        self.assertEqual(self.b.ask("PING"), b"PONG")

    def test_events_reach_subscribers_of_any_loop(self):
        listener = self.latchd_.client_of_loop(1)
        listener.ask("SUBSCRIBE", "latchd:events:r")
        pattern = self.latchd_.client_of_loop(2)
        pattern.ask("PSUBSCRIBE", "latchd:events:*")
        self.assertEqual(self.b.ask("PUBSUB", "NUMSUB", "latchd:events:r"),
                         [b"latchd:events:r", 1])
        self.assertEqual(self.a.ask("PUBSUB", "NUMPAT"), 1)
        self.assertEqual(self.b.ask("PUBSUB", "CHANNELS"), [b"latchd:events:r"])
        for holder, other in (self.a, self.b), (self.b, self.a):
            fence = self.lock(holder, "r", "1")[1]
            self.assertEqual(other.ask("FORCEUNLOCK", "r", "1"), 1)
            for reader in listener, pattern:
                message = reader.read()
                self.assertIn(b"revoked", message[-1])
                self.assertIn(str(fence).encode(), message[-1])
        listener.ask("UNSUBSCRIBE")
        self.assertEqual(self.b.ask("PUBSUB", "CHANNELS"), [])

    def test_a_resource_is_known_to_all_loops_at_once(self):
        for i, (one, other) in enumerate(((self.a, self.b), (self.b, self.a))):
            self.assertEqual(one.ask("RESOURCE", "SET", f"s{i}", "TTL", 5000), b"OK")
            self.assertLessEqual(self.lock(other, f"s{i}", "1")[2], 5000)
            self.assertEqual(other.ask("RESOURCE", "DEL", f"s{i}"), 1)
            self.assertIsNone(one.ask("RESOURCE", "GET", f"s{i}"))

    def test_counters_are_reset_everywhere(self):
        self.b.ask("NOSUCH")
        self.assertEqual(self.a.ask("CONFIG", "RESETSTAT"), b"OK")
        self.assertNotIn("errorstat_ERR", harness.fields(self.b.ask("INFO", "everything")))

    def test_drain_takes_all_loops_out_of_service(self):
        self.lock(self.a, "r", "1")
        waiter = self.latchd_.client_of_loop(2)
        waiter.send("LOCK", "r", "1", "WAIT", 20000)
        wait_until(lambda: self.latchd_.info()["locks_waiting"] == "1", what="the waiter")
        self.assertEqual(self.a.ask("LATCHD", "DRAIN"), b"OK")
        self.assert_error(waiter.read(), "NOSTORE draining")
        for client in self.a, self.b:
            wait_until(lambda c=client: maps(c.ask("LATCHD", "STATUS"))[0]["state"] == "draining",
                       what="the loop draining")
            self.assert_error(client.ask("LOCK", "r", "2"), "NOSTORE")


class Slow(harness.Case):
    def test_slowlog_is_of_all_loops(self):
        latchd = self.latchd("--threads", "2", config="slowlog: {slower_than: 0s}\n")
        a, b = latchd.client_of_loop(1), latchd.client_of_loop(2)
        self.assertEqual(a.ask("SLOWLOG", "RESET"), b"OK")
        a.ask("ECHO", "one")
        b.ask("ECHO", "two")
        for client in a, b:
            said = [entry[3] for entry in client.ask("SLOWLOG", "GET", -1)]
            self.assertIn([b"ECHO", b"one"], said)
            self.assertIn([b"ECHO", b"two"], said)
        self.assertEqual(b.ask("SLOWLOG", "RESET"), b"OK")
        self.assertNotIn([b"ECHO", b"one"], [e[3] for e in a.ask("SLOWLOG", "GET", -1)])


class Doors(harness.Case):
    """How clients come in."""

    def test_connections_are_spread_over_the_loops(self):
        latchd = self.latchd("--threads", "3")
        clients = [latchd.client() for _ in range(MANY)]
        for client in clients:
            client.ask("PING")
        lines = clients[0].ask("CLIENT", "LIST").decode().splitlines()
        loops = {word for line in lines for word in line.split() if word.startswith("loop=")}
        self.assertEqual(loops, {"loop=1", "loop=2", "loop=3"})

    def test_all_loops_are_asked_for_the_first_time_at_once(self):
        """Where another allocator had taken its place, glibc was asked for figures of a heap that was
        never made: one process in five ended by SIGSEGV."""
        for _ in range(8):
            latchd = self.latchd("--threads", "3")
            info = latchd.client().ask("INFO", "memory").decode()
            used = int(info.split("used_memory:")[1].split()[0])
            self.assertGreater(used, 100_000)
            self.assertEqual(latchd.stop(), 0)

    def test_those_of_a_unix_socket_in_turn(self):
        path = self.folder / "s"
        latchd = self.latchd("--threads", "2", "--listen", f"unix:{path}", serves=False)
        loops = []
        for _ in range(6):
            client = latchd.client()
            loops.append(client.ask("CLIENT", "INFO").decode().split(" loop=")[1][0])
        self.assertEqual(sorted(loops), ["1"] * 3 + ["2"] * 3)
        latchd.stop()
        self.assertFalse(path.exists())

    def test_the_client_limit_is_the_process_s(self):
        latchd = self.latchd("--threads", "2", serves=False,
                             config="listen: [{address: '127.0.0.1:0', max_clients: 5}]\n")
        clients = []
        for _ in range(5):
            clients.append(latchd.client())
            clients[-1].ask("PING")
        extra = Client(latchd.address)
        self.assert_error(extra.read(), "ERR max number of clients")
        extra.close()
        self.assertEqual(harness.fields(clients[0].ask("INFO", "stats"))["rejected_connections"],
                         "1")
        clients[1].close()
        wait_until(lambda: harness.fields(clients[0].ask("INFO", "clients"))["connected_clients"]
                   == "4", what="the connection's end")
        self.assertEqual(latchd.client().ask("PING"), b"PONG")

    def test_loops_that_share_too_few_descriptors_recover(self):
        latchd = self.latchd("--threads", "2", open_files=64)
        holders = [latchd.client_of_loop(loop) for loop in (1, 2)]
        tokens = [self.lock(holder, "r", str(i), "PX", 60000)[0]
                  for i, holder in enumerate(holders)]
        crowd = []
        for _ in range(100):
            client = Client(latchd.address, timeout=0.5)
            client.send("PING")
            crowd.append(client)
        for holder in holders:
            self.assertEqual(holder.ask("PING"), b"PONG")
        for client in crowd:
            client.close()
        wait_until(lambda: latchd.ask("PING") == b"PONG", what="room for a client")
        for i, holder in enumerate(holders):
            self.assertEqual(holder.ask("UNLOCK", "r", str(i), tokens[i]), 1)

    def test_another_process_does_not_get_in_by_the_port(self):
        latchd = self.latchd("--threads", "2")
        for threads in "1", "2":
            ran = subprocess.run(
                [harness.latchd_program(), "--listen", f"127.0.0.1:{latchd.port}", "--threads",
                 threads, "--state-dir", f"{self.folder}/s", "--runtime-dir", f"{self.folder}/r",
                 "--log-target", "stderr"],
                capture_output=True, text=True, timeout=30, check=False)
            self.assertEqual(ran.returncode, 69, ran.stderr)
            self.assertIn("Address already in use", ran.stderr)


class Ends(harness.Case):
    """How the process ends, and how it goes on."""

    def test_sigterm_drains_every_loop(self):
        latchd = self.latchd("--threads", "2")
        held, closed, waiters = {}, [], []
        for loop in 1, 2:
            client = latchd.client_of_loop(loop)
            held[loop] = self.lock(client, "kept", str(loop), "PX", 30000, "KEEP")
            closer = latchd.client_of_loop(loop)
            self.lock(closer, "closed", str(loop), "KEEP", "ONCLOSE", "RELEASE")
            closed.append(closer)
            waiter = latchd.client_of_loop(3 - loop)
            waiter.send("LOCK", "kept", str(loop), "WAIT", 20000)
            waiters.append(waiter)
        wait_until(lambda: latchd.info()["locks_waiting"] == "2", what="both waiters")
        self.assertEqual(latchd.stop(), 0)
        for waiter in waiters:
            self.assert_error(waiter.read(), "NOSTORE draining")
        latchd.restart()
        latchd.wait_for_store()
        for loop in 1, 2:
            client = latchd.client_of_loop(3 - loop)
            self.assertIsNone(client.ask("LOCK", "kept", str(loop)))
            self.lock(client, "closed", str(loop))
            self.assertEqual(client.ask("UNLOCK", "kept", str(loop), held[loop][0]), 1)

    def test_shutdown_of_one_loop_is_the_process_s_end(self):
        latchd = self.latchd("--threads", "2")
        latchd.client_of_loop(2).send("SHUTDOWN")
        wait_until(lambda: not latchd.is_running(), what="the end")

    def check_restart(self, before, after):
        latchd = self.latchd("--threads", str(before))
        granted, released = {}, []
        for loop in range(1, before + 1):
            client = latchd.client_of_loop(loop)
            other = latchd.client_of_loop(before + 1 - loop)
            for i in range(20):
                name = f"{loop}-{i}"
                granted[name] = self.lock(client, "r", name, "PX", 30000, "OWNER", "o")
            # Released, and renewed, through another loop than they were taken.
            for i in range(0, 20, 4):
                self.assertEqual(other.ask("UNLOCK", "r", f"{loop}-{i}",
                                           granted.pop(f"{loop}-{i}")[0]), 1)
                released.append(f"{loop}-{i}")
            for i in range(1, 20, 4):
                self.assertGreater(other.ask("RENEW", "r", f"{loop}-{i}",
                                             granted[f"{loop}-{i}"][0], "PX", 40000), 0)
            self.assertEqual(client.ask("CANCEL", "r", "cancelled", f"wish-{loop}"), 0)
        latchd.kill()
        latchd.arguments[latchd.arguments.index("--threads") + 1] = str(after)
        latchd.restart()
        latchd.wait_for_store()
        for loop in range(1, after + 1):
            client = latchd.client_of_loop(loop)
            for name in granted:
                self.assertIsNone(client.ask("LOCK", "r", name), name)
            for i in range(1, before + 1):
                self.assert_error(client.ask("LOCK", "r", "cancelled", "REQ", f"wish-{i}"),
                                  "ERR cancelled")
        highest = max(grant[1] for grant in granted.values())
        clients = [latchd.client_of_loop(loop) for loop in range(1, after + 1)]
        for i, name in enumerate(released):
            self.assertGreater(self.lock(clients[i % after], "r", name)[1], highest)
        for i, (name, grant) in enumerate(granted.items()):
            client = clients[i % after]
            self.assertGreater(client.ask("RENEW", "r", name, grant[0], "PX", 30000), 0)
            self.assertEqual(clients[-1].ask("UNLOCK", "r", name, grant[0]), 1)
        self.assertEqual(int(latchd.info()["locks_held"]), len(released))
        return latchd

    def test_kill_9_loses_no_lock_of_any_loop(self):
        self.check_restart(2, 2)

    def test_a_restart_with_fewer_loops_goes_on_with_all_locks(self):
        latchd = self.check_restart(3, 1)
        latchd.kill()
        latchd.restart()  # what became the first loop's is still known
        latchd.wait_for_store()
        self.assertGreater(int(latchd.info()["locks_held"]), 0)

    def test_a_restart_with_more_loops_goes_on_with_all_locks(self):
        self.check_restart(1, 3)


class Journal(harness.Case):
    def test_its_limit_is_told_to_clients_of_any_loop(self):
        latchd = self.latchd("--threads", "2", config="stores: [{type: local, max_locks: 100}]\n")
        a, b = latchd.client_of_loop(1), latchd.client_of_loop(2)
        granted, refusals = [], []
        for i in range(120):
            reply = (b if i % 3 else a).ask("LOCK", "r", str(i), "PX", 60000)
            (granted if isinstance(reply, list) else refusals).append((str(i), reply))
        self.assertEqual(len(granted), 100)
        for _, reply in refusals:
            self.assert_error(reply, "LIMIT journal")
        for client in a, b:
            self.assertGreater(client.ask("RENEW", "r", granted[7][0], granted[7][1][0]), 0)
        name, grant = granted.pop()
        self.assertEqual(a.ask("UNLOCK", "r", name, grant[0]), 1)
        wait_until(lambda: isinstance(b.ask("LOCK", "r", "again", "PX", 60000, "OWNER", "o"), list),
                   what="the room that became free")
        latchd.kill()
        latchd.restart()
        client = latchd.client()
        replies = [client.ask("UNLOCK", "r", name, grant[0]) for name, grant in granted]
        self.assertEqual(replies, [1] * len(granted))


class OfAFleet(harness.Case):
    def test_each_loop_is_a_node(self):
        redis = self.redis()
        latchd = self.node(redis, "n", "--threads", "2")
        a, b = latchd.client_of_loop(1), latchd.client_of_loop(2)
        for loop in (a, b):  # each has a view of its own
            wait_until(lambda loop=loop: [node["name"] for node in maps(loop.ask("LATCHD", "NODES"))]
                       == ["n", "n/2"], what="both nodes known")
        self.assertEqual(a.ask("RESOURCE", "SET", "s", "TTL", 5000), b"OK")
        self.assertLessEqual(self.lock(b, "s", "1")[2], 5000)
        grants = [self.lock(client, "r", str(i), "PX", 30000) for i, client in enumerate((a, b))]
        latchd.kill()
        latchd.restart()
        latchd.wait_for_store()
        a, b = latchd.client_of_loop(1), latchd.client_of_loop(2)
        for i in range(2):
            self.assertIsNone(a.ask("LOCK", "r", str(i)))
            self.assertEqual(b.ask("UNLOCK", "r", str(i), grants[i][0]), 1)
        self.assertEqual(latchd.stop(), 0)
        self.assertEqual(redis.keys("lock:*"), [b"lock:s:1"])

    def test_the_host_s_own_table_is_one_for_all_loops(self):
        redis = self.redis()
        latchd = self.node(redis, "n", "--threads", "2", "--store", "local:")
        redis.kill()
        a, b = latchd.client_of_loop(1), latchd.client_of_loop(2)
        for client in a, b:
            wait_until(lambda c=client: mode_of(c) == "local", what="the loop being local",
                       deadline=20)
        for i, (one, other) in enumerate(((a, b), (b, a))):
            grant = self.lock(one, "r", str(i), "PX", 20000)
            self.assertEqual(grant[4], b"local")
            self.assertIsNone(other.ask("LOCK", "r", str(i)))
            waiter = latchd.client_of_loop(2 - i)
            waiter.send("LOCK", "r", str(i), "WAIT", 10000)
            self.assertEqual(other.ask("UNLOCK", "r", str(i), grant[0]), 1)
            self.assertGreater(waiter.read()[1], grant[1])
        # What one held goes on being held, whichever loop is asked, also over kill -9.
        grants = [self.lock(client, "s", str(i), "PX", 40000) for i, client in enumerate((a, b))]
        latchd.kill()
        latchd.restart()
        a, b = latchd.client_of_loop(1), latchd.client_of_loop(2)
        for client in a, b:
            wait_until(lambda c=client: mode_of(c) == "local", what="the loop being local",
                       deadline=20)
        for client in a, b:
            for i in range(2):
                self.assertIsNone(client.ask("LOCK", "s", str(i)))
        redis.restart()
        for client in a, b:
            wait_until(lambda c=client: mode_of(c) == "serving", what="the fleet's store",
                       deadline=30)
        for i, client in enumerate((b, a)):
            wait_until(lambda c=client, n=i: c.ask("UNLOCK", "s", str(n), grants[n][0]) == 1,
                       what="the release of what was carried back")


def mode_of(client):
    status = maps(client.ask("LATCHD", "STATUS"))[0]
    return status["mode"] if status["state"] in ("ok", "degraded") else status["state"]


if __name__ == "__main__":
    unittest.main()

# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Bytes that no good client sends, clients that don't read, and too many clients."""

import pathlib
import resource
import select
import socket
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
from resp_client import encode

MB = 1 << 20


class Requests(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = self.latchd()

    def test_requests_cut_at_every_byte_are_whole(self):
        client = self.server.client()
        stream = (encode("LOCK", "cut", b"\x00\r\n$5\r\n", "PX", "60000", "OWNER", "o") +
                  b"PING\r\n" + b"\r\n" + encode("ECHO", b"*1\r\n$4\r\nPING\r\n") + b"*0\r\n" +
                  b"ECHO \"a b\"\r\n")
        wanted = None
        for at in range(1, len(stream)):
            client.send_bytes(stream[:at])
            # Two segments, not one: the first has been read when another connection is answered.
            self.server.ask("PING")
            client.send_bytes(stream[at:])
            token, *others = client.read_many(4)
            self.assertEqual(len(token), 5, token)
            wanted = wanted or others
            self.assertEqual(others, [b"PONG", b"*1\r\n$4\r\nPING\r\n", b"a b"], at)
            client.ask("FORCEUNLOCK", "cut", b"\x00\r\n$5\r\n")
        for byte in stream:
            client.send_bytes(bytes([byte]))
        self.assertEqual(len(client.read_many(4)), 4)

    def test_a_connection_cut_at_every_byte_does_nothing_by_half(self):
        request = encode("LOCK", "half", "1", "PX", "60000")
        for at in range(len(request)):
            with self.server.client() as client:
                client.send_bytes(request[:at])
        harness.wait_until(lambda: self.server.info("clients")["connected_clients"] == "1")
        self.assertEqual(self.server.info("locks")["locks_held"], "0")
        self.assertEqual(self.server.ask("LOCKINFO", "half", "1")[5], b"free")

    def test_headers_that_lie_end_the_connection_with_a_word(self):
        before = self.server.rss_bytes()
        for data, text in [
                (b"*2147483647\r\n", "ERR Protocol error: invalid multibulk length"),
                (b"*1025\r\n", "ERR Protocol error: invalid multibulk length"),
                (b"*99999999999999999999\r\n", "ERR Protocol error: invalid multibulk length"),
                (b"*x\r\n", "ERR Protocol error: invalid multibulk length"),
                (b"*1\r\n$-5\r\n", "ERR Protocol error: invalid bulk length"),
                (b"*1\r\n$-1\r\n", "ERR Protocol error: invalid bulk length"),
                (b"*1\r\n$99999999999999999999\r\n", "ERR Protocol error: invalid bulk length"),
                (b"*1\r\n$65537\r\n", "ERR Protocol error: invalid bulk length"),
                (b"*1\r\n$2147483647\r\n", "ERR Protocol error: invalid bulk length"),
                (b"*1\r\n$4\r\nPINGxx", "ERR Protocol error: invalid bulk length"),
                (b"*1\r\n:4\r\n", "ERR Protocol error: expected '$', got ':'"),
                (b"*2\r\n*1\r\n$4\r\nPING\r\n", "ERR Protocol error: expected '$', got '*'"),
                (b"*" + b"1" * 70_000, "ERR Protocol error: too big mbulk count string"),
                (b"P" * 70_000, "ERR Protocol error: too big inline request"),
                (b'ECHO "abc\r\n', "ERR Protocol error: unbalanced quotes in request")]:
            with self.subTest(data=data[:40]), self.server.client() as client:
                client.send_bytes(b"PING\r\n" + data)
                reply = client.read_to_end()
                self.assertEqual(reply, b"+PONG\r\n-" + text.encode() + b"\r\n")
        self.assertLess(self.server.rss_bytes() - before, 8 * MB)
        self.assertEqual(self.server.ask("PING"), b"PONG")

    def test_empty_lines_and_arrays_are_passed_over(self):
        client = self.server.client()
        client.send_bytes(b"\r\n\r\n*0\r\n*-1\r\n\n   \r\nPING\r\n" + b"\r\n" * 10_000 + b"PING\n")
        self.assertEqual(client.read_many(2), [b"PONG", b"PONG"])

    def test_arguments_at_the_limit_are_read(self):
        client = self.server.client()
        self.assertEqual(client.ask("ECHO", b"x" * 65_536), b"x" * 65_536)
        self.assert_error(client.ask("FOO", *["a"] * 1023), "ERR unknown command 'FOO'")
        self.assert_error(client.ask("LOCK", "r", b"i" * 65_536), "ERR id")
        self.assertEqual(client.ask("PING"), b"PONG")

    def test_nil_is_null_as_each_protocol_writes_it(self):
        client = self.server.client()
        self.lock(client, "r", "1")
        for hello, null in ((2, b"$-1\r\n"), (3, b"_\r\n")):
            client.ask("HELLO", hello)
            client.send("LOCK", "r", "1")
            self.assertEqual(client.read_bytes(), null)
            client.send("LOCK", "r", "1", "WAIT", 10)
            self.assertEqual(client.read_bytes(), null)

    def test_random_bytes_harm_nobody_else(self):
        bystander = self.server.client()
        for _ in range(200):
            with self.server.client() as client:
                begin = self.random.choice([b"", b"*3\r\n$4\r\nLOCK\r\n", b"*1\r\n$", b"LOCK r "])
                client.send_bytes(begin + self.random.randbytes(self.random.randrange(1, 300)))
            self.assertEqual(bystander.ask("PING"), b"PONG")

    def test_a_stranger_is_held_to_less(self):
        server = self.latchd(password="secret")
        for data in [b"*11\r\n", b"*1\r\n$16385\r\n"]:
            with self.subTest(data=data), server.client() as client:
                client.send_bytes(data)
                self.assertIn(b"unauthenticated", client.read_to_end())
        with server.client() as client:
            self.assertEqual(client.ask("AUTH", "secret"), b"OK")
            self.assertEqual(client.ask("ECHO", b"x" * 65_536), b"x" * 65_536)
        with server.client() as client:
            replies = client.pipeline([("LOCK", "r", "1"), ("AUTH", "secret"), ("LOCK", "r", "1")])
            self.assert_error(replies[0], "NOAUTH")
            self.assertEqual(len(replies[2]), 5)


class Readers(harness.Case):
    def test_a_million_commands_never_read_cost_no_more_than_the_limits(self):
        latchd = self.latchd()
        bystander = latchd.client()
        before = latchd.rss_bytes()
        client = latchd.client()
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        block, sent = b"PING\r\n" * 10_000, 0
        client.socket.setblocking(False)
        most, still = 0, 0
        while sent < 100 * len(block) and still < 4:
            if select.select([], [client.socket], [], 0.05)[1]:
                sent += client.socket.send(block[sent % len(block):])
                still = 0
            else:
                still += 1
            if still or sent % (1 << 20) < 65_536:
                with harness.Stalls() as stalls:
                    begin = time.monotonic()
                    self.assertEqual(bystander.ask("PING"), b"PONG")
                    self.assertLess(time.monotonic() - begin,
                                    1.0 * harness.SLOWNESS + stalls.seconds)
                most = max(most, latchd.rss_bytes())
        growth = most - before
        self.assertLess(growth, 16 * MB if not harness.is_sanitized() else 256 * MB)
        taken, _ = bystander.ask("LOCK", "r", "1"), client.close()
        self.assertEqual(len(taken), 5)

    def test_two_hundred_thousand_pipelined_commands_are_answered_in_order(self):
        latchd = self.latchd()
        client = latchd.client()
        count = 200_000
        data = b"".join(b"ECHO %d\r\n" % number for number in range(count))
        writer = threading.Thread(target=client.socket.sendall, args=(data,))
        writer.start()
        replies = client.read_many(count, timeout=60 * harness.SLOWNESS)
        writer.join()
        self.assertEqual(replies, [b"%d" % number for number in range(count)])

    def test_locks_pipelined_deep_on_redis_are_answered_in_order(self):
        latchd = self.node(self.redis(), "n1")
        client = latchd.client()
        count = 5_000
        data = b"".join(b"LOCK deep %d PX 60000\r\nECHO %d\r\n" % (n, n) for n in range(count))
        writer = threading.Thread(target=client.socket.sendall, args=(data,))
        writer.start()
        replies = client.read_many(2 * count, timeout=60 * harness.SLOWNESS)
        writer.join()
        self.assertEqual(replies[1::2], [b"%d" % number for number in range(count)])
        fences = [reply[1] for reply in replies[::2]]
        self.assertEqual(fences, sorted(set(fences)))

    def test_a_slow_reader_holds_up_nobody(self):
        latchd = self.latchd()
        slow = latchd.client(timeout=60 * harness.SLOWNESS)
        writer = threading.Thread(
            target=slow.socket.sendall, args=(encode("ECHO", b"x" * 60_000) * 300,))
        writer.start()
        quick = latchd.client()
        for number in range(200):
            token = self.lock(quick, "r", number)[0]
            self.assertEqual(quick.ask("UNLOCK", "r", number, token), 1)
        self.assertEqual(slow.read_many(300, timeout=60 * harness.SLOWNESS), [b"x" * 60_000] * 300)
        writer.join()

    def test_a_subscriber_that_never_reads_is_cut_off(self):
        latchd = self.latchd(config="limits: {output_buffer: 64KiB}\n")
        deaf = latchd.client()
        deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.send("SUBSCRIBE", "latchd:events:r")
        harness.wait_until(lambda: latchd.ask("PUBSUB", "NUMSUB", "latchd:events:r")[1] == 1)
        client, number = latchd.client(), 0
        ids = [b"%03d" % n + b"\xff" * 120 for n in range(100)]

        def flood():
            nonlocal number
            number += 1
            client.pipeline([words for i in ids for words in (
                ("LOCK", "r", i, "PX", 60000, "OWNER", b"\xff" * 60), ("FORCEUNLOCK", "r", i))])
            return latchd.ask("PUBSUB", "NUMSUB", "latchd:events:r")[1] == 0
        harness.wait_until(flood, 30, "the subscriber being cut off")


class Crowds(harness.Case):
    def test_clients_over_the_limit_are_told_and_room_is_used_again(self):
        latchd = self.latchd(config="listen:\n  - {address: '127.0.0.1:0', max_clients: 20}\n")
        clients = [latchd.client() for _ in range(20)]
        for client in clients:
            self.assertEqual(client.ask("PING"), b"PONG")
        self.assertEqual(latchd.client().read_to_end(), b"-ERR max number of clients reached\r\n")
        clients[3].close()

        def served():
            with harness.Client(latchd.address) as client:
                try:
                    return client.ask("PING") == b"PONG"
                except harness.Closed:
                    return False
        harness.wait_until(served)
        self.assertEqual(clients[4].ask("PING"), b"PONG")
        clients[5].close()
        self.assertGreaterEqual(int(fields(clients[4])["rejected_connections"]), 1)

    def test_it_recovers_when_descriptors_were_used_up(self):
        latchd = self.latchd(open_files=64)
        holder = latchd.client()
        token = self.lock(holder, "r", "1", "PX", 60000, "KEEP")[0]
        crowd = []
        for _ in range(100):
            client = harness.Client(latchd.address, timeout=0.5)
            client.send("PING")
            crowd.append(client)
        self.assertEqual(holder.ask("PING"), b"PONG")
        begin, began = cpu_seconds(latchd), time.monotonic()
        time.sleep(0.5)  # what is measured: waiting for room is no busy loop
        used = cpu_seconds(latchd) - begin
        self.assertLess(used, 0.6 * (time.monotonic() - began))
        for client in crowd:
            client.close()
        harness.wait_until(lambda: latchd.ask("PING") == b"PONG")
        self.assertEqual(holder.ask("UNLOCK", "r", "1", token), 1)
        harness.wait_until(lambda: latchd.descriptors() < 40)

    def test_two_thousand_connections_are_served_and_forgotten(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard < 5000:
            self.skipTest("too few descriptors")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 5000), hard))
        latchd = self.latchd(open_files=5000)
        clients = [latchd.client() for _ in range(2000)]
        for number, client in enumerate(clients):
            client.send("LOCK", "crowd", number, "PX", 60000)
        for client in clients:
            self.assertEqual(len(client.read()), 5)
        self.assertEqual(latchd.info("clients")["connected_clients"], "2001")
        latchd.close_clients()
        harness.wait_until(lambda: latchd.info("clients")["connected_clients"] == "1")
        self.assertEqual(latchd.info("locks")["locks_held"], "2000")


def fields(client):
    return harness.fields(client.ask("INFO", "stats"))


def cpu_seconds(program):
    """CPU time of the process so far, from 10 ms up."""
    stat = pathlib.Path(f"/proc/{program.pid}/stat").read_text("ascii").rsplit(")", 1)[1].split()
    return (int(stat[11]) + int(stat[12])) / 100


if __name__ == "__main__":
    unittest.main()

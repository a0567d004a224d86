# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Many connections: one after the other, and at a time."""

import os
import resource
import socket
import struct
import time
import unittest

import harness
from harness import FULL, wait_until

PING = b"*1\r\n$4\r\nPING\r\n"
PONG = b"+PONG\r\n"
MANY = 10_000


def connect(latchd):
    client = socket.create_connection(latchd.address, timeout=20)
    client.sendall(PING)
    return client


def end(client, abruptly):
    if abruptly:  # by RST: it leaves no TIME_WAIT behind, of which a host has only so many
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


class Many(harness.Case):
    @staticmethod
    def resident_kb(latchd):
        with open(f"/proc/{latchd.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    @staticmethod
    def descriptors(latchd):
        return len(os.listdir(f"/proc/{latchd.pid}/fd"))

    def assert_memory(self, used, most):
        if harness.SLOWNESS == 1:  # a sanitizer keeps what was freed, and more
            self.assertLess(used, most)

    def check_coming_and_going(self, *arguments):
        latchd = self.latchd("--log-level", "info", *arguments)
        watcher = latchd.client()

        def come_and_go(count):
            for i in range(count):
                client = connect(latchd)
                self.assertEqual(client.recv(64), PONG)
                end(client, abruptly=i % 20 != 0)
            wait_until(lambda: harness.fields(watcher.ask("INFO", "clients"))
                       ["connected_clients"] == "1", what="the last connection's end")

        come_and_go(1_000)  # what is kept for the next one is there
        descriptors, resident = self.descriptors(latchd), self.resident_kb(latchd)
        come_and_go(20_000)
        self.assertLessEqual(self.descriptors(latchd), descriptors)
        self.assert_memory(self.resident_kb(latchd) - resident, 4_096)
        stats = harness.fields(watcher.ask("INFO", "stats"))
        self.assertGreaterEqual(int(stats["total_connections_received"]), 21_001)
        self.assertEqual(stats["rejected_connections"], "0")
        self.assertGreater(watcher.ask("CLIENT", "ID"), 0)

    def test_twenty_thousand_connections_come_and_go(self):
        self.check_coming_and_going()

    def test_they_do_with_two_loops(self):
        self.check_coming_and_going("--threads", "2")

    def check_ten_thousand(self, *arguments):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < MANY + 500:
            self.skipTest(f"{hard} descriptors are too few for {MANY} connections")
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, MANY + 2_000), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        latchd = self.latchd("--log-level", "info", *arguments, open_files=MANY + 500)
        watcher = latchd.client()
        watcher.ask("PING")
        before = self.resident_kb(latchd)
        clients = []
        try:
            for _ in range(MANY - 1):
                clients.append(connect(latchd))
                if len(clients) % 200 == 0:
                    for client in clients[-200:]:
                        self.assertEqual(client.recv(64), PONG)
            for client in clients[-199:]:
                self.assertEqual(client.recv(64), PONG)
            with harness.Client(latchd.address) as extra:
                self.assert_error(extra.read(), "ERR max number of clients")
            each = (self.resident_kb(latchd) - before) * 1024 / (MANY - 1)
            print(f"{each:.0f} bytes of a connection after one command", flush=True)
            self.assert_memory(each, 16_384)
            # The others go on as if they were alone, also while all of them speak.
            for client in clients:
                client.sendall(PING)
            with harness.Stalls() as stalls:
                began = time.monotonic()
                grant = self.lock(watcher, "r", "1")
                self.assertEqual(watcher.ask("UNLOCK", "r", "1", grant[0]), 1)
                self.assertLess(time.monotonic() - began, 2.0 * harness.SLOWNESS + stalls.seconds)
            for client in clients:
                self.assertEqual(client.recv(64), PONG)
            listed = watcher.ask("CLIENT", "LIST", timeout=20)
            self.assertEqual(listed.count(b"\n"), MANY)
        finally:
            for client in clients:
                end(client, abruptly=True)
        wait_until(lambda: harness.fields(watcher.ask("INFO", "clients"))["connected_clients"]
                   == "1", what="the end of all connections")

    def test_ten_thousand_connections_at_a_time(self):
        self.check_ten_thousand()

    @unittest.skipUnless(FULL, "the same with more loops")
    def test_with_two_loops(self):
        self.check_ten_thousand("--threads", "2")


if __name__ == "__main__":
    unittest.main()

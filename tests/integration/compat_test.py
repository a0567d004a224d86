# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""The table of answers over sockets: from redis-server where it says so, from latchd always,
also while its store stands still or was never there: what needs no store is answered at once."""

import pathlib
import re
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import answers
import harness

CASES = answers.read()
AT_ONCE = 0.2
# A busy machine may hold one run up; what waits for a store holds up every one.
TRIES = 4


def receive(client, step, closed_before):
    """Returns seconds until the whole reply was there."""
    begin = time.monotonic()
    data, closed = b"", closed_before
    while not answers.matches(step.reply, data, closed):
        if closed:
            raise AssertionError(f"line {step.line}: {step.request!r} -> {data!r}, then closed")
        left = begin + 5 * harness.SLOWNESS - time.monotonic()
        if left <= 0:
            raise AssertionError(f"line {step.line}: {step.request!r} -> {data!r}, "
                                 f"not {step.reply!r}")
        client.socket.settimeout(min(left, 1))
        try:
            more = client.socket.recv(65536)
            closed = not more
            data += more
        except TimeoutError:
            continue
    return time.monotonic() - begin


def run(case, address):
    """Runs a case on a connection of its own; returns the slowest reply's seconds."""
    slowest = 0.0
    with harness.Client(address) as client:
        for step in case.steps:
            client.send_bytes(step.request)
            if step.reply:
                slowest = max(slowest, receive(client, step, False))
        if not case.steps[-1].reply.endswith("{close}"):
            client.send_bytes(b"RESET\r\n")
            receive(client, answers.Step(0, b"RESET", "+RESET\\n"), False)
    return slowest


class Target:
    @classmethod
    def applies(cls, case):
        return True

    @classmethod
    def setUpClass(cls):
        cls.host = harness.Case()
        cls.host.setUp()
        try:
            cls.start(cls.host)
        except BaseException:
            cls.host.doCleanups()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.host.doCleanups()

    def check(self, case):
        address = self.locked if case.password else self.open
        fastest = run(case, address)
        for _ in range(TRIES - 1):
            if fastest <= AT_ONCE * harness.SLOWNESS:
                break
            fastest = min(fastest, run(case, address))
        self.assertLessEqual(fastest, AT_ONCE * harness.SLOWNESS, "an answer took too long")


class RedisServer(Target, unittest.TestCase):
    @classmethod
    def applies(cls, case):
        return case.redis_too

    @classmethod
    def start(cls, host):
        cls.open = host.redis().address
        cls.locked = host.redis(requirepass="secret").address


class LatchdEmbedded(Target, unittest.TestCase):
    @classmethod
    def start(cls, host):
        cls.open = host.latchd().address
        cls.locked = host.latchd(password="secret").address


class Fleet(Target):
    @classmethod
    def applies(cls, case):
        return not case.alone


class LatchdOnRedis(Fleet, unittest.TestCase):
    @classmethod
    def start(cls, host):
        redis = host.redis()
        cls.open = host.node(redis, "n1").address
        cls.locked = host.node(redis, "n2", password="secret").address


class LatchdWithStoppedStore(Fleet, unittest.TestCase):
    @classmethod
    def start(cls, host):
        redis = host.redis()
        cls.open = host.node(redis, "n1").address
        cls.locked = host.node(redis, "n2", password="secret").address
        redis.freeze()


class LatchdWithoutStore(Fleet, unittest.TestCase):
    @classmethod
    def start(cls, host):
        url = f"redis://127.0.0.1:{harness.free_port()}"
        cls.open = host.latchd("--store", url, serves=False).address
        cls.locked = host.latchd("--store", url, serves=False, password="secret").address


def add_methods():
    for target in (RedisServer, LatchdEmbedded, LatchdOnRedis, LatchdWithStoppedStore,
                   LatchdWithoutStore):
        for case in CASES:
            if target.applies(case):
                name = "test_" + re.sub(r"\W+", "_", case.name)
                if hasattr(target, name):
                    raise ValueError(f"two cases are called {case.name}")
                setattr(target, name, lambda self, case=case: self.check(case))


class AnswersItself(unittest.TestCase):
    """The patterns tell right from wrong."""

    def test_bytes_that_differ_do_not_match(self):
        for pattern, good, bad in [
                ("+OK\\n", b"+OK\r\n", b"+OK\n"), ("+OK\\n", b"+OK\r\n", b"+OK\r\n:1\r\n"),
                (":{number}\\n", b":-12\r\n", b":x\r\n"), ("$-1\\n", b"$-1\r\n", b"*-1\r\n"),
                ("{bulk}:1\\n", b"$2\r\nab\r\n:1\r\n", b"$2\r\nab\r\n:2\r\n"),
                ("-ERR {text}\\n", b"-ERR a b\r\n", b"-NO a\r\n"),
                ("*2\\n{rest}", b"*2\r\n:1\r\n:2\r\n", b"*2\r\n:1\r\n"),
                ("\\x00\\n", b"\x00\r\n", b"0\r\n")]:
            with self.subTest(pattern=pattern):
                self.assertTrue(answers.matches(pattern, good, False))
                self.assertFalse(answers.matches(pattern, bad, False))
        self.assertTrue(answers.matches("+OK\\n{close}", b"+OK\r\n", True))
        self.assertFalse(answers.matches("+OK\\n{close}", b"+OK\r\n", False))


add_methods()

if __name__ == "__main__":
    unittest.main()

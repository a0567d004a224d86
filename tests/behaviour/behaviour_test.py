# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""One table of lock behaviour, run against the core and against latchd over each store.

The Lua scripts alone are compared with the core's table in tests/component.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import harness
import mariadb
import resp_client
import table

HERE = pathlib.Path(__file__).resolve().parent
CASES = [case for path in sorted(HERE.glob("*.txt"))
         for case in table.parse(path.read_text("utf-8"), path.name)]
SIDE_BY_SIDE = max(1, int(12 // harness.SLOWNESS))
REPLY_SECONDS = 8.0
# How often `~>` asks, 50 ms apart.
IN_THE_END = 160
# How long a reply that is not expected is waited for.
SILENCE_MS = 60


def node_of(case, connection, nodes):
    """Connections B, D, … and those called X2 use the second of two nodes."""
    if nodes == 1 or "one node" in case.conditions:
        return 0
    if len(connection) > 1:
        return int(connection[1]) - 1
    return (ord(connection) - ord("A")) % 2


class CoreSession:
    """The core in made-up time: a process for each case."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.buffers = {}
        self.process = subprocess.Popen([os.environ["BEHAVIOUR_CORE"], str(nodes)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def _say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        while (answer := self.process.stdout.readline()) != ".\n":
            if not answer:
                raise AssertionError(f"the core ended at: {line}")
            name, data = answer.split()
            self.buffers[name] = self.buffers.get(name, b"") + bytes.fromhex(data)

    def send(self, case, connection, words):
        text = " ".join(word.hex() or "-" for word in words)
        self._say(f"send {connection} {node_of(case, connection, self.nodes)} {text}")

    def read(self, connection, wanted=True):
        """Returns (reply,) or None."""
        for _ in range(200 if wanted else 1):
            try:
                value, end = resp_client.parse(self.buffers.get(connection, b""))
                self.buffers[connection] = self.buffers[connection][end:]
                return (value,)
            except resp_client.Incomplete:
                self._say("advance 50" if wanted else "advance 5")
        return None

    def wait(self, ms):
        self._say(f"advance {ms}")

    def close_one(self, connection):
        self._say(f"close {connection}")
        self.buffers.pop(connection, None)

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class RealSession:
    """Connections to one or two latchds."""

    def __init__(self, addresses):
        self.addresses = addresses
        self.clients = {}

    def send(self, case, connection, words):
        if connection not in self.clients:
            node = node_of(case, connection, len(self.addresses))
            self.clients[connection] = harness.Client(self.addresses[node])
        self.clients[connection].send(*words)

    def read(self, connection, wanted=True):
        seconds = REPLY_SECONDS * harness.SLOWNESS if wanted else SILENCE_MS / 1000
        try:
            return (self.clients[connection].read(timeout=seconds),)
        except TimeoutError:
            return None

    def wait(self, ms):
        time.sleep(ms / 1000)  # a case's `wait`: leases end meanwhile

    def close_one(self, connection):
        self.clients.pop(connection).close()

    def close(self):
        for client in self.clients.values():
            client.close()


class LoopSession(RealSession):
    """Connections to the event loops of one latchd, each of which is a node."""

    def __init__(self, latchd, loops):
        super().__init__([latchd.address] * loops)
        self.latchd = latchd

    def send(self, case, connection, words):
        if connection not in self.clients:
            loop = node_of(case, connection, len(self.addresses)) + 1
            self.clients[connection] = self.latchd.client_of_loop(loop)
        self.clients[connection].send(*words)


def run_case(case, session, tier, resource):
    """Runs one case; raises AssertionError."""
    matcher = table.Matcher(tier, resource)
    for step in case.steps:
        if step.kind == "wait":
            session.wait(step.ms)
            continue
        if step.kind == "close":
            session.close_one(step.connection)
            continue
        said = f"{case.where} {case.name}, line {step.line}: {step.connection} " \
               f"{' '.join(step.words)} -> {step.expected}"
        reply = None
        for tries in range(IN_THE_END if step.in_the_end else 1):
            if tries:
                session.wait(50)  # between two looks
            if step.kind == "ask":
                session.send(case, step.connection, table.words_of(step, matcher.names, resource))
            reply = session.read(step.connection, wanted=step.expected != "waits")
            if step.in_the_end and reply and not matcher.mismatch(step.expected, reply[0]):
                break
        if step.expected == "waits":
            if reply is not None:
                raise AssertionError(f"{said}: answered {reply[0]!r}")
        elif reply is None:
            raise AssertionError(f"{said}: no reply")
        elif wrong := matcher.mismatch(step.expected, reply[0]):
            raise AssertionError(f"{said}: {wrong}, got {reply[0]!r}")


class Target:
    """Where the table runs. Subclasses are the test classes, with a method for each case."""

    TIER = "redis"
    NODES = 1
    CORE = False

    @classmethod
    def applies(cls, case):
        if "core not" in case.conditions and cls.CORE:
            return False
        tiers = case.conditions & table.TIERS
        return not tiers or cls.TIER in tiers

    @classmethod
    def start(cls, host):
        """Starts processes by a harness.Case; returns what makes a session."""
        raise NotImplementedError

    @classmethod
    def setUpClass(cls):
        cls.host = harness.Case()
        cls.host.setUp()
        cls.results = {}
        try:
            make_session = cls.start(cls.host)
            cases = [case for case in CASES if cls.applies(case)]
            together = [case for case in cases if "alone" not in case.conditions]
            lock = threading.Lock()

            def run(case):
                session = make_session()
                try:
                    run_case(case, session, cls.TIER, f"t{CASES.index(case)}")
                    outcome = None
                except Exception as error:  # noqa: BLE001 (told by the case's own method)
                    outcome = error
                finally:
                    session.close()
                with lock:
                    cls.results[case.name] = outcome

            with concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
                list(pool.map(run, together))
            for case in cases:
                if "alone" in case.conditions:
                    run(case)
        except BaseException:
            cls.host.doCleanups()
            raise

    @classmethod
    def tearDownClass(cls):
        if any(cls.results.values()):
            for program in cls.host.programs:
                print(f"--- {program.name}:\n{program.said()[-3000:]}", file=sys.stderr)
        cls.host.doCleanups()


class CoreOneNode(Target, unittest.TestCase):
    CORE = True

    @classmethod
    def start(cls, host):
        if "BEHAVIOUR_CORE" not in os.environ:
            raise unittest.SkipTest("BEHAVIOUR_CORE names no program")
        return lambda: CoreSession(cls.NODES)


class CoreTwoNodes(CoreOneNode):
    NODES = 2


class LatchdEmbedded(Target, unittest.TestCase):
    TIER = "local"

    @classmethod
    def start(cls, host):
        address = host.latchd().address
        return lambda: RealSession([address])


class LatchdOnRedis(Target, unittest.TestCase):
    @classmethod
    def start(cls, host):
        redis = host.redis()
        addresses = [host.node(redis, f"n{i + 1}").address for i in range(cls.NODES)]
        return lambda: RealSession(addresses)


class TwoLatchdsOnRedis(LatchdOnRedis):
    NODES = 2


class TwoLoopsEmbedded(Target, unittest.TestCase):
    TIER = "local"

    @classmethod
    def start(cls, host):
        latchd = host.latchd("--threads", "2")
        return lambda: LoopSession(latchd, 2)


class TwoLoopsOnRedis(Target, unittest.TestCase):
    @classmethod
    def start(cls, host):
        latchd = host.node(host.redis(), "n", "--threads", "2")
        return lambda: LoopSession(latchd, 2)


class LatchdOnMysql(Target, unittest.TestCase):
    TIER = "mysql"
    STRATEGY = "upsert"

    @classmethod
    def start(cls, host):
        address = host.mariadb().address
        store = (f"{{name: mysql, type: mysql, address: '{address[0]}:{address[1]}', "
                 f"username: {mariadb.USER}, password: {mariadb.PASSWORD}, "
                 f"database: {mariadb.DATABASE}, strategy: {cls.STRATEGY}}}")
        addresses = [host.latchd("--node", f"n{i + 1}", config=f"stores:\n  - {store}\n").address
                     for i in range(cls.NODES)]
        return lambda: RealSession(addresses)


class TwoLatchdsOnMysql(LatchdOnMysql):
    NODES = 2


class LatchdOnMysqlOptimistic(LatchdOnMysql):
    STRATEGY = "optimistic"


class TwoLatchdsOnMysqlOptimistic(TwoLatchdsOnMysql):
    STRATEGY = "optimistic"


class LatchdOnMysqlPessimistic(LatchdOnMysql):
    STRATEGY = "pessimistic"


class TwoLatchdsOnMysqlPessimistic(TwoLatchdsOnMysql):
    STRATEGY = "pessimistic"


TARGETS = (CoreOneNode, CoreTwoNodes, LatchdEmbedded, LatchdOnRedis, TwoLatchdsOnRedis,
           TwoLoopsEmbedded, TwoLoopsOnRedis, LatchdOnMysql, TwoLatchdsOnMysql,
           LatchdOnMysqlOptimistic, TwoLatchdsOnMysqlOptimistic,
           LatchdOnMysqlPessimistic, TwoLatchdsOnMysqlPessimistic)


class TableItself(unittest.TestCase):
    """What the table says is really asked of a reply."""

    def test_replies_that_differ_are_told(self):
        matcher = table.Matcher("redis", "t1")
        self.assertEqual(matcher.mismatch("[$t $f]", [b"a", 7]), "")
        for expected, good, bad in [
                ("nil", None, 0), ("1", 1, -1), ("1", 1, b"1"), ("1", 1, 2), ("OK", b"OK", b"KO"),
                ("-ERR PX", harness.Error("ERR PX '0'"), harness.Error("ERR WAIT '0'")),
                ("-ERR PX", harness.Error("ERR PX '0'"), b"ERR PX '0'"), ("-1", -1, 1),
                ("$t", b"a", b"b"), (">$f", 8, 7), ("ttl:9000", 8990, 9001),
                ("ttl:9000", 8990, 1), ("TIER", b"redis", b"local"), ('"a b"', b"a b", b"a"),
                ("[* 1]", [0, 1], [0, 2]), ("[* 1]", [0, 1], [0]), ("[* 1]", [0, 1], [0, 1, 2]),
                ("[1 ...]", [1, 2], [2]), ("[]", [], None), ("@", b"t1", b"t2"),
                ("{a: 1 c: <f>}", [b"a", 1, b"b", 2, b"c", b"7"], [b"a", 1, b"c", b"8"]),
                ("{a: 1}", {b"a": 1}, {b"b": 1})]:
            with self.subTest(expected=expected, bad=bad):
                self.assertEqual(matcher.mismatch(expected, good), "")
                self.assertNotEqual(matcher.mismatch(expected, bad), "")

    def test_a_wrong_table_is_refused(self):
        for text in ["A LOCK @ 1 -> 1", "case x\nA LOCK @ 1", "case x\nlock @ 1 -> 1",
                     "case [sometimes] x\nA PING -> PONG", "case x\nwait 5s",
                     "case x\nA ~> 1", "case x\nA LOCK @ 1 ~> waits"]:
            with self.subTest(text=text), self.assertRaises(table.WrongTable):
                table.parse(text, "here")


def add_methods():
    names = [case.name for case in CASES]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise table.WrongTable(f"two cases are called {sorted(twice)}")
    for target in TARGETS:
        for case in CASES:
            if target.applies(case):
                def method(self, name=case.name):
                    if self.results[name] is not None:
                        raise self.results[name]
                setattr(target, "test_" + re.sub(r"\W+", "_", case.name), method)


add_methods()

if __name__ == "__main__":
    unittest.main()

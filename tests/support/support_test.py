# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""The tools of the fault tests do what they say, with real servers and without latchd."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import harness
import redis_group
from clock_shift import ClockShift
from gate import DOWN, Gate
from harness import wait_until
from resp_client import Client, Error


def redis_time(redis):
    seconds, micros = redis.ask("TIME")
    return int(seconds) + int(micros) / 1e6


class Clocks(harness.Case):
    def assert_is_off_by(self, shown, seconds):
        self.assertAlmostEqual(shown() - time.time(), seconds, delta=0.5)

    def test_the_clock_of_a_redis_moves_and_ends_leases(self):
        clock = ClockShift(self.folder)
        redis = self.redis(environment=clock.environment)
        self.assert_is_off_by(lambda: redis_time(redis), 0)
        redis.ask("SET", "k", "v", "PX", 30_000)
        clock.step(-60)
        self.assert_is_off_by(lambda: redis_time(redis), -60)
        self.assertGreater(redis.ask("PTTL", "k"), 80_000)
        clock.step(120)
        self.assert_is_off_by(lambda: redis_time(redis), 60)
        self.assertEqual(redis.ask("EXISTS", "k"), 0)

    def test_the_clock_of_a_mariadb_moves(self):
        clock = ClockShift(self.folder)
        mysql = self.mariadb(environment=clock.environment)

        def shown():
            return float(mysql.value("SELECT UNIX_TIMESTAMP(NOW(6))"))
        self.assert_is_off_by(shown, 0)
        for step, sum_ in ((-60, -60), (58, -2), (62, 60)):
            clock.step(step)
            self.assert_is_off_by(shown, sum_)
        began = time.monotonic()
        self.assertEqual(mysql.value("SELECT SLEEP(0.2)"), "0")
        self.assertLess(time.monotonic() - began, 2)

    def test_a_pause_that_no_clock_saw(self):
        clock = ClockShift(self.folder)
        redis = self.redis(environment=clock.environment)
        before = int(redis.info("server")["server_time_usec"])
        redis.freeze()
        redis.wait_until_frozen_for(0.6)
        clock.skip(time.monotonic() - redis.frozen_at)
        redis.thaw()
        self.assertLess(int(redis.info("server")["server_time_usec"]) - before, 500_000)


class Databases(harness.Case):
    def test_a_mariadb_keeps_what_it_committed_over_a_kill(self):
        mysql = self.mariadb()
        mysql.sql("CREATE TABLE t(n INT PRIMARY KEY); INSERT INTO t VALUES (1),(2)", "latchd")
        mysql.kill()
        mysql.restart()
        self.assertEqual(mysql.sql("SELECT n FROM t", "latchd"), [["1"], ["2"]])

    def test_a_replica_that_is_behind_is_promoted(self):
        mysql = self.mariadb("--log-bin", "--log-slave-updates")
        replica = self.mariadb_replica(mysql)
        mysql.sql("CREATE TABLE t(n INT PRIMARY KEY); INSERT INTO t VALUES (1)", "latchd")
        replica.catch_up(mysql)
        replica.fall_behind()
        mysql.sql("INSERT INTO t VALUES (2)", "latchd")
        replica.promote()
        self.assertEqual(replica.sql("SELECT n FROM t", "latchd"), [["1"]])
        replica.sql("INSERT INTO t VALUES (3)", "latchd")
        self.assertNotEqual(*(each.value("SELECT @@server_id") for each in (mysql, replica)))
        self.assertNotEqual(*(each.value("SELECT @@server_uid") for each in (mysql, replica)))


class RedisGroups(harness.Case):
    def test_sentinels_promote_a_replica_that_lags(self):
        master = self.redis()
        replica = redis_group.replica_of(self, master)
        sentinels = redis_group.sentinels(self, master, 3, down_after_ms=500)
        master.ask("SET", "early", "1")
        redis_group.catch_up(replica, master)
        master.kill()
        port = sentinels[0].wait_for_failover(master.port)
        self.assertEqual(port, replica.port)
        self.assertEqual(replica.info("replication")["role"], "master")
        self.assertEqual(replica.keys(), [b"early"])

    def test_memory_pressure_evicts(self):
        redis = self.redis()
        redis_group.fill_memory(redis)
        self.assertGreater(int(redis.info("stats")["evicted_keys"]), 0)

    def test_an_old_dump_comes_back(self):
        redis = self.redis()
        redis.ask("SET", "old", "1")
        dump = redis_group.keep_dump(redis)
        redis.ask("SET", "new", "1")
        redis_group.restart_with(redis, dump)
        self.assertEqual(redis.keys(), [b"old"])
        redis_group.restart_with(redis)
        self.assertEqual(redis.keys(), [])


class Gates(harness.Case):
    def test_a_gate_leads_elsewhere(self):
        one, two = self.redis(), self.redis()
        gate = Gate(one.address)
        self.addCleanup(gate.close)
        one.ask("SET", "me", "one")
        two.ask("SET", "me", "two")
        with Client(gate.address) as client:
            self.assertEqual(client.ask("GET", "me"), b"one")
            gate.lead_to(two.address)
            with self.assertRaises((ConnectionError, TimeoutError)):
                client.ask("GET", "me")
        with Client(gate.address) as client:
            self.assertEqual(client.ask("GET", "me"), b"two")

    def test_a_cut_gate_is_silent_and_new_connections_hang(self):
        redis = self.redis()
        gate = Gate(redis.address)
        self.addCleanup(gate.close)
        with Client(gate.address) as client:
            self.assertEqual(client.ask("PING"), b"PONG")
            gate.drop(DOWN)
            client.send("SET", "a", "1")
            self.assertTrue(client.is_silent(0.2))
        wait_until(lambda: redis.keys() == [b"a"], what="the command that went up")
        gate.pass_all()
        with Client(gate.address) as client:
            self.assertEqual(client.ask("PING"), b"PONG")
            self.assertIsInstance(client.ask("NOTHING"), Error)


if __name__ == "__main__":
    unittest.main()

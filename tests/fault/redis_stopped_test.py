# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Redis is absent, frozen, killed, restarted empty or old, flushed, away as a replica, or slow."""

import threading
import time
import unittest

from fault_case import FaultCase
from harness import FULL, Error, Stalls, wait_until


class RedisStopped(FaultCase):
    def assert_is_kept(self, node, grant, name):
        """The holder's token still holds the lock, and nobody else gets it."""
        self.assertGreater(self.actor(node, "holder").renew("held", name, grant[0]), 0)
        self.assertIsNone(self.actor(node, "other").lock("held", name, PX=1000))

    def test_redis_is_absent_at_the_start(self):
        redis = self.redis()
        redis.kill()
        node = self.node(redis, "a", serves=False)
        client = self.actor(node)
        self.assert_error(client.lock("order", "1"), "NOSTORE")
        self.assert_error(client.lock("order", "1", WAIT=300), "NOSTORE")
        self.assert_error(client.renew("order", "1", b"token"), "NOSTORE")
        self.assert_error(client.cancel("order", "1", b"request"), "UNCERTAIN")
        for command in ("PING", "INFO", "TIME", "COMMAND"):
            with Stalls() as stalls:
                began = time.monotonic()
                node.ask(command)
                self.assertLess(time.monotonic() - began, 0.5 + stalls.seconds, command)
        waiter = threading.Thread(target=client.lock, args=("order", "2"), kwargs={"WAIT": 5000})
        waiter.start()
        redis.restart()
        self.fault_is_over()
        waiter.join()
        self.assertIsInstance(client.last.reply, list)
        self.assert_all_is_well([node], redis)

    def test_redis_is_frozen_under_load(self):
        redis = self.redis()
        node = self.node(redis, "a")
        load = self.load([node])
        for _ in range(4 if FULL else 1):
            load.wait_for_grants(200)
            redis.freeze()
            redis.wait_until_frozen_for(self.random.uniform(2, 5))
            redis.thaw()
            self.fault_is_over()
            load.wait_for_grants(200)
        load.stop()
        self.assert_all_is_well([node], redis)

    def test_redis_is_killed_in_mid_pipeline_and_restarted_empty(self):
        redis = self.redis()
        node = self.node(redis, "a")
        held = self.lock(node.client(), "held", "1", "PX", 30_000)
        load = self.load([node])
        for _ in range(6 if FULL else 2):
            load.wait_for_grants(100)
            redis.kill()
            self.some_time(0, 0.6)
            redis.restart()
            self.fault_is_over()
            load.wait_for_grants(100)
        load.stop()
        self.assert_is_kept(node, held, "1")
        self.assertEqual(self.actor(node).unlock("held", "1", held[0]), 1)
        self.assert_all_is_well([node], redis)

    def test_an_old_dump_brings_no_released_lock_back_and_takes_no_held_one(self):
        redis = self.redis()
        node = self.node(redis, "a")
        self.listen(node)
        client = self.actor(node)
        released = client.lock("held", "released", PX=30_000)
        before = client.lock("held", "before", PX=30_000)
        self.assertEqual(redis.ask("SAVE"), b"OK")
        self.assertEqual(client.unlock("held", "released", released[0]), 1)
        after = client.lock("held", "after", PX=30_000)
        redis.kill()
        redis.restart()
        self.fault_is_over()
        node.wait_for_store(2.5)
        again = self.actor(node, "next").lock("held", "released", PX=5000)
        self.assertIsInstance(again, list)
        self.assertGreater(again[1], after[1])
        self.assertEqual(client.unlock("held", "released", released[0]), 1, "as it was answered")
        self.assert_is_kept(node, before, "before")
        self.assert_is_kept(node, after, "after")
        self.assertEqual(self.told("lost"), [])
        self.assert_all_is_well([node], redis)

    def test_redis_becomes_a_replica_and_a_master_again(self):
        redis = self.redis()
        node = self.node(redis, "a")
        held = self.actor(node).lock("held", "1", PX=30_000)
        load = self.load([node], clients=8)
        load.wait_for_grants(50)
        redis.ask("REPLICAOF", "127.0.0.1", 1)
        self.assertIsInstance(self.actor(node).lock("order", "1"), Error)
        self.some_time(0, 1)
        redis.ask("REPLICAOF", "NO", "ONE")
        self.fault_is_over()
        load.wait_for_grants(50)
        load.stop()
        self.assert_is_kept(node, held, "1")
        self.assert_all_is_well([node], redis)

    def test_everything_is_flushed_under_load(self):
        redis = self.redis()
        node = self.node(redis, "a")
        held = self.actor(node).lock("held", "1", PX=30_000)
        load = self.load([node])
        for _ in range(6 if FULL else 2):
            load.wait_for_grants(100)
            redis.ask("FLUSHALL")
            self.fault_is_over()
            load.wait_for_grants(100)
        load.stop()
        self.assert_is_kept(node, held, "1")
        self.assert_all_is_well([node], redis)

    def test_everything_is_flushed_while_the_node_is_cut_off(self):
        redis = self.redis()
        gate = self.gate(redis)
        node = self.node(gate, "a")
        held = self.actor(node).lock("held", "1", PX=30_000)
        gate.refuse()
        self.assert_error(self.actor(node).lock("order", "1"), "NOSTORE")
        redis.ask("FLUSHALL")
        gate.pass_all()
        self.fault_is_over()
        node.wait_for_store(2.5)
        self.assert_is_kept(node, held, "1")
        self.assert_all_is_well([node], redis)

    def test_a_flushed_script_cache_is_not_seen_by_clients(self):
        redis = self.redis()
        node = self.node(redis, "a")
        load = self.load([node])
        for _ in range(20 if FULL else 5):
            load.wait_for_grants(50)
            redis.ask("SCRIPT", "FLUSH")
        load.wait_for_grants(50)
        load.stop()
        self.assertEqual(self.history.count("LOCK", lambda o: o.is_error), 0)
        self.assert_all_is_well([node], redis)

    @staticmethod
    def is_silent(redis):
        with redis.client(timeout=0.2) as client:
            client.send("PING")
            try:
                client.read()
            except TimeoutError:
                return True
        return False

    def assert_uncertain_at_two_seconds(self, actor, name, **options):
        reply = actor.lock("order", name, PX=20_000, **options)
        self.assert_error(reply, "UNCERTAIN max_ms=20000 req=")
        self.assertGreater(actor.last.returned - actor.last.called, 1.9)

    def test_redis_sleeps_and_a_lock_is_uncertain_at_two_seconds_and_undone_behind(self):
        redis = self.redis(enable_debug_command="yes")
        node = self.node(redis, "a")
        with redis.client() as sleeper:
            sleeper.send("DEBUG", "SLEEP", 3)
            wait_until(lambda: self.is_silent(redis), what="redis-server sleeping")
            self.assert_uncertain_at_two_seconds(self.actor(node), "1")
            sleeper.read()
        self.fault_is_over()
        self.assert_no_ghosts([node], redis)
        self.assert_all_is_well([node], redis)

    def test_redis_is_slow_by_two_seconds(self):
        redis = self.redis()
        gate = self.gate(redis)
        node = self.node(gate, "a")
        gate.delay(2000)
        threads = []
        for i in range(4):
            actor = self.actor(node, f"client{i}")
            thread = threading.Thread(target=actor.lock, args=("order", str(i)),
                                      kwargs={"PX": 20_000})
            thread.start()
            threads.append(thread)
        for thread in threads:
            thread.join()
        uncertain = self.history.count("LOCK", lambda o: o.is_doubtful)
        self.assertEqual(uncertain, 4, [str(o) for o in self.history.operations])
        gate.pass_all()
        self.fault_is_over()
        self.assert_no_ghosts([node], redis)
        self.assert_all_is_well([node], redis)

    def test_a_waiter_outlives_a_restart_of_redis(self):
        redis = self.redis()
        node = self.node(redis, "a")
        held = self.actor(node, "holder").lock("order", "1", PX=30_000)
        waiter = self.actor(node, "waiter")
        thread = threading.Thread(target=waiter.lock, args=("order", "1"), kwargs={"WAIT": 8000})
        thread.start()
        wait_until(lambda: node.info("locks")["locks_waiting"] == "1")
        redis.kill()
        redis.restart()
        self.fault_is_over()
        node.wait_for_store(2.5)
        self.assertEqual(self.actor(node, "holder").unlock("order", "1", held[0]), 1)
        thread.join()
        self.assertIsInstance(waiter.last.reply, list)
        ended, returned = self.history.faults_ended, waiter.last.returned
        self.assertLess(returned - ended, 4 + self.history.stalled(ended, returned))
        self.assert_all_is_well([node], redis)


if __name__ == "__main__":
    unittest.main()

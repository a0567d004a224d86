# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Redis answers, but not what a lock service would like to hear."""

import threading
import unittest

from fault_case import FaultCase
from gate import DOWN, UP
from harness import FULL, Error, wait_until

FOREIGN = ("ERR the store's key of this lock is in use by something else",)


class RedisRefuses(FaultCase):
    def assert_says_no(self, node, word="NOSTORE", name="refused"):
        """LOCK is refused with a definite word, well within its deadline."""
        actor = self.actor(node, "refused")
        self.assert_error(actor.lock("order", name, PX=5000), word)
        return actor.last.reply

    def wait_for_refusal(self, node, *words):
        """Returns the first refusal that has one of the words."""
        def refusal():
            reply = self.actor(node, "refused").lock("order", "refused", PX=500)
            return reply if isinstance(reply, Error) and any(w in reply for w in words) else None
        return wait_until(refusal, 5, f"a refusal with {words}")

    def test_loading(self):
        redis = self.redis(key_load_delay=1500, loading_process_events_interval_bytes=1024)
        with redis.client() as client:
            client.pipeline([("SET", f"data:{i}", "x" * 50) for i in range(2000)])
        node = self.node(redis, "a")
        held = self.actor(node).lock("held", "1", PX=30_000)
        redis.ask("SAVE")
        redis.kill()
        redis.begin_to_start()
        wait_until(lambda: b"loading:1" in redis.ask("INFO", "persistence"), what="LOADING")
        while "Ready to accept connections" not in redis.said():
            reply = self.actor(node, "refused").lock("order", "1", PX=500)
            self.assertTrue(isinstance(reply, (Error, list)), reply)
        self.fault_is_over()
        self.assertGreater(self.history.count("LOCK", lambda o: o.is_error), 0)
        node.wait_for_store(2.5)
        self.assertGreater(self.actor(node).renew("held", "1", held[0]), 0)
        self.assert_all_is_well([node], redis)

    def test_readonly_from_the_start(self):
        redis = self.redis(replicaof="127.0.0.1 1")
        node = self.node(redis, "a", serves=False)
        self.assertIn("replica", self.wait_for_refusal(node, "replica"))
        self.assert_says_no(node)
        redis.ask("REPLICAOF", "NO", "ONE")
        self.fault_is_over()
        self.assert_all_is_well([node], redis)

    def test_misconf(self):
        redis = self.redis(save="3600 1", enable_protected_configs="yes")
        (redis.folder / "occupied").mkdir()
        node = self.node(redis, "a")
        held = self.actor(node).lock("held", "1", PX=30_000)
        redis.ask("CONFIG", "SET", "dbfilename", "occupied")
        redis.ask("BGSAVE")
        wait_until(lambda: redis.info("persistence")["rdb_last_bgsave_status"] == "err")
        self.assertIn("MISCONF", self.assert_says_no(node))
        reply = self.actor(node).unlock("held", "1", held[0])
        self.assertTrue(reply == 1 or reply.startswith("UNCERTAIN"), reply)
        redis.ask("CONFIG", "SET", "dbfilename", "dump.rdb")
        redis.ask("BGSAVE")
        wait_until(lambda: redis.info("persistence")["rdb_last_bgsave_status"] == "ok")
        self.fault_is_over()
        self.assert_all_is_well([node], redis)

    def test_out_of_memory(self):
        redis = self.redis()
        node = self.node(redis, "a")
        held = self.actor(node).lock("held", "1", PX=30_000)
        load = self.load([node], clients=8)
        load.wait_for_grants(50)
        redis.ask("CONFIG", "SET", "maxmemory", 1)
        self.assertIn("OOM", self.wait_for_refusal(node, "OOM"))
        self.some_time(0, 1.5)
        redis.ask("CONFIG", "SET", "maxmemory", 0)
        self.fault_is_over()
        load.wait_for_grants(50)
        load.stop()
        self.assertGreater(self.actor(node).renew("held", "1", held[0]), 0)
        self.assert_all_is_well([node], redis)

    def test_an_unlock_during_out_of_memory_frees_the_lock(self):
        redis = self.redis()
        node = self.node(redis, "a")
        held = self.actor(node).lock("held", "1", PX=30_000)
        redis.ask("CONFIG", "SET", "maxmemory", 1)
        reply = self.actor(node).unlock("held", "1", held[0])
        self.assertTrue(reply == 1 or isinstance(reply, Error), reply)
        redis.ask("CONFIG", "SET", "maxmemory", 0)
        self.fault_is_over()
        self.assert_all_is_well([node], redis)

    def assert_foreign_is_left_alone(self, make, look):
        redis = self.redis()
        node = self.node(redis, "a")
        redis.ask(*make)
        was = redis.ask(*look)
        client = self.actor(node)
        for options in ({}, {"WAIT": 500}, {"OWNER": "me"}, {"REQ": "r"}):
            reply = client.lock("order", "7", PX=5000, may_say=FOREIGN, **options)
            self.assert_error(reply, FOREIGN[0])
        self.assertEqual(client.unlock("order", "7", b"token"), 0)
        self.assertIn(node.ask("CANCEL", "order", "7", "r"), (0, 1))
        self.assertEqual(redis.ask(*look), was, "somebody's data was changed")
        redis.ask("DEL", "lock:order:7")
        self.fault_is_over()
        self.assert_all_is_well([node], redis)

    def test_a_list_is_where_the_lock_would_be(self):
        self.assert_foreign_is_left_alone(("RPUSH", "lock:order:7", "a", "b"),
                                          ("LRANGE", "lock:order:7", 0, -1))

    def test_a_string_of_somebody_else_is_where_the_lock_would_be(self):
        self.assert_foreign_is_left_alone(("SET", "lock:order:7", "mine"), ("GET", "lock:order:7"))

    def test_a_lock_of_somebody_else_with_a_ttl_is_where_the_lock_would_be(self):
        self.assert_foreign_is_left_alone(("SET", "lock:order:7", '{"token":"x"}', "PX", 60_000),
                                          ("GET", "lock:order:7"))

    def test_a_missing_and_a_wrong_password(self):
        redis = self.redis(requirepass="right")
        nodes = [self.latchd("--store", f"redis://{login}127.0.0.1:{redis.port}", "--node", name,
                             serves=False)
                 for name, login in (("missing", ""), ("wrong", ":wrong@"))]
        good = self.node(redis, "good")
        for node in nodes:
            self.wait_for_refusal(node, "NOAUTH", "WRONGPASS", "password")
            self.assertEqual(node.ask("PING"), b"PONG")
        for node in nodes:
            self.assertNotIn("wrong@", node.said())
        redis.ask("CONFIG", "SET", "requirepass", "wrong")
        redis.password = "wrong"
        self.fault_is_over()
        self.assert_all_is_well([nodes[1], good], redis)

    def test_no_kill_is_allowed_and_a_lock_comes_late(self):
        # The answer to LOCK is lost, the client gives up, and the LOCK itself is under way still:
        # without CLIENT KILL only a tombstone can stop it.
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "latchd", "on", ">pw", "~*", "&*", "+@all", "-client|kill")
        gate = self.gate(redis)
        node = self.latchd("--store", gate.url.replace("//", "//latchd:pw@"), "--node", "a")
        for round_ in range(5 if FULL else 2):
            client = self.actor(node, f"client{round_}")
            gate.refuse() if round_ % 2 else None
            gate.pass_all()
            node.wait_for_store()
            gate.hold(UP)
            reply = client.lock("order", str(round_), PX=30_000)
            self.assert_error(reply, "UNCERTAIN")
            gate.pass_all()
            self.fault_is_over()
            node.wait_for_store(2.5)
            self.assert_no_ghosts([node], redis)
        self.assert_all_is_well([node], redis)

    def test_no_kill_is_allowed_and_a_copy_of_a_lock_comes_after_its_unlock(self):
        # LOCK is held up on the old connection, sent again on a new one, answered, released; then
        # the first copy arrives.
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "latchd", "on", ">pw", "~*", "&*", "+@all", "-client|kill")
        gate = self.gate(redis)
        node = self.latchd("--store", gate.url.replace("//", "//latchd:pw@"), "--node", "a")
        client = self.actor(node)
        gate.hold(UP, only_current=True)
        waiting = threading.Thread(target=client.lock, args=("order", "1"), kwargs={"PX": 30_000})
        waiting.start()
        wait_until(lambda: gate.is_holding(b"lock:order:1", UP), what="a LOCK on its way")
        gate.orphan()
        waiting.join()
        grant = client.last.reply
        self.assertIsInstance(grant, list)
        self.assertEqual(client.unlock("order", "1", grant[0]), 1)
        gate.pass_all()
        wait_until(lambda: gate.connections <= 3, what="the old connection's end")
        self.fault_is_over()
        self.assert_no_ghosts([node], redis)
        self.assert_all_is_well([node], redis)

    def test_no_kill_is_allowed_and_replies_are_lost(self):
        redis = self.redis()
        redis.ask("ACL", "SETUSER", "latchd", "on", ">pw", "~*", "&*", "+@all", "-client|kill")
        gate = self.gate(redis)
        node = self.latchd("--store", gate.url.replace("//", "//latchd:pw@"), "--node", "a")
        load = self.load([node], clients=8)
        for _ in range(6 if FULL else 3):
            load.wait_for_grants(20)
            gate.drop(DOWN, only_current=True)
            load.wait_for_grants(20)
        load.stop()
        self.fault_is_over()
        self.assert_all_is_well([node], redis)

    def test_too_many_clients(self):
        redis = self.redis()
        node = self.node(redis, "a")
        redis.ask("CONFIG", "SET", "maxclients", 10)
        admin = redis.client()
        others = []
        try:
            node.kill()
            while True:
                other = redis.client()
                others.append(other)
                if isinstance(other.ask("PING"), Error):
                    break
        except ConnectionError:
            pass
        node.arguments += ["--listen", f"127.0.0.1:{node.port}"]
        node.start()
        self.wait_for_refusal(node, "max number of clients", "reset", "closed", "ended")
        self.assert_says_no(node)
        for other in others:
            other.close()
        self.assertEqual(admin.ask("CONFIG", "SET", "maxclients", 1000), b"OK")
        admin.close()
        self.fault_is_over()
        self.assert_all_is_well([node], redis)


if __name__ == "__main__":
    unittest.main()

# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""What a fleet of latchd processes tells, and what an operator does with it. What it survives is in
tests/fault."""

import json
import unittest

import harness
from fleet import Fleet
from harness import needs, wait_until
from resp_client import Error


def rows(reply):
    """An array of maps, decoded."""
    def text(value):
        return value.decode() if isinstance(value, bytes) else value
    maps = [row if isinstance(row, dict) else dict(zip(row[::2], row[1::2])) for row in reply]
    return [{text(k): text(v) for k, v in row.items()} for row in maps]


def is_retired(node, name):
    reply = node.ask("RESOURCE", "GET", name)
    return reply is not None and rows([reply])[0]["retired"] == 1


def cluster(node):
    return rows([node.ask("LATCHD", "CLUSTER")])[0]


class OverRedis(harness.Case):
    """Redis arbitrates about itself."""

    def setUp(self):
        super().setUp()
        self.redis_ = self.redis()

    def test_two_nodes_are_a_fleet(self):
        a = self.node(self.redis_, "a")
        b = self.node(self.redis_, "b")
        token, fence = self.lock(a.client(), "r", "1", "PX", 30000)[:2]
        self.assertGreater(b.client().ask("RENEW", "r", "1", token, "PX", 30000), 0)
        self.assertIsNone(b.client().ask("LOCK", "r", "1"))
        nodes = wait_until(lambda: len(rows(a.ask("LATCHD", "NODES"))) == 2
                           and rows(a.ask("LATCHD", "NODES")), what="both nodes known")
        self.assertEqual([node["name"] for node in nodes], ["a", "b"])
        self.assertEqual([node["self"] for node in nodes], [1, 0])
        status = Fleet.status(a)
        self.assertEqual((status["state"], status["mode"], status["arbiter"]),
                         ("ok", "serving", "redis"))
        self.assertEqual(status["epoch"], fence >> 32)
        self.assertEqual(a.client().ask("UNLOCK", "r", "1", token), 1)

    def test_the_registry_is_shared(self):
        a = self.node(self.redis_, "a")
        b = self.node(self.redis_, "b")
        self.assertEqual(a.ask("RESOURCE", "SET", "shared", "TTL", 7000), b"OK")

        def seen_by_b():
            reply = b.ask("RESOURCE", "GET", "shared")
            return reply is not None and rows([reply])[0]["ttl_ms"] == 7000
        wait_until(seen_by_b, what="the resource on the other node")
        self.assertEqual(b.ask("RESOURCE", "DEL", "shared"), 1)
        wait_until(lambda: a.ask("RESOURCE", "GET", "shared") is None, what="it being deleted")

    def test_strict_is_refused_without_an_arbiter_that_outlives_redis(self):
        a = self.node(self.redis_, "a")
        self.assert_error(a.ask("RESOURCE", "SET", "s", "SAFETY", "strict"), "ERR SAFETY strict")

    def test_the_configuration_proposes_resources_to_a_new_cluster_only(self):
        text = ("stores: [{type: redis, address: '%s:%d'}]\n"
                "resources: {list: [{name: mine, ttl: %ds}]}\n")
        host, port = self.redis_.address
        a = self.latchd("--node", "a", config=text % (host, port, 9))
        wait_until(lambda: a.info("latchd").get("latchd_config_differs") == "0", what="no difference")
        b = self.latchd("--node", "b", config=text % (host, port, 4))
        wait_until(lambda: b.info("latchd").get("latchd_config_differs") == "1", what="a difference")
        self.assertEqual(rows([b.ask("RESOURCE", "GET", "mine")])[0]["ttl_ms"], 9000)
        self.assertTrue(any(b"mine" in line for line in b.ask("LATCHD", "DOCTOR")))

    def test_a_resource_that_no_node_uses_is_retired_until_it_is_set_again(self):
        text = ("stores: [{type: redis, address: '%s:%d'}]\n"
                "resources: {retire_after: 1s}\n") % self.redis_.address
        a = self.latchd("--node", "a", config=text)
        b = self.latchd("--node", "b", config=text)
        for name in ("held", "idle"):
            self.assertEqual(a.ask("RESOURCE", "SET", name, "QUEUE", 7), b"OK")
        wait_until(lambda: b.ask("RESOURCE", "GET", "held") is not None, what="them on b")
        client = b.client()
        token = self.lock(client, "held", "1", "KEEP", "PX", 3000)[0]
        for node in (a, b):
            wait_until(lambda node=node: is_retired(node, "idle"), deadline=20, what="its end")
            self.assert_error(node.ask("LOCK", "idle", "1"), "ERR resource retired: ")
            self.assertFalse(is_retired(node, "held"), "node b has a lock of it")
        self.assertEqual(client.ask("UNLOCK", "held", "1", token), 1)
        self.assertEqual(b.ask("RESOURCE", "SET", "idle"), b"OK")
        for node in (a, b):
            wait_until(lambda node=node: not isinstance(node.ask("LOCK", "idle", "1"), Error),
                       what="it being in use again")
        self.assertEqual(rows([a.ask("RESOURCE", "GET", "idle")])[0]["queue"], 7)

    def test_ttl_max_and_delay_max_are_changed_while_the_fleet_lives(self):
        a = self.node(self.redis_, "a")
        b = self.node(self.redis_, "b")
        epoch = cluster(a)["epoch"]
        self.assertEqual(a.ask("LATCHD", "CLUSTER", "SET", "TTLMAX", 90000, "DELAYMAX", 80000), b"OK")
        for node in (a, b):
            wait_until(lambda node=node: cluster(node)["granted_ttl_max_ms"] == 90000,
                       what="the new ttl_max")
            shown = cluster(node)
            self.assertEqual((shown["epoch"], shown["ttl_max_ms"], shown["delay_max_ms"]),
                             (epoch + 1, 90000, 80000))
            self.assertIn("delay_max 80000 ms, from epoch", shown["pending"], "DELAYs get longer")
        self.assertGreater(self.lock(b.client(), "r", "1", "PX", 90000, "DELAY", 80000)[2], 80000)
        self.assert_error(b.ask("LOCK", "r", "2", "DELAY", 80001), "ERR DELAY")

    def test_a_lock_outlives_a_restart_of_redis_with_its_fence(self):
        a = self.node(self.redis_, "a")
        b = self.node(self.redis_, "b")
        token, fence = self.lock(a.client(), "r", "1", "PX", 30000)[:2]
        self.redis_.kill()
        self.redis_.drop_dump()
        self.redis_.restart()
        a.wait_for_store()
        b.wait_for_store()
        self.assertIsNone(b.client().ask("LOCK", "r", "1"))
        self.assertGreater(b.client().ask("RENEW", "r", "1", token), 0)
        info = rows([b.ask("LOCKINFO", "r", "1")])[0]
        self.assertEqual(info["fence"], fence)
        later = self.lock(b.client(), "r", "2")
        self.assertGreater(later[1] >> 32, fence >> 32)

    def test_a_node_that_ends_leaves_the_fleet_and_its_locks_stay(self):
        a = self.node(self.redis_, "a")
        b = self.node(self.redis_, "b")
        token, fence = self.lock(a.client(), "r", "1", "PX", 30000)[:2]
        a.stop()
        wait_until(lambda: [n["name"] for n in rows(b.ask("LATCHD", "NODES"))] == ["b"],
                   what="the node having left")
        self.assertIsNone(b.client().ask("LOCK", "r", "1"))
        self.assertEqual(rows([b.ask("LOCKINFO", "r", "1")])[0]["fence"], fence)
        self.assertEqual(b.client().ask("UNLOCK", "r", "1", token), 1)


@needs("mariadbd")
class OverRedisAndMySql(harness.Case):
    """Three nodes; MySQL arbitrates."""

    def setUp(self):
        super().setUp()
        self.redis_, self.mysql_ = self.redis(), self.mariadb()
        self.fleet = Fleet(self, self.redis_, self.mysql_, gated=False)
        self.fleet.wait_for_tier("redis", deadline=30)

    def test_a_lock_and_its_fence_go_on_in_mysql_and_return(self):
        a, b, c = self.fleet
        heard = c.client()
        heard.ask("SUBSCRIBE", "latchd:events:order")
        token, fence = self.lock(a.client(), "order", "1", "PX", 30000)[:2]
        self.assertGreater(b.client().ask("RENEW", "order", "1", token, "PX", 30000), 0)
        a.kill()
        self.redis_.kill()
        self.fleet.wait_for_tier("mysql", [b, c], deadline=20)
        self.assertIsNone(c.client().ask("LOCK", "order", "1"))
        info = rows([c.ask("LOCKINFO", "order", "1")])[0]
        self.assertEqual((info["fence"], info["tier"]), (fence, "mysql"))
        self.assertGreater(c.client().ask("RENEW", "order", "1", token, "PX", 30000), 0)
        status = Fleet.status(c)
        self.assertEqual((status["state"], status["tier"]), ("degraded", "mysql"))
        self.assertEqual(status["failovers"], 1)
        # A node that is only lost is asked for a minute yet whether Redis is well again.
        self.redis_.restart()
        a.restart()
        self.fleet.wait_for_tier("redis", deadline=30)
        info = rows([b.ask("LOCKINFO", "order", "1")])[0]
        self.assertEqual((info["fence"], info["tier"]), (fence, "redis"))
        self.assertEqual(c.client().ask("UNLOCK", "order", "1", token), 1)
        self.assertGreater(self.lock(b.client(), "order", "1")[1], fence)

    def test_a_change_of_safety_begins_an_epoch_and_is_pending_for_a_while(self):
        self.fleet.wait_for_strict("redis")
        epoch = self.fleet.epoch()
        a = self.fleet["a"]
        token, fence = self.lock(a.client(), "order", "1", "PX", 30000)[:2]
        self.assertEqual(a.ask("RESOURCE", "SET", "order", "SAFETY", "strict"), b"OK")
        self.fleet.wait_for_epoch_above(epoch)
        for node in self.fleet:
            shown = wait_until(lambda node=node: next(
                (row for row in rows([node.ask("RESOURCE", "GET", "order")])
                 if row["safety"] == "strict"), None), what="the new setting")
            self.assertIn("safety strict", shown["pending"])
            self.assertIn("order", Fleet.status(node)["pending"])
        self.fleet.wait_for_tier("redis", resource="order")
        self.assertGreater(a.client().ask("RENEW", "order", "1", token), 0)
        self.assertEqual(rows([a.ask("LOCKINFO", "order", "1")])[0]["fence"], fence)
        self.assert_error(a.ask("LOCK", "order", "2", "KEEP", "ONCLOSE", "RELEASE"), "ERR")
        self.assert_error(a.ask("RESOURCE", "DEL", "order"), "ERR it is strict")
        self.assertEqual(a.ask("RESOURCE", "SET", "order", "SAFETY", "available"), b"OK")
        self.fleet.wait_for_epoch_above(epoch + 1)
        wait_until(lambda: rows([a.ask("RESOURCE", "GET", "order")])[0]["pending"] is None,
                   what="nothing pending")

    def test_a_smaller_ttl_max_holds_from_an_epoch_on_and_no_lease_gets_shorter(self):
        self.fleet.wait_for_strict("redis")
        a, b, c = self.fleet
        client = a.client()
        token, fence = self.lock(client, "pay", "1", "PX", 50000)[:2]
        self.lock(client, "pay", "kept", "PX", 50000, "KEEP")
        self.assertEqual({cluster(node)["differs"] for node in self.fleet}, {"-"})
        epoch = self.fleet.epoch()
        self.assertEqual(b.ask("LATCHD", "CLUSTER", "SET", "TTLMAX", 5000), b"OK")
        self.assertEqual(cluster(b)["granted_ttl_max_ms"], 5000, "less is granted at once")
        self.fleet.wait_for_epoch_above(epoch)
        for node in self.fleet:
            wait_until(lambda node=node: cluster(node)["ttl_max_ms"] == 5000
                       and cluster(node)["promised_in_ms"], what="the new ttl_max")
            shown = cluster(node)
            self.assertEqual((shown["pending_epoch"], shown["granted_ttl_max_ms"]), (epoch + 1, 5000))
            self.assertGreater(shown["promised_in_ms"], 600_000, "available_max and the former one")
            self.assertIn("ttl_max 5000 ms", Fleet.status(node)["pending"])
            self.assertIn("ttl_max (here 60000 ms, agreed 5000 ms)", shown["differs"])
            self.assertIn("ttl_max (here 60000 ms, ", str(node.ask("LATCHD", "DOCTOR")))
            self.assertEqual(node.info("latchd")["latchd_config_differs"], "1")
            wait_until(lambda node=node: "authority.basis_differs" in node.said(), what="the log")
        self.fleet.wait_for_tier("redis", resource="pay")
        self.assertLessEqual(self.lock(c.client(), "pay", "2", "PX", 50000)[2], 5000)
        self.assertGreater(c.client().ask("RENEW", "pay", "1", token), 30000, "never shortens")
        info = rows([b.ask("LOCKINFO", "pay", "1")])[0]
        self.assertEqual((info["fence"], info["ttl_ms"]), (fence, 5000))
        self.assertIsNone(b.ask("LOCK", "pay", "kept"))
        # Refused by name; and back to more, which is granted in its epoch.
        self.assertEqual(a.ask("RESOURCE", "SET", "order", "TTL", 4000), b"OK")
        self.assert_error(a.ask("LATCHD", "CLUSTER", "SET", "TTLMAX", 3000),
                          "ERR TTLMAX 3000: resource order has TTL 4000")
        self.assert_error(a.ask("RESOURCE", "SET", "order", "TTL", 5001), "ERR TTL")
        self.assertEqual(c.ask("LATCHD", "CLUSTER", "SET", "TTLMAX", 60000), b"OK")
        self.fleet.wait_for_epoch_above(epoch + 1)
        wait_until(lambda: cluster(c)["granted_ttl_max_ms"] == 60000, what="the old ttl_max")
        self.fleet.wait_for_tier("redis", resource="pay")
        self.assertGreater(self.lock(c.client(), "pay", "3", "PX", 50000)[2], 40000)
        self.assertEqual(cluster(c)["differs"], "-")

    def test_without_the_arbiter_ttl_max_stays_what_it_is(self):
        self.mysql_.kill()
        a = self.fleet["a"]
        reply = a.ask("LATCHD", "CLUSTER", "SET", "TTLMAX", 5000)
        self.assert_error(reply, "NOSTORE arbiter: ")
        self.assertEqual(cluster(a)["granted_ttl_max_ms"], 60000)

    def test_the_order_of_the_stores_is_the_records_and_is_changed(self):
        a, b, c = self.fleet
        token, fence = self.lock(a.client(), "order", "1", "PX", 50000)[:2]
        epoch = self.fleet.epoch()
        self.assert_error(b.ask("LATCHD", "CLUSTER", "SET", "STORES", "mysql"),
                          "ERR STORES: the locks are in redis: LATCHD FAILOVER")
        self.assert_error(b.ask("LATCHD", "CLUSTER", "SET", "STORES", "redis"),
                          "ERR STORES: mysql is the arbiter, and stays in the list")
        self.assertEqual(b.ask("LATCHD", "CLUSTER", "SET", "STORES", "mysql,redis"), b"OK")
        self.fleet.wait_for_epoch_above(epoch)
        self.fleet.wait_for_tier("mysql", deadline=30)
        for node in self.fleet:
            wait_until(lambda node=node: Fleet.status(node)["state"] == "ok", what="it being ok")
            shown = cluster(node)
            self.assertEqual(shown["stores"], "mysql, redis")
            self.assertIn("stores (here redis, mysql, agreed mysql, redis)", shown["differs"])
        self.assertGreater(c.client().ask("RENEW", "order", "1", token), 0)
        # Redis out of the list: nothing leads there.
        self.assertEqual(c.ask("LATCHD", "CLUSTER", "SET", "STORES", "mysql"), b"OK")
        wait_until(lambda: cluster(a)["unlisted"] == "redis", what="the shorter list")
        self.assert_error(a.ask("LATCHD", "FAILOVER", "redis"),
                          "ERR redis is not in the fleet's list of stores")
        self.assertIn("store redis is not in the fleet's list", str(a.ask("LATCHD", "DOCTOR")))
        # And back, in the first place.
        self.fleet.wait_for_tier("mysql", deadline=30)
        self.assertEqual(a.ask("LATCHD", "CLUSTER", "SET", "STORES", "redis,mysql"), b"OK")
        self.fleet.wait_for_tier("redis", deadline=30)
        self.assertEqual(rows([b.ask("LOCKINFO", "order", "1")])[0]["fence"], fence)
        self.assertEqual({cluster(node)["differs"] for node in self.fleet}, {"-"})

    def test_a_store_is_added_once_all_nodes_have_it(self):
        spare = self.redis()
        text = self.fleet.config_of("a").replace(
            "  - {name: mysql", "  - {name: spare, type: redis, address: '%s:%d'}\n"
            "  - {name: mysql" % spare.address)
        d = self.latchd("--node", "d", config=text)
        self.assertEqual(cluster(d)["unlisted"], "spare")
        wait_until(lambda: len(rows(d.ask("LATCHD", "NODES"))) == 4, what="all nodes known")
        self.assert_error(d.ask("LATCHD", "CLUSTER", "SET", "STORES", "spare,redis,mysql"),
                          "ERR STORES: node a has no shared store named spare")
        token, fence = self.lock(d.client(), "order", "1", "PX", 50000)[:2]
        for node in self.fleet:
            node.stop()
        e = self.latchd("--node", "e", config=text)
        epoch = cluster(e)["epoch"]
        self.assertEqual(e.ask("LATCHD", "CLUSTER", "SET", "STORES", "spare,mysql,redis"), b"OK")
        for node in (d, e):
            wait_until(lambda node=node: (Fleet.status(node)["store"] == "spare" and
                                          Fleet.status(node)["state"] == "ok"),
                       deadline=30, what="the locks in it")
        self.assertGreater(cluster(e)["epoch"], epoch + 1, "one for the list, then it moves")
        self.assertIsNone(e.ask("LOCK", "order", "1"))
        # A node without it: shown, and it can't serve.
        f = self.latchd("--node", "f", config=self.fleet.config_of("a"), serves=False)
        wait_until(lambda: "which this node's configuration does not name" in
                   Fleet.status(f)["reason"], what="its reason")
        self.assertEqual(cluster(f)["missing"], "spare")
        self.assertIn("store spare of the fleet's list is not in this node's configuration",
                      str(f.ask("LATCHD", "DOCTOR")))
        self.assertEqual(f.info("authority")["authority_stores_missing"], "spare")
        spare.kill()
        for node in (d, e, f):
            wait_until(lambda node=node: Fleet.status(node)["tier"] == "mysql", deadline=30,
                       what="the next of the list, not of the configuration")
        self.assertEqual(rows([f.ask("LOCKINFO", "order", "1")])[0]["fence"], fence)
        self.assertEqual(d.client().ask("UNLOCK", "order", "1", token), 1)

    def test_nodes_that_ask_another_arbiter_leave_redis_to_those_who_use_it(self):
        token = self.lock(self.fleet["a"].client(), "order", "1", "PX", 50000)[0]
        epoch = self.fleet.epoch()
        host, port = self.redis_.address
        alone = self.latchd("--node", "x", serves=False, config=(
            "stores: [{name: redis, type: redis, address: '%s:%d'}]\n" % (host, port)))
        wait_until(lambda: "need the same authority.arbiter" in Fleet.status(alone)["reason"],
                   what="its reason")
        self.assert_error(alone.ask("LOCK", "order", "1"), "NOSTORE")
        self.assertEqual(self.fleet.epoch(), epoch)
        self.assertIsNone(self.fleet["b"].ask("LOCK", "order", "1"))
        for node in self.fleet:
            node.stop()
        alone.wait_for_store()
        self.assertIsInstance(token, bytes)

    def test_the_shortest_retire_after_counts_for_all_nodes(self):
        a, b, _ = self.fleet
        self.assertEqual(a.ask("RESOURCE", "SET", "idle", "QUEUE", 7), b"OK")
        self.fleet.add("d", resources="resources: {retire_after: 1s}\n")
        wait_until(lambda: is_retired(b, "idle"), deadline=30, what="its end")
        self.assert_error(b.ask("LOCK", "idle", "1"), "ERR resource retired: ")
        self.assertEqual(b.ask("RESOURCE", "SET", "idle"), b"OK")
        self.lock(b.client(), "idle", "1", "PX", 3000)

    def test_an_operator_moves_the_locks_and_back(self):
        a, b, _ = self.fleet
        token, fence = self.lock(a.client(), "pay", "1", "PX", 30000)[:2] \
            if self.fleet.wait_for_strict("redis") else (None, None)
        self.assertNotIsInstance(a.ask("LATCHD", "FAILOVER", "mysql"), Error)
        self.fleet.wait_for_tier("mysql", deadline=20)
        self.assertEqual(rows([b.ask("LOCKINFO", "pay", "1")])[0]["fence"], fence)
        self.assertNotIsInstance(b.ask("LATCHD", "FAILBACK"), Error)
        self.fleet.wait_for_tier("redis", deadline=40)
        self.assertGreater(b.client().ask("RENEW", "pay", "1", token), 0)
        self.assert_error(a.ask("LATCHD", "FAILOVER", "nosuch"), "ERR no store")

    def test_nodes_that_redis_does_not_let_in_name_the_command_that_helps(self):
        token, fence = self.lock(self.fleet["a"].client(), "order", "1", "PX", 30000)[:2]
        epoch = self.fleet.epoch()
        with self.redis_.client() as redis:
            redis.ask("CONFIG", "SET", "requirepass", "other")
            redis.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        for node in self.fleet:
            wait_until(lambda: "LATCHD FAILOVER mysql" in self.fleet.status(node)["reason"],
                       20, "the reason naming the way out")
            reply = node.client().ask("LOCK", "order", "2")
            self.assert_error(reply, "NOSTORE")
            self.assertIn("NOAUTH", reply)
            self.assertIn("LATCHD FAILOVER mysql", reply)
            self.assertIn("LATCHD FAILOVER mysql", str(node.ask("LATCHD", "DOCTOR")))
        self.assertEqual(self.fleet.epochs(), [epoch] * 3, "no evidence against the store")
        self.assertNotIsInstance(self.fleet["b"].ask("LATCHD", "FAILOVER", "mysql"), Error)
        self.fleet.wait_for_tier("mysql", deadline=20, resource="order")
        self.assertEqual(rows([self.fleet["c"].ask("LOCKINFO", "order", "1")])[0]["fence"], fence)
        self.assertEqual(self.fleet["c"].client().ask("UNLOCK", "order", "1", token), 1)

    def test_a_right_that_is_taken_away_is_told_once_and_named(self):
        node = self.fleet["a"]
        self.redis_.ask("ACL", "SETUSER", "default", "-evalsha")
        wait_until(lambda: "+evalsha" in self.fleet.status(node)["reason"], 20, "the reason")
        reply = node.client().ask("LOCK", "order", "1")
        self.assert_error(reply, "NOSTORE")
        self.assertIn("ACL SETUSER default +evalsha", reply)
        failed = self.checks_failed(node)
        wait_until(lambda: self.checks_failed(node) > failed + 3, 20, "further probes")
        self.assertEqual(node.said().count(" store.no_permission: "), 1)
        self.redis_.ask("ACL", "SETUSER", "default", "+evalsha")
        self.fleet.wait_for_tier("redis", deadline=20, resource="order")

    def checks_failed(self, node):
        return rows(node.ask("LATCHD", "STORES"))[0]["checks_failed"]

    def test_stores_and_nodes_are_shown(self):
        a = self.fleet["a"]
        stores = rows(a.ask("LATCHD", "STORES"))
        self.assertEqual([(s["name"], s["state"]) for s in stores],
                         [("redis", "serving"), ("mysql", "up")], json.dumps(stores))
        nodes = wait_until(lambda: len(rows(a.ask("LATCHD", "NODES"))) == 3
                           and rows(a.ask("LATCHD", "NODES")), what="all nodes known")
        self.assertEqual({node["state"] for node in nodes}, {"alive"})
        info = a.info("everything")
        self.assertEqual((info["nodes"], info["authority_tier"]), ("3", "redis"))
        self.assertEqual(info["latchd_state"], "ok", info["latchd_state_reason"])


if __name__ == "__main__":
    unittest.main()

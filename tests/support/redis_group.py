# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Replicas, sentinels, old dumps and memory pressure of redis-servers in tests."""

import os
import pathlib
import shutil

from program import Program, free_port, wait_until
from resp_client import Client


def replica_of(case, master, **options):
    """Starts a redis-server that follows the master; returns once it has its data."""
    replica = case.redis(replicaof=f"127.0.0.1 {master.port}", **options)
    wait_until(lambda: replica.info("replication").get("master_link_status") == "up", 10,
               "the replica following")
    return replica


def catch_up(replica, master):
    """Returns once the replica has all that the master has now."""
    wanted = int(master.info("replication")["master_repl_offset"])
    wait_until(lambda: int(replica.info("replication").get("slave_repl_offset", -1)) >= wanted, 10,
               "the replica catching up")


def fall_behind(replica):
    """What the master writes from now on is lost to it, as behind a full link: it looks for a
    master that isn't there."""
    replica.ask("REPLICAOF", "127.0.0.1", 1)


def promote(replica):
    replica.ask("REPLICAOF", "NO", "ONE")
    wait_until(lambda: replica.info("replication")["role"] == "master", 5, "the promotion")


def fill_memory(redis, limit_mib=3, policy="volatile-lru"):
    """Sets the limit and writes keys with a ttl until some were evicted."""
    used = int(redis.info("memory")["used_memory"])
    redis.ask("CONFIG", "SET", "maxmemory-policy", policy)
    redis.ask("CONFIG", "SET", "maxmemory", used + limit_mib * 1024 * 1024)
    value = "x" * 10_000
    with redis.client() as client:
        for i in range(100_000):
            client.ask("SET", f"pressure:{i}", value, "EX", 600)
            if i % 50 == 0 and int(redis.info("stats")["evicted_keys"]) > 500:
                return
    raise AssertionError("nothing was evicted")


def keep_dump(redis):
    """Saves; returns what restart_with() takes."""
    if redis.ask("SAVE") != b"OK":
        raise AssertionError("no SAVE")
    kept = redis.folder / "kept.rdb"
    shutil.copy(redis.folder / "dump.rdb", kept)
    return kept


def restart_with(redis, dump=None):
    """kill -9, then a start with this dump, or empty."""
    redis.kill()
    redis.drop_dump()
    if dump is not None:
        shutil.copy(dump, redis.folder / "dump.rdb")
    redis.restart()
    redis.drop_dump()


class Sentinel(Program):
    """redis-sentinel that watches one master under the name `locks`."""

    def __init__(self, folder, master, quorum=1, down_after_ms=1000):
        super().__init__("redis-sentinel", folder)
        self.port = free_port()
        path = pathlib.Path(self.folder) / "sentinel.conf"
        path.write_text(
            f"bind 127.0.0.1\nport {self.port}\nprotected-mode no\n"
            f"dir {self.folder}\n"
            f"sentinel monitor locks 127.0.0.1 {master.port} {quorum}\n"
            f"sentinel down-after-milliseconds locks {down_after_ms}\n"
            "sentinel failover-timeout locks 5000\n", encoding="ascii")
        self.spawn([shutil.which("redis-server"), str(path), "--sentinel"],
                   env=dict(os.environ))
        wait_until(lambda: self.ask("PING") == b"PONG", 10, "the sentinel answering")

    @property
    def address(self):
        return ("127.0.0.1", self.port)

    def ask(self, *words):
        with Client(self.address) as client:
            return client.ask(*words)

    def master_port(self):
        """Where it says that the master is."""
        reply = self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", "locks")
        return int(reply[1]) if isinstance(reply, list) else None

    def wait_for_replicas(self, count=1):
        def known():
            reply = self.ask("SENTINEL", "MASTERS")
            master = dict(zip(reply[0][::2], reply[0][1::2])) if reply else {}
            return int(master.get(b"num-slaves", 0)) >= count
        wait_until(known, 15, f"the sentinel knowing {count} replicas")

    def wait_for_failover(self, old_port, deadline=20):
        return wait_until(lambda: self.master_port() not in (None, old_port) and
                          self.master_port(), deadline, "the sentinel's failover")


def sentinels(case, master, count=3, **options):
    """Starts so many, and waits until they know each other and the replica."""
    quorum = count // 2 + 1
    started = [case.add(Sentinel(case._folder_of("sentinel"), master, quorum, **options))
               for _ in range(count)]
    for each in started:
        each.wait_for_replicas()

    def all_met():
        rows = [each.ask("SENTINEL", "SENTINELS", "locks") for each in started]
        return all(len(row) == count - 1 for row in rows)
    wait_until(all_met, 15, "the sentinels meeting")
    return started


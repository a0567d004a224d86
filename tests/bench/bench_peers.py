# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""The servers that tools/bench compares, on free ports of this host, each pinned to a processor."""

import json
import os
import shutil
import subprocess

import harness
from program import Program, die_with_parent, free_port, wait_until

NUTCRACKER = shutil.which("nutcracker", path=os.environ.get("PATH", "") + ":/usr/sbin")


class Wrong(Exception):
    """Two clients held one lock, or a fence went back."""


def processors():
    """(of the servers that are measured, of the clients): one each, the same where there is one."""
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


def pin(pid, processor):
    """All threads that the process has now."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(thread), {processor})


class Twemproxy(Program):
    """Debian's nutcracker in front of one redis-server."""

    def __init__(self, folder, redis):
        super().__init__("nutcracker", folder)
        self.port = free_port()
        config = self.folder / "nutcracker.yml"
        config.write_text(f"bench:\n  listen: 127.0.0.1:{self.port}\n  redis: true\n"
                          "  hash: fnv1a_64\n  distribution: modula\n"
                          f"  servers:\n   - 127.0.0.1:{redis.port}:1\n", encoding="ascii")
        self.spawn([NUTCRACKER, "-c", str(config), "-a", "127.0.0.1", "-s", str(free_port())])
        wait_until(lambda: harness.Client(("127.0.0.1", self.port)).close() or True,
                   what="nutcracker listening")


class Load:
    """A run of the load generator that is under way."""

    def __init__(self, peer, program, settings):
        self.peer, self.batches = peer, peer.batches() if peer.node else {}
        pids = ",".join(f"{name}={one.pid}" for name, one in peer.processes.items())
        self.command = [program, "--at", ",".join(f"127.0.0.1:{port}" for port in peer.ports),
                        "--as", peer.language, *(["--pid", pids] if pids else [])]
        for name, value in settings.items():
            if value is None:
                continue
            self.command += ["--" + name.replace("_", "-"), str(value)]
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        preexec_fn=die_with_parent)

    def end(self):
        """Earlier than it would."""
        self.process.terminate()

    def figures(self):
        """When it has ended."""
        try:
            out, said = self.process.communicate(timeout=200)
        finally:
            self.process.kill()
        if self.process.returncode == 3:
            raise Wrong(f"{self.peer.name}: {said.strip()}")
        if self.process.returncode != 0:
            raise AssertionError(f"{' '.join(self.command)}: {self.process.returncode} "
                                 f"{said.strip()}")
        figures = json.loads(out)
        if figures["failed"]:
            raise AssertionError(f"{self.peer.name}: {figures['failed']} failed, the first by "
                                 f"{figures['first_failure']!r}")
        if self.peer.store:
            figures["store"] = self.peer.statistics()
        if self.peer.node:
            after = self.peer.batches()
            figures["batches"] = {name: after[name] - self.batches.get(name, 0) for name in after}
        return figures


class Peer:
    """What a run of the load generator is pointed at."""

    def __init__(self, name, language, ports, processes, store=None, node=None):
        self.name = name
        self.language = language
        self.ports = ports
        self.processes = processes  # {name: Program}
        self.store = store          # the redis-server whose statistics count
        self.node = node            # the latchd whose batches count

    def load(self, program, **settings):
        """One run; its figures. Names are the load generator's options with _ for -."""
        return self.begin(program, **settings).figures()

    def begin(self, program, **settings):
        """The same, while something else is done to the peer."""
        if self.store:
            self.store.ask("CONFIG", "RESETSTAT")
        return Load(self, program, settings)

    def batches(self):
        """{field: count} of what the node sent to its store, since its start."""
        line = self.node.info("stores").get("store0_batches", "")
        return {name: int(value) for name, value in
                (field.split("=") for field in line.split(",") if field)}

    def statistics(self):
        """What its Redis did since the run began, warming up included."""
        stats, calls = self.store.info("stats"), self.store.commands()
        return {"calls": calls, "reads": int(stats["total_reads_processed"]),
                "in": int(stats["total_net_input_bytes"]),
                "out": int(stats["total_net_output_bytes"])}


class Peers(harness.Case):
    """Starts them when they are first asked for; they end with it."""

    LOG = ("--log-level", "info")

    def runTest(self):
        """Not for a suite: tools/bench calls it."""

    def setUp(self):
        super().setUp()
        self.known = {}
        self.server, self.client = processors()

    def pinned(self, program, processor):
        pin(program.pid, processor)
        return program

    def once(self, name, make):
        if name not in self.known:
            self.known[name] = make()
        return self.known[name]

    def plain_redis(self):
        return self.once("plain redis", lambda: self.pinned(self.redis(), self.server))

    def store_redis(self):
        return self.once("store redis", lambda: self.pinned(self.redis(), self.server))

    def node_over_redis(self, name):
        """A sidecar: it shares its processor with the clients, Redis has the other."""
        return self.once(f"node {name}", lambda: self.pinned(
            self.node(self.store_redis(), name, *self.LOG), self.client))

    # ---- peers

    def redis_set(self, apart=False):
        redis = self.plain_redis()
        pin(redis.pid, self.server if apart else self.client)
        return Peer("redis-server, SET NX PX + DEL", "set", [redis.port], {"server": redis}, redis)

    def redis_scripts(self):
        redis = self.plain_redis()
        pin(redis.pid, self.server)
        return Peer("redis-server, latchd's scripts", "scripts", [redis.port], {"redis": redis},
                    redis)

    def twemproxy(self):
        redis = self.plain_redis()
        proxy = self.once("twemproxy", lambda: self.add(
            Twemproxy(self._folder_of("nutcracker"), redis)))
        pin(redis.pid, self.server)
        pin(proxy.pid, self.client)
        return Peer("twemproxy, SET NX PX + DEL", "set", [proxy.port],
                    {"proxy": proxy, "redis": redis}, redis)

    def embedded(self):
        node = self.once("embedded", lambda: self.latchd(*self.LOG))
        pin(node.pid, self.client)
        return Peer("latchd, embedded table", "latchd", [node.port], {"server": node})

    def embedded_apart(self):
        peer = self.embedded()
        pin(peer.processes["server"].pid, self.server)
        return peer

    def fresh_redis(self):
        redis = self.pinned(self.redis(maxclients=30_000), self.client)
        return Peer("redis-server, SET NX PX + DEL", "set", [redis.port], {"server": redis}, redis)

    def fresh_embedded(self):
        room = "stores: [{name: local, type: local, max_locks: 1000000}]"
        node = self.pinned(self.latchd(*self.LOG, config=room), self.client)
        return Peer("latchd, embedded table", "latchd", [node.port], {"server": node})

    def over_redis(self, nodes=1):
        all_nodes = [self.node_over_redis(name) for name in ("a", "b", "c")[:nodes]]
        processes = {f"node {i}": node for i, node in enumerate(all_nodes)}
        return Peer(f"latchd over Redis, {nodes} nodes", "latchd",
                    [node.port for node in all_nodes],
                    processes | {"redis": self.store_redis()}, self.store_redis(), all_nodes[0])

    # ---- with so many event loops, wherever the kernel runs them

    def loops(self, threads):
        node = self.once(f"embedded {threads}",
                         lambda: self.latchd(*self.LOG, "--threads", str(threads)))
        return Peer(f"latchd, {threads} loops", "latchd", [node.port], {"server": node})

    def loops_over_redis(self, threads):
        def make():
            redis = self.redis()
            node = self.node(redis, f"loops{threads}", *self.LOG, "--threads", str(threads))
            return node, redis
        node, redis = self.once(f"{threads} loops over redis", make)
        return Peer(f"latchd over Redis, {threads} loops", "latchd", [node.port],
                    {"server": node, "redis": redis}, redis)

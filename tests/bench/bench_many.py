# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""Many of each: held locks, waiters, registered resources, idle connections.

What each costs a node in memory that is its own (the journal's file is not), and what a LOCK beside
them takes: the same servers are measured with none of them and with all, in turn.
"""

import os
import pathlib
import re
import resource
import socket
import subprocess
import sys
import time

from bench_cases import Row
from bench_peers import Peer
from program import die_with_parent, wait_until
from resp_client import encode

NAME, ID = "order:settle", "2026-11-30-%08d"  # as the load generator's, of another day
AT_ONCE = 500
FILES_WANTED = 110_000
SPARE_FILES = 500  # of a process, beside the connections
IDLE_SECONDS = 2
ERROR = re.compile(rb"-[A-Z]+ ")


def private_bytes(pid):
    """Of heap and stacks, without mapped files."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def raise_files(wanted):
    """So many files for this process and what it starts, or as many as it may have: their number.
    More than the hard limit takes root's right to raise it."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, wanted))
            return wanted
        except (ValueError, OSError):
            wanted = hard
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


class Sitters:
    """Connections of another process (sitters.py), each of which can wait for a lock."""

    def __init__(self, port, first, count):
        self.process = subprocess.Popen(
            [sys.executable, str(pathlib.Path(__file__).with_name("sitters.py")), str(port),
             str(first), str(count)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            preexec_fn=die_with_parent)

    def said(self, word):
        line = self.process.stdout.readline().strip()
        if line != word:
            raise AssertionError(f"the waiting clients said {line!r}, not {word!r}")

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def close(self):
        self.process.kill()
        self.process.communicate()


class Wire:
    """A connection whose replies are only counted."""

    def __init__(self, address):
        self.socket = socket.create_connection(address, timeout=60)

    def exchange(self, requests, mark):
        """Sends them together; each must get a reply that begins with `mark`, as no line of it does
        again."""
        self.socket.sendall(b"".join(requests))
        seen, rest = 0, b""
        while seen < len(requests):
            data = self.socket.recv(1 << 20)
            *lines, rest = (rest + data).split(b"\r\n")
            refused = next((line for line in lines if ERROR.match(line)), None)
            if refused or not data:
                raise AssertionError(f"refused: {(refused or rest)[:200]!r}")
            seen += sum(line.startswith(mark) for line in lines)

    def many(self, request, count, mark):
        for begin in range(0, count, AT_ONCE):
            self.exchange([request(at) for at in range(begin, min(begin + AT_ONCE, count))], mark)

    def close(self):
        self.socket.close()


class Many:
    """The four rows. A server of its own for each, pinned beside the clients."""

    def __init__(self, cases):
        self.cases, self.peers = cases, cases.peers
        self.open = []
        self.sitters = {}  # by the first id that they wait for
        self.files = raise_files(FILES_WANTED)

    def server(self):
        config = ("listen: [{address: '127.0.0.1:0', max_clients: 200000}]\n"
                  "limits: {max_waiters: 200000}\nlocks: {ttl_max: 1h}\n"
                  "stores: [{name: local, type: local, max_locks: 1200000}]\n")
        node = self.peers.latchd(*self.peers.LOG, config=config)
        return self.peers.pinned(node, self.peers.client)

    def measured(self, what, count, fill, prepare=None, names=0, most=None):
        """A row: memory of each that `fill(node, first, count)` makes beyond its names, LOCK's latency
        before and with them, and what they cost while nobody asks. `prepare` comes before the memory.
        At most `most` on a node: there are more nodes then, each with a table of its own."""
        parts = [(first, min(most or count, count - first)) for first in range(0, count, most or count)]
        nodes = [self.server() for _ in parts]
        peer = Peer(what, "latchd", [nodes[0].port], {"server": nodes[0]})
        settings = {"connections": 10, "seconds": self.cases.seconds, "cpu": self.peers.client}
        without = peer.load(self.cases.program, seed=1, **settings)
        for node, (first, some) in zip(nodes, parts):
            if prepare:
                prepare(node, first, some)
        before, begun = sum(private_bytes(node.pid) for node in nodes), time.monotonic()
        for node, (first, some) in zip(nodes, parts):
            fill(node, first, some)
        took = time.monotonic() - begun
        each = (sum(private_bytes(node.pid) for node in nodes) - before) / count - names
        beside = peer.load(self.cases.program, seed=2, **settings)
        used = sum(cpu_seconds(node.pid) for node in nodes)
        time.sleep(IDLE_SECONDS)  # what is measured, not waited for
        idle = 100 * (sum(cpu_seconds(node.pid) for node in nodes) - used) / IDLE_SECONDS
        for one in self.open:
            one.close()
        self.open.clear()
        for node in nodes:
            node.kill()
        of = "" if len(nodes) == 1 else f" on {len(nodes)} nodes, for a process has {self.files:,} files"
        return Row(
            f"{count:,} {what}{of}: memory of each, bytes", "", f"{each:,.0f}",
            note=f"p50 of LOCK beside them {beside['lock']['p50']:.0f} µs, without them "
                 f"{without['lock']['p50']:.0f}; p99 {beside['lock']['p99']:.0f} and "
                 f"{without['lock']['p99']:.0f}; {idle:.1f} % of a processor while nobody asks; "
                 f"all made in {took:.1f} s")

    def rows(self, quick=False):
        held, waiters, resources, idle = (
            (50_000, 1_000, 10_000, 1_000) if quick else (1_000_000, 100_000, 100_000, 10_000))
        sockets = self.files - SPARE_FILES
        return [
            self.measured("held locks, beyond the names", held, self.hold,
                          names=len(NAME) + len(ID % 0)),
            self.measured("LOCKs that wait, each on a connection and for a lock of its own, beyond "
                          "those", waiters, self.wait, self.hold_and_sit, most=sockets),
            self.measured("registered resources", resources, self.register),
            self.measured("idle connections after one PING", min(idle, sockets), self.connect)]

    # ---- what there are many of

    def hold(self, node, first, count):
        wire = Wire(node.address)
        self.open.append(wire)
        wire.many(lambda at: encode("LOCK", NAME, ID % (first + at), "PX", 3_600_000), count, b"*")

    def register(self, node, _first, count):
        wire = Wire(node.address)
        self.open.append(wire)
        wire.many(lambda at: encode("RESOURCE", "SET", f"order:settle:{at:06}", "TTL", 20_000),
                  count, b"+")

    def connect(self, node, _first, count):
        for _ in range(count):
            wire = Wire(node.address)
            self.open.append(wire)
            wire.exchange([encode("PING")], b"+")

    def hold_and_sit(self, node, first, count):
        self.hold(node, first, count)
        self.sitters[first] = Sitters(node.port, first, count)
        self.open.append(self.sitters[first])
        self.sitters[first].said("open")

    def wait(self, node, first, count):
        self.sitters[first].ask()
        self.sitters[first].said("asked")
        wait_until(lambda: int(node.info("locks")["locks_waiting"]) >= count, 30,
                   "all of them waiting")

# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""What tools/bench measures: each row of the design's table of goals.

A case runs its peers in turn, round after round, and takes the median of each figure over the
rounds. So a machine whose speed changes changes it for all of them.
"""

import os
import re
import statistics
import subprocess

from bench_peers import Wrong  # noqa: F401 (for tools/bench)


class Row:
    """A line of the table."""

    def __init__(self, figure, peer, ours, ratio=None, goal=None, least=False, note=""):
        self.figure, self.peer, self.ours, self.note = figure, peer, ours, note
        self.ratio, self.goal, self.least = ratio, goal, least

    def verdict(self):
        if self.goal is None or self.ratio is None:
            return ""
        met = self.ratio >= self.goal if self.least else self.ratio <= self.goal
        if met:
            return "met"
        off = self.goal / self.ratio if self.least else self.ratio / self.goal
        return "within 20 %" if off <= 1.2 else "missed"

    def markdown(self):
        ratio = "" if self.ratio is None else f"{self.ratio:.2f}"
        goal = "" if self.goal is None else f"{'≥' if self.least else '≤'} {self.goal:g}"
        return f"| {self.figure} | {self.peer} | {self.ours} | {ratio} | {goal} | " \
               f"{self.verdict()}{' ' if self.verdict() and self.note else ''}{self.note} |"


def cpu(figures, process):
    """µs of CPU per cycle."""
    return figures["processes"][process]["cpu_us"] / figures["cycles"]


def rate(figures):
    return figures["cycles"] / figures["seconds"]


class Cases:
    """All of them."""

    def __init__(self, peers, load, rounds, seconds, mysql_bench=None):
        self.peers, self.program, self.rounds, self.seconds = peers, load, rounds, seconds
        self.mysql_bench = mysql_bench

    def alternate(self, runs, seconds=None, rounds=None):
        """{name: [figures]} of {name: (peer, settings)}, in turn."""
        results = {name: [] for name in runs}
        for at in range(rounds or self.rounds):
            for name, (peer, settings) in runs.items():
                results[name].append(peer().load(
                    self.program, **{"seconds": seconds or self.seconds, "seed": at + 1,
                                     "cpu": self.peers.client} | settings))
        return results

    @staticmethod
    def median(results, figure):
        return statistics.median(figure(one) for one in results)

    # ---- rows

    def embedded(self):
        rows = []
        for pipeline, goal in ((1, 1.0), (16, 1.3)):
            settings = {"connections": 50, "pipeline": pipeline}
            got = self.alternate({"peer": (self.peers.redis_set, settings),
                                  "ours": (self.peers.embedded, settings)})
            theirs = self.median(got["peer"], lambda f: cpu(f, "server"))
            ours = self.median(got["ours"], lambda f: cpu(f, "server"))
            rows.append(Row(
                f"embedded table, µs CPU per cycle, 50 connections, pipeline {pipeline}",
                f"redis-server SET NX PX + DEL {theirs:.2f}", f"{ours:.2f}", ours / theirs, goal,
                note=f"{self.median(got['ours'], rate):,.0f} against "
                     f"{self.median(got['peer'], rate):,.0f} cycles/s"))
        return rows

    def one_connection(self):
        settings = {"connections": 1}
        got = self.alternate({"peer": (lambda: self.peers.redis_set(apart=True), settings),
                              "ours": (self.peers.embedded_apart, settings)})
        theirs = self.median(got["peer"], lambda f: f["lock"]["p50"])
        ours = self.median(got["ours"], lambda f: f["lock"]["p50"])
        return [Row("embedded table, 1 connection, p50 of LOCK, µs",
                    f"redis-server SET {theirs:.1f}", f"{ours:.1f}", ours / theirs, 1.1)]

    def store_cpu(self):
        rows = []
        for clients in (50, 1, 5, 200):
            one = {"connections": clients}
            runs = {"direct": (self.peers.redis_scripts, one),
                    "ours": (self.peers.over_redis, one)}
            if clients == 50:
                runs["deep"] = (self.peers.redis_scripts, {"connections": 50, "pipeline": 16})
                runs["proxy"] = (self.peers.twemproxy, one)
            got = self.alternate(runs)
            direct = self.median(got["direct"], lambda f: cpu(f, "redis"))
            ours = self.median(got["ours"], lambda f: cpu(f, "redis"))
            deep = ", 16 deep {:.1f}".format(
                self.median(got["deep"], lambda f: cpu(f, "redis"))) if "deep" in got else ""
            rows.append(Row(
                f"Redis's µs CPU per cycle, redis tier, {clients} clients",
                f"the same scripts sent directly {direct:.1f}{deep}", f"{ours:.1f}", ours / direct,
                0.65 if clients == 50 else None,
                note=f"{self.median(got['ours'], self.depth):.1f} commands a read of Redis, "
                     f"{self.median(got['ours'], rate):,.0f} against "
                     f"{self.median(got['direct'], rate):,.0f} cycles/s"))
            rows.append(self.batches(clients, got["ours"]))
            if clients == 50:
                rows.append(self.beside_proxy(got))
        return rows

    @staticmethod
    def batches(clients, runs):
        """How many commands left together, of all rounds."""
        sums = {}
        for figures in runs:
            for name, count in figures["batches"].items():
                sums[name] = sums.get(name, 0) + count
        shares, below, least = [], 0, 1
        for most in [name.removeprefix("le_") for name in sums if name.startswith("le_")]:
            share, below = 100 * (sums[f"le_{most}"] - below) / sums["batches"], sums[f"le_{most}"]
            if share >= 0.05:
                depth = most if most == str(least) else f"{least}-{most}".replace("-inf", " and more")
                shares.append(f"{depth}: {share:.1f} %")
            least = least if most == "inf" else int(most) + 1
        return Row(f"commands in a write to Redis, redis tier, {clients} clients", "",
                   f"{sums['commands'] / sums['batches']:.1f}",
                   note="mean; of the writes " + ", ".join(shares))

    @staticmethod
    def depth(figures):
        # A LOCK and an UNLOCK for each; scripts may have several.
        return 2 * figures["grants_ever"] / figures["store"]["reads"]

    def beside_proxy(self, got):
        theirs = self.median(got["proxy"], lambda f: cpu(f, "proxy"))
        ours = self.median(got["ours"], lambda f: cpu(f, "node 0"))

        def size(figures):
            return (figures["store"]["in"] + figures["store"]["out"]) / figures["grants_ever"]
        return Row("latchd's µs CPU per cycle, redis tier, 50 clients",
                   f"twemproxy passing SET and DEL on {theirs:.1f}", f"{ours:.1f}", ours / theirs,
                   1.5, note=f"{self.median(got['ours'], size):.0f} against "
                             f"{self.median(got['proxy'], size):.0f} bytes with Redis per cycle")

    def threads(self):
        """2 event loops against 1. Nothing is pinned: loops, clients and Redis share what there is."""
        runs = (("embedded table, 50 connections", self.peers.loops, {}),
                ("embedded table, 50 connections, pipeline 16", self.peers.loops, {"pipeline": 16}),
                ("redis tier, 50 connections", self.peers.loops_over_redis, {}))
        rows = []
        for what, make, settings in runs:
            settings = {"connections": 50, "cpu": None} | settings
            got = self.alternate({count: (lambda count=count: make(count), settings)
                                  for count in (1, 2)})
            one, two = (self.median(got[count], rate) for count in (1, 2))
            used = {count: self.median(got[count], lambda f: cpu(f, "server")) for count in (1, 2)}
            busy = self.median(got[2], lambda f: f["load_cpu_us"] / f["seconds"] / 1e4)
            rows.append(Row(f"{what}: cycles/s with --threads 2", f"--threads 1: {one:,.0f}",
                            f"{two:,.0f}", two / one,
                            note=f"µs CPU per cycle {used[2]:.2f} against {used[1]:.2f}; the clients "
                                 f"share the {os.cpu_count()} processors and use {busy:.0f} % of "
                                 "one"))
        return rows

    def added_latency(self):
        one = {"connections": 1}
        got = self.alternate({"set": (lambda: self.peers.redis_set(apart=True), one),
                              "proxy": (self.peers.twemproxy, one),
                              "direct": (self.peers.redis_scripts, one),
                              "ours": (self.peers.over_redis, one)})
        middle = {name: self.median(results, lambda f: (f["lock"]["p50"] + f["unlock"]["p50"]) / 2)
                  for name, results in got.items()}
        theirs, ours = middle["proxy"] - middle["set"], middle["ours"] - middle["direct"]
        return [Row("added latency per command, redis tier, 1 connection, µs",
                    f"twemproxy {theirs:+.1f} ({middle['set']:.1f} to {middle['proxy']:.1f})",
                    f"{ours:+.1f} ({middle['direct']:.1f} to {middle['ours']:.1f})",
                    ours / theirs, 1.25)]

    def hot_lock(self):
        hot = {"connections": 50, "locks": 1, "wait": 30_000}
        got = self.alternate({
            "measure": (self.peers.redis_set, {"connections": 50}),
            "ours": (self.peers.embedded, hot), "store": (self.peers.over_redis, hot),
            "100 ms": (self.peers.redis_set, hot | {"wait": 0, "hold": 1000, "poll": 100_000}),
            "1 ms": (self.peers.redis_set, hot | {"wait": 0, "hold": 1000, "poll": 1000})})
        cycles = self.median(got["measure"], rate)
        wanted = 30_000 * cycles / 76_000
        ours = self.median(got["ours"], rate)
        took = self.median(got["ours"], lambda f: f["hand_over"]["p50"])
        goal_us = 24 * 76_000 / cycles
        differ = max(f["client_grants_max"] - f["client_grants_min"] for f in got["ours"])
        passed = max(f["passed_max"] for f in got["ours"])
        slow, quick = self.median(got["100 ms"], rate), self.median(got["1 ms"], rate)
        return [
            Row("one hot lock, 50 clients on one node, hold 0: hand-overs/s, embedded",
                f"the class of a Go lock server here {wanted:,.0f}; polling, hold 1 ms, at 100 ms "
                f"{slow:,.0f}, at 1 ms {quick:,.0f}", f"{ours:,.0f}", ours / wanted, 1.0, least=True),
            Row("the same: UNLOCK sent to the next LOCK's reply, p50, µs",
                f"that class {goal_us:.0f}", f"{took:.1f}", took / goal_us, 1.0),
            Row("the same: fairness, grants of the clients differ by at most", "", f"{differ}",
                differ, 1.0, note=f"passed by at most {passed} others"),
            Row("one hot lock, 50 clients on one node, redis tier: hand-overs/s", "",
                f"{self.median(got['store'], rate):,.0f}",
                note=f"hand-over p50 "
                     f"{self.median(got['store'], lambda f: f['hand_over']['p50']):.0f} µs")]

    def waiting(self):
        """Ten locks that are held 1 ms each: at most 10,000 grants a second."""
        held = {"connections": 50, "locks": 10, "hold": 1000}
        got = self.alternate({
            "ours": (self.peers.embedded, held | {"wait": 30_000}),
            "store": (self.peers.over_redis, held | {"wait": 30_000}),
            "poll": (self.peers.redis_set, held | {"poll": 1000})})

        def told(name):
            return f"{self.median(got[name], rate):,.0f} grants/s, LOCK p50 " \
                   f"{self.median(got[name], lambda f: f['lock']['p50']) / 1000:.1f} ms, p99 " \
                   f"{self.median(got[name], lambda f: f['lock']['p99']) / 1000:.1f} ms"
        return [Row("10 locks, 50 clients that wait, hold 1 ms, embedded",
                    f"polling Redis at 1 ms: {told('poll')}", told("ours")),
                Row("the same, redis tier", "", told("store"))]

    def commands_per_grant(self):
        def per_grant(figures):
            calls = figures["store"]["calls"]
            asked = sum(count for name, count in calls.items()
                        if name.split("|")[0] in ("evalsha", "eval"))
            return (asked or calls.get("set", 0) + calls.get("del", 0)) / figures["grants_ever"]
        hot = {"locks": 1, "wait": 30_000}
        got = self.alternate({
            "one": (self.peers.over_redis, hot | {"connections": 50}),
            "three": (lambda: self.peers.over_redis(3), hot | {"connections": 60}),
            "poll": (lambda: self.peers.redis_set(apart=True),
                     {"locks": 1, "connections": 50, "hold": 1000, "poll": 1000})})
        polling = self.median(got["poll"], per_grant)
        one, three = (self.median(got[name], per_grant) for name in ("one", "three"))
        waited = max(f["server_wait_max"] for f in got["three"])
        return [Row("store commands per grant, one lock, 1 node × 50 waiters",
                    f"polling at 1 ms, hold 1 ms {polling:.1f}", f"{one:.2f}", one, 2.0),
                Row("the same, 3 nodes × 20 waiters", f"polling at 1 ms, hold 1 ms {polling:.1f}",
                    f"{three:.2f}", three, 4.0,
                    note=f"no node waited longer than {waited} grants, "
                         f"{self.median(got['three'], rate):,.0f} hand-overs/s")]

    def offered(self):
        settings = {"connections": 200, "rate": 20_000}
        got = self.alternate({"peer": (lambda: self.peers.redis_set(apart=True), settings),
                              "ours": (self.peers.over_redis, settings)})
        theirs = self.median(got["peer"], lambda f: f["lock"]["p99"])
        ours = self.median(got["ours"], lambda f: f["lock"]["p99"])
        return [Row("p99 of LOCK at 20,000 locks/s offered (open loop), redis tier, µs",
                    f"redis-server SET directly {theirs:.0f}; the usual promise is 5,000",
                    f"{ours:.0f}", ours / 1000, 1.0,
                    note=f"ratio to 1 ms; {self.median(got['ours'], rate):,.0f} cycles/s done, p50 "
                         f"{self.median(got['ours'], lambda f: f['lock']['p50']):.0f} µs")]

    def mysql(self):
        if self.mysql_bench is None:
            return []
        ran = subprocess.run([self.mysql_bench, "upsert", str(self.rounds)], capture_output=True,
                             text=True, check=True, timeout=300)
        ours, batched, single = (int(count) for count in
                                 re.findall(r"(\d+) cycles/s", ran.stdout))
        where = ran.stdout.splitlines()[0].split(', ', 1)[1]  # but for the folder
        return [Row("MySQL tier, 200 clients, at most 4 connections, cycles/s",
                    f"INSERT + DELETE in batches of 64 {batched:,}", f"{ours:,}", ours / batched,
                    0.5, least=True, note=where),
                Row("the same", f"INSERT + DELETE unbatched on 20 connections {single:,}",
                    f"{ours:,}", ours / single, 2.0, least=True)]

    def memory(self, idle, held):
        def grown(figures, later, earlier, count):
            process = figures["processes"]["server"]
            return (process[later] - process[earlier]) / count
        got = self.alternate({
            "peer": (self.peers.fresh_redis, {"connections": 50, "idle": idle, "held": held}),
            "ours": (self.peers.fresh_embedded, {"connections": 50, "idle": idle, "held": held})},
            rounds=1)
        per_idle = {name: self.median(results, lambda f: grown(f, "bytes_idle", "bytes_before", idle))
                    for name, results in got.items()}
        per_held = {name: self.median(results, lambda f: grown(f, "bytes_held", "bytes_idle", held))
                    for name, results in got.items()}
        names = len("order:settle") + len("2026-11-29-00000000")
        beyond = per_held["ours"] - names
        p50 = {name: self.median(results, lambda f: f["lock"]["p50"])
               for name, results in got.items()}
        return [Row(f"memory per idle connection of {idle:,} after one PING, bytes",
                    f"redis-server {per_idle['peer']:,.0f}", f"{per_idle['ours']:,.0f}",
                    per_idle["ours"] / per_idle["peer"], 1.0,
                    note=f"p50 of LOCK beside them and {held:,} held locks {p50['ours']:.0f} µs, "
                         f"redis-server {p50['peer']:.0f}"),
                Row(f"memory per held lock of {held:,}, embedded, bytes beyond the names",
                    f"redis-server's SET {per_held['peer'] - names:,.0f}", f"{beyond:,.0f}",
                    beyond / 300, 1.0, note="ratio to 300 bytes")]

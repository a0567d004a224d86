# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""What many locks and many clients make of a bad moment: rows of `tools/bench --only many`.

The herd after a store's return: clients that poll or wait while Redis stands still or restarts. And
the pause of a change of epoch while very many locks are held. The load generator runs through the
fault; its clients ask again when a store is away, and exclusion and fences are checked all along.
"""

import time

import redis_group
from bench_cases import Row
from bench_many import cpu_seconds
from bench_peers import Peer
from fleet import ALONE, RESOURCES, Fleet
from program import wait_until
from resp_client import Error

WARM_SECONDS = 1
SLICE_MS = 500
LOCKS_AT_ONCE = 1000
TTL_MS = 1_200_000
EACH_CHECKED = 10  # one held lock of so many is renewed through another node afterwards


class Course:
    """Figures of a load that ran through a fault; times by CLOCK_MONOTONIC."""

    def __init__(self, figures):
        self.figures, self.begun = figures, figures["begun"] / 1e6

    def slices(self, begin, end):
        """Those that lie wholly in between."""
        return [one for one in self.figures["slices"]
                if self.begun + one["at"] / 1e6 >= begin and self.begun + one["end"] / 1e6 <= end]

    @staticmethod
    def p99_ms(slices):
        """The greatest of the slices."""
        return max(one["lock"]["p99"] for one in slices) / 1000

    def gap(self):
        """Seconds: the longest time without a grant."""
        return self.figures["gap"]["length"] / 1e6

    def first_of_newest_epoch(self):
        return self.begun + self.figures["epochs"][-1][1] / 1e6


class Pauses:
    """The rows. Servers of their own for each."""

    def __init__(self, cases):
        self.cases, self.peers = cases, cases.peers
        self.calm = 4    # seconds that are looked at before the fault …
        self.before = 1  # … and end so long before: what is asked then is answered before it
        self.out = 3     # for which Redis stands still
        self.after = 5   # from the return on, that are looked at

    def herds(self, quick=False):
        clients = 200 if quick else 2_000
        poll = {"poll": 4_000_000}
        wait = poll | {"wait": 30_000, "hold": 10_000, "locks": clients // 10}
        return [self.herd(f"{clients:,} clients that ask every 4 s, without WAIT", clients, poll,
                          self.stand_still, f"Redis stands still for {self.out} s"),
                self.herd(f"{clients:,} clients that wait, 10 for each lock", clients, wait,
                          self.stand_still, f"Redis stands still for {self.out} s"),
                self.herd("the same", clients, wait, self.restart,
                          "Redis is killed and comes back empty")]

    def epochs(self, quick=False):
        held = 5_000 if quick else 100_000
        return [*self.epochs_of_a_fleet(held), self.epoch_of_redis_alone(held)]

    # ---- the herd

    def stand_still(self, redis):
        redis.freeze()
        redis.wait_until_frozen_for(self.out)
        redis.thaw()

    def restart(self, redis):
        redis_group.restart_with(redis)
        self.peers.pinned(redis, self.peers.server)

    def herd(self, who, count, settings, fault, what):
        redis = self.peers.pinned(self.peers.redis(), self.peers.server)
        node = self.peers.pinned(self.peers.node(redis, "herd", *self.peers.LOG), self.peers.client)
        load = self.begin([node], connections=count, **settings)
        wait_until(lambda: int(node.info("clients")["connected_clients"]) >= count, 30,
                   "all of the herd")
        time.sleep(WARM_SECONDS + self.calm + self.before)  # what is measured
        began = time.monotonic()
        fault(redis)
        back = time.monotonic()
        time.sleep(self.after + 1)  # what is measured
        load.end()
        course = Course(load.figures())
        self.end([node, redis])
        calm = course.p99_ms(course.slices(began - self.before - self.calm, began - self.before))
        after = course.slices(back, back + self.after)
        worst = course.p99_ms(after)
        longest = max(one["lock"]["max"] for one in course.slices(began - 1, back + 1)) / 1e6
        return Row(f"{what}, {who}: p99 of LOCKs asked in the {self.after} s after, ms",
                   f"before {calm:,.1f}", f"{worst:,.1f}", worst / calm,
                   note=f"of the worst {SLICE_MS} ms; one after the other "
                        f"{', '.join(f'{course.p99_ms([one]):,.0f}' for one in after)}; longest LOCK "
                        f"{longest:.1f} s; {course.figures['away']:,} answered that the store is away")

    def begin(self, nodes, **settings):
        """A load that runs until end()."""
        return Peer("pauses", "latchd", [node.port for node in nodes], {}).begin(
            self.cases.program, slice=SLICE_MS, patient=1, warm=WARM_SECONDS, seconds=120,
            cpu=self.peers.client, **settings)

    # ---- a change of epoch

    def fleet_of(self, redis, mysql, count):
        return Fleet(self.peers, redis, mysql, count=count, gated=False, hold_down="10m",
                     resources=RESOURCES if mysql else ALONE,
                     extra="locks: {ttl_max: 1h}\n").wait_for_tier("redis", deadline=20)

    def epochs_of_a_fleet(self, count):
        redis, mysql = self.peers.redis(), self.peers.mariadb("--innodb-buffer-pool-size=256M")
        fleet = self.fleet_of(redis, mysql, 3)
        held = self.hold(list(fleet), count)
        moves = [("LATCHD FAILOVER, Redis to MySQL", self.asked(fleet, "FAILOVER", "mysql"), "mysql"),
                 ("LATCHD FAILBACK, MySQL to Redis", self.asked(fleet, "FAILBACK"), "redis"),
                 ("Redis is killed, Redis to MySQL", self.killed(redis), "mysql")]
        rows = [self.change(what, fleet, held, act, tier) for what, act, tier in moves]
        self.end([*fleet, redis, mysql])
        return rows

    def epoch_of_redis_alone(self, count):
        redis = self.peers.redis()
        fleet = self.fleet_of(redis, None, 2)
        held = self.hold(list(fleet), count)

        def restarted():
            redis_group.restart_with(redis)
            return time.monotonic()
        row = self.change("Redis alone is killed and comes back empty", fleet, held, restarted,
                          "redis")
        self.end([*fleet, redis])
        return row

    @staticmethod
    def end(programs):
        for program in programs:
            program.kill()

    @staticmethod
    def asked(fleet, *words):
        """As an operator: what is asked for is done within the same command, or refused."""
        def act():
            began = time.monotonic()
            reply = next(iter(fleet)).ask("LATCHD", *words, timeout=30)
            if isinstance(reply, Error):
                raise AssertionError(f"LATCHD {' '.join(words)}: {reply}")
            return began
        return act

    @staticmethod
    def killed(redis):
        def act():
            redis.kill()
            return time.monotonic()
        return act

    def hold(self, nodes, count):
        """[(id, token, fence, node)] through all nodes in turn."""
        held, clients = [], [node.client(timeout=60) for node in nodes]
        for begin in range(0, count, LOCKS_AT_ONCE):
            at = begin // LOCKS_AT_ONCE % len(nodes)
            ids = [f"2026-11-30-{i:08}" for i in range(begin, min(begin + LOCKS_AT_ONCE, count))]
            replies = clients[at].pipeline(
                [("LOCK", "order:held", each, "PX", TTL_MS) for each in ids])
            refused = [reply for reply in replies if not isinstance(reply, list)]
            if refused:
                raise AssertionError(f"not granted: {refused[0]!r}")
            held += [(each, reply[0], reply[1], at) for each, reply in zip(ids, replies)]
        return held

    @staticmethod
    def carried(nodes, held):
        """Of one in EACH_CHECKED: (how many another node renews, how many have their fence)."""
        renewed = same = 0
        for at, node in enumerate(nodes):
            mine = [one for one in held[::EACH_CHECKED] if (one[3] + 1) % len(nodes) == at]
            client = node.client(timeout=60)
            for begin in range(0, len(mine), LOCKS_AT_ONCE):
                part = mine[begin:begin + LOCKS_AT_ONCE]
                left = client.pipeline([("RENEW", "order:held", one[0], one[1]) for one in part])
                fences = client.pipeline([("FENCE", "order:held", one[0], one[2]) for one in part])
                renewed += sum(isinstance(one, int) and one > 0 for one in left)
                same += sum(one == 1 for one in fences)
        return renewed, same

    def change(self, what, fleet, held, act, tier):
        """A row: 50 clients ask 10 times a second each, and the fleet moves. act() returns the moment
        from which it was evident that it has to."""
        nodes = list(fleet)
        load = self.begin(nodes, connections=50, poll=100_000, wait=20_000)
        time.sleep(WARM_SECONDS + 1)  # what is measured
        epoch, used = fleet.epoch(), [cpu_seconds(node.pid) for node in nodes]
        began = act()
        fleet.wait_for_epoch_above(epoch, deadline=60)
        fleet.wait_for_tier(tier, deadline=60)
        used = max(cpu_seconds(node.pid) - one for node, one in zip(nodes, used))
        time.sleep(1)  # and what comes after
        load.end()
        course = Course(load.figures())
        renewed, same = self.carried(nodes, held)
        first = course.first_of_newest_epoch() - began
        return Row(f"{what}, {len(nodes)} nodes, {len(held):,} live locks: longest time without a "
                   "grant, s", "", f"{course.gap():.2f}",
                   note=f"first grant of the new epoch {first:.2f} s after the evidence; of "
                        f"{len(held[::EACH_CHECKED]):,} locks that were looked at, another node renews "
                        f"{renewed:,}, {same:,} have their fence; {used:.1f} s of CPU in the busiest "
                        f"node; {course.figures['away']:,} LOCKs answered that the store is away")

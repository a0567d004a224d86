# SPDX-FileCopyrightText: 2026 The latchd authors
# SPDX-License-Identifier: Apache-2.0
"""A fault under a fleet: nodes over a Redis and a MySQL, locks that are held while it happens, a
crowd of clients, and one judgement over all that was said.

    class Something(FleetCase):
        def test_redis_is_killed(self):
            with self.under_load():
                self.redis_.kill()
                self.fleet.wait_for_tier("mysql")
            self.assert_held_locks_go_on()
            self.assert_fleet_is_well()

Of the resources, `pay` is strict: nothing excuses two holders of one of its locks. `order` is
available: a test names the case, (a)-(f) of docs/promises.md, in which that may happen.
"""

import contextlib
import os
import re
import subprocess
import time

import harness
import stalls
from fault_case import FaultCase
from fleet import VIEW_LEASE, Fleet  # noqa: F401 (for the tests)
from harness import SLOWNESS, wait_until

CROWD = os.environ.get("LATCHD_CROWD")

class Crowd:
    """tests/fault/crowd.cpp in a process of its own."""

    def __init__(self, case, clients, locks=8, ttl_ms=2000, seconds=120, resources=None,
                 patience_ms=None):
        self._case = case
        nodes = list(case.fleet)
        self._names = [node.folder.name for node in nodes]
        self.path = case.folder / f"crowd{len(case.crowds)}"
        command = [CROWD, ",".join(str(node.port) for node in nodes), str(clients), str(locks),
                   str(ttl_ms), str(seconds), str(case.random.randrange(1 << 30)),
                   ",".join(resources or case.resources)]
        with open(self.path, "wb") as out:
            self._process = subprocess.Popen(command + [str(patience_ms)] if patience_ms
                                             else command, stdin=subprocess.DEVNULL, stdout=out,
                                             preexec_fn=harness.die_with_parent)
        stalls.machine().watch(self._process.pid)
        self._is_read = False

    def grants(self):
        return self.path.read_bytes().count(b" G ")

    def wait_for_grants(self, count, deadline=15.0):
        """Returns once `count` more were granted."""
        wanted = self.grants() + count
        wait_until(lambda: self.grants() >= wanted, deadline, f"{count} more grants")

    def stop(self):
        """Lets it end what it has begun; its operations are in the history then."""
        if self._is_read:
            return
        self._is_read = True
        self._process.terminate()
        try:
            self._process.wait(30 * SLOWNESS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise AssertionError("the crowd did not end") from None
        self._case.history.read_crowd(self.path, self._names)

    def kill(self):
        self._process.kill()
        self._process.wait()


class FleetCase(FaultCase):
    """Three nodes; a test that needs others says so with fleet_of()."""

    count = 3
    resources = ("pay", "order")

    def setUp(self):
        super().setUp()
        self.crowds = []
        self.held = []
        self.history.strict = {"pay"}
        if CROWD is None:
            self.skipTest("LATCHD_CROWD names no program")

    def _end_all(self):
        for crowd in self.crowds:
            crowd.kill()
        super()._end_all()

    def start_fleet(self, redis=None, mysql=None, count=None, strict=True, **options):
        """Starts the stores that are not given, and the nodes; all serve from Redis. mysql=False:
        Redis is its own arbiter, and nothing can be strict."""
        self.redis_ = redis or self.redis()
        self.mysql_ = self.mariadb() if mysql is None else mysql
        self.fleet = Fleet(self, self.redis_, self.mysql_, count or self.count, **options)
        self.fleet.wait_for_tier("redis", deadline=20)
        if strict:
            self.fleet.wait_for_strict("redis")
        self.listen(*self.fleet)
        return self.fleet

    # ---- load

    def crowd(self, clients=24, **options):
        crowd = Crowd(self, clients, **options)
        self.crowds.append(crowd)
        return crowd

    @contextlib.contextmanager
    def under_load(self, clients=24, held=12, before=60, after=60, **options):
        """A crowd before, during and after the body, and held locks. With the end of the body the
        fault is over."""
        crowd = self.crowd(clients, **options)
        crowd.wait_for_grants(before)
        self.hold(held)
        yield crowd
        self.fault_is_over()
        crowd.wait_for_grants(after)
        crowd.stop()

    def hold(self, count, ttl_ms=30_000, nodes=None):
        """Takes so many locks, of both resources, through all nodes in turn."""
        nodes = nodes or self.fleet.alive
        for i in range(count):
            node = nodes[i % len(nodes)]
            actor = self.actor(node, f"holder-{node.folder.name}")
            resource, name = self.resources[i // len(nodes) % len(self.resources)], f"held{len(self.held)}"
            grant = actor.lock(resource, name, PX=ttl_ms)
            self.assertIsInstance(grant, list, f"no lock to hold: {actor.last}")
            self.held.append((resource, name, grant, node))

    def renew_through_others(self, every=3):
        """Renews one of `every` held locks through another node than the holder's."""
        nodes = self.fleet.alive
        for i, (resource, name, grant, node) in enumerate(self.held):
            if i % every == 0:
                other = next(n for n in nodes if n is not node)
                reply = self.actor(other, "renews").renew(resource, name, grant[0])
                self.assertGreater(reply, 0)

    def assert_held_locks_go_on(self, nodes=None, late=()):
        """Each held lock has its holder and its fence still, whomever one asks. What `late` nodes
        held may have a greater fence: it was asserted by its token after the opening, or carried
        by one whose clock may have stood still."""
        nodes = nodes or self.fleet.alive
        for i, (resource, name, grant, holder) in enumerate(self.held):
            node = nodes[i % len(nodes)]
            actor = self.actor(node, "checks")

            def answers(actor=actor, node=node, resource=resource, name=name, grant=grant):
                replies = (actor.renew(resource, name, grant[0]),
                           self.actor(node, "other").lock(resource, name, PX=1000),
                           node.ask("LOCKINFO", resource, name))
                # A machine that stands still may have begun the next epoch meanwhile.
                is_answer = isinstance(replies[0], int) and not any(
                    isinstance(reply, harness.Error) for reply in replies)
                return replies if is_answer else None
            left, other, info = wait_until(answers, 4.0, f"answers about {resource}/{name}")
            self.assertGreater(left, 0, f"{resource}/{name} of {holder.folder.name} is lost")
            self.assertIsNone(other, f"{resource}/{name} is held")
            fields = dict(zip(info[::2], info[1::2]))
            if holder in late:
                self.assertGreaterEqual(fields[b"fence"], grant[1], f"{resource}/{name}")
            else:
                self.assertEqual(fields[b"fence"], grant[1], f"{resource}/{name} has another fence")

    def assert_strict_waits(self, node, for_):
        """`node` asks no store for the strict resource before it counts the one called `for_` as
        lost, of which it has then not heard for a view lease."""
        reply = self.actor(node, "early").lock("pay", "early", PX=500)
        if not (isinstance(reply, harness.Error) and reply.startswith("NOSTORE")):
            lost = re.search(rf"authority\.node_lost: node {for_} .* for (\d+) ms", node.said())
            self.assertIsNotNone(lost, f"{reply}: {for_} is not lost")
            self.assertGreaterEqual(int(lost[1]), VIEW_LEASE * 1000)

    # ---- faults

    def pause(self, node):
        """SIGSTOP, which no deadline of its own is counted through."""
        node.freeze()
        self.history.pauses.append((node.folder.name, time.monotonic(), float("inf")))

    def resume(self, node):
        node.thaw()
        name, began, _ = self.history.pauses.pop()
        if name != node.folder.name:
            raise AssertionError("resume() the node that was paused last")
        self.history.pauses.append((name, began, time.monotonic()))

    def change_tier(self, store, by="FAILOVER"):
        """As an operator does it; returns once all nodes grant from there."""
        words = ["LATCHD", by] + ([store] if by == "FAILOVER" else [])
        node = self.fleet.alive[0]
        wait_until(lambda: self._good(node.ask(*words)), 10, " ".join(words))
        self.fleet.wait_for_tier(store)

    @staticmethod
    def _good(reply):
        if isinstance(reply, harness.Error) and not reply.startswith("ERR the locks are in "):
            raise ConnectionError(reply)
        return reply

    # ---- the end

    def assert_fleet_is_well(self, nodes=None, recovery=2.0, tier=None, strict=True):
        """All nodes serve within `recovery` seconds of the fault's end, and nothing was promised
        that was not kept."""
        nodes = nodes or self.fleet.alive
        self.history.recovery = recovery
        left = self._left(recovery, 1.0)
        self.fleet.wait_for_tier(tier, nodes, left)
        if strict:
            self.fleet.wait_for_strict(tier, nodes, self._left(recovery, 1.0))
        for crowd in self.crowds:
            crowd.stop()
        self.release_all(nodes[0])
        self.assert_nothing_remains(nodes, recovery)
        self.assert_all_can_be_had(nodes[-1], self.resources if strict else ("order",))
        self.assert_good_history()
        held = [(resource, name) for resource, name, _, _ in self.held]
        self.assertEqual([t for t in self.told("lost") if t.lock in held], [], "a held lock")

    def assert_nothing_remains(self, nodes, recovery):
        seen = []

        def is_clean():
            seen[:] = [f"{node.folder.name}: {name} {info[name]}" for node in nodes
                       for info in (node.info("locks"),) for name in ("locks_held", "locks_waiting")
                       if info[name] != "0"]
            return not seen
        try:  # what nobody was told ends with its lease
            wait_until(is_clean, self._left(recovery, 3.0), "an end without ghosts")
        except AssertionError:
            self.fail(f"ghosts: {seen}\n{self.fleet.summary()}")
